"""The form on which a person answers what the agent asks: one part at a time, by a letter, several, or words of their own.

It comes from below, so that the transcript stays in view, and takes no answer from a key already on its way (see `dialog`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static
from thetis_kernel.protocol.asking import Given, options

from thetis_tui.sanitise import one_line, visible
from thetis_tui.screens.dialog import Dialog, Option
from thetis_tui.widgets.frames import titled

LETTERS = "abcdefghijklmnopqrstuv"
WRITE = "\n"
"""The value of "something else": no option can be it."""


class QuestionSheet(Dialog[tuple[Given, bool] | None]):
    """One part of a question. Answers None for later, else what was chosen and whether words are still to be written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Choose one of several", show=False),
        Binding("enter", "take", "Answer", show=False),
    ]
    DEFAULT_CSS = """
    QuestionSheet { align: center bottom; background: $background 35%; }
    QuestionSheet > Vertical {
        width: 100%; max-width: 132; padding: 0 1; margin: 0 1 1 1; border: round $accent; border-title-color: $text-accent;
        border-subtitle-color: $text-disabled; border-subtitle-align: right;
    }
    QuestionSheet .intro { height: auto; padding: 0 1; margin-top: 1; color: $text-muted; }
    QuestionSheet .what { height: auto; padding: 0 1; margin: 1 0; text-style: bold; }
    QuestionSheet VerticalScroll { height: auto; max-height: 14; }
    QuestionSheet.-high .what { margin: 0; }
    QuestionSheet.-high VerticalScroll { max-height: 8; }
    QuestionSheet.-short > Vertical { margin: 0; }
    QuestionSheet.-short .intro { display: none; }
    QuestionSheet.-short .what { margin: 0; }
    """

    def __init__(self, part: dict[str, Any], at: int, count: int, intro: str) -> None:
        labels = options(part)[: len(LETTERS)]
        self._labels = labels
        choices = [Option(letter, one_line(label), label) for letter, label in zip(LETTERS, labels, strict=False)]
        super().__init__("The agent asks", "", [], None)
        self._choices = [*choices, Option("w", "Write something else" if labels else "Write an answer", WRITE)]
        self._part = part
        self._place = f"{at} of {count} · " if count > 1 else ""
        self._intro = intro if at == 1 else ""
        self._several = part.get("allow_multiple") is True and bool(labels)
        self._chosen: list[str] = []

    def compose(self) -> ComposeResult:
        how = "space marks · enter answers · " if self._several else ""
        with titled(Vertical(), self._heading, f"{self._place}{how}esc answers later"):
            if self._intro:
                yield Static(Content(visible(self._intro)), classes="intro")
            yield Static(Content(visible(str(self._part.get("question", "")))), classes="what")
            with VerticalScroll(can_focus=False):
                for index in range(len(self._choices)):
                    yield Static(self._line(index), classes="answer -marked" if index == 0 else "answer")

    def _line(self, index: int) -> Content:
        option = self._choices[index]
        mark = "" if not self._several or option.value == WRITE else ("☑ " if option.value in self._chosen else "☐ ")
        return Content.assemble((f" {option.key} ", "$text-accent bold"), f" {mark}{option.label}")

    def on_key(self, event: events.Key) -> None:
        found = next((at for at, option in enumerate(self._choices) if event.character == option.key), -1)
        if self.armed and found >= 0:
            event.stop()
            event.prevent_default()
            self._pick(found)

    def on_click(self, event: events.Click) -> None:
        answers = list(self.query(".answer"))
        if self.armed and event.widget in answers:
            event.prevent_default()
            self._pick(answers.index(event.widget))

    def action_move(self, step: int) -> None:
        self.marked = (self.marked + step) % len(self._choices)
        list(self.query(".answer"))[self.marked].scroll_visible(animate=False)

    def action_mark(self) -> None:
        if self.armed and self._several:
            self._pick(self.marked)

    def action_take(self) -> None:
        if not self.armed:
            return
        if self._several and self._chosen and self._choices[self.marked].value != WRITE:
            self.dismiss((self._given(self._chosen), False))
        elif self._several and self._choices[self.marked].value != WRITE:
            self.dismiss((self._given([self._choices[self.marked].value]), False))
        else:
            self._pick(self.marked)

    def _pick(self, index: int) -> None:
        value = self._choices[index].value
        if value == WRITE:
            self.dismiss((self._given(self._chosen if self._several else []), True))
        elif not self._several:
            self.dismiss((self._given([value]), False))
        else:
            self._chosen = [one for one in self._chosen if one != value] if value in self._chosen else [*self._chosen, value]
            self.marked = index
            for at, answer in enumerate(self.query(".answer")):
                if isinstance(answer, Static):
                    answer.update(self._line(at))

    def _given(self, chosen: list[str]) -> Given:
        return Given(str(self._part.get("id", "")), chose=[label for label in self._labels if label in chosen])
