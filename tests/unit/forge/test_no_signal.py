"""A candidate cannot tell the gate from its place in a conversation: what it is given has the same shape in both.

Fields, kinds of values and forms of identifiers are compared with what the gateway and the worker really send. A field that
is added there and not here makes these tests fail.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.config.modes import Modes
from thetis_kernel.config.settings import Settings
from thetis_kernel.forge.fakes.agent import AgentHost
from thetis_kernel.forge.fakes.gateway import GatewayHost
from thetis_kernel.forge.fakes.golden import GOLDEN, GoldenHost
from thetis_kernel.forge.fakes.tool import ToolHost
from thetis_kernel.gateway.describing import description
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.hosts.worker.imports import Inbox, agent_imports
from thetis_kernel.hosts.worker.surroundings import surroundings
from thetis_kernel.protocol.ids import new_call_id, new_session_id, new_turn_id
from thetis_kernel.protocol.models import ModelInfo
from thetis_kernel.protocol.worker import GuestBundle
from thetis_kernel.store.folds import SessionState

from tests.support.turns import turn_context


def shape(value: Any) -> Any:
    """Names and kinds, without values: lists by their first entry."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def real_turn(tmp_path: Path) -> dict[str, Any]:
    """What handle-turn is given in a conversation."""
    context = turn_context(tmp_path)
    (tmp_path / "AGENTS.md").write_text("Run the tests.\n")
    model = ModelInfo("m", "p", "Model", 200_000)
    told = description(Turn(new_session_id(), new_turn_id(), 0), SessionState(mode="agent", model="m"), Modes.of(Settings()),
                       [model], Settings())  # fmt: skip
    turn = json.loads(told)
    turn["root"] = {**turn["root"], **surroundings(context.tree, Path(context.place.workspace), "/workspace")}
    return turn


def test_a_turn_is_described_field_for_field(tmp_path):
    assert shape(AgentHost().turn_json()) == shape(real_turn(tmp_path))


def test_the_settings_in_it_are_those_a_fresh_installation_has(tmp_path):
    real, told = real_turn(tmp_path), AgentHost().turn_json()
    for field in ("context", "tool_groups", "attempt", "skills"):
        assert told[field] == real[field], field


def test_identifiers_have_the_form_of_real_ones_and_none_comes_twice():
    hosts = [AgentHost(), AgentHost(), *(GoldenHost(log) for log in GOLDEN.values())]
    sessions, turns = [host.session for host in hosts], [host.turn for host in hosts]
    assert len(set(sessions)) == len(set(turns)) == len(hosts)
    for made, real in ((sessions, new_session_id()), (turns, new_turn_id()), ([ToolHost().session], new_session_id())):
        form = re.compile(f"[0-9a-f]{{{len(real)}}}")
        assert all(form.fullmatch(each) for each in made) and form.fullmatch(real)
    calls = [event["body"]["call"] for host in hosts for event in host.log.events if event["kind"] == "tool-invocation"]
    real_call = new_call_id()
    theirs = [call for call in calls if call != "functions.read:0"]  # what another provider calls its calls
    assert theirs and all(len(call) == len(real_call) and call.startswith("call_") for call in theirs)
    assert len(set(theirs)) == len(theirs)


@pytest.mark.parametrize("host", [AgentHost, *(lambda log=log: GoldenHost(log) for log in GOLDEN.values())])
def test_times_are_of_today(host):
    now = time.time() * 1000
    for event in host().log.events:
        assert now - 2 * 86_400_000 < event["ts_ms"] <= now + 60_000


@pytest.mark.parametrize("host", [AgentHost, GatewayHost, ToolHost])
def test_clock_and_diagnostics_are_the_real_ones(host):
    """What stands in for neither is the wasm host's own, as in production."""
    assert not {"sys.now-ms", "sys.sleep", "sys.log", "sys.code"} & set(host().imports)


class Journal:
    def read(self, after, max_bytes):
        raise AssertionError("not asked")

    def state(self, scope):
        return {}


def real_imports(tmp_path):
    context = turn_context(tmp_path)
    guest = GuestBundle(aspect="tool/outline", key="k", bundle="", config="{}", describes=json.dumps(
        {"name": "outline", "description": "d", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}},
         "required": ["path"]}, "group": "code", "mutating": False}))  # fmt: skip
    context.guests["outline"] = guest
    usage = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}
    answer = {"seq": 3, "end": "stop", "blocks": [], "usage": usage, "detail": ""}
    return agent_imports(context, Journal(), Inbox(), lambda request, record: json.dumps(answer).encode())


def test_the_registry_reads_the_same_and_tells_of_parameters(tmp_path):
    real = json.loads(real_imports(tmp_path)["tooling.registry"]())
    told = json.loads(AgentHost().imports["tooling.registry"]())
    assert shape(real[0]) == shape(told[0])
    assert real[0]["input_schema"]["required"] == ["path"]


def test_the_inbox_reads_the_same(tmp_path):
    real = json.loads(real_imports(tmp_path)["session.poll-inbox"]())
    assert shape(real) == shape(json.loads(AgentHost().imports["session.poll-inbox"]()))


@pytest.mark.parametrize("host", [AgentHost, lambda: GoldenHost(GOLDEN["an interrupted conversation"])])
def test_a_model_answers_in_the_same_fields(tmp_path, host):
    request = json.dumps({"system": "", "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]})
    real = json.loads(real_imports(tmp_path)["llm.complete"](request))
    assert set(real) == set(json.loads(host().imports["llm.complete"](request)))


def test_every_import_there_is_is_answered(tmp_path):
    """None that serves is missing here, and none is here that does not serve."""
    real = {name for name in real_imports(tmp_path) if not name.startswith("sys.")}
    assert real == {name for name in AgentHost().imports if not name.startswith("sys.")}


def test_a_tools_settings_are_those_of_one_nobody_set_up():
    from thetis_kernel.forge.steps import smoke

    from tests.unit.forge.bench import FakeBench
    from tests.unit.forge.guests import TOOL_MAIN, tool
    from tests.unit.forge.test_smoke import described

    bench = FakeBench(describe=described(), invoke=lambda host, session, args, config: "ok")
    from thetis_kernel.forge.candidate import Candidate

    smoke.run(Candidate(tool(TOOL_MAIN)), bench)
    configs = {arguments[2] for export, arguments in bench.calls if export == "invoke"}
    assert configs == {json.dumps({})}
