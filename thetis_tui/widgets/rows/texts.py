"""Rows of words: what a person said, what a model said and thought, notes, incidents, ends of turns."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.content import Content
from thetis_kernel.protocol.blocks import MAX_BODY, Block
from thetis_kernel.protocol.cutting import head

from thetis_tui.lines import Line, wrapped
from thetis_tui.prose import Document
from thetis_tui.sanitise import one_line, visible
from thetis_tui.text import cut
from thetis_tui.widgets.rows.base import FoldRow, Row

READABLE = 110
"""Cells of a line of prose: longer ones are hard to follow back to the left."""
TONES = {"good": "$text-success", "warn": "$text-warning", "bad": "$text-error", "muted": "$text-muted"}


class UserRow(FoldRow):
    """A person's words. `state`: sent (durable), sending, waiting (no gateway yet), failed."""

    FAMILY = "user"
    PREVIEW = 30
    DEFAULT_CSS = """
    UserRow { background: $surface; border-left: outer $accent; padding: 0 1; }
    UserRow.-nudge { border-left: outer $secondary; }
    UserRow.-sending, UserRow.-waiting { border-left: outer $text-disabled; }
    UserRow.-failed { border-left: outer $error; }
    """
    NOTES: ClassVar[dict[str, str]] = {
        "waiting": "waits until the gateway is ready",
        "failed": "not sent",
    }

    def __init__(self, text: str, seq: int = 0, *, nudge: bool = False, state: str = "sent", label: str = "") -> None:
        super().__init__(seq, classes="-nudge" if nudge else None)
        self.text = visible(head(text, MAX_BODY))
        self.nudge = nudge
        self.label = one_line(label)
        self.state = state
        self.add_class(f"-{state}")

    def says(self, text: str) -> bool:
        """Whether these are the row's words."""
        return self.text == visible(text[:MAX_BODY])

    def become(self, state: str) -> None:
        """The words got further on their way."""
        self.remove_class(f"-{self.state}").add_class(f"-{state}")
        self.state = state
        self.rebuild()

    def source(self) -> str:
        return self.text

    def body(self, width: int) -> list[Line]:
        style = "$text-muted" if self.state in ("sending", "waiting") else ""
        text = Content(self.text.expandtabs(4))
        out = wrapped(text.stylize_before(style, 0, len(text)) if style else text, width)
        note = self.NOTES.get(self.state) or self.label or ("sent while it was working" if self.nudge else "")
        if note:
            tone = "$text-error" if self.state == "failed" else "$text-muted"
            out.append(Line(Content.styled(cut(note, width), f"{tone} italic")))
        return out


class ProseRow(Row):
    """A model's reply: Markdown, growing while it streams."""

    FAMILY = "prose"
    DEFAULT_CSS = """
    ProseRow { padding: 0 1 0 2; }
    """

    def __init__(self, text: str = "", seq: int = 0, *, growing: bool = False) -> None:
        super().__init__(seq)
        self.document = Document(visible(text), growing=growing)

    def source(self) -> str:
        """The Markdown shown, made safe."""
        return self.document.source

    def append(self, safe: str) -> None:
        """More of the reply, already safe."""
        if safe:
            self.document.append(safe)
            self.rebuild()

    def settle(self, text: str) -> None:
        """The durable text: goes on from what was streamed when it fits, replaces it when it does not."""
        safe = visible(text)
        self.document.growing = False
        shown = self.source()
        if safe == shown:
            self.rebuild()
        elif shown and safe.startswith(shown):
            self.append(safe[len(shown) :])
        else:
            self.document = Document(safe)
            self.rebuild()

    def build(self, width: int) -> list[Line]:
        return self.document.lines(min(width, READABLE))


class ThinkingRow(FoldRow):
    """A model's reasoning, folded to a line; nothing but that line is laid out while it is folded."""

    FAMILY = "thinking"
    PREVIEW = 0
    DEFAULT_CSS = """
    ThinkingRow { padding: 0 1 0 2; }
    """

    def __init__(self, text: str = "", seq: int = 0, *, live: bool = False) -> None:
        super().__init__(seq)
        self.text = visible(text)
        self.live = live

    def append(self, safe: str) -> None:
        """More thoughts, already safe."""
        self.text += safe
        if self.unfolded:
            self.rebuild()

    def settle(self, text: str) -> None:
        """The durable thoughts."""
        self.text, self.live = visible(text), False
        self.rebuild()

    def source(self) -> str:
        return self.text.strip()

    def head(self, width: int) -> list[Line]:
        label = "Thinking…" if self.live else "Thought"
        line = Content.styled(f"∴ {label}", "$text-muted italic")
        if not self.unfolded and not self.live:
            gist = cut(one_line(head(self.text, 400)), width - line.cell_length - 2)
            line += Content.styled(f"  {gist}", "$text-disabled italic")
        return [Line(line)]

    def body(self, width: int) -> list[Line]:
        if not self.unfolded:
            return [Line(), Line()]  # something to unfold, not worth wrapping before it is asked for
        return wrapped(Content.styled(self.text.strip().expandtabs(4), "$text-muted"), width)

    def margin(self, width: int) -> Content:
        return Content.styled("│ ", "$text-disabled")


class NoteRow(FoldRow):
    """A remark, a change of state, an incident: a title in its tone and text below."""

    FAMILY = "note"
    CLOSE = True
    PREVIEW = 6
    DEFAULT_CSS = """
    NoteRow { padding: 0 1 0 2; }
    NoteRow.-incident { border-left: outer $error; padding: 0 1; }
    """
    GLYPHS: ClassVar[dict[str, str]] = {"incident": "!", "note": "·", "state": "·", "question": "?"}

    def __init__(self, block: Block) -> None:
        super().__init__(block.seq, unfolded=False, classes="-incident" if block.kind == "incident" else None)
        self.block = block

    def source(self) -> str:
        fields = [f"{one_line(label)}: {one_line(value)}" for label, value in self.block.fields]
        return "\n".join(part for part in (one_line(self.block.title), visible(self.block.body), *fields) if part)

    def head(self, width: int) -> list[Line]:
        style = TONES.get(self.block.tone, "$text-error" if self.block.kind == "incident" else "$text-muted")
        glyph = self.GLYPHS.get(self.block.kind, "·")
        title = self.block.title or ("" if self.block.body else self.block.kind)
        if not title:
            return []
        line = Content.styled(f"{glyph} {one_line(title)}", style)
        if self._fits_beside(width):
            line += Content.styled(f"  {one_line(self.block.body)}", "$text-muted")
        return wrapped(line, width)

    def _fits_beside(self, width: int) -> bool:
        """Whether a short text stands on its title's line."""
        block = self.block
        short = bool(block.title and block.body) and "\n" not in block.body.strip() and block.format == "text"
        return short and not block.folded and cell_len(one_line(block.title) + one_line(block.body)) + 4 <= width

    def body(self, width: int) -> list[Line]:
        block = self.block
        out: list[Line] = []
        if self._fits_beside(width + 2):
            return out
        if block.format == "markdown" and block.body:
            out += Document(visible(block.body)).lines(width)
        elif block.body:
            style = TONES.get(block.tone, "") if not block.title else ""
            out += wrapped(Content.styled(visible(block.body).expandtabs(4), style or "$text-muted"), width)
        for label, value in block.fields:
            line = Content.styled(f"{one_line(label)}  ", "$text-disabled") + Content.styled(one_line(value), "$text-muted")
            out.append(Line(line.truncate(width, ellipsis=True)))
        return out

    def margin(self, width: int) -> Content:
        return Content("  ") if self.block.title else Content()


class TurnRow(Row):
    """The end of a turn: quiet when all went well, coloured with its reason when not."""

    FAMILY = "turn"
    DEFAULT_CSS = """
    TurnRow { padding: 0 1 0 2; }
    """

    def __init__(self, block: Block) -> None:
        super().__init__(block.seq)
        self.block = block

    def source(self) -> str:
        return " · ".join(part for part in (one_line(self.block.title), one_line(self.block.body)) if part)

    def build(self, width: int) -> list[Line]:
        block = self.block
        style = TONES.get(block.tone, "$text-disabled")
        if block.tone == "muted":
            style = "$text-disabled"
        parts = [one_line(block.title), *(_field(label, value) for label, value in block.fields)]
        out = wrapped(Content.styled(" · ".join(p for p in parts if p) or "turn ended", style), width)
        if block.body:
            out += wrapped(Content.styled(one_line(block.body), "$text-muted"), width)
        return out


def _field(label: str, value: str) -> str:
    label, value = one_line(label), one_line(value)
    return value if label.lower() in ("time", "turn", "") else f"{value} {label}"
