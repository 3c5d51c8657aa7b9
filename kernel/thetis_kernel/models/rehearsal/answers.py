"""How the rehearsal model's answers read: verbatim quotes in fences no content can close, and the label under each."""

from __future__ import annotations

import re

from thetis_kernel.models.rehearsal.scene import Done

NOTICE = "rehearsal: no language model connected"
CONNECT = 'To connect one, export ANTHROPIC_API_KEY=... and start again; docs/models.md says more.'
QUOTED_LINES = 60
"""Lines of a result that an answer repeats; the rest is counted."""

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_REMARK = re.compile(r"\n\[[^\n]*\]\s*\Z")


def labelled(words: str) -> str:
    """A final answer with the line that says what is speaking."""
    return f"{words.rstrip()}\n\n*{NOTICE}. {CONNECT}*"


def fenced(text: str, language: str = "", lines: int = QUOTED_LINES) -> str:
    """`text` as a code block, cut after `lines`; the number of lines left out is said below it."""
    whole = text.strip("\n").split("\n")
    shown = "\n".join(whole[:lines])
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    more = f"\n… and {len(whole) - lines} more lines." if len(whole) > lines else ""
    return f"{fence}{language}\n{shown}\n{fence}{more}"


def content(done: Done) -> str:
    """A file's text out of a read's result: without line numbers and without the remark at the end."""
    if not _NUMBERED.match(done.text):
        return done.text
    return _NUMBERED.sub("", _REMARK.sub("", done.text))


def failure(done: Done) -> str:
    """What a failed call said."""
    return f"`{done.name}` did not work:\n\n{fenced(done.text or '(no reason given)', 'text')}"


def named(path: str) -> str:
    """A path or a word in running text, as inline code."""
    return f"`` {path} ``" if "`" in path else f"`{path}`"
