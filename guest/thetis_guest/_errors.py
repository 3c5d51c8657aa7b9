"""The one exception between a guest and its host."""

from __future__ import annotations


class HostError(Exception):
    """The host said no; or, raised by a guest, the guest says no to its caller.

    `code` is stable and kebab-case, `message` one sentence, `hint` the way out or "".
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".rstrip())
        self.code = code
        self.message = message
        self.hint = hint
