"""What the person says: a command, a message, or a word to go on; and where it stands until it is durable.

Owns the outbox. Must not know how the prompt or the transcript draw it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.client import Submitted

from thetis_tui.attachments import mentioned
from thetis_tui.commands import BY_ID
from thetis_tui.commands.slash import parse
from thetis_tui.outbox import Outbox, Place, Words
from thetis_tui.widgets.queue import Item

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
            offered = next((name for name in ("resume", "say") if BY_ID[name].applies(app)), "")
            if offered:
                app.perform(offered)
            return
        app.state.queues.let_go(app.state.current)
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

    # --- the queue

    def later(self, text: str) -> None:
        """Words for the queue: back into their place when they came out of it, else at its end."""
        app, text = self._app, text.strip()
        session = app.state.current
        identifier = app.state.queues.let_go(session)
        if text and identifier:
            app.run_worker(self._put_back(session, identifier, text), group="queue")
        elif text:
            self.outbox.send(app.desk.view.place, text, later=True)
            app.state.history.add(text)
        app.refresh_views()

    def queued(self) -> tuple[Item, ...]:
        """What waits in the open conversation, what is on its way there last."""
        state = self._app.state
        waiting = state.queues.of(state.current)
        known = {words.id for words in waiting}
        leaving = [words for words in self.outbox.later(self._app.desk.view.place) if words.event_id not in known]
        return (*(Item(words.id, words.text) for words in waiting), *(Item("", words.text) for words in leaving))

    async def recall_queued(self, identifier: str = "") -> None:
        """Take words (the last ones) out of the queue into the prompt."""
        app, session = self._app, self._app.state.current
        if self.holds():
            self.recall()
            return
        waiting = app.state.queues.of(session)
        if not waiting:
            return
        wanted = identifier or waiting[-1].id
        text = await app.ask(app.client.recall_queued(session, wanted))
        if app.state.current != session:
            app.state.drafts.keep(session, text)
            return
        app.desk.prompt.put("\n".join(filter(None, (text, app.desk.prompt.text))))
        app.state.queues.take(session, wanted)
        app.refresh_views()

    def learn_queue(self, session: str) -> None:
        """Ask what waits in a conversation."""
        self._app.run_worker(self._learn_queue(session), group="queue")

    async def _learn_queue(self, session: str) -> None:
        """Again when it changed meanwhile: an answer from before would hide the news."""
        queues = self._app.state.queues
        while True:
            before = queues.news
            try:
                words = await self._app.ask(self._app.client.queue(session))
            except ThetisError as error:
                self._app.fail(error)
                return
            if queues.news == before:
                break
        queues.put(session, words)
        self._app.refresh_soon()

    async def _put_back(self, session: str, identifier: str, text: str) -> None:
        app = self._app
        try:
            await app.ask(app.client.edit_queued(session, identifier, text))
        except ThetisError as error:
            if app.state.current != session or not app.desk.give_back(text):
                app.state.drafts.keep(session, f"{text}\n{app.state.drafts.of(session)}".strip())
            app.fail(error)

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
        conversation = await app.ask(app.client.create(origin="tui", mode=app.state.new_mode,
                                                         model=app.state.new_model))
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
        root = app.state.status.root if app.state.status else ""
        files = await asyncio.to_thread(mentioned, words.text, root)
        attached = [await app.ask(app.client.attach(file)) for file in files]
        submit = app.client.submit(session, words.text, event_id=words.event_id, with_changes=words.with_changes,
                                   attachments=attached, later=words.later)
        return await app.ask(submit)

    def _sent(self, words: Words, submitted: Submitted) -> None:
        self._app.refresh_soon()

    def _unsent(self, words: Words, error: ThetisError) -> None:
        """The words come back into the prompt, or its draft, rather than being lost."""
        app, session = self._app, words.place.session
        view = app.desk.view_of(words.place)
        if view is not None:
            view.unsay(words.event_id)
        if view is app.desk.view:
            app.desk.put_above(words.text)
        else:
            before = app.state.drafts.of(session)
            app.state.drafts.keep(session, f"{words.text}\n{before}".strip())
        app.fail(error)
        app.refresh_views()
