"""A person's own editor: which command opens a file at a line, and running it while the screen is put away.

Must not know what is edited.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thetis_kernel.errors import ThetisError, UsageError

if TYPE_CHECKING:
    from textual.app import App

_PLUS = frozenset({"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "ne", "mg", "ed"})
_COLON = frozenset({"hx", "helix", "subl", "zed"})
_GOTO = frozenset({"code", "codium", "cursor", "code-insiders"})
_PLACE = re.compile(r"(?<![\w/.-])(?:\./)?((?:[\w.@+-]+/)*[\w.@+-]*\w)(?::(\d{1,7}))?")
MOST = 2000
"""Words looked at for the name of a file in one block."""


def command(environ: Mapping[str, str], path: str, line: int = 0) -> list[str]:
    """What opens `path` at `line` (0: anywhere) in $VISUAL or $EDITOR. Raises UsageError when neither is set."""
    try:
        words = shlex.split(environ.get("VISUAL", "") or environ.get("EDITOR", ""))
    except ValueError:
        words = []
    if not words:
        raise UsageError("There is no editor to open it with.", hint="Set one: export EDITOR=vim (or nano, code -w, ...).")
    name = Path(words[0]).name
    if line > 0 and name in _PLUS:
        return [*words, f"+{line}", path]
    if line > 0 and name in _COLON:
        return [*words, f"{path}:{line}"]
    if line > 0 and name in _GOTO:
        return [*words, "-g", f"{path}:{line}"]
    return [*words, path]


def place_in(text: str, roots: Sequence[str]) -> tuple[str, int] | None:
    """The first existing file below one of `roots` that `text` names, with its line (0: none named).

    The text is anybody's: a name that leads out of a root, also through a link, names nothing.
    """
    for nth, match in enumerate(_PLACE.finditer(text)):
        if nth >= MOST:
            return None
        for root in roots:
            path = os.path.realpath(os.path.join(root, match[1]))
            inside = path.startswith(os.path.realpath(root) + os.sep)
            if inside and ("." in match[1] or "/" in match[1]) and os.path.isfile(path):
                return path, int(match[2] or 0)
    return None


async def edit(app: App[Any], argv: Sequence[str]) -> int:
    """Run an editor on the terminal; the screen comes back when it ends. Its exit status.

    Everything else goes on meanwhile: only the drawing waits. Raises UsageError when it cannot be started.
    """
    from textual.app import SuspendNotSupported

    failed: OSError | None = None
    status = 0
    try:
        with app.batch_update(), app.suspend():
            try:
                process = await asyncio.create_subprocess_exec(*argv)
                status = await process.wait()
            except OSError as error:
                failed = error
    except SuspendNotSupported as error:
        raise UsageError("The screen cannot be put away here for an editor.") from error
    if failed is not None:
        raise UsageError(f"{argv[0]} could not be started: {failed.strerror}.", hint="See $VISUAL and $EDITOR.")
    return status


async def edited(app: App[Any], text: str, environ: Mapping[str, str] = os.environ) -> str:
    """`text` as a person leaves it in their editor. Raises UsageError when there is none, ThetisError when it failed."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="thetis-", suffix=".md", delete=False) as file:
        file.write(text)
    path = Path(file.name)
    try:
        status = await edit(app, command(environ, file.name))
        if status:
            raise ThetisError(f"The editor ended with {status}; the prompt is as it was.", code="editor")
        return (await asyncio.to_thread(path.read_text, "utf-8", "replace")).rstrip("\n")
    finally:
        path.unlink(missing_ok=True)
