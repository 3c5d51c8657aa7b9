"""Source code and command output as lines, coloured where the language is known.

Must not know about widgets. Colours are theme variables, a handful of them: keywords, strings, comments, names that
are defined here; everything else is plain, so that code reads as text.
"""

from __future__ import annotations

from functools import lru_cache

from textual.content import Content

from thetis_tui.lines import Line, folded

MAX_HIGHLIGHT = 40_000
"""Characters up to which code is coloured (Pygments manages about 1 MB/s here)."""
FILL = "on $surface"


def code_lines(code: str, language: str, width: int) -> list[Line]:
    """`code` in a block of its own: filled background, one cell of margin, long lines folded."""
    pad = Content(" ")
    out: list[Line] = []
    for line in highlighted(code, language).split(allow_blank=True):
        for part in folded(line, max(2, width - 2), FILL):
            out.append(Line(pad + part.content, FILL, part.joins + 1 if part.joins >= 0 else -1))
    return out


def highlighted(code: str, language: str) -> Content:
    """`code` with colours; plain when it is long or the language is unknown. Tabs become four spaces."""
    code = code.expandtabs(4)
    if not language or len(code) > MAX_HIGHLIGHT:
        return Content(code)
    return _highlighted(code, language.lower())


@lru_cache(maxsize=64)
def _highlighted(code: str, language: str) -> Content:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.token import Token  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]
    from textual.content import Span

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False, tabsize=4)
    except ClassNotFound:
        return Content(code)
    styles = (
        (Token.Comment, "$text-muted italic"),
        (Token.Literal.String, "$text-success"),
        (Token.Literal.Number, "$text-warning"),
        (Token.Keyword, "$text-accent"),
        (Token.Operator.Word, "$text-accent"),
        (Token.Name.Function, "bold"),
        (Token.Name.Class, "bold"),
        (Token.Name.Decorator, "$text-secondary"),
        (Token.Name.Builtin, "$text-secondary"),
        (Token.Name.Tag, "$text-accent"),
        (Token.Name.Attribute, "$text-secondary"),
        (Token.Generic.Deleted, "$text-error"),
        (Token.Generic.Inserted, "$text-success"),
        (Token.Generic.Heading, "bold"),
        (Token.Generic.Subheading, "$text-secondary"),
    )
    spans: list[Span] = []
    at = 0
    for kind, text in lexer.get_tokens(code):
        style = next((style for token, style in styles if kind in token), "")
        if style and text.strip():
            spans.append(Span(at, at + len(text), style))
        at += len(text)
    return Content(code, spans)
