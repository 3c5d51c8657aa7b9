"""The forms of an export: nothing of anybody's text is markup of the form it stands in."""

from __future__ import annotations

from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.cli.exporting import FORMS, Html, Json, Markdown
from thetis_kernel.protocol.events import (
    Assistant,
    Body,
    Event,
    SessionStarted,
    ToolInvocation,
    ToolResult,
    TurnFinished,
    User,
    encode_body,
    kind_of,
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.lists(
    st.sampled_from(["<b>", "<script>", "</pre>", "</h2>", "<img src=x>", "&lt;", '"', "'", "a", "\n"]), max_size=8).map("".join)


def event(body: Body, seq: int = 2) -> Event:
    return Event("ab" * 8, seq, "e", 0, kind_of(body), 1, encode_body(body), "ff")


STORY: list[Body] = [
    SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/abababab"),
    User(text="look at <b>a.py</b>"),
    Assistant(blocks=[{"type": "text", "text": "# Looking\n<script>alert(1)</script>"},
                      {"type": "tool_use", "id": "c", "name": "read", "input": {}}], model="m"),
    ToolInvocation("c", "read", {"path": "a.py"}, "files.read-file", False),
    ToolResult("c", "ok", "```\n````\ncode\n```", truncated=True),
    TurnFinished("t", "limit", "60 steps are enough."),
]


def test_markdown_tells_the_story() -> None:
    form = Markdown()
    text = form.head() + "".join(form.event(event(body)) for body in STORY)
    assert "### You · 1970-01-01 00:00 UTC\n\nlook at &lt;b>a.py&lt;/b>" in text
    assert "\\# Looking\n&lt;script>alert(1)" in text
    assert '### Tool · read\n\n```\n{\n  "path": "a.py"\n}\n```' in text
    assert "`````\n```\n````\ncode\n```\n`````" in text, "a fence longer than any in it"
    assert "> The turn ended by limit. 60 steps are enough." in text


@given(WORDS, WORDS)
def test_html_holds_no_tag_of_anybodys(words: str, name: str) -> None:
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    form = Html()
    bodies: list[Body] = [User(text=words), Assistant(blocks=[{"type": "text", "text": words}], model=name),
                          ToolInvocation("c", name, {words: words}, "x", False), ToolResult("c", "ok", words)]
    Reader().feed("".join(form.event(event(body)) for body in bodies))
    assert set(tags) <= {"section", "h2", "pre"}


def test_html_can_load_and_run_nothing() -> None:
    assert "default-src 'none'" in Html().head() and "<script" not in Html().head()


def test_json_is_a_line_an_event_and_says_that_it_was_changed() -> None:
    form = Json()
    lines = (form.head() + "".join(form.event(event(body)) for body in STORY)).splitlines()
    assert msgspec.json.decode(lines[0]) == {"thetis_export": 1, "redacted": True}
    told = [msgspec.json.decode(line) for line in lines[1:]]
    assert [one["kind"] for one in told] == [kind_of(body) for body in STORY]
    assert "hash" not in told[0], "the chain is not of these bodies any more"


@pytest.mark.parametrize("name", FORMS)
def test_control_characters_and_unreadable_events_do_no_harm(name: str) -> None:
    form = FORMS[name]()
    text = form.event(event(User(text="\x1b]52;c;aGk=\x07red\x9b5n"))) + form.event(
        msgspec.structs.replace(event(User(text="x")), raw=b'{"kind":"user","text":1}'))
    assert "\x1b" not in text and "\x07" not in text and "\x9b" not in text
