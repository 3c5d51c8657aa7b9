"""Tool groups: what a conversation is offered, how it gets more, and that nothing cached is lost where the provider defers.

62 and 46 are numbers of the reports of users of such tools.
"""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.history import violations

from tests.support.agent_host import AgentHost, reply, scripted, text, use

Run = Any
GROUPED = {"tool_groups": {"grouping": True}}


def offered(request: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in request["tools"]]


def pins(host: AgentHost) -> dict[str, str]:
    logged = [event["body"] for event in host.events if event["body"].get("scope") == "groups"]
    return {body["key"]: json.loads(body["value"])["why"] for body in logged}


def test_every_tool_belongs_to_exactly_one_group_and_every_member_exists(agent: SimpleNamespace) -> None:
    names = {tool.name for tool in agent.toolbox.OWN}
    listed = [name for group in agent.groups.GROUPS.values() for name in group.tools]
    assert len(listed) == len(set(listed))
    assert names - set(listed) == set(), "tools that would be in the group of nobody"
    planned = {"spawn_agent", "agent_status", "agent_transcript", "cancel_agent", "agent_profiles", "wait"}
    planned |= {"list_conversations", "search_conversations", "read_conversation"}
    assert set(listed) - names - planned == set(), "members that are no tools"


def test_a_tool_of_a_group_nobody_knows_is_always_offered(agent: SimpleNamespace) -> None:
    assert agent.groups.group_of("mine", "odd") == agent.groups.group_of("mine") == agent.groups.EXTRA
    assert agent.groups.GROUPS[agent.groups.EXTRA].always and agent.groups.group_of("http_fetch", "web") == "web"


def test_it_is_off_by_default(run: Run) -> None:
    host = AgentHost(scripted(reply(text("done"))))
    run(host, host.start("hi"))
    assert {"terminal_open", "new_tool", "tool_search"} <= set(offered(host.requests[0])) and pins(host) == {}


@pytest.mark.parametrize(
    ("words", "group", "why"),
    [
        ("Start the dev server, please", "shell", "the word 'server'"),
        ("make yourself better", "selfmod", "the word 'yourself'"),
        ("show me YOUR OWN CODE", "selfmod", "the word 'your own code'"),
        ("sum the csv", "data", "the word 'csv'"),
    ],
)
def test_one_matching_tag_admits_a_group_and_the_reason_is_kept(run: Run, words: str, group: str, why: str) -> None:
    host = AgentHost(scripted(reply(text("done"))))
    run(host, {**host.start(words), **GROUPED})
    assert pins(host)[group] == why and pins(host)["core"] == "always on"


def test_what_nothing_speaks_for_is_withheld(run: Run) -> None:
    host = AgentHost(scripted(reply(text("done"))))
    run(host, {**host.start("review this function"), **GROUPED})
    assert "terminal_open" not in offered(host.requests[0]) and {"read", "run", "tool_search"} <= set(
        offered(host.requests[0])
    )


@pytest.mark.parametrize(
    "evidence",
    [
        {"tool_groups": {"grouping": True, "always_on": ["web"]}},
        {**GROUPED, "skills": [{"name": "x", "tags": ["tool-group:web"]}]},
    ],
)
def test_settings_and_skills_admit_too(run: Run, evidence: dict[str, Any]) -> None:
    host = AgentHost(scripted(reply(text("done"))))
    run(host, {**host.start("review this function"), **evidence})
    assert "web" in pins(host)


def test_the_groups_are_decided_once(run: Run) -> None:
    """Lesson 38: what is pinned is not decided anew by later words."""
    host = AgentHost(scripted(reply(text("done")), reply(text("done"))))
    run(host, {**host.start("review this function"), **GROUPED})
    run(host, {**host.start("and start a server", "t2"), **GROUPED})
    assert "shell" not in pins(host)
    assert json.dumps(host.requests[0]["tools"]) == json.dumps(host.requests[1]["tools"])


def test_a_search_loads_and_appends(run: Run) -> None:
    host = AgentHost(
        scripted(
            reply(use("a", "tool_search", query="keep a server running in a terminal")),
            reply(text("ok")),
            reply(text("ok")),
        )
    )
    run(host, {**host.start("review this function"), **GROUPED})
    before, after = (json.dumps(request["tools"])[:-1] for request in host.requests)
    assert after.startswith(before) and "terminal_open" in after, "tools are only ever appended"
    assert pins(host)["shell"] == "search"
    run(host, {**host.start("more", "t2"), **GROUPED})
    assert json.dumps(host.requests[2]["tools"]) == json.dumps(host.requests[1]["tools"]), "a restart offers the same"


def test_a_withheld_tool_that_is_called_is_honoured_and_admits_its_group(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "terminal_open")), reply(text("ok"))))
    run(host, {**host.start("review this function"), **GROUPED})
    assert host.calls[0]["op"] == "terminals.open" and pins(host)["shell"] == "called"
    assert "terminal_run" in offered(host.requests[1])


def test_the_search_is_offered_in_read_only_modes_and_the_mode_still_filters(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "tool_search", load=["shell"])), reply(text("ok"))))
    run(host, {**host.start("look"), **GROUPED, "mode": {"id": "plan", "read_only": True}})
    assert "tool_search" in offered(host.requests[0])
    assert "terminal_open" not in offered(host.requests[1]) and "terminal_read" in offered(host.requests[1])
    said = next(event["body"]["content"] for event in host.events if event["kind"] == "tool-result")
    assert "terminal_open (not in this mode)" in said


def test_with_grouping_off_it_says_that_everything_is_loaded(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "tool_search")), reply(text("ok"))))
    run(host, host.start("look"))
    said = next(event["body"]["content"] for event in host.events if event["kind"] == "tool-result")
    assert "shell (loaded)" in said and "not loaded" not in said and pins(host) == {}


def test_its_description_says_to_call_it_rather_than_work_around(agent: SimpleNamespace) -> None:
    search = next(tool for tool in agent.steering.STEERING if tool.name == "tool_search")
    assert not search.mutating
    for words in ("may not be visible right now", "the moment you suspect", "rather than working around"):
        assert words in search.description


def test_pins_that_nobody_understands_are_dropped_and_what_is_always_on_comes_back(agent: SimpleNamespace) -> None:
    loaded = agent.groups.Loaded(GROUPED, {"odd": {"why": "x"}, "shell": {"why": "search"}})
    assert set(loaded.why) == {name for name, group in agent.groups.GROUPS.items() if group.always} | {"shell"}


# -- definitions that are deferred

DEFERRING = {**GROUPED, "model": {"id": "m1", "window": 200_000, "max_output": 4096, "tool_references": True}}


def test_62_loading_leaves_the_cached_prefix_as_it_is_byte_for_byte(run: Run) -> None:
    host = AgentHost(
        scripted(reply(use("a", "tool_search", load=["shell"])), reply(use("b", "terminal_open")), reply(text("ok")))
    )
    run(host, {**host.start("review this function"), **DEFERRING})
    heads = {json.dumps([request["system"], request["tools"]]) for request in host.requests}
    assert len(heads) == 1
    deferred = {tool["name"] for tool in host.requests[0]["tools"] if tool.get("defer_loading")}
    assert "terminal_open" in deferred and not {"read", "tool_search"} & deferred
    result = host.requests[1]["messages"][-1]["content"][0]
    assert {"type": "tool_reference", "tool_name": "terminal_open"} in result["content"]
    assert violations(host.requests[2]["messages"]) == []
    for before, after in zip(host.requests, host.requests[1:], strict=False):
        assert after["messages"][: len(before["messages"])] == before["messages"]


def test_64_a_restart_sends_the_same_bytes(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "tool_search", load=["shell"])), reply(text("ok")), reply(text("ok"))))
    run(host, {**host.start("review this function"), **DEFERRING})
    run(host, {**host.start("go on", "t2"), **DEFERRING})
    assert json.dumps(host.requests[1]["tools"]) == json.dumps(host.requests[2]["tools"])
    assert host.requests[2]["messages"][: len(host.requests[1]["messages"])] == host.requests[1]["messages"]


def test_46_what_was_loaded_before_a_compaction_keeps_its_schemas(run: Run) -> None:
    host = AgentHost(scripted(reply(use("a", "tool_search", load=["shell"])), reply(text("ok"))))
    run(host, {**host.start("review this function"), **DEFERRING})
    calls = [event["seq"] for event in host.events if event["kind"] in ("assistant", "tool-result")]
    host.log("compaction", spans=[[calls[0], calls[1]]], summary="tools were looked for")
    host.model = scripted(reply(text("ok")))
    pinned = [event["body"] for event in host.events if event["body"].get("scope") == "groups"]
    told = {"seq": len(host.events), "values": {"groups": {body["key"]: body["value"] for body in pinned}}}
    run(host, {**host.start("go on", "t2"), **DEFERRING, "state": told})
    last = host.requests[-1]
    assert "tool_reference" not in json.dumps(last["messages"])
    assert not next(tool for tool in last["tools"] if tool["name"] == "terminal_open").get("defer_loading")


@given(orders=st.lists(st.sampled_from(["shell", "web", "selfmod", "data", "subagents"]), max_size=8))
def test_groups_only_ever_grow(agent: SimpleNamespace, orders: list[str]) -> None:
    loaded = agent.groups.Loaded(GROUPED, {})
    seen = [list(loaded.why)]
    for at, group in enumerate(orders):
        loaded.admit(group, "search", at)
        seen.append(list(loaded.why))
    assert all(after[: len(before)] == before for before, after in itertools.pairwise(seen))
