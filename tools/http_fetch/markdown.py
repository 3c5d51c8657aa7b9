"""HTML as Markdown: what a reader would see, nothing that is hidden, every link absolute.

A pass of the standard library's forgiving parser; broken markup gives text in its order. What the page does not show
(scripts, styles, `hidden`, `display:none`) is left out: it is where pages put words for machines.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "select", "head"})
BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "figure", "figcaption", "form", "dl", "dt",
     "dd", "details", "summary", "address", "fieldset", "table", "tr", "ul", "ol", "li", "blockquote", "pre", "hr"}
    | {f"h{level}" for level in range(1, 7)}
)  # fmt: skip
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`", "kbd": "`", "samp": "`"}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])", re.I)
_SCHEMES = ("http://", "https://", "mailto:")


def of_html(text: str, base: str = "") -> str:
    """The page's text as Markdown; `base` makes its links absolute."""
    reader = _Reader(base)
    reader.feed(text)
    reader.close()
    return reader.result()


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._out: list[str] = []
        self._line: list[str] = []
        self._open: list[str] = []
        self._skipping = 0
        self._hidden_at: list[int] = []
        self._lists: list[int] = []
        self._quotes = 0
        self._verbatim = 0
        self._links: list[str] = []
        self._row: list[str] | None = None
        self._rows = 0
        self._first = ""

    def result(self) -> str:
        self._end_line()
        text = "\n".join(self._out)
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag not in VOID:
            self._open.append(tag)
            unseen = "hidden" in named or named.get("aria-hidden") == "true" or _HIDDEN.search(named.get("style", ""))
            if tag in SKIPPED or unseen:
                self._hidden_at.append(len(self._open))
        if self._hidden_at:
            return
        if tag in BLOCKS and not (self._row is not None and tag in ("p", "div")):
            self._start_block(tag)
        elif tag == "br":
            self._end_line()
        elif tag == "img" and named.get("alt", "").strip():
            self._line.append(f"![{_plain(named['alt'])}]")
        elif tag == "a":
            self._links.append(self._absolute(named.get("href", "")))
            self._line.append("[" if self._links[-1] else "")
        elif tag in ("td", "th") and self._row is not None:
            self._end_cell()
        elif tag in MARKS and not self._verbatim:
            self._line.append(MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while self._open:
            top = self._open.pop()
            if self._hidden_at and self._hidden_at[-1] > len(self._open):
                self._hidden_at.pop()
            elif not self._hidden_at:
                self._end(top)
            if top == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._hidden_at:
            return
        if self._verbatim:
            first, *rest = data.split("\n")
            self._line.append(first)
            for line in rest:
                self._end_line(verbatim=True)
                self._line.append(line)
            return
        self._line.append(re.sub(r"\s+", " ", data))

    def _end(self, tag: str) -> None:
        if tag == "a" and self._links:
            target = self._links.pop()
            self._line.append(f"]({target})" if target else "")
        elif tag in ("td", "th") and self._row is not None:
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag in MARKS and not self._verbatim:
            self._line.append(MARKS[tag])
        elif tag in BLOCKS and not (self._row is not None and tag in ("p", "div")):
            self._end_block(tag)

    def _start_block(self, tag: str) -> None:
        self._end_line()
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ul" else 1)
            self._blank(len(self._lists) == 1)
        elif tag == "li":
            depth = max(len(self._lists), 1)
            number = self._lists[-1] if self._lists else 0
            if number:
                self._lists[-1] += 1
            self._first = "  " * (depth - 1) + (f"{number}. " if number else "- ")
        elif tag == "tr":
            self._row = []
        elif tag == "hr":
            self._out += ["", "---", ""]
        else:
            self._blank(tag not in ("dt", "dd", "summary"))
            self._rows = 0 if tag == "table" else self._rows
            self._quotes += tag == "blockquote"
            if tag == "pre":
                self._out.append(self._prefix() + "```")
                self._verbatim += 1
            elif tag[0] == "h" and tag[1:].isdigit():
                self._first = "#" * int(tag[1:]) + " "

    def _end_block(self, tag: str) -> None:
        if tag == "pre":
            if self._line and "".join(self._line):
                self._end_line(verbatim=True)
            self._line = []
            self._verbatim -= 1
            self._out += [self._prefix() + "```", ""]
            return
        self._end_line()
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
            self._blank(not self._lists)
        elif tag == "blockquote":
            while self._out and self._out[-1] == self._prefix().rstrip():
                self._out.pop()
            self._quotes -= 1
            self._blank(True)
        else:
            self._blank(tag not in ("li", "dt", "dd", "tr"))
        self._first = ""

    def _end_cell(self) -> None:
        text = " ".join("".join(self._line).split())
        self._line = []
        if text and self._row is not None:
            self._row.append(text.replace("|", "\\|"))

    def _end_row(self) -> None:
        self._end_cell()
        row, self._row = self._row, None
        if not row:
            return
        self._out.append(self._prefix() + "| " + " | ".join(row) + " |")
        self._rows += 1
        if self._rows == 1:
            self._out.append(self._prefix() + "|" + " --- |" * len(row))

    def _end_line(self, verbatim: bool = False) -> None:
        if self._row is not None:
            return  # a cell is one line, whatever stands in it
        text = "".join(self._line)
        self._line = []
        if not verbatim:
            text = " ".join(text.split())
            if not text or not text.strip("*` "):
                return
        self._out.append(self._prefix() + self._first + text)
        self._first = " " * len(self._first) if self._first.strip() and self._lists else ""

    def _blank(self, wanted: bool) -> None:
        if wanted and self._out and self._out[-1].strip("> "):
            self._out.append(self._prefix().rstrip())

    def _prefix(self) -> str:
        return "> " * max(self._quotes, 0)

    def _absolute(self, href: str) -> str:
        """The link's address, "" for one that leads nowhere a reader could go."""
        try:
            found = urljoin(self._base, href.strip()) if href.strip() and not href.startswith("#") else ""
        except ValueError:
            return ""
        found = found.replace(" ", "%20").replace(")", "%29")
        return found if found.startswith(_SCHEMES) and found.isprintable() else ""


def _plain(text: str) -> str:
    return " ".join(text.replace("[", "(").replace("]", ")").split())
