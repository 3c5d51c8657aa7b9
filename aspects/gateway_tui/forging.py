"""Self-work in human form: which file of which guest, and what the gate said of it.

Owns the titles of the dev kit's calls and the shapes of their results. Must not fail on any content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thetis_guest.lenient import flag, number, objects, text

Block = dict[str, Any]
SHORT = 8


def _path(args: dict[str, Any]) -> str:
    return text(args, "path")


def _aspect(args: dict[str, Any]) -> str:
    revision = text(args, "revision")
    return text(args, "aspect") + (f" to {revision[:SHORT]}" if revision else "")


TITLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "list_code": lambda args: f"guests {text(args, 'directory')}".strip(),
    "read_code": lambda args: f"read {_path(args)}",
    "new_tool": lambda args: f"new tool {text(args, 'name')}",
    "write_code": lambda args: f"write {_path(args)}",
    "patch_code": lambda args: f"edit {_path(args)}",
    "remove_code": lambda args: f"remove {_path(args)}",
    "code_history": lambda args: f"history of {_aspect(args) or 'the guests'}",
    "roll_back": lambda args: f"roll back {_aspect(args)}",
    "add_dependency": lambda args: f"take {text(args, 'requirement')} into {text(args, 'aspect')}",
    "remove_dependency": lambda args: f"take {text(args, 'name')} out of {text(args, 'aspect')}",
    "list_dependencies": lambda args: f"packages of {text(args, 'aspect') or 'the guests'}",
}
"""The whole title of a call, its name included."""


def _package(one: dict[str, Any]) -> str:
    whose = f"{text(one, 'aspect'):<22} " if text(one, "aspect") else ""
    return f"{whose}{text(one, 'name')} {text(one, 'version')}  {text(one, 'licence')}  sha256 {text(one, 'sha256')[:12]}"


def _packages(value: dict[str, Any]) -> Block:
    lines = [_package(one) for one in objects(value, "packages")]
    title = f"{len(lines)} packages" if len(lines) != 1 else "1 package"
    return {"title": title if lines else "no packages", "body": "\n".join(lines)}


def _verdict(value: dict[str, Any]) -> Block:
    took = sum(number(step, "ms") for step in objects(value, "steps"))
    time = f" in {took / 1000:.1f} s" if took >= 100 else ""
    if flag(value, "ok"):
        if flag(value, "gone"):
            return {"title": "removed", "body": ""}
        if value.get("changed") is False:
            return {"title": "nothing changed", "body": ""}
        body = "\n".join(_package(one) for one in objects(value, "packages"))
        return {"title": f"passed the gate{time} · {text(value, 'revision')[:SHORT]} serves", "body": body}
    failed = [text(step, "step") for step in objects(value, "steps") if not flag(step, "ok")]
    places = [f"{_place(found)}: {text(found, 'message')}" for found in objects(value, "diagnostics")]
    return {"title": f"refused at {failed[-1] if failed else 'the gate'}{time}", "body": "\n".join(places)}


def _place(found: dict[str, Any]) -> str:
    line = number(found, "line")
    return text(found, "path") + (f":{line}" if line else "")


def _guests(value: dict[str, Any]) -> Block:
    lines = []
    for guest in objects(value, "guests"):
        own = f"own {text(guest, 'revision')[:SHORT]}" if text(guest, "origin") == "own" else "shipped"
        lines.append(f"{text(guest, 'aspect'):<22} {own:<13} {text(guest, 'description')}")
    return {"title": "1 guest" if len(lines) == 1 else f"{len(lines)} guests", "body": "\n".join(lines), "folded": True}


def code_files(value: dict[str, Any]) -> Block:
    """The files of a guest, with their sizes."""
    files = objects(value, "files")
    lines = [f"{text(file, 'path')}  {number(file, 'bytes'):,} bytes" for file in files]
    return {"title": f"{len(files)} files" if len(files) != 1 else "1 file", "body": "\n".join(lines), "folded": True}


def _history(value: dict[str, Any]) -> Block:
    lines = []
    for entry in objects(value, "revisions"):
        mark = "●" if flag(entry, "serving") else " "
        lines.append(f"{mark} {text(entry, 'revision')[:SHORT]:<8}  {text(entry, 'by'):<7} {text(entry, 'summary')}")
    return {"title": f"{len(lines)} revisions" if lines else "never changed here", "body": "\n".join(lines)}


SHAPES: tuple[tuple[tuple[str, ...], Callable[[dict[str, Any]], Block]], ...] = (
    (("aspect", "ok", "diagnostics"), _verdict),
    (("guests",), _guests),
    (("revisions",), _history),
    (("packages",), _packages),
)
