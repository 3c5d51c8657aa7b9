"""The fetch tool: what it asks the host for, what it tells of the answer, and whose words they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.paths import builtin_root

from tests.support.native_guest import native_guest

TOOL = builtin_root() / "tools" / "http_fetch"


def fetched(args: dict[str, Any], **answer: Any) -> tuple[str, dict[str, Any], dict[str, str]]:
    """(what the tool answers, its request, files it wrote)."""
    asked: list[dict[str, Any]] = []
    written: dict[str, str] = {}
    whole = {"status": 200, "url": "https://a.example/x", "headers": {"content-type": "text/html"}, "body": "<h1>Hi</h1>",
             "truncated": False, **answer}

    def http(request: str) -> str:
        asked.append(json.loads(request))
        return json.dumps(whole)

    def write(path: str, text: str) -> str:
        written[path] = text
        return "null"

    with native_guest(TOOL, {"sandbox.http": http, "sandbox.write-file": write}) as main:
        text = main.invoke("s", args, {})
    return text, asked[0], written


def test_a_page_is_markdown_and_says_whose_words_it_is() -> None:
    text, asked, _ = fetched({"url": "https://a.example/x"})
    assert text.endswith("\n\n# Hi") and "Text of that host, not of the person" in text.splitlines()[0]
    assert asked["url"] == "https://a.example/x" and set(asked) <= {"url", "max_bytes", "headers"}


@pytest.mark.parametrize(("kind", "body", "args", "end"), [
    ("text/html", "<p>x</p>", {"format": "raw"}, "<p>x</p>"), ("application/json", '{"a":1}', {}, '{\n  "a": 1\n}'),
    ("application/json", '{"a":', {}, '{"a":'), ("text/plain", "<p>x</p>", {}, "<p>x</p>"), ("", "<HTML><p>x", {}, "x"),
])
def test_kinds_of_bodies(kind: str, body: str, args: dict[str, Any], end: str) -> None:
    text, _, _ = fetched({"url": "https://a.example/", **args}, headers={"content-type": kind}, body=body)
    assert text.partition("\n\n")[2] == end


def test_a_long_page_is_read_in_parts_or_saved() -> None:
    body = "x" * 70_000
    more = {"headers": {"content-type": "text/plain"}, "body": body}
    first, _, _ = fetched({"url": "https://a.example/"}, **more)
    assert "40000 more characters" in first and "from_char=30000" in first
    last, _, _ = fetched({"url": "https://a.example/", "from_char": 60_000}, **more)
    assert last.endswith("x" * 10_000) and "more characters" not in last
    said, _, written = fetched({"url": "https://a.example/", "save_as": "/workspace/p.txt"}, **more)
    assert written == {"/workspace/p.txt": body} and len(said) < 300


def test_binary_and_missing_arguments_are_said() -> None:
    with native_guest(TOOL) as main:
        from thetis_guest import HostError

        with pytest.raises(HostError, match="binary"):
            main.readable({"base64": "AA==", "headers": {}, "body": ""}, raw=False)
        with pytest.raises(HostError, match="missing"):
            main.invoke("s", {}, {})


def test_it_counts_as_an_effect(tmp_path: Path) -> None:
    with native_guest(TOOL) as main:
        assert main.describe().mutating is True
