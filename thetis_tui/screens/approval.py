"""The form on which a person consents: exactly what will happen, and how far the consent goes.

It comes from below, so that the transcript stays in view, and takes no answer from a key already on its way (see `dialog`).
What has not been seen to its end can be allowed once, never for longer.
"""

from __future__ import annotations

import re
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static
from thetis_kernel.protocol.approvals import Part, hidden
from thetis_kernel.protocol.events import Approval

from thetis_tui.difflines import diff_lines
from thetis_tui.diffs import parse
from thetis_tui.lines import Line, folded
from thetis_tui.sanitise import one_line, visible
from thetis_tui.screens.dialog import Dialog, Option
from thetis_tui.widgets.frames import titled
from thetis_tui.widgets.lineblock import LineBlock

LATER = ""
_QUESTIONS = {
    "write": "Change a file?", "exec": "Run a command?", "http": "Reach the network?", "devkit": "Change a part of Thetis?",
    "branch": "Do this to the branch?", "config": "Change a setting?", "ssh": "Reach another machine?",
}  # fmt: skip
_SHOWN_PARTS = 6
_RAGGED = 12
"""Cells a wrapped line may leave empty at its end."""
_PERHAPS = re.compile(r"[^\n\t -~]")


def stark(text: str) -> str:
    """`text` with everything visible that a reader could miss: joiners, odd blanks and all `visible` shows too."""
    return _PERHAPS.sub(lambda m: m[0] if not hidden(m[0]) else f"\u27e8U+{ord(m[0]):04X}\u27e9", visible(text))


class Exactly(LineBlock):
    """What will happen, whole: a patch in its colours, anything else as it stands."""

    def __init__(self, request: Approval) -> None:
        super().__init__()
        self._detail = stark(request.detail or request.what)
        self._patch = request.capability in ("write", "devkit") and self._detail.startswith("@@ ")
        self._cut = request.cut

    def build(self, width: int) -> list[Line]:
        """The lines for `width` cells; nothing is left out, long lines are folded."""
        if self._patch:
            lines = diff_lines(parse(self._detail), width, files=False)
        else:
            lines = [line for text in self._detail.expandtabs(4).split("\n") for line in folded(Content(text), width)]
        if self._cut:
            lines += folded(Content.styled(f"⋯ {self._cut} more characters are not shown here", "$text-warning"), width)
        return lines


class ApprovalSheet(Dialog[str]):
    """One request. Answers with a decision of its offers, or LATER."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown,space", "read(1)", "Read on", show=False),
        Binding("pageup", "read(-1)", "Read back", show=False),
    ]
    DEFAULT_CSS = """
    ApprovalSheet { align: center bottom; background: $background 35%; }
    ApprovalSheet > Vertical {
        width: 100%; max-width: 132; padding: 0 1; margin: 0 1 1 1; border: round $warning; border-title-color: $text-warning;
        border-subtitle-color: $text-disabled; border-subtitle-align: right;
    }
    ApprovalSheet .what { height: auto; max-height: 3; padding: 0 1; text-style: bold; margin-top: 1; }
    ApprovalSheet VerticalScroll { height: auto; max-height: 14; margin: 1 1 1 1; padding: 0 1; background: $surface; }
    ApprovalSheet .parts { height: auto; padding: 0 1; margin-bottom: 1; color: $text-muted; }
    ApprovalSheet .warning { height: auto; padding: 0 1; margin-bottom: 1; color: $text-warning; }
    ApprovalSheet .answer { height: auto; max-height: 3; }
    ApprovalSheet .answer.-barred { color: $text-disabled; }
    ApprovalSheet.-high .what { margin-top: 0; }
    ApprovalSheet.-high VerticalScroll { max-height: 7; margin: 0 1; }
    ApprovalSheet.-high .parts { margin-bottom: 0; }
    ApprovalSheet.-short > Vertical { margin: 0; }
    ApprovalSheet.-short .what { margin: 0; }
    ApprovalSheet.-short .parts { display: none; }
    ApprovalSheet.-short VerticalScroll { margin: 0; height: 1fr; max-height: 100%; }
    """

    def __init__(self, request: Approval, more: int = 0) -> None:
        super().__init__(_QUESTIONS.get(request.capability, "Allow this?"), "", _options(request), LATER)
        self.request = request
        self._more = more

    def compose(self) -> ComposeResult:
        more = f"{self._more} more waiting · " if self._more else ""
        with titled(Vertical(), self._heading, f"{more}esc decides later"):
            what = one_line(stark(self.request.what))
            where = one_line(stark(self.request.where))
            yield Static(Content.assemble(what, (f"  {where}" if where else "", "$text-muted not bold")), classes="what")
            with VerticalScroll(can_focus=False):
                yield Exactly(self.request)
            if len(self.request.parts) > 1:
                yield Static(_parts(self.request.parts), classes="parts")
            if warning := _warning(self.request):
                yield Static(Content(warning), classes="warning")
            for index, option in enumerate(self._options):
                yield Static(_answer(option), classes="answer -marked" if index == 0 else "answer")

    def on_mount(self) -> None:
        for scroll in self.query(VerticalScroll):  # none when the program is going at this very moment
            self.watch(scroll, "scroll_y", self._seen, init=False)
            self.watch(scroll, "virtual_size", self._seen, init=False)
        self.call_after_refresh(self._seen)

    def _arm(self) -> None:
        super()._arm()
        self._seen()

    @property
    def read_whole(self) -> bool:
        """Whether the end of what will happen has been in view."""
        return self.has_class("-read")

    def _seen(self) -> None:
        answers = list(self.query(".answer"))
        if len(answers) != len(self._options):
            return  # not there yet, or going already
        scroll = self.query_one(VerticalScroll)
        if scroll.is_attached and scroll.size.height and scroll.scroll_y >= scroll.max_scroll_y:
            self.add_class("-read")
        for option, answer in zip(self._options, answers, strict=True):
            answer.set_class(not self._may(option), "-barred")
            if isinstance(answer, Static):
                answer.update(_answer(option, self._why_not(option)))

    def _may(self, option: Option[str]) -> bool:
        return not self._why_not(option)

    def _why_not(self, option: Option[str]) -> str:
        """Why an answer that lasts cannot be given now: all it covers must have been in view."""
        if option.value not in ("allow-session", "allow-rule"):
            return ""
        rows = 1 if self.has_class("-short") else 3
        width = max((answer.size.width for answer in self.query(".answer")), default=0)
        if Content(option.label).cell_length + 6 > rows * width - (rows - 1) * _RAGGED:
            return "  (too long to be shown)"
        return "" if self.read_whole else "  (read to the end first: page down)"

    def on_key(self, event: events.Key) -> None:
        if self.armed and any(event.character == option.key and not self._may(option) for option in self._options):
            event.stop()
            event.prevent_default()  # else the dialog's own handler takes the key

    def on_click(self, event: events.Click) -> None:
        answers = list(self.query(".answer"))
        if event.widget in answers and not self._may(self._options[answers.index(event.widget)]):
            event.prevent_default()

    def action_take(self) -> None:
        if self._may(self._options[self.marked]):
            super().action_take()

    def action_read(self, pages: int) -> None:
        scroll = self.query_one(VerticalScroll)
        scroll.scroll_to(y=scroll.scroll_y + pages * max(1, scroll.size.height - 1), animate=False)


def _options(request: Approval) -> list[Option[str]]:
    """The answers there are, most careful of the allowing ones first; esc is always "later"."""
    open_parts = [part for part in request.parts if not part.allowed]
    labels = {
        "allow-once": ("y", "Yes, this once"),
        "allow-session": ("c", f"Yes, in this conversation: {_patterns([part.session for part in open_parts])}"),
        "allow-rule": ("a", f"Always in this repository: {_patterns([part.rule for part in open_parts])}"),
        "deny": ("n", "No"),
    }
    return [Option(*labels[offer], offer) for offer in request.offers if offer in labels]


def _patterns(patterns: list[str]) -> str:
    named = ["any file of the checkout" if pattern == "**" else pattern for pattern in dict.fromkeys(patterns)]
    return one_line(stark(", ".join(named)))


def _answer(option: Option[str], why_not: str = "") -> Content:
    style = "$text-disabled" if why_not else "$text-accent bold"
    label = f"{option.label[:60]}…" if why_not and len(option.label) > 60 else option.label
    return Content.assemble((f" {option.key} ", style), f" {label}{why_not}")


def _parts(parts: list[Part]) -> Content:
    """One line a part of a compound command: what is allowed already, what is new."""
    lines = []
    for part in parts[:_SHOWN_PARTS]:
        mark, style = ("✓", "$text-success") if part.allowed else ("•", "$text-warning")
        known = "  allowed before" if part.allowed else ""
        lines.append(Content.assemble((f"{mark} ", style), one_line(stark(part.text)), (known, "$text-disabled")))
    if len(parts) > _SHOWN_PARTS:
        lines.append(Content(f"  and {len(parts) - _SHOWN_PARTS} more parts"))
    return Content("\n").join(lines)


def _warning(request: Approval) -> str:
    """Why this can be allowed once only, where a person would expect more."""
    text = f"{request.what}{request.where}{request.detail}"
    if any(map(hidden, text)):
        return "It holds invisible or control characters, shown as ⟨U+…⟩ or as pictures. Once only."
    if request.cut:
        return "It is too long to be shown whole. Once only."
    if request.capability == "exec" and not request.parts:
        return "Not all parts of it are plainly understood, so it is asked about each time."
    return ""
