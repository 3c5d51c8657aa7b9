"""What exactly is about to happen: made by the operation, judged by `permit`, shown to the person who is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

MAX_DETAIL = 32 * 1024
"""Characters of a detail that a request carries. What is longer is not shown whole, so it is allowed once at most."""


@dataclass(frozen=True)
class Subject:
    """One thing an allowance can be about: a command's part, a path, a host.

    `text` is compared with patterns. `rule` and `session` are the patterns that would be remembered for good or for this
    conversation; "" when it must not be remembered. `wide`: whether a pattern with a wildcard may cover it.
    """

    text: str
    rule: str = ""
    session: str = ""
    wide: bool = True


@dataclass(frozen=True)
class Intended:
    """An effect in words: `what` one line, `detail` everything (the command, the patch, the request), `where` its place.

    `command` is parsed for its parts when the effect runs one; otherwise `subjects` say what an allowance could be about.
    `unchanged` is asked once more after a person's answer: what was shown must be what happens. `insists`: a sentence why a
    person is asked whatever the mode, "" when the mode decides.
    """

    what: str
    detail: str = ""
    where: str = ""
    command: str = ""
    subjects: tuple[Subject, ...] = ()
    unchanged: Callable[[], bool] | None = None
    insists: str = ""
