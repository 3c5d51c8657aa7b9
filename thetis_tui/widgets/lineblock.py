"""A widget of lines: its height is its content's, and drawing costs the visible lines only.

Owns wrapping caches, selection and copying for every block of the transcript. Must not know what the lines mean.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from thetis_tui.lines import Line, copied


def places(text: str, words: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where `words` (in lower case) stand in a line, as (start, end); [] where case changes the number of characters."""
    low = text.casefold() if words else ""
    if len(low) != len(text):
        return []
    out = []
    for word in words:
        at = low.find(word)
        while at >= 0:
            out.append((at, at + len(word)))
            at = low.find(word, at + len(word))
    return out


class LineBlock(Widget):
    """Subclasses build lines for a width; `rebuild` after anything they depend on has changed."""

    DEFAULT_CSS = """
    LineBlock { height: auto; width: 1fr; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._lines: list[Line] = []
        self._lines_width = -1
        self._strips: LRUCache[tuple[int, int, int], tuple[Line, Strip]] = LRUCache(512)
        self._words: tuple[str, ...] = ()

    def build(self, width: int) -> list[Line]:
        """The lines for `width` cells."""
        raise TypeError(f"{type(self).__name__} does not say what its lines are")

    def lines_at(self, width: int) -> list[Line]:
        """The lines for `width`, built once."""
        if self._lines_width != width:
            self._lines, self._lines_width = self.build(width), width
        return self._lines

    def point_out(self, words: str) -> None:
        """Make these words stand out wherever they are; "" nowhere."""
        parts = tuple(words.casefold().split())
        if parts != self._words:
            self._words = parts
            self._strips.clear()
            self.refresh()

    def rebuild(self, *, layout: bool = True) -> None:
        """The content has changed; `layout=False` when the number of lines cannot have."""
        self._lines_width = -1
        if layout:
            self.refresh(layout=True)
        else:
            self.refresh()

    # --- Textual's side

    @property
    def allow_select(self) -> bool:
        return True

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines_at(width)) if width else 0

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = self.lines_at(width)
        style = self.visual_style
        if not 0 <= y < len(lines):
            return Strip.blank(width, style.rich_style)
        line = lines[y]
        # A line that is the same object at the same place looks the same: a growing reply redraws its last block only.
        known = self._strips.get((id(line), y, width))
        if known is not None and known[0] is line:
            return known[1]
        strip = self._draw(line, y, width, style)
        self._strips[(id(line), y, width)] = (line, strip)
        return strip

    def _draw(self, line: Line, y: int, width: int, style: Style) -> Strip:
        content = line.content
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if line.fill:
            content = content.stylize_before(line.fill, line.inset, len(content))
        for start, end in places(content.plain, self._words):
            content = content.stylize("$text on $warning 40%", start, end)
        if span is not None:
            start, end = span
            chosen = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(chosen, start, len(content) if end < 0 else end)
        segments: list[Segment] = []
        x = 0
        for text, part in content.render(style, end="", parse_style=self._get_style):
            segments.append(Segment(text, (style + part).rich_style_with_offset(x, y)))
            x += len(text)
        strip = Strip(segments, content.cell_length)
        if strip.cell_length > width:
            return strip.crop(0, width)
        filled = style + self._get_style(line.fill) if line.fill else style
        return strip.extend_cell_length(width, filled.rich_style)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines = self.lines_at(self.size.width)
        spans = [(y, *span) for y in range(len(lines)) if (span := selection.get_span(y)) is not None]
        return copied(lines, spans), "\n"


