"""What fills the model's window, what the cache did, what it all cost: a page over the desk."""

from __future__ import annotations

from textual.content import Content
from thetis_kernel.protocol.spending import Spent, spent_words

from thetis_tui.context import Context, Request
from thetis_tui.lines import Line, wrapped
from thetis_tui.sanitise import one_line
from thetis_tui.screens.reading import ReadingScreen
from thetis_tui.text import count, cut

_COLOURS = ("$accent", "$secondary", "$success", "$warning", "$error", "$primary")


class ContextScreen(ReadingScreen):
    """`window`: the model's, in tokens, 0 when nobody knows."""

    def __init__(self, context: Context, window: int, spent: dict[str, Spent]) -> None:
        super().__init__()
        self._used = context
        self._window = window
        self._spent = spent
        last = context.last
        self.heading = f"Context · {count(last.prompt)} tokens" if last else "Context"

    def lines(self, width: int) -> list[Line]:
        out = [*self._meter(width), Line(), *self._parts(width), Line(), *self._cache(width)]
        if self._spent:
            out += [Line(), _title("Cost")]
            for model, spent in self._spent.items():
                out += wrapped(Content.assemble((one_line(model), "bold"), f"  {spent_words(spent)}"), width)
        return out

    def _meter(self, width: int) -> list[Line]:
        last = self._used.last
        if last is None:
            return [Line(Content.styled("No request was made yet.", "$text-muted"))]
        if not self._window:
            return [Line(Content(f"{count(last.prompt)} tokens in the last request."))]
        share = min(1.0, last.prompt / self._window)
        bar = max(10, width - 40)
        tone = "$error" if share > 0.9 else "$warning" if share > 0.6 else "$accent"
        full = max(1, round(share * bar))
        words = f"  {share * 100:.0f} % of {count(self._window)} tokens"
        return [Line(Content.assemble(("━" * full, tone), ("━" * (bar - full), "$border-blurred"), words))]

    def _parts(self, width: int) -> list[Line]:
        parts = sorted(self._used.parts.items(), key=lambda part: -part[1])
        total = sum(size for _, size in parts) or 1
        out = [_title("What fills it")]
        for index, (name, size) in enumerate(parts):
            bar = max(1, round(size / total * max(8, width - 52)))
            text = f"{name:<26}{size * 100 // total:>3} % {count(size):>6} chars  "
            out.append(Line((Content(text) + Content.styled("━" * bar, _COLOURS[index % len(_COLOURS)])).truncate(width)))
        return out

    def _cache(self, width: int) -> list[Line]:
        out = [_title("Cache, the newest request last")]
        for request in self._used.requests:
            out.append(Line(self._row(request, width)))
            if request.broke:
                out.append(Line(Content.styled(f"        lost: {cut(request.broke, width - 14)}", "$text-warning")))
        return out

    def _row(self, request: Request, width: int) -> Content:
        total, bar = request.prompt or 1, max(10, width - 56)
        read, written = round(request.read / total * bar), round(request.written / total * bar)
        words = f"  read {count(request.read)} · written {count(request.written)} · fresh {count(request.fresh)}"
        return Content.assemble(
            (f"{request.seq:>6}  ", "$text-disabled"), ("━" * read, "$success"), ("━" * written, "$warning"),
            ("━" * max(0, bar - read - written), "$border-blurred"), (words, "$text-muted"),
        ).truncate(width)


def _title(words: str) -> Line:
    return Line(Content.styled(words, "bold $text-accent"))
