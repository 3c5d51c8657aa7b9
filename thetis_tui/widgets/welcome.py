"""What stands where a conversation will be: who this is, what it works on, and what to type first.

Must not know the gateway: it is given facts, and says what was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

REHEARSAL = ("what is in this repository?", "search TODO", "give me the tour")
EXAMPLES = (
    "What does this repository do, and how is it laid out?",
    "Find the slowest test and tell me why it is slow.",
    "Review what changed last and look for mistakes.",
)
WORDMARK = """\
╺┳╸╻ ╻┏━╸╺┳╸╻┏━┓
 ┃ ┣━┫┣╸  ┃ ┃┗━┓
 ╹ ╹ ╹┗━╸ ╹ ╹┗━┛"""
"""The name where there is room for it."""
GUIDE = (
    "Everything works but the thinking: it is played, offline. To connect a model, leave (ctrl+q), export ANTHROPIC_API_KEY=… "
    "and start again; docs/models.md says how to use others."
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the page says, as safe one-line texts; `recent` are (session, title, age)."""

    root: str = ""
    trunk: str = ""
    model: str = ""
    notice: str = ""
    connecting: bool = True
    recent: tuple[tuple[str, str, str], ...] = ()

    @property
    def examples(self) -> tuple[str, ...]:
        return REHEARSAL if self.notice else EXAMPLES


class Choice(Static, can_focus=True):
    """A line that can be clicked, or chosen with Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Choose", show=False)]
    DEFAULT_CSS = """
    Choice { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    Choice:hover { background: $surface; }
    Choice:focus { background: $block-cursor-background; }
    """

    class Chosen(Message):
        """`text` is to stand in the prompt, or `session` is to be opened."""

        def __init__(self, text: str, session: str) -> None:
            super().__init__()
            self.text = text
            self.session = session

    def __init__(self, content: Content, *, text: str = "", session: str = "") -> None:
        super().__init__(content, markup=False)
        self.text = text
        self.session = session

    def on_click(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        self.post_message(self.Chosen(self.text, self.session))


class Welcome(VerticalScroll, can_focus=False):
    """The page. Drawn at once from empty facts; filled in when the gateway has answered."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; align: center middle; padding: 0 2; }
    Welcome > Vertical { width: 100%; max-width: 74; height: auto; }
    Welcome .name { color: $text-accent; text-style: bold; padding: 0 1; }
    Welcome .wordmark { color: $accent; padding: 0 1; height: 3; margin-bottom: 1; display: none; }
    .-tall.-normal Welcome .wordmark, .-tall.-wide Welcome .wordmark { display: block; }
    .-tall.-normal Welcome .name, .-tall.-wide Welcome .name { display: none; }
    Welcome .where { color: $text-muted; padding: 0 1; }
    Welcome .notice { color: $text-warning; padding: 0 1; margin-top: 1; }
    Welcome .guide { color: $text-muted; padding: 0 1; }
    Welcome .label { color: $text-muted; padding: 0 1; margin-top: 1; }
    Welcome .keys { color: $text-disabled; padding: 0 1; margin-top: 1; }
    """

    facts: reactive[Facts] = reactive(Facts(), recompose=True)

    def compose(self) -> ComposeResult:
        facts = self.facts
        with Vertical():
            yield Static(Content(WORDMARK), classes="wordmark", markup=False)
            yield Static(Content("Thetis"), classes="name", markup=False)
            where = " · ".join(part for part in (facts.root, facts.trunk) if part)
            yield Static(Content(where or "starting…"), classes="where", markup=False)
            if facts.notice:
                yield Static(Content(facts.notice), classes="notice", markup=False)
                yield Static(Content(GUIDE), classes="guide", markup=False)
            if not facts.connecting:
                yield Static(Content("Try"), classes="label", markup=False)
            for text in facts.examples if not facts.connecting else ():
                yield Choice(Content.assemble(("› ", "$text-accent"), text), text=text)
            if facts.recent:
                yield Static(Content("Go on with"), classes="label", markup=False)
            for session, title, age in facts.recent:
                line = Content.assemble(("○ ", "$text-disabled"), title, (f"  {age}", "$text-disabled"))
                yield Choice(line, session=session)
            keys = "enter sends · tab takes an example · ctrl+p for everything else"
            yield Static(Content(keys), classes="keys", markup=False)
