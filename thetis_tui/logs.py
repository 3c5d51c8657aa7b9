"""What the app does for the panes: reads the pages of the log that come into view, shows the event or the file somebody chose.

Must not know how the panes draw them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from textual import on, work
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.client import EventPage

from thetis_tui.early import Early
from thetis_tui.logfilter import PAGE as SCAN
from thetis_tui.logfilter import chosen
from thetis_tui.widgets.eventlog import PAGE, EventLines, EventPane
from thetis_tui.widgets.filespane import FileLines

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


_PAUSE = 0.15
"""Seconds after a key before a log is gone through."""


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

    @on(EventPane.Filtered)
    @work(exclusive=True, group="log-filter")
    async def _filter_log(self, event: EventPane.Filtered) -> None:
        """Go through the whole log in pages, newest first; another filter takes over at once."""
        app, pane = cast("ThetisApp", self), cast("ThetisApp", self).desk.pane
        session, last = app.state.current, pane.lines.last

        async def read(after: int, limit: int) -> EventPage:
            return await app.door.read(session, after, limit)

        pane.lines.choose(event.wanted)
        pane.scanned = 0 if event.wanted else last
        pane.count()
        if not event.wanted:
            return
        await asyncio.sleep(_PAUSE)
        try:
            async for hits in chosen(read, last, event.wanted):
                if app.state.current != session:
                    return
                pane.lines.found(hits)
                pane.scanned = min(last, pane.scanned + SCAN)
                pane.count()
                await asyncio.sleep(0)  # keys come first
        except ThetisError as error:
            app.fail(error)
        pane.scanned = last
        pane.count()

    @on(EventPane.Left)
    def _left_log(self) -> None:
        cast("ThetisApp", self).desk.to_prompt()

    @on(FileLines.Taken)
    def _file_taken(self, event: FileLines.Taken) -> None:
        cast("ThetisApp", self).perform("open-file" if event.edit else "diff", event.path)

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
