"""Slash commands: what a line in the prompt asks for, and what may complete it.

Must not know about widgets. Only a known name right at the start makes a line a command; "/etc/hosts is wrong" is
a message like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands import ALL, BY_SLASH, Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


def parse(text: str) -> tuple[Command, str] | None:
    """The command and its argument, or None when `text` is a message."""
    if not text.startswith("/") or "\n" in text.strip():
        return None
    name, _, argument = text[1:].strip().partition(" ")
    command = BY_SLASH.get(name)
    return (command, argument.strip()) if command is not None else None


def completions(text: str, app: ThetisApp) -> list[tuple[str, str]]:
    """(written form, help) of the commands that begin with `text`, which must be one word after a slash."""
    if not text.startswith("/") or any(mark in text for mark in (" ", "\n")):
        return []
    return [
        (f"/{command.slash}", command.help)
        for command in ALL
        if command.slash and command.slash.startswith(text[1:]) and command.applies(app)
    ]
