"""Skills, clones and earlier conversations as a person reads them."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from thetis_kernel.paths import builtin_root

from tests.support.native_guest import native_guest


@pytest.fixture(scope="module")
def renderer() -> SimpleNamespace:
    directory = builtin_root() / "aspects" / "gateway_tui"
    with native_guest(directory):
        return SimpleNamespace(**{path.stem: sys.modules[path.stem] for path in directory.glob("*.py")})


@pytest.mark.parametrize(("name", "args", "title"), [
    ("git_clone", {"repo": "https://a.example/b"}, "clone https://a.example/b"),
    ("git_clone", {"repo": "https://a.example/b", "ref": "v1", "dir": "x"}, "clone https://a.example/b at v1 into /workspace/x"),
    ("use_skill", {"name": "a-b"}, "skill a-b"),
    ("use_skill", {"name": "a-b", "file": "more.md"}, "skill a-b: more.md"),
    ("find_skills", {"query": "fix a\nbug"}, "skills for “fix a bug”"),
    ("find_skills", {}, "list skills"),
    ("write_skill", {"name": "a", "contents": "x"}, "write the skill a"),
    ("write_skill", {"name": "a", "contents": "", "where": "person"}, "remove the skill a for every conversation"),
    ("list_conversations", {}, "list conversations"),
    ("search_conversations", {"query": "x"}, "search “x” in earlier conversations"),
    ("search_conversations", {"query": "x", "conversation": "this"}, "search “x” in this conversation"),
    ("read_conversation", {"conversation": "ab12cd34", "from_seq": 7}, "read conversation ab12cd34 from 7"),
    ("git_clone", {"repo": 7}, "clone "),
])  # fmt: skip
def test_titles(renderer: SimpleNamespace, name: str, args: dict[str, Any], title: str) -> None:
    assert renderer.calls.call_block(name, args, "c1")["title"].strip() == title.strip()


def test_rules_and_skills_are_a_quiet_line_with_their_text_behind_it(renderer: SimpleNamespace) -> None:
    def drawn(scope: str, key: str, value: str) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = renderer.happenings.state_changed({"scope": scope, "key": key, "value": value})
        return blocks

    [rules] = drawn("rules", "project", json.dumps({"file": "AGENTS.md", "cut": True, "text": "a\nb\n"}))
    assert (rules["title"], rules["body"], rules["folded"]) == ("Rules of the project: AGENTS.md (2 lines, cut)", "a\nb\n", True)
    assert "no rules" in drawn("rules", "project", "")[0]["title"]
    [skills] = drawn("skills", "offered", json.dumps([{"name": "a", "brief": "Does."}, "odd"]))
    assert (skills["title"], skills["body"]) == ("Skills at hand: a", "a: Does.")
    assert drawn("skills", "used:a", '"digest"') == []
    for value in ("not json", "[]", "7", "null", "[" * 50):
        assert isinstance(drawn("skills", "offered", value) + drawn("rules", "project", value), list)


def test_an_attached_skill_is_named_and_folded(renderer: SimpleNamespace) -> None:
    [block] = renderer.talk.note({"about": "skill", "text": "The person attached it.\n\n# A\n\nText."})
    assert (block["title"], block["body"], block["folded"]) == ("The person attached it.", "# A\n\nText.", True)


@pytest.mark.parametrize(("value", "title", "body"), [
    ({"branch": "main", "commit": "a" * 40, "files": 1, "bytes": 3, "notes": ["One."], "path": "/workspace/x"},
     "main at aaaaaaaa, 1 file", "One."),
    ({"card": {"source": "person"}, "text": "# A\nb", "file": "", "known": False}, "2 lines, person", "# A\nb"),
    ({"card": {}, "text": "", "file": "", "known": True}, "read before, unchanged", ""),
    ({"cards": [{"name": "a", "brief": "Does."}], "problems": [{"path": "b/SKILL.md", "line": 2, "message": "Odd."}]},
     "1 skill", "a: Does.\nb/SKILL.md:2: Odd."),
    ({"name": "a", "ok": True, "source": "person", "diagnostics": []}, "kept for every conversation", ""),
    ({"conversations": [{"id": "ab12cd34", "title": "One"}], "more": True}, "1 or more conversations", "ab12cd34  One"),
    ({"hits": [], "more": False}, "no places", ""),
    ({"hits": [{"id": "ab12cd34", "seq": 3, "line": "words"}], "more": False}, "1 place", "ab12cd34:3  words"),
    ({"id": "ab12cd34", "title": "One", "entries": [{"seq": 2, "kind": "user", "text": "hi"}], "next": 0}, "One, 1 event",
     "2 user: hi"),
])  # fmt: skip
def test_results(renderer: SimpleNamespace, value: dict[str, Any], title: str, body: str) -> None:
    block = renderer.results.result_block({"call": "c1", "outcome": "ok", "content": json.dumps(value)})
    assert (block["title"], block["body"]) == (title, body)


def test_a_skill_that_was_not_kept_says_where_it_is_wrong(renderer: SimpleNamespace) -> None:
    wrong = {"path": "skills/a/SKILL.md", "line": 3, "message": "Odd."}
    value = {"name": "a", "ok": False, "source": "conversation", "diagnostics": [wrong]}
    block = renderer.results.result_block({"call": "c1", "outcome": "error", "content": json.dumps(value)})
    assert (block["title"], block["body"], block["tone"]) == ("not kept", "skills/a/SKILL.md:3: Odd.", "bad")
