"""What the desk does about its prompt: completions, history, the queue's keys, drafts.

Must not know what commands do or how the transcript is filled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on, work
from textual.screen import Screen

from thetis_tui import files
from thetis_tui.attachments import mention
from thetis_tui.commands.slash import completions
from thetis_tui.widgets.composer import Completions
from thetis_tui.widgets.prompt import Prompt
from thetis_tui.widgets.queue import QueueStrip

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


class Prompting(Screen[None]):
    """The part of the desk that hears its prompt. `prompt` and `completing` are the desk's."""

    prompt: Prompt
    completing: Completions

    def __init__(self) -> None:
        super().__init__()
        self._walked = ""
        self._files = files.Files()

    @property
    def thetis(self) -> ThetisApp:
        return cast("ThetisApp", self.app)

    # --- drafts

    def take_draft(self, session: str) -> None:
        """Put what was left unsent in a conversation into the prompt."""
        draft = self.thetis.state.drafts.of(session)
        self.prompt.load_text(self.prompt.chips.again(draft))
        self.prompt.move_cursor(self.prompt.document.end)

    def draft(self) -> str:
        """What stands in the prompt, large texts and all; after the app's end, too."""
        return self.prompt.chips.whole(self.prompt.text)

    # --- completions

    @on(Prompt.Changed)
    def _typed(self) -> None:
        app, text = self.thetis, self.prompt.text
        if not text and app.state.queues.let_go(app.state.current):
            app.refresh_soon()
        if text and app.state.history.walking and self.prompt.has_focus and text != self._walked:
            app.state.history.edited()
        app.keep_soon()
        query = files.asked(self._before())
        if query is None:
            self._offer(completions(text, app))
            self.workers.cancel_group(self, "files")
        else:
            self._complete_file(query)

    def _before(self) -> str:
        """The line up to the cursor."""
        row, column = self.prompt.cursor_location
        return self.prompt.document.get_line(row)[:column]

    def _offer(self, items: list[tuple[str, str]]) -> None:
        self.completing.show(items)
        self.prompt.completion = self.completing.chosen

    @work(exclusive=True, group="files")
    async def _complete_file(self, query: str) -> None:
        state = self.thetis.state
        root = getattr(state.conversation, "worktree", "") or (state.status.root if state.status else "")
        found = await files.search(self._files, root, query)
        if files.asked(self._before()) == query:
            self._offer([(mention(name), "") for name in found])

    @on(Prompt.Completed)
    def _complete(self, event: Prompt.Completed) -> None:
        chosen = self.completing.chosen
        if event.how == "take" and chosen.startswith("@"):
            query = files.asked(self._before())
            row, column = self.prompt.cursor_location
            self.prompt.replace(f"{chosen} ", (row, column - len(query or "") - 1), (row, column))
        elif event.how == "take" and chosen:
            self.prompt.put(chosen + " ")
        elif event.how == "close":
            self._offer([])
        else:
            self.completing.move(1 if event.how == "next" else -1)
            self.prompt.completion = self.completing.chosen

    # --- history and queue

    @on(Prompt.Walked)
    def _walk(self, event: Prompt.Walked) -> None:
        history = self.thetis.state.history
        text = history.older(self.prompt.text) if event.step < 0 else history.newer()
        if text is not None:
            self.prompt.put(text)
            self._walked = self.prompt.text

    @on(Prompt.Later)
    def _later(self, event: Prompt.Later) -> None:
        self.thetis.speech.later(event.text)

    @on(QueueStrip.Chosen)
    def _change_queued(self, event: QueueStrip.Chosen) -> None:
        self.thetis.perform("recall", event.id)
