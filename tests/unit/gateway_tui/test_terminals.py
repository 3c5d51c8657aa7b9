"""Terminals on the screen: calls read as one would type them, results say how it ended."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.blocks import Block

from tests.support.native_guest import native_guest


@pytest.fixture(scope="module")
def guest() -> SimpleNamespace:
    directory = builtin_root() / "aspects" / "gateway_tui"
    with native_guest(directory):
        return SimpleNamespace(**{path.stem: sys.modules[path.stem] for path in directory.glob("*.py")})


def drawn(guest: SimpleNamespace, kind: str, **body: Any) -> dict[str, Any]:
    [answer] = guest.main.render_events([{"seq": 1, "kind": kind, "body": body}])
    [block] = answer["blocks"]
    msgspec.convert({**block, "seq": 1}, Block)  # it is one the kernel takes
    return dict(block)


@pytest.mark.parametrize(
    ("name", "args", "title"),
    [
        ("terminal_open", {"name": "server", "cwd": "web"}, "open terminal server in web"),
        ("terminal_open", {}, "open terminal"),
        ("terminal_run", {"id": "t1", "command": "pytest -q"}, "t1 $ pytest -q"),
        ("terminal_run", {"id": "t1", "command": "serve\nnow", "background": True}, "t1 $ serve … 1 more lines &"),
        ("terminal_send", {"id": "t1", "text": "1+1"}, "t1 ‹ 1+1 ⏎"),
        ("terminal_send", {"id": "t1", "text": "y", "submit": False}, "t1 ‹ y"),
        ("terminal_send", {"id": "t1", "key": "ctrl-c"}, "t1 ‹ ctrl-c"),
        ("terminal_read", {"id": "t1"}, "look at t1"),
        ("terminal_signal", {"id": "t1", "signal": "INT"}, "t1 signal INT"),
        ("terminal_close", {"id": "t1"}, "close t1"),
        ("terminal_list", {}, "list terminals"),
        ("terminal_run", {"id": 5, "command": None}, "? $"),
    ],
)
def test_calls(guest: SimpleNamespace, name: str, args: dict[str, Any], title: str) -> None:
    assert drawn(guest, "tool-invocation", name=name, args=args, call="c1")["title"] == title


@pytest.mark.parametrize(
    ("value", "outcome", "title", "tone"),
    [
        ({"terminal": "t1", "running": False, "exit": 0, "output": "x\n"}, "ok", "exit 0", "good"),
        ({"terminal": "t1", "running": False, "exit": 2, "output": "x\n"}, "error", "exit 2", "bad"),
        ({"terminal": "t1", "running": False, "exit": 0, "output": ""}, "ok", "exit 0 · no output", "good"),
        (
            {"terminal": "t1", "running": True, "exit": None, "output": ">>> ", "since_ms": 65_000},
            "ok",
            "running · 1 min 5 s",
            "muted",
        ),
        (
            {
                "terminal": "t1",
                "running": False,
                "exit": 137,
                "signal": 9,
                "timed_out": True,
                "duration_ms": 2000,
                "output": "x",
            },
            "error",
            "timed out after 2 s",
            "bad",
        ),
        ({"terminal": "t1", "running": False, "ended": {"exit": 1}, "output": ""}, "ok", "exit 1 · no output", "bad"),
        ({"terminal": "t1", "name": "server", "cwd": "web"}, "ok", "t1 (server) in web", "good"),
        ({"terminal": "t1", "closed": True}, "ok", "closed", "good"),
        ({"terminals": []}, "ok", "no terminals", "good"),
    ],
)
def test_results(guest: SimpleNamespace, value: dict[str, Any], outcome: str, title: str, tone: str) -> None:
    block = drawn(guest, "tool-result", call="c1", outcome=outcome, content=json.dumps(value))
    assert (block["title"], block["tone"]) == (title, tone)


def test_a_screen_is_shown_as_it_stands_and_long_output_folds(guest: SimpleNamespace) -> None:
    screen = {"terminal": "t1", "running": True, "screen": "~\n~\nname.txt", "cursor": [1, 1], "since_ms": 1}
    assert drawn(guest, "tool-result", call="c1", outcome="ok", content=json.dumps(screen))["body"] == "~\n~\nname.txt"
    long = {"terminal": "t1", "running": False, "exit": 0, "output": "line\n" * 100}
    assert drawn(guest, "tool-result", call="c1", outcome="ok", content=json.dumps(long))["folded"] is True


def test_the_record_of_open_terminals_is_not_shown(guest: SimpleNamespace) -> None:
    [answer] = guest.main.render_events(
        [{"seq": 1, "kind": "state-changed", "body": {"scope": "terminals", "key": "open", "value": "{}"}}]
    )
    assert answer["blocks"] == []
