"""Tool calls in human form: what a call does, said in a line, and the part of it worth reading before it is done.

Owns the titles (`read README.md`, `run pytest -q`) and the diff of an edit. Must not know results.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from typing import Any

import elsewhere
import forging
import steering
import terminals
from languages import language_of
from thetis_guest.lenient import flag, number, text

Block = dict[str, Any]

MAX_BODY = 60_000
"""Characters of a body; the event log holds the rest."""
CONTEXT_LINES = 3
WHOLE_TITLES = {**terminals.TITLES, **steering.TITLES, **forging.TITLES, **elsewhere.TITLES}
"""Calls whose title says more than their name and arguments would."""


def call_block(name: str, args: dict[str, Any], call: str) -> Block:
    """The block of a `tool-invocation`. What a guest does by an import is logged under the import's name."""
    name = _IMPORTS.get(name, name)
    block: Block = {"kind": "tool", "title": title(name, args), "call": call}
    if name in ("edit", "patch_code"):
        block.update(body=edit_diff(args)[:MAX_BODY], format="diff")
    elif name in ("write", "write_code") and text(args, "contents"):
        language = language_of(text(args, "path"))
        block.update(body=text(args, "contents")[:MAX_BODY], format="code", language=language)
    elif name in ("run", "terminal_run") and "\n" in text(args, "command").strip():
        block.update(body=text(args, "command").strip()[:MAX_BODY], format="code", language="bash")
    elif name == "write_skill":
        block.update(body=text(args, "contents")[:MAX_BODY], format="code", language="markdown")
    elif name == "plan_write":
        block.update(body=text(args, "body")[:MAX_BODY], format="markdown", folded=True)
    elif name == "remember":
        block.update(body=text(args, "content")[:MAX_BODY])
    elif name not in _TITLES and name not in WHOLE_TITLES:
        block["fields"] = [(str(key)[:80], shown(value, 2000)) for key, value in list(args.items())[:32]]
    return block


def title(name: str, args: dict[str, Any]) -> str:
    """A call in a line."""
    if name in WHOLE_TITLES:
        return WHOLE_TITLES[name](args)
    describe = _TITLES.get(name)
    words = describe(args) if describe else generic(args)
    return f"{name or 'call'} {words}".strip()


def generic(args: dict[str, Any]) -> str:
    """The arguments of a tool nobody here knows: the value alone when there is one, else name=value."""
    if len(args) == 1:
        return shown(next(iter(args.values())), 120)
    return " ".join(f"{key}={shown(value, 60)}" for key, value in args.items())


def shown(value: Any, limit: int) -> str:
    """A value on one line."""
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    words = " ".join(words.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def _read(args: dict[str, Any]) -> str:
    first, count = number(args, "offset", 1), number(args, "limit")
    lines = f":{first}-{first + count - 1}" if count > 0 else f":{first}" if first > 1 else ""
    return text(args, "path") + lines


def _list(args: dict[str, Any]) -> str:
    return text(args, "path") or "."


def _search(args: dict[str, Any]) -> str:
    words = f"“{shown(text(args, 'pattern'), 120)}”"
    where = text(args, "path")
    return words + _where(where) + (f" ({text(args, 'glob')})" if text(args, "glob") else "")


def _find(args: dict[str, Any]) -> str:
    return text(args, "glob") + _where(text(args, "path"))


def _where(path: str) -> str:
    return f" in {path}" if path and path != "." else ""


def _run(args: dict[str, Any]) -> str:
    lines = text(args, "command").strip().split("\n")
    words = shown(lines[0], 300) + (f" … {len(lines) - 1} more lines" if len(lines) > 1 else "")
    return words + _where(text(args, "cwd"))


def _edit(args: dict[str, Any]) -> str:
    return text(args, "path") + (" (every occurrence)" if flag(args, "replace_all") else "")


_TITLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "read": _read,
    "list": _list,
    "search": _search,
    "find": _find,
    "run": _run,
    "edit": _edit,
    "write": lambda args: text(args, "path"),
    "remember": lambda args: text(args, "key"),
    "recall": lambda args: text(args, "key"),
    "outline": lambda args: text(args, "path"),
}


_IMPORTS = {
    "files.read-file": "read",
    "files.list-dir": "list",
    "files.search-files": "search",
    "files.find-files": "find",
    "files.edit-file": "edit",
    "files.write-file": "write",
    "terminal.run": "run",
    "notes.remember": "remember",
    "notes.recall": "recall",
    "devkit.list-code": "list_code",
    "devkit.read-code": "read_code",
    "devkit.write-code": "write_code",
    "devkit.patch-code": "patch_code",
    "devkit.remove-code": "remove_code",
    "devkit.new-tool": "new_tool",
    "devkit.history": "code_history",
    "devkit.roll-back": "roll_back",
    "devkit.add-dependency": "add_dependency",
    "devkit.remove-dependency": "remove_dependency",
    "devkit.list-dependencies": "list_dependencies",
}


def edit_diff(args: dict[str, Any]) -> str:
    """The change of an edit as a unified diff; lines count from the edited passage, whose place the call does not say."""
    path = text(args, "path")
    old, new = text(args, "old_text").splitlines(), text(args, "new_text").splitlines()
    lines = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=CONTEXT_LINES)
    return "\n".join(lines)
