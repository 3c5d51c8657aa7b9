"""The bad ends: a mistake of the screen itself, and signals. The terminal is always given back, with a sentence.

Must not know about the gateway: nothing that is durable depends on the screen.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_tui.sanitise import one_line, visible

if TYPE_CHECKING:
    from textual.app import App

    _Base = App[int]
else:
    _Base = object


class Fatal(_Base):
    """Mixed into the app: an unhandled exception ends it with a sentence, the traceback goes to a file."""

    def _print_error_renderables(self) -> None:
        self._exit_renderables.clear()
        error = self._exception
        if error is None:
            return
        sys.stderr.write(farewell(error))


def farewell(error: BaseException) -> str:
    """What is said when the screen fails: the sentence, where the details are, and that nothing is lost."""
    text = visible("".join(traceback.format_exception(error)))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="thetis-screen-", suffix=".txt", delete=False) as file:
            file.write(text)
        where = f" Details: {Path(file.name)}"
    except OSError:
        where = ""
    return (
        f"thetis: the screen failed ({type(error).__name__}: {one_line(str(error))[:300]}).{where}\n"
        "Nothing of your conversations is lost; start thetis again to go on.\n"
    )


@contextmanager
def end_on_signals(leave: Callable[[], None], hang_up: Callable[[], None]) -> Iterator[None]:
    """Within: SIGTERM (`leave`) and SIGHUP (`hang_up`) end the app in order, so that the terminal's modes are restored."""
    loop = asyncio.get_running_loop()
    caught = {signal.SIGTERM: leave, signal.SIGHUP: hang_up}
    for number, what in caught.items():
        loop.add_signal_handler(number, what)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
