"""The command about the terminals of the open conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_tui.commands.base import Command

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Terminals(Command):
    id = "terminals"
    title = "Terminals"
    help = (
        "Show or hide the conversation's terminals, live: enter types into one, ctrl+] leaves it, n or `/terminal new` opens one "
        "of your own in its files, which the agent neither sees nor uses."
    )
    keys = "alt+t"
    slash = "terminal"
    argument = "[new]"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.widgets.terminalspane import TerminalsPane

        if argument == "new":
            await app.desk.dock("terminals")
        elif not await app.desk.toggle("terminals"):
            return
        app.desk.enter_pane()
        pane = app.desk.pane_of("terminals")
        if argument == "new" and isinstance(pane, TerminalsPane):
            pane.open_one()
