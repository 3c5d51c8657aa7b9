"""Keys that arrive before the prompt stands: kept, then delivered, so that nothing typed ahead is lost.

Until the program takes the terminal over, its line discipline still turns Enter into a newline, which would read as
ctrl+j; for a person who typed ahead it was Enter.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from textual import constants, events, on
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App
from textual.driver import Driver

for _letter in "0123456789acdefghijklmnopqrstuvwxyz":  # not b: what Alt and an arrow send in some
    # Textual takes Alt and a digit for what one keyboard of one system types with them ("¡"); here they are keys, in
    # terminals without the newer keyboard protocol too.
    ANSI_SEQUENCES_KEYS[f"\x1b{_letter}"] = (SimpleNamespace(value=f"alt+{_letter}"),)  # type: ignore[index]

Typed = events.Key | events.Paste


class Early(App[Any]):
    """An app that keeps typed events until `take_early`."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[Typed] | None = []

    def get_driver_class(self) -> type[Driver]:
        """Ours, unless the environment names another (TEXTUAL_DRIVER)."""
        if constants.DRIVER is not None:
            return super().get_driver_class()
        from thetis_tui.driver import TerminalDriver

        return TerminalDriver

    async def on_event(self, event: events.Event) -> None:
        """Keep what is typed too early; all else goes its way."""
        if self._kept is not None and isinstance(event, events.Key | events.Paste):
            self._kept.append(event)
            return
        if isinstance(event, events.Key) and not event.is_forwarded:
            there = self.focused
            if there is not None and getattr(there, "takes_every_key", False):
                there._forward_event(event)  # before the keys of the app: a program in a terminal has its own ctrl+c
                return
        await super().on_event(event)

    @on(Driver.SignalResume)
    def _back_after_a_stop(self) -> None:
        """The terminal's other screen was given back: what is drawn on it now is nothing."""
        self.refresh(layout=True)

    def take_early(self) -> None:
        """The prompt stands: deliver what was kept, in order, and keep nothing any more."""
        kept, self._kept = self._kept or [], None
        for event in kept:
            typed_enter = isinstance(event, events.Key) and event.key == "ctrl+j"
            self.post_message(events.Key("enter", "\r") if typed_enter else event)
