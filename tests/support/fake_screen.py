"""Runs the screen on a fake gateway inside a test: `async with screen(gateway) as s`, then wait on conditions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual import events
from textual.message import Message
from textual.pilot import Pilot

from tests.support.fake_gateway import FakeGateway
from thetis_tui.app import ThetisApp
from thetis_tui.door import Connect
from thetis_tui.screens.main import Desk
from thetis_tui.widgets.conversation import ConversationView
from thetis_tui.widgets.lineblock import LineBlock

DEADLINE = 20.0
"""Seconds after which a condition counts as never true: far beyond what a loaded machine needs."""


class Shown:
    """The running screen: `app`, `desk`, `pilot`, every message any widget got (`messages`)."""

    def __init__(self, app: ThetisApp, pilot: Pilot[int], gateway: FakeGateway, messages: list[Message]) -> None:
        self.app = app
        self.pilot = pilot
        self.gateway = gateway
        self.messages = messages

    @property
    def desk(self) -> Desk:
        return self.app.desk

    @property
    def view(self) -> ConversationView:
        return self.desk.view

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait until `condition` is true. Fails after the deadline, saying `what` and the screen's text."""
        end = asyncio.get_running_loop().time() + DEADLINE
        while not condition():
            if asyncio.get_running_loop().time() > end:
                raise AssertionError(f"never: {what or condition}\n{self.text()}")
            await asyncio.sleep(0.015)

    async def ready(self) -> None:
        """Wait until the gateway is connected and everything is drawn."""
        await self.until(lambda: self.app.state.link == "ready", "connected")
        await self.calm()

    async def calm(self) -> None:
        """Wait until what has been told is shown: nothing pending in the window or the outbox."""
        await self.until(lambda: not self.app.speech.outbox.waiting or self.gateway.gates, "sent")
        await self.until(lambda: self.view.window.at_end or not self.view.transcript.following, "mounted")
        for _ in range(3):
            await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Type `text` as keys, newlines as Shift+Enter."""
        names = {" ": "space", "\n": "shift+enter", "/": "slash", "?": "question_mark", ".": "full_stop"}
        await self.pilot.press(*(names.get(letter, letter) for letter in text))

    async def send(self, text: str) -> None:
        """Put `text` into the prompt and press Enter."""
        self.desk.prompt.put(text)
        await self.pilot.press("enter")

    def keys(self, *keys: tuple[str, str]) -> None:
        """Keys as they arrive in one read of the terminal: (key, character), nothing waits in between."""
        for key, character in keys:
            self.app.post_message(events.Key(key, character))

    def got(self, kind: type[Message]) -> list[Message]:
        """The messages of one kind, each once."""
        return list({id(m): m for m in self.messages if isinstance(m, kind)}.values())

    def text(self) -> str:
        """The screen as plain text, a line a row."""
        _, height = self.app.size
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips[:height])

    def transcript(self) -> str:
        """The text of all mounted rows, in order, whether in view or not."""
        rows = [row for row in self.view.transcript.children if isinstance(row, LineBlock)]
        width = self.view.transcript.size.width or 80
        return "\n".join(line.content.plain for row in rows for line in row.lines_at(row.size.width or width))

    def toasts(self) -> list[str]:
        """Passing notes, as text."""
        return [notification.message for notification in self.app._notifications]


@asynccontextmanager
async def screen(
    gateway: FakeGateway,
    *,
    size: tuple[int, int] = (100, 30),
    connect: Connect | None = None,
    conversation: str = "",
    wait: bool = True,
) -> AsyncIterator[Shown]:
    """The app on `gateway`, without a terminal."""
    app = ThetisApp(connect or gateway.connect, conversation=conversation)
    messages: list[Message] = []
    async with app.run_test(size=size, message_hook=messages.append, notifications=True) as pilot:
        shown = Shown(app, pilot, gateway, messages)
        if wait:
            await shown.ready()
        yield shown
        gateway.gates.clear()
