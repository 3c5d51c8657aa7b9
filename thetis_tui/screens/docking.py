"""What stands beside the transcript: one pane at a time, made when it is first wanted; where it is narrow, in its place.

Owns which pane is shown. Must not know what is in it: a pane is made by its entry in `PANES`, has the class `pane`, and is told
by `look` which conversation it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

from textual.widget import Widget
from thetis_kernel.protocol import events as e

from thetis_tui.screens.prompting import Prompting
from thetis_tui.widgets.eventlog import EventPane
from thetis_tui.widgets.filespane import FilesPane
from thetis_tui.widgets.terminalspane import TerminalsPane

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Pane(Protocol):
    """What a pane has besides being a widget."""

    def look(self, app: ThetisApp, session: str) -> None:
        """Show this conversation's; called when the pane appears, and again when another conversation is opened."""

    def heard(self, app: ThetisApp, event: e.Event) -> None:
        """An event of the conversation being looked at was stored."""

    def enter(self) -> None:
        """Take the focus."""


PANES: dict[str, Callable[[], Widget]] = {"log": EventPane, "files": FilesPane, "terminals": TerminalsPane}
"""Every pane by name."""


class Docking(Prompting):
    """The part of the desk that holds the panes."""

    def __init__(self) -> None:
        super().__init__()
        self.pane = EventPane()
        self.docked = ""
        """The name of the pane that is shown, "" for none."""
        self._panes: dict[str, Widget] = {"log": self.pane}

    def pane_of(self, name: str) -> Widget | None:
        """A pane that was wanted before."""
        return self._panes.get(name)

    async def dock(self, name: str) -> None:
        """Show the pane `name` and no other; "" shows none. The focus stays unless it was in a pane that goes."""
        before, self.docked = self.docked, name
        self.set_class(bool(name), "-docked")
        if name and name not in self._panes:
            self._panes[name] = PANES[name]()
        for known, pane in self._panes.items():
            if known == name and not pane.is_attached:
                pane.add_class("pane")
                await self.query_one("#body").mount(pane)
            if known == before and known != name and pane.has_focus_within:
                self.to_prompt()
            pane.set_class(known == name, "-shown")
        self.look()

    async def toggle(self, name: str) -> bool:
        """Show the pane, or hide it when it is shown. Answers whether it is shown now."""
        await self.dock("" if self.docked == name else name)
        return self.docked == name

    def look(self) -> None:
        """Another conversation is looked at, or another pane."""
        if self.docked:
            cast(Pane, self._panes[self.docked]).look(self.thetis, self.thetis.state.current)

    def pane_heard(self, event: e.Event) -> None:
        """An event was stored in the conversation being looked at."""
        if self.docked:
            cast(Pane, self._panes[self.docked]).heard(self.thetis, event)

    def enter_pane(self) -> None:
        """Put the cursor into the pane."""
        if self.docked:
            cast(Pane, self._panes[self.docked]).enter()

    def to_prompt(self) -> None:
        """Put the cursor where one types."""
        raise TypeError(f"{type(self).__name__} has no prompt")
