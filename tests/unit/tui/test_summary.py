"""There is a line for every event, whatever is in it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol import events as e

from thetis_tui.summary import gist, whole


def event(body: e.Body) -> e.Event:
    return e.Event("a", 1, "id", 0, e.kind_of(body), 1, e.encode_body(body))


def example(cls: type[e.Body]) -> e.Body:
    """A body of `cls` with something in every required field."""
    values: dict[str, Any] = {}
    for info in msgspec.structs.fields(cls):
        if info.required:
            kind = str(info.type)
            values[info.encode_name] = (
                {} if "dict[" in kind and "list" not in kind else [] if "list" in kind else True if info.type is bool
                else 1 if info.type is int else "ok"
            )
    return cls(**values)


@pytest.mark.parametrize("kind", sorted(e.KINDS))
def test_every_kind_has_a_line(kind: str) -> None:
    assert "\n" not in gist(event(example(e.KINDS[kind])))
    assert whole(event(example(e.KINDS[kind]))).startswith("{")


def test_what_a_line_says() -> None:
    assert gist(event(e.User("hello\n\x1b[31mworld"))) == "hello \u241b[31mworld"
    assert gist(event(e.ToolInvocation("c", "run", {"command": "ls"}, "op", True))) == "run command=ls"
    blocks = [{"type": "text", "text": "words"}, {"type": "tool_use", "name": "read"}]
    assert gist(event(e.Assistant(blocks))) == "words → read"


@given(st.sampled_from([*sorted(e.KINDS), "from-the-future"]), st.binary(max_size=400))
def test_damaged_and_unknown_events_have_one_too(kind: str, raw: bytes) -> None:
    damaged = e.Event("a", 1, "id", 0, kind, 1, raw)
    assert "\n" not in gist(damaged)
    assert len(gist(damaged)) < 3000
    whole(damaged)
