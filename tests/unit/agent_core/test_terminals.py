"""How the answers of terminals read to the model: the way out last, and nothing invented."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest


def shown(agent: SimpleNamespace, op: str, value: dict[str, Any], outcome: str = "ok") -> str:
    body = {"call": "c1", "outcome": outcome, "content": json.dumps(value)}
    text = agent.formats.result_text(op, {}, body)
    assert isinstance(text, str)
    return text


RAN = {
    "terminal": "t1",
    "exit": 0,
    "signal": 0,
    "output": "2 passed\n",
    "running": False,
    "cwd": "src",
    "duration_ms": 900,
}


@pytest.mark.parametrize(("value", "text"), [
    (RAN, "2 passed\n[exit 0; t1 is in src]"),
    ({**RAN, "output": "", "exit": 3}, "[exit 3; t1 is in src, no output]"),
    ({**RAN, "exit": 137, "signal": 9}, "2 passed\n[killed by signal 9; t1 is in src]"),
    ({**RAN, "exit": 137, "signal": 9, "timed_out": True, "duration_ms": 2000},
     "2 passed\n[timed out after 2 s and was ended; the terminal is still there; t1 is in src]"),
    ({**RAN, "cancelled": True}, "2 passed\n[stopped by the person; t1 is in src]"),
    ({**RAN, "truncated": True, "spill": "/spill/c1"}, "2 passed\n[exit 0; t1 is in src; output cut, the whole is in /spill/c1]"),
    ({**RAN, "notes": ["1 process(es) it started still run in this terminal."]},
     "2 passed\n[1 process(es) it started still run in this terminal.]\n[exit 0; t1 is in src]"),
])  # fmt: skip
def test_a_command_that_ended(agent: SimpleNamespace, value: dict[str, Any], text: str) -> None:
    assert shown(agent, "terminals.run", value) == text
    assert shown(agent, "terminals.run", value, "error") == text


def test_a_command_that_runs(agent: SimpleNamespace) -> None:
    running = {
        "terminal": "t2",
        "running": True,
        "exit": None,
        "command": "python3 -q",
        "since_ms": 12_000,
        "cwd": ".",
        "output": ">>> ",
    }
    assert shown(agent, "terminals.run", running) == ">>> \n[t2 runs 'python3 -q' since 12 s]"
    assert shown(agent, "terminals.read", {**running, "output": ""}) == "[t2 runs 'python3 -q' since 12 s, no output]"
    drawn = {**running, "screen": "~\n~", "cursor": [2, 1]}
    assert (
        shown(agent, "terminals.send", drawn)
        == "[the screen of t2; the cursor is in line 2, column 1]\n~\n~\n[t2 runs 'python3 -q' since 12 s]"
    )
    ended = {"terminal": "t2", "running": False, "cwd": ".", "command": "x", "output": "", "ended": {"exit": 2}}
    assert shown(agent, "terminals.read", ended) == "[exit 2; t2 is in ., nothing new]"
    assert shown(agent, "terminals.read", {"terminal": "t2", "running": False, "cwd": "."}).startswith(
        "[nothing was run in t2 yet"
    )


def test_the_others(agent: SimpleNamespace) -> None:
    assert (
        shown(agent, "terminals.open", {"terminal": "t1", "name": "server", "cwd": "web"})
        == "opened t1 (server) in web"
    )
    assert shown(agent, "terminals.close", {"terminal": "t1", "closed": True}) == "closed t1 and all that ran in it"
    assert shown(agent, "terminals.list", {"terminals": []}) == "no terminals are open"
    listed = [{"terminal": "t1", "name": "server", "cwd": ".", "running": True, "command": "serve", "since_ms": 3000},
              {"terminal": "t2", "name": "", "cwd": "src", "running": False, "command": "make", "exit_code": 2, "left": 1},
              {"terminal": "t3", "name": "", "cwd": ".", "running": False}]  # fmt: skip
    assert shown(agent, "terminals.list", {"terminals": listed}) == (
        "t1 (server) in .: runs 'serve' since 3 s\n"
        "t2 in src: free; 'make' ended with exit 2; 1 background process(es)\nt3 in .: free"
    )


@pytest.mark.parametrize(
    "op", ["terminals.open", "terminals.run", "terminals.read", "terminals.list", "terminals.close"]
)
@pytest.mark.parametrize(
    "value", [{}, {"terminals": [1]}, {"terminal": 5, "cursor": "x", "screen": "s", "notes": "n", "ended": []}]
)
def test_odd_answers_read_as_something(agent: SimpleNamespace, op: str, value: dict[str, Any]) -> None:
    assert shown(agent, op, value)
