"""One event of the log in full."""

from __future__ import annotations

from textual.content import Content
from thetis_kernel.protocol.events import Event

from thetis_tui.codes import highlighted
from thetis_tui.lines import Line, folded
from thetis_tui.sanitise import one_line, visible
from thetis_tui.screens.reading import ReadingScreen
from thetis_tui.summary import clock, whole


class EventScreen(ReadingScreen):
    """An event over the desk."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self._event = event
        self.heading = f"{event.seq} · {event.kind}"

    def lines(self, width: int) -> list[Line]:
        event = self._event
        out: list[Line] = []
        for label, value in (("time", clock(event.ts_ms)), ("id", event.event_id), ("hash", event.hash)):
            if value:
                out += folded(Content.styled(f"{label:<5}", "$text-muted") + Content(one_line(value)), width)
        out.append(Line())
        for line in highlighted(visible(whole(event)), "json").split(allow_blank=True):
            out += folded(line, width)
        return out
