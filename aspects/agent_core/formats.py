"""A logged result as text for the model: JSON of the host's operations made readable.

Owns how each operation's result reads: numbered lines, one entry a line, and the way out last, where a model that
skims finds it. A pure function of the log, so that a result reads the same in every later request. Must not know
messages, and never fails: what it does not understand is passed on as it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import branches
import elsewhere
import markers
import outside
import packages
import selfwork
import skillset
import subagents
import terminals
from cutting import head
from retelling import Retelling
from thetis_guest.lenient import flag, number, objects, parsed, strings, text

ORIGINAL_CHARS = 12_000
"""Characters of one part of an event that is read again."""
LONG_LINE = 2_000
"""Characters of one line of a file before the rest of the line is left out (a minified file is one line)."""


def result_text(op: str, args: dict[str, Any], body: dict[str, Any]) -> str:
    """What the model reads of a `tool-result` body whose call ran `op` with `args`."""
    outcome = text(body, "outcome", "error")
    content = text(body, "content")
    value = parsed(content) if content[:1] in ("{", "[") else None
    if outcome in ("error", "refused", "interrupted", "cancelled"):
        words = _failure(outcome, content, value, op)
    elif value is None and flag(body, "truncated"):
        words = _salvaged(op, args, content)
    else:
        words = _success(op, args, content, value)
    spill = text(body, "spill")
    if spill and spill not in words:
        words += f"\n[cut; the whole is in {spill}: read it with offset and limit, or search it]"
    return words if words.strip() else markers.NO_OUTPUT


def _success(op: str, args: dict[str, Any], content: str, value: Any) -> str:
    reader = READERS.get(op)
    if reader is None or value is None:
        return content
    return reader(value, args)


def _failure(outcome: str, content: str, value: Any, op: str) -> str:
    if op == "terminal.run" and isinstance(value, dict) and "output" in value:
        return _run(value, {})
    if op == "terminals.run" and isinstance(value, dict) and "output" in value:
        return terminals.look(value, {})
    if op.startswith("devkit.") and isinstance(value, dict) and "diagnostics" in value:
        return READERS.get(op, selfwork.verdict)(value, {})
    if op == "skills.write" and isinstance(value, dict) and "diagnostics" in value:
        return skillset.written(value, {})
    message = text(value, "message") or content.strip()
    hint = text(value, "hint")
    if outcome == "interrupted":
        return message or markers.UNKNOWN_OUTCOME
    if outcome == "cancelled":
        return message or markers.NOT_RUN
    said = f"{outcome}: {message or 'no reason was given'}"
    return f"{said}\n{hint}" if hint else said


# -- one reader for each operation


def _read(value: Any, args: dict[str, Any]) -> str:
    if text(value, "media_type"):
        return f"{text(value, 'path')}: {text(value, 'media_type')}, {size(number(value, 'size'))}, shown below"
    first = number(value, "first", 1)
    body = text(value, "text")
    total = number(value, "total")
    if not body and total == 0:
        return "(an empty file)"
    lines = body.removesuffix("\n").split("\n")
    if not body:
        return f"(nothing at line {first}: the file has {total} lines)"
    numbered = [f"{first + i:>6}\t{_short(line)}" for i, line in enumerate(lines)]
    last = first + len(lines) - 1
    if last < total:
        numbered.append(f"[lines {first}-{last} of {total}; read on with offset={last + 1}]")
    elif flag(value, "truncated"):
        numbered.append(f"[cut at line {last}; read on with offset={last + 1}]")
    return "\n".join(numbered)


def _short(line: str) -> str:
    shown = head(line, LONG_LINE)
    return line if shown == line else f"{shown} [+{len(line) - len(shown)} characters]"


def _write(value: Any, args: dict[str, Any]) -> str:
    verb = "created" if flag(value, "created") else "wrote"
    return f"{verb} {text(value, 'path') or text(args, 'path')} ({number(value, 'bytes')} bytes){_note(value)}"


def _edit(value: Any, args: dict[str, Any]) -> str:
    count = number(value, "replaced", 1)
    times = "once" if count == 1 else f"{count} times"
    return f"edited {text(value, 'path') or text(args, 'path')}: replaced {times}{_note(value)}"


def _note(value: Any) -> str:
    return f"\n[{text(value, 'note')}]" if text(value, "note") else ""


def _list(value: Any, args: dict[str, Any]) -> str:
    entries = value if isinstance(value, list) else objects(value, "entries")
    lines = [_entry(entry) for entry in entries if isinstance(entry, dict)]
    if not lines:
        return "(an empty directory)"
    if flag(value, "truncated"):
        lines.append("[cut: there is more; list a subdirectory, or use find]")
    return "\n".join(lines)


def _entry(entry: dict[str, Any]) -> str:
    name = text(entry, "name") or text(entry, "path")
    kind = text(entry, "kind")
    if kind in ("dir", "directory"):
        return f"{name}/"
    return f"{name}  {size(number(entry, 'size'))}" if kind in ("", "file") else f"{name}  ({kind})"


def size(count: int) -> str:
    """Bytes for people: 512 B, 1.5 KB, 2.0 MB."""
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} KB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MB"


def _search(value: Any, args: dict[str, Any]) -> str:
    mode = text(args, "mode", "content")
    lines = _matches(value) or strings(value, "files") or _counts(value)
    if not lines:
        return f"no matches for {text(args, 'pattern')!r}"
    if flag(value, "truncated"):
        advice = "narrow the pattern, path or glob" if mode == "content" else "narrow the path or glob"
        lines = [*lines, f"[cut: there are more; {advice}, or raise max_results]"]
    return "\n".join(lines)


def _matches(value: Any) -> list[str]:
    found = value if isinstance(value, list) else objects(value, "matches")
    return [
        f"{text(item, 'path')}:{number(item, 'line')}: {_short(text(item, 'text').rstrip())}"
        for item in found
        if isinstance(item, dict)
    ]


def _counts(value: Any) -> list[str]:
    counts = value.get("counts") if isinstance(value, dict) else None
    if isinstance(counts, dict):
        return [f"{path}: {count}" for path, count in counts.items()]
    return [f"{text(item, 'path')}: {number(item, 'count')}" for item in objects(value, "counts")]


def _find(value: Any, args: dict[str, Any]) -> str:
    paths = strings(value, "files") or strings(value, "paths")
    paths = paths or [text(item, "path") for item in objects(value, "files")]
    if isinstance(value, list):
        paths = [item if isinstance(item, str) else text(item, "path") for item in value]
    if not paths:
        return f"no files match {text(args, 'glob')!r}"
    if flag(value, "truncated"):
        paths = [*paths, "[cut: there are more; narrow the glob or path, or raise max_results]"]
    return "\n".join(paths)


def _run(value: Any, args: dict[str, Any]) -> str:
    output = text(value, "output").rstrip("\n")
    seconds = number(value, "duration_ms") / 1000
    if flag(value, "timed_out"):
        end = f"timed out after {seconds:.0f} s and was stopped; give a larger timeout_ms, or run less"
    elif flag(value, "cancelled"):
        end = "stopped by the person"
    elif text(value, "signal") or number(value, "signal"):
        end = f"killed by signal {text(value, 'signal') or number(value, 'signal')}"
    else:
        end = f"exit {number(value, 'exit')}"
    spill = text(value, "spill")
    if spill:
        end += f"; output cut, the whole is in {spill}"
    elif flag(value, "truncated"):
        end += "; output cut"
    return f"{output}\n[{end}]" if output else f"[{end}, no output]"


def _remember(value: Any, args: dict[str, Any]) -> str:
    return f"noted {text(args, 'key')}"


def _recall(value: Any, args: dict[str, Any]) -> str:
    notes = objects(value, "notes")
    if not notes:
        key = text(args, "key")
        return f"no note named {key!r}; recall without a key lists all" if key else "no notes yet"
    return "\n".join(f"{text(item, 'key')}: {text(item, 'content')}{_origin(item)}" for item in notes)


def _origin(note: dict[str, Any]) -> str:
    """When it was kept and by whom: what was true then may have changed."""
    made = datetime.fromtimestamp(number(note, "ts_ms") / 1000, UTC) if 0 < number(note, "ts_ms") < 1 << 42 else None
    told = [made.strftime("%Y-%m-%d %H:%M UTC") if made else "", text(note, "origin")]
    return f"  [{', '.join(filter(None, told))}]" if any(told) else ""


def _answered(value: Any, args: dict[str, Any]) -> str:
    return text(value, "message") or json.dumps(value, ensure_ascii=False)


def _originals(value: Any, args: dict[str, Any]) -> str:
    told = Retelling(ORIGINAL_CHARS, result_text)
    lines = [line for line in (told.told(event) for event in objects(value, "events")) if line]
    following = number(value, "next")
    if following:
        lines.append(f"[more: go on with recall_span first={following} last={number(args, 'last')}]")
    return "\n".join(lines) or "(events that say nothing to you)"


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "answer": _answered,
    "session.recall-span": _originals,
    "session.ask": lambda value, args: "Asked. The answer comes with the next turn.",
    "notes.remember-for-all": lambda value, args: f"noted {text(args, 'key')} for every conversation of this project",
    "notes.recall-for-all": _recall,
    "files.read-file": _read,
    "files.write-file": _write,
    "files.edit-file": _edit,
    "files.list-dir": _list,
    "files.search-files": _search,
    "files.find-files": _find,
    "terminal.run": _run,
    "notes.remember": _remember,
    "notes.recall": _recall,
    **terminals.READERS,
    **elsewhere.READERS,
    **skillset.READERS,
    **subagents.READERS,
    "devkit.list-code": selfwork.listing,
    "devkit.read-code": _read,
    "devkit.write-code": selfwork.verdict,
    "devkit.patch-code": selfwork.verdict,
    "devkit.remove-code": selfwork.verdict,
    "devkit.new-tool": selfwork.verdict,
    "devkit.history": selfwork.revisions,
    "devkit.roll-back": selfwork.verdict,
    **packages.READERS,
    **branches.READERS,
    **outside.READERS,
}
"""Operations whose result is JSON; of all others the content is text already."""

_CUT_TEXT = {"files.read-file": "text", "devkit.read-code": "text", "terminal.run": "output",
             "terminals.run": "output", "terminals.read": "output"}
_CUT_LIST = {
    "files.list-dir": ("entries",),
    "files.search-files": ("matches", "files", "counts"),
    "files.find-files": ("files",),
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[^u])", re.DOTALL)


def _salvaged(op: str, args: dict[str, Any], content: str) -> str:
    """What can still be read of JSON that the log's limit cut in the middle: the long text, or the first items."""
    if op in _CUT_TEXT:
        field = content.find(f'"{_CUT_TEXT[op]}":')
        opening = content.find('"', content.find(":", field)) if field >= 0 else -1
        return _ESCAPE.sub(_unescape, content[opening + 1 :]) if opening >= 0 else content
    for name in _CUT_LIST.get(op, ()):
        field = content.find(f'"{name}":[')
        if field >= 0:
            items = _items(content, content.index("[", field) + 1)
            return _success(op, args, content, {name: items, "truncated": True})
    return content


def _items(content: str, at: int) -> list[Any]:
    items: list[Any] = []
    decoder = json.JSONDecoder()
    while at < len(content):
        try:
            item, at = decoder.raw_decode(content, at)
        except ValueError:
            break
        items.append(item)
        at += 1  # the comma
    return items


def _unescape(match: re.Match[str]) -> str:
    sign = match.group(1)
    if sign[0] != "u":
        return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(sign, sign)
    code = int(sign[1:], 16)
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)
