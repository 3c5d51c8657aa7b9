"""What the person says: a command, a message, or a word to go on; and where it stands until it is durable.

Owns the outbox. Must not know how the prompt or the transcript draw it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.client import Submitted

from thetis_tui.commands import BY_ID
from thetis_tui.commands.slash import parse
from thetis_tui.outbox import Outbox, Place, Words

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Speech:
    """Takes what Enter was pressed on."""

    def __init__(self, app: ThetisApp) -> None:
        self._app = app
        self.outbox = Outbox(self._create, self._submit, self._sent, self._unsent)

    def say(self, text: str, completion: str = "") -> None:
        """`text` was entered, with `completion` marked if there was one."""
        app, text = self._app, text.strip()
        if not text:
            if BY_ID["resume"].applies(app):
                app.perform("resume")
            return
        asked = parse(text) or (parse(completion) if completion.startswith(text) else None)
        if asked is not None:
            command, argument = asked
            if command.applies(app):
                app.perform(command.id, argument)
            else:
                app.say(f"/{command.slash} makes no sense here now.", level="warn")
        elif text.startswith("/") and text[1:].isalpha():
            app.say(f"There is no command {text}.", hint="/help lists them.", level="warn")
            app.desk.give_back(text)
        else:
            self._send(text)

    def holds(self) -> bool:
        """Whether words of the open conversation have not begun to leave."""
        return bool(self.outbox.held(self._app.desk.view.place))

    def recall(self) -> None:
        """Take words back that have not begun to leave; they stand in the prompt again."""
        view = self._app.desk.view
        words = self.outbox.recall(view.place)
        for one in words:
            view.unsay(one.event_id)
        prompt = self._app.desk.prompt
        prompt.put("\n".join([*(one.text for one in words), *([prompt.text] if prompt.text else [])]))

    def _send(self, text: str) -> None:
        state, view = self._app.state, self._app.desk.view
        include = state.with_changes and state.may_include_changes()
        words = self.outbox.send(view.place, text, with_changes=include)
        view.say(words.event_id, text, nudge=state.turn is not None, waiting=state.link != "ready")
        state.history.add(text)
        state.with_changes = False
        self._app.refresh_views()

    async def _create(self, place: Place) -> None:
        app = self._app
        conversation = await app.ask(app.client.create(origin="tui", mode=app.state.new_mode))
        app.state.put(conversation)
        place.session = conversation.id
        view = app.desk.view_of(place)
        if view is not None:
            await view.open(app.door, 0)
        app.desk.created(place)

    async def _submit(self, words: Words) -> Submitted:
        app, session = self._app, words.place.session
        view = app.desk.view_of(words.place)
        if view is not None:
            view.sending(words.event_id)
        submit = app.client.submit(session, words.text, event_id=words.event_id, with_changes=words.with_changes)
        return await app.ask(submit)

    def _sent(self, words: Words, submitted: Submitted) -> None:
        self._app.refresh_soon()

    def _unsent(self, words: Words, error: ThetisError) -> None:
        """The words come back into the prompt, or its draft, rather than being lost."""
        app, session = self._app, words.place.session
        view = app.desk.view_of(words.place)
        if view is not None:
            view.unsay(words.event_id)
        if view is not app.desk.view or not app.desk.give_back(words.text):
            before = app.state.drafts.of(session)
            app.state.drafts.keep(session, f"{words.text}\n{before}".strip())
        app.fail(error)
        app.refresh_views()
