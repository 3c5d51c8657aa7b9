"""How self-work looks: the file, the verdict, the place of what was refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from thetis_kernel.paths import builtin_root

from tests.support.native_guest import native_guest

MAIN = "tools/x/main.py"
GREEN = {"aspect": "tool/x", "ok": True, "revision": "ab12cd34ef", "diagnostics": [], "changed": True, "gone": False,
         "steps": [{"step": "compile", "ok": True, "ms": 900.0}, {"step": "smoke", "ok": True, "ms": 300.0}]}  # fmt: skip
RED = {"aspect": "tool/x", "ok": False, "revision": "ef", "diagnostics": [{"path": MAIN, "line": 3, "message": "no [b]"},
                                                                          {"path": "tools/x", "line": 0, "message": "odd"}],
       "steps": [{"step": "manifest", "ok": True, "ms": 1.0}, {"step": "compile", "ok": False, "ms": 20.0}]}  # fmt: skip


@pytest.fixture(scope="module")
def guest() -> Iterator[ModuleType]:
    with native_guest(builtin_root() / "aspects" / "gateway_tui") as main:
        yield main


def drawn(guest: ModuleType, kind: str, **body: Any) -> dict[str, Any]:
    [answer] = guest.render_events([{"seq": 1, "kind": kind, "body": body}])
    [block] = answer["blocks"]
    return dict(block)


def result(guest: ModuleType, value: dict[str, Any], outcome: str) -> dict[str, Any]:
    return drawn(guest, "tool-result", call="c", outcome=outcome, content=json.dumps(value))


@pytest.mark.parametrize(("value", "title"), [
    (GREEN, "passed the gate in 1.2 s · ab12cd34 serves"),
    ({**GREEN, "changed": False}, "nothing changed"),
    ({**GREEN, "gone": True}, "removed"),
])  # fmt: skip
def test_a_pass_is_said_in_a_line(guest: ModuleType, value: dict[str, Any], title: str) -> None:
    block = result(guest, value, "ok")
    assert block["title"] == title and block["body"] == "" and block["tone"] == "good"


def test_a_refusal_names_step_file_and_line(guest: ModuleType) -> None:
    block = result(guest, RED, "error")
    assert block["title"] == "refused at compile" and block["tone"] == "bad" and not block["folded"]
    assert block["body"] == f"{MAIN}:3: no [b]\ntools/x: odd"


def test_lists_of_guests_files_and_revisions(guest: ModuleType) -> None:
    listed = [{"aspect": "agent", "origin": "own", "revision": "ab12cd34ef", "description": "It."}]
    guests = result(guest, {"guests": listed}, "ok")
    assert guests["title"] == "1 guest" and "own ab12cd34" in guests["body"]
    files = result(guest, {"files": [{"path": MAIN, "bytes": 2000}]}, "ok")
    assert files["title"] == "1 file" and files["body"] == f"{MAIN}  2,000 bytes"
    revisions = [{"revision": "ab12cd34ef", "by": "agent", "summary": "New", "serving": True}]
    assert result(guest, {"revisions": revisions}, "ok")["body"] == "● ab12cd34  agent   New"
    assert result(guest, {"revisions": []}, "ok")["title"] == "never changed here"


@pytest.mark.parametrize(("name", "args", "title", "format_"), [
    ("write_code", {"path": MAIN, "contents": "x = 1\n"}, f"write {MAIN}", "code"),
    ("patch_code", {"path": MAIN, "old_text": "a", "new_text": "b"}, f"edit {MAIN}", "diff"),
    ("new_tool", {"name": "x", "description": "Y."}, "new tool x", ""),
    ("roll_back", {"aspect": "agent", "revision": "ab12cd34ef"}, "roll back agent to ab12cd34", ""),
    ("devkit.write-code", {"path": MAIN, "contents": "x"}, f"write {MAIN}", "code"),
    ("list_code", {}, "guests", ""),
    ("add_dependency", {"aspect": "tool/x", "requirement": "idna"}, "take idna into tool/x", ""),
    ("devkit.remove-dependency", {"aspect": "tool/x", "name": "idna"}, "take idna out of tool/x", ""),
])  # fmt: skip
def test_calls_name_the_file(guest: ModuleType, name: str, args: dict[str, Any], title: str, format_: str) -> None:
    block = drawn(guest, "tool-invocation", call="c", name=name, args=args, op="devkit", mutating=True)
    assert block["title"] == title and block.get("format", "") == format_
