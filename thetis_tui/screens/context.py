"""What fills the model's window, what the cache did, what it all cost: a page over the desk."""

from __future__ import annotations

from textual.content import Content
from thetis_kernel.protocol.spending import Spent, spent_words

from thetis_tui.context import TOOLS, Context, Request, shares
from thetis_tui.lines import Line, wrapped
from thetis_tui.sanitise import one_line
from thetis_tui.screens.reading import ReadingScreen
from thetis_tui.text import count, cut

_COLOURS = ("$accent", "$secondary", "$warning", "$success", "$error", "$text-muted")
_FULL, _EMPTY = "━", "─"


class ContextScreen(ReadingScreen):
    """`window`: the model's, in tokens, 0 when nobody knows."""

    def __init__(self, context: Context, window: int, spent: dict[str, Spent]) -> None:
        super().__init__()
        self._used = context
        self._shares = shares(context)
        self._window = window
        self._spent = spent
        last = context.last
        self.heading = f"Context · {count(last.prompt)} tokens" if last else "Context"

    def lines(self, width: int) -> list[Line]:
        out = [*self._meter(width), Line(), *self._parts(width)]
        if self._used.requests:
            out += [Line(), *self._cache(width)]
        if self._spent:
            out += [Line(), _title("Cost")]
            for model, spent in self._spent.items():
                out += wrapped(Content.assemble((one_line(model), "bold"), f"  {spent_words(spent)}"), width)
        return out

    def _meter(self, width: int) -> list[Line]:
        """One bar as long as the window: a stretch a part, in the colours of the rows below."""
        last = self._used.last
        if last is None:
            return [Line(Content.styled("No request was made yet.", "$text-muted"))]
        whole = max(self._window, last.prompt)
        used = last.prompt / whole
        words = f"{used * 100:.0f} % of {count(self._window)} tokens" if self._window else f"{count(last.prompt)} tokens"
        bar = Content.assemble(*[(_FULL * cells, colour) for cells, colour in self._stretches(width, whole)])
        bar += Content.styled(_EMPTY * max(0, width - bar.cell_length), "$border-blurred")
        tone = "$text-error" if used > 0.9 else "$text-warning" if used > 0.6 else "$text"
        told = Content.assemble((words, f"bold {tone}"), (f"  · {count(whole - last.prompt)} free", "$text-muted"))
        return [Line(told), Line(bar)]

    def _stretches(self, width: int, whole: int) -> list[tuple[int, str]]:
        out, done, sum_ = [], 0, 0
        for index, (_, size) in enumerate(self._shares):
            sum_ += size
            upto = max(done + 1, round(sum_ / whole * width))
            out.append((min(width, upto) - done, _COLOURS[index % len(_COLOURS)]))
            done = min(width, upto)
        return out

    def _parts(self, width: int) -> list[Line]:
        total = sum(size for _, size in self._shares) or 1
        out = [_title("What fills it, about")] if self._shares else []
        for index, (name, size) in enumerate(self._shares):
            colour = _COLOURS[index % len(_COLOURS)]
            more = f"  {self._used.tools[0]} tools" if name == TOOLS and self._used.tools[0] else ""
            text = Content.assemble((f"{_FULL} ", colour), f"{name:<28}{count(size):>7}",
                                    (f"{size * 100 // total:>5} %", "$text-muted"))
            out.append(Line((text + Content.styled(more, "$text-muted")).truncate(width)))
        return out

    def _cache(self, width: int) -> list[Line]:
        requests = self._used.requests
        out = [_title("What the cache did, the newest request last")]
        if not any(request.read or request.written for request in requests):
            return [*out, Line(Content.styled("Nothing was read from a cache or written to one.", "$text-muted"))]
        for request in requests:
            out.append(Line(self._row(request, width)))
            if request.broke:
                out.append(Line(Content.styled(f"        lost: {cut(request.broke, width - 14)}", "$text-warning")))
        legend = [(_FULL, "$success"), (" read  ", "$text-muted"), (_FULL, "$warning"), (" written  ", "$text-muted"),
                  (_EMPTY, "$border-blurred"), (" fresh", "$text-muted")]
        return [*out, Line(Content.assemble("        ", *legend))]

    def _row(self, request: Request, width: int) -> Content:
        total, bar = request.prompt or 1, max(10, width - 56)
        read, written = round(request.read / total * bar), round(request.written / total * bar)
        words = f"  read {count(request.read)} · written {count(request.written)} · fresh {count(request.fresh)}"
        return Content.assemble(
            (f"{request.seq:>6}  ", "$text-disabled"), (_FULL * read, "$success"), (_FULL * written, "$warning"),
            (_EMPTY * max(0, bar - read - written), "$border-blurred"), (words, "$text-muted"),
        ).truncate(width)


def _title(words: str) -> Line:
    return Line(Content.styled(words, "bold $text-accent"))
