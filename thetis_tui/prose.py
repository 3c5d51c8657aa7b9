"""Markdown as lines: parses a reply, also while it grows, and lays it out for a width.

Why not a widget per paragraph (Textual's Markdown): measured here, one small reply costs 65-90 ms and 14 widgets to
mount and forty of them 2.7 s; laid out as lines of one widget the same forty take 0.2 s, and a growing reply costs
its last block alone. Must not know about widgets: text in, lines of Content out. Text is expected to be safe already
(sanitise.visible); nothing in it is read as markup, HTML is shown as it stands, links show where they lead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from textual.content import Content, Span

from thetis_tui.codes import code_lines
from thetis_tui.lines import Line, prefixed, wrapped
from thetis_tui.tables import table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BULLETS = ("•", "◦", "▪")
_MIN_WIDTH = 8
_OPEN_HIGHLIGHT = 8_000
"""Characters up to which a fence that still grows is coloured at every step; a longer one waits for its end."""
_HEADINGS = {
    "h1": "$markdown-h1-color bold",
    "h2": "$markdown-h2-color bold",
    "h3": "$markdown-h3-color bold",
}
_parser: MarkdownIt | None = None


def _markdown() -> MarkdownIt:
    global _parser
    if _parser is None:
        from markdown_it import MarkdownIt

        # No HTML (it would vanish from the page) and no linkify (it takes "app.py" for a site in Paraguay).
        _parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return _parser


@dataclass(frozen=True, slots=True)
class Piece:
    """One block. `lead`/`hang` stand before its first and its other lines, `gap` blank lines (with `bar`) before it."""

    content: Content = field(default_factory=Content)
    lead: Content = field(default_factory=Content)
    hang: Content = field(default_factory=Content)
    gap: int = 1
    bar: Content = field(default_factory=Content)
    kind: str = "text"
    language: str = ""
    rows: tuple[tuple[Content, ...], ...] = ()
    aligns: tuple[str, ...] = ()

    def lines(self, width: int, *, open_end: bool = False) -> list[Line]:
        """The piece laid out in `width` cells."""
        # Deep lists on a narrow screen give up indentation, not words.
        most = max(2, width - _MIN_WIDTH)
        lead, hang = self.lead[-most:], self.hang[-most:]
        room = max(2, width - max(lead.cell_length, hang.cell_length))
        if self.kind == "code":
            plain = open_end and len(self.content) > _OPEN_HIGHLIGHT
            body = code_lines(self.content.plain, "" if plain else self.language, room)
        elif self.kind == "table":
            body = table_lines(self.rows, self.aligns, room)
        elif self.kind == "rule":
            body = [Line(Content.styled("─" * min(room, 40), "$text-disabled"))]
        else:
            body = wrapped(self.content, room)
        return prefixed(body, lead, hang)


class Document:
    """A Markdown text that may grow at its end; only the last block is parsed and laid out again.

    `growing`: more is expected, so what could still turn into something else is held back.
    """

    def __init__(self, text: str = "", *, growing: bool = False) -> None:
        self.source = ""
        self.growing = growing
        self._stable: list[Piece] = []
        self._tail: list[Piece] = []
        self._tail_text = ""
        self._laid: list[Line] = []
        self._laid_for = (-1, -1)
        if text:
            self.append(text)

    def append(self, text: str) -> None:
        """The text goes on with `text`."""
        self.source += text
        self._tail_text += text
        if "\n" in text:
            self._settle()
        self._tail = pieces(_markdown().parse(self._tail_text))

    def _settle(self) -> None:
        """Put the blocks before the last one aside for good.

        Decided by complete lines only: what a line is depends on those before it, but on all of it ("*" begins a list,
        "**b**" goes on with a paragraph).
        """
        complete = self._tail_text[: self._tail_text.rindex("\n") + 1]
        tokens = _markdown().parse(complete)
        start = next((t.map[0] for t in reversed(tokens) if t.level == 0 and t.nesting >= 0 and t.map), 0)
        if start > 0:
            cut = next(i for i, t in enumerate(tokens) if t.level == 0 and t.map and t.map[0] >= start)
            self._stable += pieces(tokens[:cut])
            self._tail_text = "".join(self._tail_text.splitlines(keepends=True)[start:])

    def lines(self, width: int) -> list[Line]:
        """The whole laid out in `width` cells."""
        if self._laid_for[0] != width:
            self._laid, self._laid_for = [], (width, 0)
        done = self._laid_for[1]
        for piece in self._stable[done:]:
            self._laid += _spaced(piece, piece.lines(width), first=not self._laid)
        self._laid_for = (width, len(self._stable))
        out = list(self._laid)
        # The first line of a table is a paragraph until its second one has come: it waits rather than jumps.
        last = self._tail[-1] if self._tail and self.growing else None
        waits = last is not None and last.kind == "text" and last.content.plain.startswith("|")
        for piece in self._tail[:-1] if waits else self._tail:
            out += _spaced(piece, piece.lines(width, open_end=self.growing), first=not out)
        return out


def _spaced(piece: Piece, lines: list[Line], *, first: bool) -> list[Line]:
    return lines if first else [Line(piece.bar)] * piece.gap + lines


def pieces(tokens: Sequence[Token], depth: int = 0) -> list[Piece]:
    """The blocks of a token list (whole blocks only)."""
    out: list[Piece] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = _closing(tokens, at)
        inner = tokens[at + 1 : end]
        match token.type:
            case "paragraph_open":
                out.append(Piece(_inline(inner), gap=0 if token.hidden else 1))
            case "heading_open":
                text = _inline(inner)
                out.append(Piece(text.stylize_before(_HEADINGS.get(token.tag, "bold"), 0, len(text))))
            case "fence" | "code_block":
                language = token.info.split()[0] if token.info.split() else ""
                out.append(Piece(Content(token.content.rstrip("\n")), kind="code", language=language))
            case "hr":
                out.append(Piece(kind="rule"))
            case "blockquote_open":
                out += _quoted(pieces(inner, depth))
            case "bullet_list_open" | "ordered_list_open":
                out += _listed(token, inner, depth)
            case "table_open":
                out.append(_table(inner))
            case "inline":
                out.append(Piece(_inline([token])))
            case _:
                pass
        at = end + 1
    return out


def _closing(tokens: Sequence[Token], at: int) -> int:
    """Index of the token that closes `tokens[at]` (itself when it opens nothing)."""
    if tokens[at].nesting != 1:
        return at
    depth = 0
    for index in range(at, len(tokens)):
        depth += tokens[index].nesting
        if depth == 0:
            return index
    return len(tokens) - 1


def _quoted(inner: list[Piece]) -> list[Piece]:
    bar = Content.styled("▎ ", "$text-disabled")
    return [
        replace(
            p, content=p.content.stylize_before("$text-muted", 0, len(p.content)), lead=bar + p.lead, hang=bar + p.hang,
            bar=p.bar if index == 0 else bar + p.bar,
        )
        for index, p in enumerate(inner)
    ]


def _listed(opening: Token, inner: Sequence[Token], depth: int) -> list[Piece]:
    out: list[Piece] = []
    number = int(opening.attrs.get("start", 1) or 1)
    at = 0
    while at < len(inner):
        end = _closing(inner, at)
        if inner[at].type == "list_item_open":
            mark = f"{number}. " if opening.type == "ordered_list_open" else f"{BULLETS[depth % len(BULLETS)]} "
            number += 1
            body = pieces(inner[at + 1 : end], depth + 1) or [Piece(gap=0)]
            body[0], mark = _task(body[0], mark)
            pad = Content(" " * len(mark))
            for index, p in enumerate(body):
                lead = Content.styled(mark, "$text-accent") if index == 0 else pad
                gap = p.gap if index else (1 if not out else p.gap)
                out.append(replace(p, lead=lead + p.lead, hang=pad + p.hang, gap=gap, bar=pad + p.bar if index else p.bar))
        at = end + 1
    if depth and out:
        out[0] = replace(out[0], gap=0)
    return out


def _task(piece: Piece, mark: str) -> tuple[Piece, str]:
    """A task list's box instead of a bullet."""
    for written, box in (("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")):
        if piece.kind == "text" and piece.content.plain.startswith(written):
            return replace(piece, content=piece.content[len(written) :]), box
    return piece, mark


def _table(inner: Sequence[Token]) -> Piece:
    rows: list[tuple[Content, ...]] = []
    row: list[Content] = []
    aligns: list[str] = []
    for index, token in enumerate(inner):
        if token.type == "tr_open":
            row = []
        elif token.type in ("th_open", "td_open"):
            if not rows:
                style = str(token.attrs.get("style", ""))
                aligns.append(style.removeprefix("text-align:") or "left")
            row.append(_inline(inner[index + 1 : index + 2]))
        elif token.type == "tr_close":
            rows.append(tuple(row))
    return Piece(kind="table", rows=tuple(rows), aligns=tuple(aligns))


_SPANS = {"strong": "bold", "em": "italic", "s": "strike"}


def _inline(tokens: Sequence[Token]) -> Content:
    """The text of inline tokens with its styles."""
    text = ""
    spans: list[Span] = []
    starts: dict[str, list[int]] = {"strong": [], "em": [], "s": [], "link": []}
    targets: list[str] = []
    for token in (child for t in tokens for child in (t.children or [])):
        name, _, edge = token.type.rpartition("_")
        if edge == "open" and name in starts:
            starts[name].append(len(text))
            if name == "link":
                targets.append(str(token.attrs.get("href", "")))
        elif edge == "close" and name in starts:
            begin = starts[name].pop()
            if name == "link":
                spans.append(Span(begin, len(text), "$text-accent underline"))
                text, extra = _target(text, begin, targets.pop())
                spans += extra
            else:
                spans.append(Span(begin, len(text), _SPANS[name]))
        elif token.type == "code_inline":
            spans.append(Span(len(text), len(text) + len(token.content), "$text-secondary on $panel"))
            text += token.content
        elif token.type == "softbreak":
            text += " "
        elif token.type == "hardbreak":
            text += "\n"
        elif token.type == "image":
            text += f"[image: {token.content}] ({token.attrs.get('src', '')})"
        else:
            text += token.content
    return Content(text.expandtabs(4), spans)


def _target(text: str, begin: int, target: str) -> tuple[str, list[Span]]:
    """A link's words followed by where it leads, unless they say so themselves."""
    from urllib.parse import unquote

    words = text[begin:]
    if not target or words in (target, unquote(target), target.removeprefix("mailto:")):
        return text, []
    shown = f" ({target})"
    return text + shown, [Span(len(text), len(text) + len(shown), "$text-muted")]
