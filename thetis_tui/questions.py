"""What agents ask, on its way to the person: which questions are open, when the form comes up, and where the answer goes.

Like requests for consent, the form waits until nobody types and comes up for the conversation being looked at. Must not know how
the form looks.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.asking import Given

from thetis_tui.asking import QUIET

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Questions:
    """At most one form at a time. `later`: questions a person put off; they come up again when asked for."""

    def __init__(self, app: ThetisApp) -> None:
        self._app = app
        self._open: dict[str, dict[str, e.Question]] = {}
        self._showing = False
        self._planned = False
        self.later: set[str] = set()

    def heard(self, event: e.Event) -> None:
        """An event was stored."""
        if event.kind not in ("question", "answer", "user"):
            return
        held, body = self._open.setdefault(event.session, {}), event.body
        if isinstance(body, e.Question):
            held[body.id] = body
        elif isinstance(body, e.Answer):
            held.pop(body.id, None)
        else:
            held.clear()  # the person said something else instead
        self.look()

    async def fetch(self, session: str) -> None:
        """Learn what is open in a conversation that is being opened."""
        asked = await self._app.ask(self._app.client.questions(session))
        self._open[session] = {one.id: one for one in asked}
        self.look()

    def here(self) -> list[e.Question]:
        """What is open in the conversation being looked at, oldest first."""
        return list(self._open.get(self._app.state.current, {}).values())

    def bring_up(self) -> None:
        """The person wants to answer."""
        self.later.clear()
        if self.here():
            self.look(at_once=True)
        else:
            self._app.say("Nothing is asked here.")

    def look(self, *, at_once: bool = False) -> None:
        """Bring up the form if something is asked here and nothing is in its way; otherwise see again shortly."""
        app = self._app
        if (self._planned and not at_once) or self._showing or not self._next():
            return
        quiet = QUIET if at_once else time.monotonic() - app.desk.prompt.typed_at
        if quiet >= QUIET and app.screen is app.desk and not app.desk.prompt.text.strip():
            app.run_worker(self._show(), group="questions", exit_on_error=True)
        else:
            self._planned = True
            app.set_timer(max(0.2, QUIET - quiet), self._again)

    def _again(self) -> None:
        self._planned = False
        self.look()

    def _next(self) -> e.Question | None:
        return next((question for question in self.here() if question.id not in self.later), None)

    async def _show(self) -> None:
        app, question = self._app, self._next()
        if question is None or self._showing:
            return
        session = app.state.current
        self._showing = True
        try:
            given = await self._filled_in(question)
        finally:
            self._showing = False
        if given is None:
            self.later.add(question.id)
            app.say("The question stays open.", hint="/answer brings it back; what you say instead ends it.")
        else:
            try:
                await app.ask(app.client.answer_question(session, question.id, given))
            except ThetisError as error:
                app.fail(error)
                await self.fetch(session)
        app.refresh_views()
        self.look()

    async def _filled_in(self, question: e.Question) -> list[Given] | None:
        """An answer to each part; None when the person does not answer now."""
        from thetis_tui.screens.ask import AskScreen
        from thetis_tui.screens.question import QuestionSheet

        answers: list[Given] = []
        while len(answers) < len(question.questions):
            part = question.questions[len(answers)]
            sheet = QuestionSheet(part, len(answers) + 1, len(question.questions), question.intro)
            given, wants_words = await self._app.push_screen_wait(sheet) or (None, False)
            if given is None:
                return None
            if wants_words:
                words = await self._app.push_screen_wait(AskScreen("Your answer", ""))
                if not words:
                    continue  # back to the same part
                given = Given(given.id, chose=given.chose, wrote=words)
            answers.append(given)
        return answers
