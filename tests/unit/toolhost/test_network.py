"""sandbox.http: each tool has its own list and no other; what is not on it is not even asked about."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol.net import Fetched, Wanted
from thetis_kernel.protocol.worker import GuestBundle
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.operations import BadArguments
from thetis_kernel.toolhost.sandbox import sandbox_imports

from tests.support.turns import turn_context

BLOCKS = {"one": {"hosts": ["one.example"]}, "two": {"hosts": ["two.example"]}, "none": {}, "odd": {"hosts": "one.example"}}


class Fetching:
    """Answers every request and keeps what was asked."""

    def __init__(self, **answer: Any) -> None:
        self.asked: list[tuple[str, Wanted]] = []
        self._answer = {"status": 200, "url": "https://x/", "headers": {}, "body": b"ok", **answer}

    def __call__(self, tool: str, wanted: Wanted) -> Fetched:
        self.asked.append((tool, wanted))
        return Fetched(**self._answer)


def calling(tmp_path: Path, fetching: Fetching, **more: Any) -> TurnContext:
    guests = {name: GuestBundle(aspect=f"tool/{name}", key="k", bundle="", config=json.dumps(block))
              for name, block in BLOCKS.items()}
    context = turn_context(tmp_path, guests=guests, **more)
    context.fetch = fetching
    return context


def http(context: TurnContext, tool: str, /, **request: Any) -> dict[str, Any]:
    answer = sandbox_imports(context, "c1", tool)["sandbox.http"](json.dumps(request))
    found: dict[str, Any] = json.loads(str(answer))
    return found


def test_a_tool_reaches_the_hosts_of_its_own_block(tmp_path: Path) -> None:
    fetching = Fetching()
    context = calling(tmp_path, fetching)
    found = http(context, "one", url="https://one.example/a", method="POST", headers={"X": "y"}, body="b")
    assert (found["status"], found["body"]) == (200, "ok")
    assert fetching.asked == [("one", Wanted(url="https://one.example/a", method="POST", headers={"X": "y"}, body="b"))]


@pytest.mark.parametrize(("tool", "url"), [
    ("one", "https://two.example/"), ("two", "https://one.example/"), ("none", "https://one.example/"),
    ("odd", "https://one.example/"), ("", "https://one.example/"), ("unknown", "https://one.example/"),
    ("one", "http://one.example/"), ("one", "https://one.example:1/"),
])
def test_and_no_other(tmp_path: Path, tool: str, url: str) -> None:
    fetching = Fetching()
    with pytest.raises(Refused):
        http(calling(tmp_path, fetching), tool, url=url)
    assert fetching.asked == []


def test_a_read_only_mode_has_no_network(tmp_path: Path) -> None:
    fetching = Fetching()
    with pytest.raises(Refused):
        http(calling(tmp_path, fetching, read_only=True), "one", url="https://one.example/")
    assert fetching.asked == []


def test_a_tool_that_declares_no_effects_has_none(tmp_path: Path) -> None:
    fetching = Fetching()
    context = calling(tmp_path, fetching)
    context.harmless.add("c1")
    with pytest.raises(Refused):
        http(context, "one", url="https://one.example/")
    assert fetching.asked == []


@pytest.mark.parametrize("request_", [
    {}, {"url": 1}, {"url": "https://one.example/", "hosts": ["evil.example"]}, {"url": "https://one.example/", "tool": "two"},
    {"url": "https://one.example/", "session": "x"}, {"url": "https://one.example/", "headers": ["a"]},
])
def test_extra_and_odd_fields_are_refused(tmp_path: Path, request_: dict[str, Any]) -> None:
    """Reliability S5: no field of a request is policy."""
    fetching = Fetching()
    with pytest.raises(BadArguments):
        http(calling(tmp_path, fetching), "one", **request_)
    assert fetching.asked == []


@pytest.mark.parametrize(("headers", "body", "text"), [
    ({}, "h\u00e9".encode(), "h\u00e9"), ({"content-type": "text/html; charset=latin-1"}, b"h\xe9", "h\u00e9"),
    ({"content-type": 'text/html; charset="utf-16"'}, "h\u00e9".encode("utf-16"), "h\u00e9"),
    ({"content-type": "text/plain; charset=nonsense"}, b"plain", "plain"),
])
def test_text_is_decoded(tmp_path: Path, headers: dict[str, str], body: bytes, text: str) -> None:
    found = http(calling(tmp_path, Fetching(headers=headers, body=body)), "one", url="https://one.example/")
    if b"\0" not in body:
        assert found["body"] == text


def test_bytes_travel_as_base64(tmp_path: Path) -> None:
    for body in (b"\x89PNG\0\0", b"\xff\xfe\xfd"):
        found = http(calling(tmp_path, Fetching(body=body)), "one", url="https://one.example/")
        assert found["body"] == "" and base64.b64decode(found["base64"]) == body


def test_a_cut_text_is_still_text(tmp_path: Path) -> None:
    found = http(calling(tmp_path, Fetching(body="\u00e9".encode()[:1], truncated=True)), "one", url="https://one.example/")
    assert found["truncated"] and "base64" not in found


def test_without_a_network_it_says_so(tmp_path: Path) -> None:
    context = calling(tmp_path, Fetching())
    context.fetch = None
    with pytest.raises(ThetisError):
        http(context, "one", url="https://one.example/")
