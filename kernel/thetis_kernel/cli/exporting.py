"""The forms of an export: how an event is written in Markdown, as a line of JSON, in HTML.

Text of models, tools and files is never markup of the form it stands in. Must not know where events come from.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.protocol.events import (
    Answer,
    Assistant,
    ChildSettled,
    ChildStarted,
    Compaction,
    Event,
    Incident,
    Nudge,
    Question,
    SessionStarted,
    SettingChanged,
    SystemNote,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    User,
)

REDACTED = "Secrets and the names of machines were taken out of this export."
_C1 = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FENCE = re.compile(r"`{3,}")


class Piece(msgspec.Struct, frozen=True):
    """One thing of a conversation: who (`person`, `model`, `tool`, `note`), a line, and text that is kept as it is."""

    who: str
    title: str
    text: str = ""
    verbatim: bool = False


class Form(Protocol):
    """What an export is made of."""

    def head(self) -> str: ...

    def event(self, event: Event) -> str: ...

    def foot(self) -> str: ...


def pieces(event: Event) -> Iterator[Piece]:
    """What of an event is for readers. What cannot be read is said to be."""
    try:
        body = event.body
    except msgspec.MsgspecError:
        yield Piece("note", f"An event of kind {event.kind} that cannot be read")
        return
    match body:
        case SessionStarted(mode=mode, model=model, branch=branch):
            yield Piece("note", f"Conversation {event.session[:8]}, begun {_when(event)} · {mode} · {model} · {branch}")
        case User(text=text):
            yield Piece("person", _when(event), text)
        case Nudge(text=text, source=source):
            yield Piece("person" if source == "user" else "note", f"{_when(event)} · to the running turn", text)
        case Assistant(blocks=blocks, model=model, partial=partial):
            for block in blocks:
                if block.get("type") in ("text", "thinking") and (words := str(block.get(block["type"], ""))).strip():
                    of = " · thinking" if block["type"] == "thinking" else ""
                    yield Piece("model", f"{model}{of}{' · cut' if partial else ''}", words)
        case ToolInvocation(name=name, args=args):
            yield Piece("tool", name, msgspec.json.format(msgspec.json.encode(args), indent=2).decode(), True)
        case ToolResult(outcome=outcome, content=content, truncated=truncated):
            yield Piece("tool", f"result: {outcome}{' (cut)' if truncated else ''}", content, True)
        case SystemNote(text=text) | Incident(message=text):
            yield Piece("note", text)
        case Question(questions=questions):
            yield Piece("note", "It asks: " + "; ".join(str(one.get("question", "")) for one in questions))
        case Answer(answers=answers):
            yield Piece("person", f"{_when(event)} · answers", "\n".join(_given(one) for one in answers))
        case ChildStarted(label=label, task=task):
            yield Piece("note", f"Sub-agent {label} begun", task)
        case ChildSettled(label=label, state=state, detail=detail):
            yield Piece("note", f"Sub-agent {label}: {state}", detail)
        case SettingChanged(name=name, value=value) if name in ("mode", "model", "title"):
            yield Piece("note", f"{name}: {value}")
        case Compaction(summary=summary):
            yield Piece("note", "The middle was summed up", summary)
        case TurnFinished(stopped_by=by, detail=detail) if by != "stop":
            yield Piece("note", f"The turn ended by {by}. {detail}".rstrip())
        case _:
            return


class Json:
    """Every event, as `thetis log --json` has it, one a line; chains do not verify, since bodies were changed."""

    def head(self) -> str:
        return msgspec.json.encode({"thetis_export": 1, "redacted": True}).decode() + "\n"

    def event(self, event: Event) -> str:
        table = {"session": event.session, "seq": event.seq, "ts_ms": event.ts_ms, "kind": event.kind, "v": event.v,
                 "body": msgspec.Raw(event.raw)}
        # JSON need not escape these, terminals obey them all the same.
        return _C1.sub(lambda match: f"\\u{ord(match[0]):04x}", msgspec.json.encode(table).decode()) + "\n"

    def foot(self) -> str:
        return ""


class Markdown:
    """Words of people and models as they are, calls and results in fences longer than any fence in them."""

    _NAMES = {"person": "You", "model": "Agent", "tool": "Tool"}  # noqa: RUF012 - a constant

    def head(self) -> str:
        return f"*{REDACTED}*\n\n"

    def event(self, event: Event) -> str:
        return "".join(self._piece(piece) for piece in pieces(event))

    def foot(self) -> str:
        return ""

    def _piece(self, piece: Piece) -> str:
        title, text = _one_line(piece.title), plain(piece.text).rstrip()
        if piece.who == "note":
            quoted = "".join(f"\n> {line}" for line in text.splitlines())
            return f"> {_escaped(title)}{quoted}\n\n"
        head = f"### {self._NAMES[piece.who]} · {_escaped(title)}\n\n"
        if not text:
            return head
        if piece.verbatim:
            fence = "`" * (max((len(run) for run in _FENCE.findall(text)), default=2) + 1)
            return f"{head}{fence}\n{text}\n{fence}\n\n"
        return f"{head}{_headless(text)}\n\n"


class Html:
    """One page without scripts, styles from nowhere else, nothing of anybody's text as markup."""

    def head(self) -> str:
        return (
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Thetis conversation</title>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
            ":root{color-scheme:light dark}\n"
            "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\n"
            "section{margin:1rem 0;padding:.1rem 1rem;border-left:3px solid #8884}section.person{border-color:#3a7bd5}\n"
            "section.tool{border-color:#8888}h2{font-size:.85rem;opacity:.7;margin:.5rem 0}\n"
            "pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,monospace;margin:.5rem 0}\n"
            "section.person pre,section.model pre{font:inherit}.note{opacity:.7;font-size:.9rem}\n</style></head><body>\n"
            f"<p class=\"note\">{REDACTED}</p>\n")

    def event(self, event: Event) -> str:
        return "".join(
            f"<section class=\"{piece.who}\"><h2>{html.escape(_one_line(piece.title))}</h2>"
            + (f"<pre>{html.escape(plain(piece.text))}</pre>" if piece.text else "") + "</section>\n"
            for piece in pieces(event))

    def foot(self) -> str:
        return "</body></html>\n"


FORMS: dict[str, type[Form]] = {"md": Markdown, "json": Json, "html": Html}


def _when(event: Event) -> str:
    return datetime.fromtimestamp(event.ts_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _given(answer: dict[str, Any]) -> str:
    """The words of an answer, whatever its fields are called."""
    return " · ".join(str(value) for value in answer.values() if value not in ("", [], None))


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def _escaped(text: str) -> str:
    """A line in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)


def _headless(text: str) -> str:
    """Words as Markdown of their own, whose tags are text and whose headings do not break the outline."""
    return re.sub(r"^(#{1,6} )", r"\\\1", text.replace("<", "&lt;"), flags=re.M)
