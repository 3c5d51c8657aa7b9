"""Requests for consent on their way to the person: which are open, when the form comes up, and where its answer goes.

The form waits until nobody types, comes up for the conversation being looked at, and goes away when somebody else answered.
Must not know how the form looks.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import events as e

if TYPE_CHECKING:
    from thetis_kernel.protocol.approvals import Decision

    from thetis_tui.app import ThetisApp
    from thetis_tui.screens.approval import ApprovalSheet

QUIET = 0.8
"""Seconds without a key in the prompt before the form may come up: nobody's sentence is cut in two."""


class Asking:
    """At most one form at a time. `later`: requests a person put off; they come up again when asked for."""

    def __init__(self, app: ThetisApp) -> None:
        self._app = app
        self._sheet: ApprovalSheet | None = None
        self._planned = False
        self.later: set[str] = set()

    def heard(self, event: e.Event) -> None:
        """An event was stored; the state has it already."""
        if event.kind != "approval":
            return
        body = event.body
        if isinstance(body, e.Approval) and body.decision and self._sheet is not None and self._sheet.request.id == body.id:
            self._sheet.dismiss("")
        self.look()

    async def fetch(self, session: str) -> None:
        """Learn what is open in a conversation that is being opened."""
        app = self._app
        app.state.requests[session] = {one.id: one for one in await app.ask(app.client.approvals(session))}
        self.look()

    def look(self, *, at_once: bool = False) -> None:
        """Bring up the form if something is open here and nothing is in its way; otherwise see again shortly."""
        app = self._app
        if (self._planned and not at_once) or self._sheet is not None or not self._next():
            return
        quiet = QUIET if at_once else time.monotonic() - app.desk.prompt.typed_at
        if quiet >= QUIET and app.screen is app.desk:
            app.run_worker(self._show(), group="asking", exit_on_error=True)
        else:
            self._planned = True
            app.set_timer(max(0.1, QUIET - quiet), self._again)

    def _again(self) -> None:
        self._planned = False
        self.look()

    def _open(self) -> list[e.Approval]:
        return list(self._app.state.requests.get(self._app.state.current, {}).values())

    def _next(self) -> e.Approval | None:
        return next((request for request in self._open() if request.id not in self.later), None)

    def bring_up(self) -> None:
        """The person wants to see what is open."""
        self.later.clear()
        if self._open():
            self.look(at_once=True)
        else:
            self._app.say("Nothing waits for your consent here.")

    async def _show(self) -> None:
        from thetis_tui.screens.approval import ApprovalSheet

        app, request = self._app, self._next()
        if request is None or self._sheet is not None:
            return
        session = app.state.current
        self._sheet = ApprovalSheet(request, len(self._open()) - 1)
        decision = ""
        try:
            decision = await app.push_screen_wait(self._sheet)
        finally:
            self._sheet = None
        if not decision:
            self.later.add(request.id)
        else:
            try:
                await app.ask(app.client.decide(request, session, cast("Decision", decision)))
            except ThetisError as error:
                app.fail(error)
                await self.fetch(session)
        app.refresh_views()
        self.look()
