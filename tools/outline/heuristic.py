"""Other languages, by patterns: headings of texts, and lines that look like definitions. Approximate on purpose.

Nesting is read off the indentation, and where a definition ends is not known. Must not know files or text of outlines.
"""

from __future__ import annotations

import re

from entries import Entry

LABEL = 140
TAB = 4

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|sealed|open|inline"
    r"|unsafe|extern|pub(?:\([\w: ]+\))?|const|partial|data|suspend|declare|readonly|local)\s+)*"
)
_KEYWORD = (
    r"(?:class|interface|trait|struct|enum|union|record|object|module|namespace|protocol|extension|impl|type|func|function\*?"
    r"|fn|def|fun|sub|proc|procedure|macro_rules!|contract|service|message|defmodule|defp?)"
)
_DEFINITION = re.compile(rf"^(?P<indent>[ \t]*){_MODIFIERS}{_KEYWORD}\b[^;=]*[\w)\]>}}:{{]")
_ARROW = re.compile(
    r"^(?P<indent>[ \t]*)(?:export\s+)?(?:default\s+)?(?:const|let|var)\s+\w+[^=]*=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>"
)
_C_FUNCTION = re.compile(
    r"^(?P<indent>[ \t]{0,8})(?!(?:return|else|if|for|while|switch|new|throw|case|goto|delete|using|import|package)\b)"
    r"(?:[\w:<>,~&*\[\]]+\s+)+[*&]*[\w:~]+\s*\([^;{}]*\)\s*(?:const|noexcept|override|throws [\w, .]+)?\s*\{?\s*$"
)
_SHELL = re.compile(r"^(?P<indent>[ \t]*)(?:function\s+)?[\w.:-]+\s*\(\)\s*\{?")
_SQL = re.compile(r"^(?P<indent>[ \t]*)create\s+(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+|materialized\s+)*"
                  r"(?:table|view|index|function|procedure|trigger|type|schema)\b", re.IGNORECASE)  # fmt: skip
_MAKE = re.compile(r"^(?P<indent>)[\w./%-]+(?: [\w./%-]+)*\s*:(?!=)")
_TABLE = re.compile(r"^(?P<indent>)\[{1,2}[^\[\]]+\]{1,2}\s*(?:#.*)?$")
_CSS = re.compile(r"^(?P<indent>[ \t]*)[^{}@/\s][^{}]*\{\s*$")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#`])\1{2,}\s*")
_TEX = re.compile(r"^(?P<indent>)\\(?:part|chapter|(?:sub)*section)\*?\{.*")

_C_LIKE = (_DEFINITION, _C_FUNCTION)
_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys(("c", "h", "cc", "cpp", "hpp", "java", "cs", "kt", "scala", "swift", "dart", "m"), _C_LIKE),
    **dict.fromkeys(("js", "mjs", "jsx", "ts", "tsx", "vue", "svelte"), (_DEFINITION, _ARROW)),
    **dict.fromkeys(("sh", "bash", "zsh"), (_SHELL,)),
    **dict.fromkeys(("toml", "ini", "cfg", "conf"), (_TABLE,)),
    **dict.fromkeys(("css", "scss", "less", "tcss"), (_CSS,)),
    "sql": (_SQL,),
    "tex": (_TEX,),
    "mk": (_MAKE,),
}
_TEXTS = ("md", "markdown", "mdx", "txt", "rst", "adoc")


def entries(path: str, text: str) -> list[Entry]:
    """What stands out in `text`, in order."""
    name = path.rsplit("/", 1)[-1].lower()
    ending = name.rsplit(".", 1)[-1] if "." in name else ""
    if ending in _TEXTS:
        return headings(text, underlined=ending in ("rst", "txt"))
    patterns = (_MAKE,) if name in ("makefile", "gnumakefile") else _PATTERNS.get(ending, (_DEFINITION,))
    return _definitions(text, patterns)


def headings(text: str, underlined: bool = False) -> list[Entry]:
    """Headings of Markdown outside code fences, and underlined ones; each reaches to the next of its rank or above."""
    lines = text.split("\n")
    found: list[Entry] = []
    ranks: list[str] = []
    fence = ""
    for at, line in enumerate(lines):
        opening = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if opening and (not fence or opening[1].startswith(fence)):
            fence = "" if fence else opening[1]
        elif not fence and (match := re.match(r" {0,3}(#{1,6})\s+(.*?)\s*#*$", line)):
            found.append(Entry(f"{match[1]} {match[2]}"[:LABEL], at + 1, level=len(match[1])))
        elif underlined and at and lines[at - 1].strip() and _UNDERLINE.fullmatch(line):
            mark = line[0]
            if mark not in ranks:
                ranks.append(mark)
            found.append(Entry(lines[at - 1].strip()[:LABEL], at, level=ranks.index(mark) + 1))
    for at, entry in enumerate(found):
        following = [other.first for other in found[at + 1 :] if other.level <= entry.level]
        found[at] = entry.replace(last=(following[0] - 1) if following else len(lines))
    return found


def _definitions(text: str, patterns: tuple[re.Pattern[str], ...]) -> list[Entry]:
    found: list[Entry] = []
    indents: list[int] = []
    for at, line in enumerate(text.split("\n"), 1):
        if len(line) > 500 or not line.strip():
            continue
        match = next((match for pattern in patterns if (match := pattern.match(line))), None)
        if match is None:
            continue
        indent = len(match["indent"].expandtabs(TAB))
        while indents and indents[-1] >= indent:
            indents.pop()
        indents.append(indent)
        label = line.strip().rstrip("{").rstrip()
        found.append(Entry(label if len(label) <= LABEL else label[: LABEL - 1] + "…", at, level=len(indents)))
    return found
