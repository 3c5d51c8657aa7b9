"""A tool call and, in the same row, what came of it: arguments, live output, result, diff."""

from __future__ import annotations

from textual.content import Content
from thetis_kernel.protocol.blocks import Block

from thetis_tui import diffs
from thetis_tui.codes import highlighted
from thetis_tui.difflines import diff_lines
from thetis_tui.lines import Line, folded
from thetis_tui.live import Output
from thetis_tui.prose import Document
from thetis_tui.sanitise import console, one_line, visible
from thetis_tui.text import cut
from thetis_tui.widgets.rows.base import FoldRow

_GLYPHS = {
    "running": ("●", "$text-accent"),
    "ok": ("✓", "$text-success"),
    "warn": ("!", "$text-warning"),
    "bad": ("✗", "$text-error"),
    "muted": ("○", "$text-disabled"),
}
_LIVE_LINES = 6
_COPIED = 400
"""Lines of output that is still coming that are copied: all that is kept."""


class ToolRow(FoldRow):
    """One call. `state`: running, ok, warn, bad, muted (did not run).

    It stands without its call when only the result is within the window.
    """

    FAMILY = "tool"
    CLOSE = True
    PREVIEW = 6
    DEFAULT_CSS = """
    ToolRow { padding: 0 1 0 2; }
    """

    def __init__(self, call: Block | None = None, *, seq: int = 0, call_id: str = "") -> None:
        super().__init__(call.seq if call else seq)
        self.call_id = call.call if call else call_id
        self.call = call
        self.results: list[Block] = []
        self.output: Output | None = None
        self._diffs: dict[int, list[diffs.DiffLine]] = {}

    @property
    def state(self) -> str:
        """How the call stands."""
        tones = {block.tone for block in self.results}
        if not self.results:
            return "running" if self.call is not None else "ok"
        return next((tone for tone in ("bad", "warn", "muted") if tone in tones), "ok")

    def settle(self, block: Block) -> None:
        """A result, or a diff that belongs to the call."""
        self.results.append(block)
        self.output = None
        self.rebuild()

    def unsettle(self, seq: int) -> None:
        """Forget what event `seq` said: it left the window."""
        self.results = [block for block in self.results if block.seq != seq]
        self.rebuild()

    def stream(self, output: Output) -> None:
        """The running command has said more."""
        if not self.results:
            self.output = output
            self.rebuild()

    def source(self) -> str:
        title = [one_line(f"{self.call.title} {self._detail()}")] if self.call is not None else []
        shown = [block for block in self._blocks() if block is not self.call or not self._replaced()]
        bodies = [visible(block.body).rstrip("\n") for block in shown if block.body]
        live = self.output.tail(_COPIED) if self.output is not None else []
        return "\n".join([*title, *bodies, *live])

    # --- lines

    def head(self, width: int) -> list[Line]:
        glyph, colour = _GLYPHS[self.state]
        titles = [one_line(b.title) for b in self.results if b.title]
        if self.call is not None:
            title, detail = one_line(self.call.title) or "call", self._detail()
        else:
            title, detail = titles.pop(0) if titles else "result", ""
        meta = self._meta(titles)
        # how a call failed is worth more than the end of its words; how it went well is not
        urgent = bool(meta) and self.state == "bad" and 2 * (len(meta) + 2) < width
        name, _, words = cut(title, width - 2 - (len(meta) + 2) * urgent).partition(" ")
        line = Content.assemble((f"{glyph} ", colour), (name, "bold"), f" {words}" if words else "")
        room = width - line.cell_length
        if meta and (urgent or room > 2 * len(meta) + 4):
            meta_part = Content.styled(f"  {meta}", "$text-muted" if self.state != "bad" else "$text-error")
            room -= meta_part.cell_length
        else:
            meta_part = Content()
        if detail and room > 6:
            line += Content.styled("  " + cut(detail, room - 2), "$text-muted")
        return [Line(line + meta_part)]

    def _detail(self) -> str:
        """What a renderer says about the call outside its title, on the title's line."""
        if self.call is None:
            return ""
        if self.call.body and not self._has_block_body():
            return one_line(self.call.body[:2000])
        if " " not in self.call.title:
            return " ".join(one_line(value[:300]) for _, value in self.call.fields[:4])
        return ""

    def _has_block_body(self) -> bool:
        """Whether the call's own body is worth lines of its own (code, a diff, several lines)."""
        return self.call is not None and (self.call.format != "text" or "\n" in self.call.body.strip())

    def _replaced(self) -> bool:
        """Whether a result shows as a diff what the call said it would do."""
        return any(block.kind == "result" and block.format == "diff" and block.body for block in self.results)

    def _meta(self, titles: list[str]) -> str:
        pairs = [(one_line(label), one_line(value)) for block in self.results for label, value in block.fields]
        parts = titles + [value if not label or label == "time" else f"{label} {value}" for label, value in pairs]
        return cut(" · ".join(part for part in parts[:4] if part), 60)

    def body(self, width: int) -> list[Line]:
        out: list[Line] = []
        if self.call is not None:
            if self._has_block_body() and not self._replaced():
                out += self._lines_of(self.call, width)
            if self.unfolded:
                for label, value in self.call.fields:
                    pair = Content.styled(f"{one_line(label)}  ", "$text-disabled") + Content(one_line(value))
                    out += folded(pair, width)
        for block in self.results:
            out += self._lines_of(block, width)
        if self.output is not None:
            for text in self.output.tail(_LIVE_LINES):
                out.append(Line(Content.styled(cut(text, width), "$text-muted")))
        return out

    def _lines_of(self, block: Block, width: int) -> list[Line]:
        body = block.body.rstrip("\n")
        if not body:
            return []
        if block.format == "diff" or block.kind == "diff":
            key = id(block)
            if key not in self._diffs:
                self._diffs[key] = diffs.parse(block.body)
            return diff_lines(self._diffs[key], width, files=sum(x.kind == "file" for x in self._diffs[key]) > 1)
        if block.format == "markdown":
            return Document(visible(body)).lines(width)
        if block.format == "code":
            text = highlighted(visible(body), block.language)
        else:
            text = Content.styled(console(body), "$text-muted")
        out: list[Line] = []
        for hard in text.split(allow_blank=True):
            out += folded(hard, width)
        return out

    def preview(self, body: list[Line]) -> tuple[list[Line], int]:
        hidden_by_wish = bool(self.results) and all(block.folded for block in self.results)
        if hidden_by_wish and self.state != "bad" and body:
            return [], len(body)
        if self.state == "bad" and len(body) > self.PREVIEW + 1:
            return body[-self.PREVIEW :], len(body) - self.PREVIEW  # a failure says why at its end
        limit = self.PREVIEW * 3 if any(b.kind == "diff" or b.format == "diff" for b in self._blocks()) else self.PREVIEW
        return (body, 0) if len(body) <= limit + 1 else (body[:limit], len(body) - limit)

    def _blocks(self) -> list[Block]:
        return [*([self.call] if self.call else []), *self.results]

    def margin(self, width: int) -> Content:
        return Content.styled("  │ " if width > 30 else " ", "$text-disabled")


