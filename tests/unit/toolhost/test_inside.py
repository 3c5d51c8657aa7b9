"""What a tool guest does by its own imports is told in its result: bounded, and failures never hide what was done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol.events import ToolResult
from thetis_kernel.protocol.net import Fetched, Wanted
from thetis_kernel.protocol.worker import GuestBundle
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.dispatch import invoke_many
from thetis_kernel.toolhost.inside import MOST_DONE, MOST_FAILED, MOST_WORDS, Inside
from thetis_kernel.toolhost.sandbox import sandbox_imports

from tests.support.turns import turn_context

Imports = dict[str, Callable[..., Any]]


def told(context: TurnContext, *guests: Callable[[Imports], None]) -> list[dict[str, Any]]:
    """The data of the results of a tool that does these things, in call order, as they stand in the log."""
    context.guests = {"t": GuestBundle(aspect="tool/t", key="", bundle="", describes='{"mutating": true}',
                                       config='{"hosts": ["x.example"]}')}

    def tool(name: str, call: str, arguments: dict[str, Any]) -> str:
        guests[int(call)](sandbox_imports(context, call, name))  # type: ignore[arg-type]
        return "done"

    context.call_guest = tool
    calls = [{"id": str(n), "name": "t", "op": "tool:t", "op-args": {}} for n in range(len(guests))]
    invoke_many(context, json.dumps(calls))
    bodies: list[Any] = context.journal.bodies  # type: ignore[attr-defined]
    return [body.data for body in bodies if isinstance(body, ToolResult)]


def test_each_effect_is_an_entry_and_reading_is_none(tmp_path: Path) -> None:
    def guest(imports: Imports) -> None:
        imports["sandbox.available"]()
        imports["sandbox.list-files"](".", "{}")
        imports["sandbox.write-file"]("a.txt", "secret contents")
        imports["sandbox.exec"]("make\n  all", "{}")
        imports["sandbox.http"](json.dumps({"url": "https://x.example/a?token=1#b", "method": "post"}))

    def fetch(tool: str, wanted: Wanted) -> Fetched:
        return Fetched(status=404, url=wanted.url, headers={}, body=b"")

    context = turn_context(tmp_path)
    context.fetch = fetch
    [data] = told(context, guest)
    assert data == {"effects": [
        {"does": "write", "what": "a.txt"},
        {"does": "exec", "what": "make all"},
        {"does": "http", "what": "POST https://x.example/a", "how": "status 404"},
    ]}


def test_what_was_refused_or_failed_is_told_and_the_next_call_has_its_own(tmp_path: Path) -> None:
    def evil(imports: Imports) -> None:
        for name, arguments in (("write-file", ("../out", "x")), ("write-file", (".", "x")), ("write-file", ("b.txt", "x"))):
            try:
                imports[f"sandbox.{name}"](*arguments)
            except ThetisError:
                continue
        imports["sandbox.http"]('{"url": "https://elsewhere.example/"}')

    first, second, third = told(turn_context(tmp_path), evil, lambda imports: None,
                                lambda imports: imports["sandbox.write-file"]("c.txt", "x"))
    assert first == {"code": "refused", "effects": [
        {"does": "write", "what": "b.txt"},
        {"does": "write", "what": "../out", "how": "refused"},
        {"does": "write", "what": ".", "how": "failed"},
        {"does": "http", "what": "GET https://elsewhere.example/", "how": "refused"},
    ]}
    assert second == {} and third == {"effects": [{"does": "write", "what": "c.txt"}]}


def test_a_thousand_of_them_are_a_few_kilobytes_and_failures_take_no_room_from_deeds() -> None:
    inside = Inside()
    for _ in range(1000):
        with pytest.raises(Refused), inside.effect("http", "y" * 5000):
            raise Refused("no", capability="http")
    for number in range(MOST_DONE + 3):
        with inside.effect("write", f"{number:04}" + "x" * 5000):
            pass
    data = inside.told()
    done = [one for one in data["effects"] if "how" not in one]
    assert len(done) == MOST_DONE and len(data["effects"]) == MOST_DONE + MOST_FAILED
    assert all(len(one["what"]) <= MOST_WORDS for one in data["effects"])
    assert data["effects_left_out"] == {"http": 1000 - MOST_FAILED, "write": 3}
