"""What the app does for the pane of the log: reads the pages that come into view, and the event somebody wants to see.

Must not know how the pane draws them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on, work
from thetis_kernel.errors import ThetisError

from thetis_tui.early import Early
from thetis_tui.widgets.eventlog import PAGE, EventLines

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Logs(Early):
    """Mixed into the app."""

    @on(EventLines.Wanted)
    @work(group="log")
    async def _log_page(self, event: EventLines.Wanted) -> None:
        app = cast("ThetisApp", self)
        session = app.state.current
        try:
            page = await app.door.read(session, event.after, PAGE)
        except ThetisError as error:
            app.fail(error)
        else:
            app.desk.log_page(session, event.after, page.events)

    @on(EventLines.Chosen)
    @work(group="log")
    async def _show_event(self, event: EventLines.Chosen) -> None:
        from thetis_tui.screens.event import EventScreen

        app = cast("ThetisApp", self)
        try:
            page = await app.door.read(app.state.current, event.seq - 1, 1)
        except ThetisError as error:
            app.fail(error)
        else:
            if page.events:
                app.push_screen(EventScreen(page.events[0]))
