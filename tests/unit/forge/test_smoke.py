"""What the smoke step complains about, with exports scripted in Python."""

from __future__ import annotations

import json

import pytest
from thetis_kernel.errors import GuestError
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.fakes.log import specimens
from thetis_kernel.forge.manifest import Manifest
from thetis_kernel.forge.steps import smoke

from tests.unit.forge.bench import FakeBench
from tests.unit.forge.guests import TOOL_MAIN, good, tool

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

SPECIMENS = len(specimens().events)


def run(source, bench, name="probe"):
    candidate = Candidate(source, Manifest(name, source.world, "0.1.0", "x"))
    return candidate, [d.message for d in smoke.run(candidate, bench)]


def error(kind="error", message="no", traceback=""):
    return GuestError(message, kind=kind, traceback=traceback)


# Tools


def described(**change):
    said = {"name": "probe", "description": "d", "input_schema": json.dumps(SCHEMA), "group": "x", "mutating": False}
    return json.dumps(said | change)


def test_a_good_tool_is_invoked_without_and_with_arguments():
    bench = FakeBench(describe=described(), invoke=lambda host, session, args, config: "ok")
    candidate, found = run(tool(TOOL_MAIN), bench)
    assert found == []
    assert json.loads(candidate.describes)["input_schema"] == SCHEMA
    assert [json.loads(args[1]) for export, args in bench.calls if export == "invoke"] == [{}, {"path": "src/ledger/book.py"}]


@pytest.mark.parametrize(
    ("exports", "words"),
    [
        ({"describe": error("trap", "unreachable")}, "describe() failed (trap)"),
        ({"describe": error("timeout")}, "describe() did not end in time"),
        ({"describe": error("memory")}, "more memory than it may"),
        ({"describe": "[]"}, "must return a ToolManifest"),
        ({"describe": described(name="other")}, "guest.toml says 'probe'"),
        ({"describe": described(input_schema="{")}, "input_schema is not JSON"),
        ({"describe": described(input_schema="[" * 9000)}, "nested too deeply"),
        ({"describe": described(input_schema='{"type": "string"}')}, 'with "type": "object"'),
        ({"describe": described(description="")}, "no description"),
        ({"describe": described(description="\ud800")}, "not valid Unicode"),
        ({"describe": described(description="x" * 200_000)}, "more than 128 KiB"),
        ({"invoke": error("trap")}, "invoke() with no arguments failed (trap)"),
        ({"invoke": error("timeout")}, "invoke() with no arguments did not end in time"),
        ({"invoke": error("exit")}, "(exit)"),
        ({"invoke": error("type")}, "(type)"),
        ({"invoke": error(traceback="Traceback\nNameError: name 'x' is not defined")}, "invoke() with no arguments failed"),
        ({"invoke": error(message="ModuleNotFoundError: No module named 'y'")}, "failed"),
    ],
)
def test_what_is_wrong_with_a_tool(exports, words):
    _, found = run(tool(TOOL_MAIN), FakeBench(**{"describe": described(), "invoke": "ok", **exports}))
    assert len(found) == 1 and words in found[0], found


@pytest.mark.parametrize("refusal", [error(), error(traceback="Traceback\nKeyError: 'path'"), error(message="path is missing")])
def test_a_tool_may_say_no(refusal):
    assert run(tool(TOOL_MAIN), FakeBench(describe=described(), invoke=refusal))[1] == []


def test_only_the_call_with_plausible_arguments_may_break_too():
    def invoke(host, session, args, config):
        if json.loads(args):
            raise error("trap")
        raise error()

    assert "plausible arguments" in run(tool(TOOL_MAIN), FakeBench(describe=described(), invoke=invoke))[1][0]


# Agents

READ = {"name": "read", "description": "d", "input_schema": SCHEMA, "mutating": False}
WRITE = {"name": "write", "description": "d", "input_schema": {"type": "object"}, "mutating": True}


def list_tools(host, mode):
    return json.dumps([READ, WRITE] if mode == "agent" else [READ])


def turn(host, turn_json):
    """An agent in Python, against the same stand-in."""
    tools = [{key: READ[key] for key in ("name", "description", "input_schema")}]
    for _ in range(5):
        reply = json.loads(host.imports["llm.complete"](json.dumps({"messages": messages(host), "tools": tools})))
        calls = [block for block in reply["blocks"] if block["type"] == "tool_use"]
        if not calls:
            return json.dumps({"stopped_by": "stop"})
        for call in calls:
            work = {"id": call["id"], "name": call["name"], "args": call["input"], "op": "files.read-file"}
            host.imports["tooling.invoke-many"](json.dumps([work | {"op-args": call["input"]}]))
    return json.dumps({"stopped_by": "limit"})


def messages(host):
    found = []
    for event in json.loads(host.imports["session.read"](0, 1 << 20))["events"]:
        body = event["body"]
        if event["kind"] == "user":
            found.append({"role": "user", "content": body["text"]})
        elif event["kind"] == "assistant":
            found.append({"role": "assistant", "content": body["blocks"]})
        elif event["kind"] == "tool-result":
            block = {"type": "tool_result", "tool_use_id": body["call"], "content": body["content"]}
            found.append({"role": "user", "content": [block]})
    return found


AGENT = {
    "describe": '{"name": "a", "version": "1"}', "health": '{"ok": true}', "list_tools": list_tools, "handle_turn": turn,
}  # fmt: skip


def test_a_good_agent():
    candidate, found = run(good("agent"), FakeBench(**AGENT))
    assert found == []
    assert candidate.describes == '{"name":"a","version":"1"}'


def silent(host, turn_json):
    return '{"stopped_by": "stop"}'


def careless(host, turn_json):
    host.imports["llm.complete"](json.dumps({"messages": [{"role": "assistant", "content": "x"}]}))
    return '{"stopped_by": "stop"}'


def forgetful(host, turn_json):
    host.imports["llm.complete"](json.dumps({"messages": messages(host), "tools": [READ]}))
    return '{"stopped_by": "stop"}'


def failing(host, turn_json):
    host.imports["llm.complete"](json.dumps({"messages": messages(host)}))
    return '{"stopped_by": "error", "detail": "it broke"}'


counter = iter(range(1000))

BAD_AGENTS = [
    ({"describe": "{}"}, 'must return {"name"'),
    ({"health": "{}"}, "health() returned nothing"),
    ({"health": error("timeout")}, "health() did not end in time"),
    ({"health": error(message="sick")}, "health() failed: sick"),
    ({"list_tools": lambda host, mode: json.dumps([READ, WRITE])}, "list_tools('plan') offers write, which changes things"),
    (
        {"list_tools": lambda host, mode: json.dumps([READ] if mode == "plan" else [READ, WRITE])},
        "list_tools('review') offers write, which changes things, in a mode that is unknown",
    ),
    ({"list_tools": lambda host, mode: json.dumps([READ, READ])}, "offers read twice"),
    ({"list_tools": lambda host, mode: json.dumps([{**READ, "input_schema": {}}])}, "tool read: the input schema"),
    ({"list_tools": "{}"}, "must return a list"),
    ({"list_tools": json.dumps([{**READ, "name": f"r{n}"} for n in range(300)])}, "at most 256"),
    ({"list_tools": lambda host, mode: json.dumps([{**READ, "description": str(next(counter))}])}, "differently each time"),
    ({"list_tools": "[" * 5000}, "nested too deeply"),
    ({"handle_turn": silent}, "without asking the model"),
    ({"handle_turn": careless}, "no provider would take: the first message must be the user's"),
    ({"handle_turn": forgetful}, "without a result for the model's call of read"),
    ({"handle_turn": failing}, "ended an ordinary turn with 'error': it broke"),
    ({"handle_turn": "[]"}, 'must return {"stopped_by"'),
    ({"handle_turn": error("trap")}, "handle_turn() failed (trap)"),
]


@pytest.mark.parametrize(("exports", "words"), BAD_AGENTS)
def test_what_is_wrong_with_an_agent(exports, words):
    _, found = run(good("agent"), FakeBench(**(AGENT | exports)))
    assert len(found) == 1 and words in found[0], found


# Gateways


def drawn(host, events_json):
    return json.dumps([{"seq": e["seq"], "blocks": [{"kind": "note", "body": e["kind"]}]} for e in json.loads(events_json)])


GATEWAY = {
    "describe": '{"name": "g", "version": "1"}', "serve_asset": error(), "on_client_message": "null", "render_events": drawn,
}  # fmt: skip


def without(kind):
    def render(host, events_json):
        return json.dumps([{"seq": e["seq"], "blocks": []} for e in json.loads(events_json) if e["kind"] != kind])

    return render


BAD_GATEWAYS = [
    ({"describe": '{"name": "g"}'}, 'must return {"name"'),
    ({"serve_asset": error("trap")}, "serve_asset() failed (trap)"),
    ({"on_client_message": error("timeout")}, "on_client_message() did not end in time"),
    ({"render_events": error(message="KeyError: 'x'")}, "render_events() failed: KeyError"),
    ({"render_events": "{}"}, "as protocol.blocks describes them"),
    ({"render_events": '[{"seq": 1, "blocks": [{"kind": 3}]}]'}, "as protocol.blocks describes them"),
    ({"render_events": without("rewind")}, "hides the user event"),
    ({"render_events": lambda h, e: drawn(h, json.dumps(json.loads(e)[:-1]))}, "left out the weather event"),
    ({"render_events": lambda h, e: drawn(h, json.dumps(json.loads(e) * 2))}, f"returned {2 * SPECIMENS} events for {SPECIMENS}"),
    ({"render_events": lambda h, e: drawn(h, e) + " " * (next(counter) + 1)}, "differently each time"),
    ({"render_events": lambda h, e: drawn(h, e if e != "[]" else '[{"seq": 1, "kind": "x"}]')}, "something of no events"),
]


def test_a_good_gateway():
    assert run(good("gateway/tui"), FakeBench(**GATEWAY))[1] == []


@pytest.mark.parametrize(("exports", "words"), BAD_GATEWAYS)
def test_what_is_wrong_with_a_gateway(exports, words):
    _, found = run(good("gateway/tui"), FakeBench(**(GATEWAY | exports)))
    assert len(found) == 1 and words in found[0], found
