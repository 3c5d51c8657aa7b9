"""Results in human form: a few words that stay visible, and the body that folds away.

Owns how each shape of result is shown. A result's event does not say which operation it is of, so its content is
recognised by its fields. Must not know calls, and must not fail on any content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import elsewhere
import forging
import inside
import terminals
from calls import MAX_BODY, Block
from languages import language_of
from thetis_guest.lenient import flag, mapping, number, objects, parsed, strings, text

FOLD_LINES = 12
"""A body longer than this starts folded; what failed never does."""
_OUTCOMES = {
    "error": ("failed", "bad"),
    "refused": ("refused", "warn"),
    "interrupted": ("interrupted, outcome unknown", "warn"),
    "cancelled": ("stopped", "muted"),
}


def result_block(body: dict[str, Any]) -> Block:
    """The block of a `tool-result`."""
    content = text(body, "content")
    value = parsed(content) if content.startswith("{") else None
    outcome = text(body, "outcome", "ok")
    draw = _recognised(value)
    block: Block = {"title": "", "body": content, "format": "text", "tone": "good", "folded": False, "fields": []}
    if draw is not None and isinstance(value, dict):
        block.update(draw(value))
    elif isinstance(value, dict) and "message" in value:
        block.update(body="\n".join(filter(None, [text(value, "message"), text(value, "hint")])))
    elif content.startswith("{") and value is None and body.get("truncated"):
        block.update(title="long result, cut", folded=True)
    elif outcome == "ok":
        block.update(title=counted(len(content.splitlines()), "line") if content.strip() else "no output")
    if outcome != "ok":
        words, tone = _OUTCOMES.get(outcome, (outcome, "warn"))
        block.update(title=block["title"] or words, tone=tone)
    patch = text(mapping(body, "data"), "patch")
    if patch:
        block.update(body=patch, format="diff", folded=False)
    block["body"] = str(block["body"])[:MAX_BODY].rstrip("\n")
    if outcome == "ok" and not patch:
        block["folded"] = block["folded"] or block["body"].count("\n") >= FOLD_LINES
    spill = text(body, "spill") or text(value, "spill")
    if spill:
        block["fields"] = [*block["fields"], ("whole", spill)]
    block["fields"] = [*block["fields"], *inside.fields(mapping(body, "data"))]
    took = number(value, "duration_ms") or number(body, "duration_ms")
    if took >= 1000:
        block["fields"] = [*block["fields"], ("time", duration(took))]
    return {"kind": "result", "call": text(body, "call"), **block}


def counted(count: int, one: str, many: str = "") -> str:
    """1 line, 2 lines; thousands with separators."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def duration(ms: int) -> str:
    """0.8 s, 12 s, 3 min 5 s."""
    if ms < 10_000:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


def size(count: int) -> str:
    """Bytes for people."""
    if count < 1024:
        return counted(count, "byte")
    return f"{count / 1024:.1f} KB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MB"


# -- the shapes of results


def _recognised(value: Any) -> Callable[[dict[str, Any]], Block] | None:
    for fields, draw in _SHAPES:
        if isinstance(value, dict) and all(name in value for name in fields):
            return draw
    return None


def _run(value: dict[str, Any]) -> Block:
    output = text(value, "output")
    if flag(value, "timed_out"):
        ended = "timed out"
    elif flag(value, "cancelled"):
        ended = "stopped"
    elif value.get("signal"):
        ended = f"killed by signal {value['signal']}"
    else:
        ended = "" if value.get("exit") == 0 else f"exit {value.get('exit')}"
    quiet = "no output" if not output.strip() else ""
    return {"title": " · ".join(filter(None, [ended, quiet])), "body": output}


def _picture(value: dict[str, Any]) -> Block:
    kind = "PDF" if text(value, "media_type") == "application/pdf" else "picture"
    return {"title": f"{kind}, {size(number(value, 'size'))}", "body": ""}


def _read(value: dict[str, Any]) -> Block:
    first, lines, total = number(value, "first", 1), number(value, "lines"), number(value, "total")
    part = f"lines {first}-{first + lines - 1} of {total:,}" if lines < total else counted(total, "line")
    code = {"body": text(value, "text"), "format": "code", "language": language_of(text(value, "path"))}
    return {"title": part if total else "empty", "folded": True, **code}


def _write(value: dict[str, Any]) -> Block:
    verb = "created" if flag(value, "created") else "replaced"
    return {"title": f"{verb}, {size(number(value, 'bytes'))}", "body": ""}


def _edit(value: dict[str, Any]) -> Block:
    count, line = number(value, "replaced", 1), number(value, "line")
    times = "" if count == 1 else f"{count} places"
    return {"title": ", ".join(filter(None, [times, f"line {line}" if line else ""])), "body": ""}


def _list(value: dict[str, Any]) -> Block:
    entries = objects(value, "entries")
    lines = []
    for entry in entries:
        name, kind = text(entry, "name"), text(entry, "kind")
        lines.append(f"{name}/" if kind == "dir" else f"{name}  {size(number(entry, 'size'))}" if kind == "file" else name)
    total = max(number(value, "total"), len(entries))
    return {"title": counted(total, "entry", "entries"), "body": "\n".join(lines), "folded": True}


def _matches(value: dict[str, Any]) -> Block:
    found = objects(value, "matches")
    files = len({text(item, "path") for item in found})
    lines = [f"{text(item, 'path')}:{number(item, 'line')}: {text(item, 'text').rstrip()}" for item in found]
    words = counted(len(found), "match", "matches") + (f" in {counted(files, 'file')}" if files > 1 else "")
    return {"title": _more(words, value) if found else "no matches", "body": "\n".join(lines), "folded": True}


def _files(value: dict[str, Any]) -> Block:
    if objects(value, "files"):
        return forging.code_files(value)
    files = strings(value, "files")
    words = _more(counted(len(files), "file"), value) if files else "no files"
    return {"title": words, "body": "\n".join(files), "folded": True}


def _counts(value: dict[str, Any]) -> Block:
    counts = objects(value, "counts")
    lines = [f"{text(item, 'path')}: {number(item, 'count')}" for item in counts]
    words = counted(sum(number(item, "count") for item in counts), "match", "matches")
    return {"title": _more(f"{words} in {counted(len(counts), 'file')}", value), "body": "\n".join(lines), "folded": True}


def _more(words: str, value: dict[str, Any]) -> str:
    return f"{words} and more" if flag(value, "truncated") else words


def _note(value: dict[str, Any]) -> Block:
    return {"title": "forgotten" if flag(value, "forgotten") else "noted", "body": ""}


def _notes(value: dict[str, Any]) -> Block:
    notes = objects(value, "notes")
    lines = [f"{text(note, 'key')}: {text(note, 'content')}" for note in notes]
    return {"title": counted(len(notes), "note") if notes else "no notes", "body": "\n".join(lines)}


def _originals(value: dict[str, Any]) -> Block:
    events = objects(value, "events")
    lines = [f"{number(event, 'seq')}  {text(event, 'kind')}" for event in events]
    return {"title": _more(counted(len(events), "event"), {"truncated": number(value, "next") > 0}), "body": "\n".join(lines),
            "folded": True}  # fmt: skip


_SHAPES: tuple[tuple[tuple[str, ...], Callable[[dict[str, Any]], Block]], ...] = (
    *terminals.SHAPES,
    *elsewhere.SHAPES,
    *forging.SHAPES,
    (("exit", "output"), _run),
    (("id", "questions"), lambda value: {"title": "asked", "body": ""}),
    (("events", "next"), _originals),
    (("media_type", "attachment"), _picture),
    (("text", "first", "total"), _read),
    (("bytes", "created"), _write),
    (("key", "forgotten"), _note),
    (("path", "replaced"), _edit),
    (("entries",), _list),
    (("matches",), _matches),
    (("files",), _files),
    (("counts",), _counts),
    (("notes",), _notes),
)
