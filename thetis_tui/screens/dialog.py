"""Questions over the desk, safe from keys already on their way.

A dialog takes no answer until nothing was pressed for a moment: someone typing when it opens answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from thetis_tui.sanitise import visible
from thetis_tui.text import cut
from thetis_tui.widgets.frames import titled

R = TypeVar("R")
Back = Literal["both", "talk", "files", "fork", ""]
GUARD = 0.5
"""Seconds without a key before a dialog takes an answer: longer than the gap between two keys of someone typing."""


@dataclass(frozen=True, slots=True)
class Option(Generic[R]):
    """One answer: the key that picks it, its words, its value."""

    key: str
    label: str
    value: R


class Dialog(ModalScreen[R], Generic[R]):
    """A question with a few answers. Esc answers `otherwise`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "otherwise", "Not now", show=False),
        Binding("up,shift+tab", "move(-1)", "Up", show=False),
        Binding("down,tab", "move(1)", "Down", show=False),
        Binding("enter", "take", "Choose", show=False),
    ]
    DEFAULT_CSS = """
    Dialog { align: center middle; background: $background 70%; }
    Dialog > Vertical {
        width: 68; max-width: 100%; height: auto; max-height: 100%; padding: 1 2; background: $background;
        border: round $border; border-title-color: $text-accent;
    }
    Dialog VerticalScroll { height: auto; max-height: 12; scrollbar-size-vertical: 1; }
    Dialog .words { margin-bottom: 1; }
    Dialog .answer { height: auto; padding: 0 1; color: $text-muted; }
    Dialog.-armed .answer { color: $text; }
    Dialog .answer.-marked { background: $block-cursor-background; }
    Dialog .note { margin-top: 1; color: $text-muted; }
    Dialog.-short > Vertical { padding: 0; border: none; height: 100%; width: 100%; }
    Dialog.-short VerticalScroll { height: 1fr; max-height: 100%; }
    Dialog.-short .words { margin-bottom: 0; }
    Dialog.-short .answer { height: 1; text-wrap: nowrap; text-overflow: ellipsis; padding: 0; }
    Dialog.-short .note { display: none; }
    """
    AUTO_FOCUS = ""

    marked: reactive[int] = reactive(0, init=False)

    def __init__(
        self, title: str, words: str, options: list[Option[R]], otherwise: R, *, note: str = ""
    ) -> None:
        super().__init__()
        self._heading = title
        self._words = visible(words)
        self._options = options
        self._otherwise = otherwise
        self._note = note
        self._timer: Timer | None = None
        self.armed = False

    def compose(self) -> ComposeResult:
        with titled(Vertical(), self._heading):
            with VerticalScroll(can_focus=False):
                yield Static(Content(self._words), classes="words", markup=False)
            for index, option in enumerate(self._options):
                text = Content.assemble((f" {option.key} ", "$text-accent bold"), f" {option.label}")
                yield Static(text, classes="answer -marked" if index == 0 else "answer", markup=False)
            if self._note:
                yield Static(Content(self._note), classes="note", markup=False)

    def on_mount(self) -> None:
        self._wait()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(GUARD, self._arm)

    def _arm(self) -> None:
        self.armed = True
        self.add_class("-armed")

    def on_key(self, event: events.Key) -> None:
        if not self.armed:
            event.stop()
            event.prevent_default()
            self._wait()
            return
        for option in self._options:
            if event.character == option.key:
                event.stop()
                self.dismiss(option.value)

    def on_click(self, event: events.Click) -> None:
        answers = list(self.query(".answer"))
        if self.armed and event.widget in answers:
            self.dismiss(self._options[answers.index(event.widget)].value)

    def watch_marked(self) -> None:
        for index, answer in enumerate(self.query(".answer")):
            answer.set_class(index == self.marked, "-marked")

    def action_move(self, step: int) -> None:
        self.marked = (self.marked + step) % len(self._options)

    def action_take(self) -> None:
        self.dismiss(self._options[self.marked].value)

    def action_otherwise(self) -> None:
        self.dismiss(self._otherwise)


def walls_dialog(hint: str) -> Dialog[str]:
    """Whether commands may run unwalled in this root: allow, deny, or "" (decide later, stop the turn)."""
    words = (
        "The agent wants to run a command, and nothing on this machine can confine it: it could read and change "
        "whatever you can."
    )
    if hint:
        words += f"\n\nTo have walls:\n  {hint}"
    return Dialog(
        "Run commands without walls?",
        words,
        [
            Option("n", "No, run no commands in this repository", "deny"),
            Option("y", "Yes, run them without walls in this repository", "allow"),
        ],
        "",
        note="esc stops the turn and leaves the question open.",
    )


def rewind_dialog(words: str) -> Dialog[Back]:
    """What goes back to before `words`: both, talk, files, fork, or "" (nothing)."""
    return Dialog[Back](
        "Go back to right before",
        cut(" ".join(words.split()), 400),
        [
            Option("b", "The conversation and its files", "both"),
            Option("c", "The conversation alone; files stay as they are", "talk"),
            Option("f", "The files alone; the conversation goes on", "files"),
            Option("k", "Nothing here: fork a conversation from there", "fork"),
        ],
        "",
        note="Nothing is lost: the log keeps everything, and /undo takes it back.",
    )


def delete_dialog(title: str, words: str) -> Dialog[bool]:
    """Whether to delete a conversation; `words` say what would be lost."""
    return Dialog(
        f"Delete {title}?",
        words,
        [Option("k", "Keep it", False), Option("x", "Delete it for good", True)],
        False,
        note="Archiving takes it out of the list and keeps all of it.",
    )


def merge_dialog(target: str, words: str) -> Dialog[bool]:
    """Whether to merge a conversation; `words` say what would happen."""
    return Dialog(
        f"Merge into {target}?",
        words,
        [Option("n", "Not now", False), Option("m", f"Merge into {target}", True)],
        False,
        note="The conversation's own commits are kept below refs/thetis.",
    )


def prune_dialog(number: int, size: str) -> Dialog[str]:
    """Whether to remove worktrees nobody needs: remove, or ""."""
    them = "the worktree" if number == 1 else f"{number} worktrees"
    return Dialog(
        f"Remove {them}?",
        f"{size} of files that are all committed. Their branches and conversations stay, and one that goes on gets its worktree "
        "again.",
        [Option("n", "Not now", ""), Option("r", "Remove", "remove")],
        "",
    )


def conflict_dialog(target: str, files: str) -> Dialog[bool]:
    """Whether the conversation shall settle what conflicts with its trunk."""
    return Dialog(
        f"This conversation and {target} changed the same lines",
        f"{files}\n\nNothing was merged, and your checkout is as it was. The conversation can settle it on its own branch: it "
        f"brings {target} in, resolves each file, and you merge when you have looked at it.",
        [Option("n", "Not now", False), Option("r", "Have the conversation resolve it", True)],
        False,
    )


def leave_dialog(titles: list[str]) -> Dialog[str]:
    """Whether to go, and what becomes of the running turns: stop, detach (they run on), or "" (keep looking)."""
    shown = "\n".join(f"  {title}" for title in titles[:5])
    more = f"\n  and {len(titles) - 5} more" if len(titles) > 5 else ""
    one = len(titles) == 1
    return Dialog(
        "Still running" if one else f"{len(titles)} turns are running",
        f"{shown}{more}\n\nStopped, what was done so far is kept, and the next message takes it up from there. Running on, the "
        "next `thetis` shows how it went.",
        [
            Option("k", "Keep looking", ""),
            Option("d", "Let it run on and quit" if one else "Let them run on and quit", "detach"),
            Option("s", "Stop it and quit" if one else "Stop them all and quit", "stop"),
        ],
        "",
    )
