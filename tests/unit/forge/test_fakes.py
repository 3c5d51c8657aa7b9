"""The stand-ins answer exactly the contract's imports, in its shapes, and give no hint of what they are."""

from __future__ import annotations

import json
import re
import time

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.forge.fakes.agent import REGISTRY, AgentHost
from thetis_kernel.forge.fakes.gateway import GatewayHost
from thetis_kernel.forge.fakes.messages import request_problem
from thetis_kernel.forge.fakes.tool import ToolHost
from thetis_kernel.forge.schema import tool_problem
from thetis_kernel.protocol import events as ev
from thetis_kernel.protocol.ids import SESSION_ID
from thetis_kernel.wasm.contract import world_imports

HOSTS = {"tool": ToolHost, "agent": AgentHost, "gateway": GatewayHost}
DEFAULTS = {"sys.code", "sys.log", "sys.now-ms", "sys.sleep"}
"""Answered by every call itself, in the gate as in production."""


@pytest.mark.parametrize("world", HOSTS)
def test_a_host_answers_every_import_of_its_world_and_no_other(world):
    assert set(HOSTS[world]().imports) == set(world_imports(world)) - DEFAULTS


ARGUMENTS = {
    "message": "Work so far",
    "path": "src/ledger/book.py", "options-json": "{}", "pattern": "total", "contents": "class Book", "command": "git status",
    "request-json": "{}", "key": "a", "value-json": "1", "session": "s", "after": 0, "max-bytes": 1 << 20,
    "kind": "system-note", "body-json": '{"text": "hm"}', "calls-json": "[]", "offset": 1, "limit": 0,
    "old-text": "Book", "new-text": "Ledger", "replace-all": True, "query-json": '{"pattern": "total", "glob": "*.py"}',
    "content": "note", "directory": "", "name": "word-count", "description": "Counts.", "aspect": "agent", "revision": "",
    "requirement": "idna",
    "child": "",
}  # fmt: skip


SAYS_NO = {("sandbox.http", "refused"), ("branch.complete-merge", "no-merge"), ("branch.abort-merge", "no-merge")}
OF_INTERFACE = {("devkit", "path"): "tools/outline/main.py", ("devkit", "old-text"): "class Book"}
OF_IMPORT = {("agents.transcript", "child"): "tests", ("files.list-dir", "path"): ".", ("sandbox.list-files", "path"): "."}


@pytest.mark.parametrize("world", HOSTS)
def test_every_import_answers_text_or_an_error_of_the_tree(world):
    host = HOSTS[world]()
    for key, shape in world_imports(world).items():
        if key in DEFAULTS:
            continue
        values = {name: OF_IMPORT.get((key, name), OF_INTERFACE.get((key.partition(".")[0], name), ARGUMENTS[name]))
                  for name, _ in shape.params}  # fmt: skip
        try:
            answer = host.imports[key](*values.values())
        except ThetisError as exc:
            assert (key, exc.code) in SAYS_NO
            continue
        assert isinstance(answer, str)
        if shape.answers_json:
            json.loads(answer)
        assert not re.search("smoke|fake|mock|gate|judge|candidate|thetis", answer, re.IGNORECASE), key


def test_identifiers_are_of_production_and_differ():
    one, two = AgentHost(), AgentHost()
    assert SESSION_ID.fullmatch(one.session) and one.session != two.session
    assert re.fullmatch("[0-9a-f]{12}", one.turn) and one.turn != two.turn
    assert not re.search("smoke|fake|mock|gate|judge|thetis", json.dumps(one.turn_json()), re.IGNORECASE)


@pytest.mark.parametrize("host", [AgentHost, GatewayHost])
def test_the_logs_events_are_those_of_the_protocol(host):
    for event in host().log.events:
        body = ev.decode_body(event["kind"], json.dumps(event["body"]).encode())
        assert isinstance(body, ev.Unknown) == (event["kind"] == "weather")


def test_renderers_see_every_kind_and_one_of_the_future():
    kinds = [event["kind"] for event in GatewayHost().log.events]
    assert sorted(kinds) == sorted([*ev.KINDS, "weather"])


def test_pages_hold_at_least_one_event_and_end():
    log, after, seen = AgentHost().log, 0, []
    for _ in range(100):
        page = log.page(after, 10)
        seen += [event["seq"] for event in page["events"]]
        after = page["next"]
        if page["end"]:
            break
    assert seen == list(range(1, len(log.events) + 1))
    assert log.page(after, 10) == {"events": [], "next": after, "end": True}


def test_offered_tools_are_valid():
    assert [tool_problem(tool) for tool in REGISTRY] == ["", ""]


def request(*messages, **more):
    return {"system": "s", "messages": list(messages), "max_tokens": 10} | more


USER = {"role": "user", "content": "hi"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}


def test_good_requests():
    assert request_problem(request(USER)) == ""
    assert request_problem(request(USER, CALL, RESULT)) == ""
    more = {"role": "user", "content": [*RESULT["content"], {"type": "text", "text": "and"}]}
    assert request_problem(request(USER, CALL, more)) == ""


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (request(), "at least one message"),
        (request(USER, system=3), "system must be text"),
        (request(USER, tools={}), "tools must be a list"),
        (request(USER, tools=[{"name": "x"}]), "tool x lacks"),
        (request(USER, max_tokens=0), "positive number"),
        (request({"role": "system", "content": "x"}), "must be user or assistant"),
        (request({"role": "user", "content": []}), "no content"),
        (request({"role": "user", "content": " "}), "empty text"),
        (request("x"), "must be user or assistant"),
        (request(USER, CALL, USER), "leaves the tool call c1 unanswered"),
        (request(USER, RESULT), "answers a tool call nobody made"),
        (request(CALL, RESULT), "first message must be the user's"),
        (request(USER, {"role": "assistant", "content": "x"}), "last message must be the user's"),
    ],
)
def test_bad_requests(bad, words):
    assert words in request_problem(bad)


def test_the_model_calls_a_tool_once_and_then_answers():
    host = AgentHost()
    schema = {"type": "object", "properties": {"path": {}}, "required": ["path"]}
    ask = request(USER, tools=[{"name": "read", "description": "d", "input_schema": schema}])
    first = json.loads(host.imports["llm.complete"](json.dumps(ask)))
    assert first["end"] == "tool-use" and first["blocks"][-1]["name"] == "read"
    second = json.loads(host.imports["llm.complete"](json.dumps(ask)))
    assert second["end"] == "stop"
    assert [e["kind"] for e in host.log.events[-2:]] == ["assistant", "assistant"]


def test_a_guest_can_write_its_own_kinds_only():
    append = AgentHost().imports["session.append"]
    append("system-note", '{"text": "x"}')
    refused = [("user", '{"text": "x"}'), ("tool-result", "{}"), ("weather", "{}"), ("system-note", "{}"), ("assistant", "[")]
    for kind, body in refused:
        with pytest.raises(ThetisError):
            append(kind, body)


def test_a_greedy_guest_meets_bounds():
    host = AgentHost()
    with pytest.raises(ThetisError, match="full"):
        for _ in range(1000):
            host.imports["session.append"]("system-note", json.dumps({"text": "x" * 100_000}))
    with pytest.raises(ThetisError):
        for number in range(1000):
            host.imports["sys.kv-put"](str(number), "1")
    with pytest.raises(ThetisError):
        host.imports["sys.kv-put"]("a", "x" * (2 << 20))
    with pytest.raises(ThetisError):
        for number in range(1000):
            host.imports["files.write-file"](f"f{number}", "x")


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "src/../../x"])
def test_paths_outside_are_refused_as_in_production(path):
    for call in (
        lambda: ToolHost().imports["sandbox.read-file"](path, "{}"),
        lambda: AgentHost().imports["files.write-file"](path, "x"),
    ):
        with pytest.raises(ThetisError) as caught:
            call()
        assert caught.value.code == "outside"


def test_times_are_of_today():
    """A fixed date would be a signal: a candidate could behave for the gate alone."""
    now = time.time_ns() // 1_000_000
    agent = AgentHost()
    told = [json.loads(agent.imports["notes.recall"](""))["notes"][0]["ts_ms"],
            json.loads(agent.imports["devkit.history"]("agent"))["revisions"][0]["ts_ms"],
            json.loads(GatewayHost().imports["view.sessions"]())[0]["updated_ms"],
            *(event["ts_ms"] for event in GatewayHost().log.events)]  # fmt: skip
    assert all(now - 7 * 86_400_000 < ts <= now + 60_000 for ts in told)
