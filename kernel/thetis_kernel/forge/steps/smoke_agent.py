"""Smoke of an agent: it is healthy, offers valid tools in every mode and only harmless ones in read-only modes, and
carries a turn with a tool call to its end."""

from __future__ import annotations

from typing import Any

from thetis_kernel.forge.fakes.agent import MODES, AgentHost
from thetis_kernel.forge.fakes.host import dumps
from thetis_kernel.forge.schema import tool_problem
from thetis_kernel.forge.steps.smoking import Smoke

MAX_TOOLS = 256
GOOD_STOPS = frozenset({"stop", "asked", "limit"})
"""Ways a turn may end whose model answered every request well."""


def run(smoke: Smoke) -> None:
    """Raises Failed."""
    smoke.named()
    if not smoke.json(AgentHost(), "health"):
        smoke.fail("health() returned nothing; it must say something of the agent's state")
    for mode in MODES:
        _tools(smoke, mode)
    _turn(smoke)


def _tools(smoke: Smoke, mode: dict[str, Any]) -> None:
    doing = f"list_tools({mode['id']!r})"
    text = smoke.text(AgentHost(), "list-tools", mode["id"], doing=doing)
    if smoke.text(AgentHost(), "list-tools", mode["id"], doing=doing) != text:
        smoke.fail(f"{doing} answers differently each time, which would break the provider's prompt cache")
    tools = smoke.parsed(text, doing)
    if not isinstance(tools, list) or len(tools) > MAX_TOOLS:
        smoke.fail(f"{doing} must return a list of at most {MAX_TOOLS} tools")
    names: set[str] = set()
    for tool in tools:
        if problem := tool_problem(tool):
            smoke.fail(f"{doing}: {problem}")
        if tool["name"] in names:
            smoke.fail(f"{doing} offers {tool['name']} twice")
        if mode["read_only"] and tool["mutating"]:
            why = "is read-only" if mode["id"] == "plan" else "is unknown to the agent and so read-only"
            smoke.fail(f"{doing} offers {tool['name']}, which changes things, in a mode that {why}")
        names.add(tool["name"])


def _turn(smoke: Smoke) -> None:
    host = AgentHost()
    result = smoke.json(host, "handle-turn", dumps(host.turn_json()))
    if host.complaints:
        smoke.fail(f"handle_turn() asked the model what no provider would take: {host.complaints[0]}")
    stopped_by = result.get("stopped_by") if isinstance(result, dict) else None
    if not isinstance(stopped_by, str) or not stopped_by:
        smoke.fail('handle_turn() must return {"stopped_by": ..., "detail": ..., "iterations": ...}')
    if host.completions == 0:
        smoke.fail("handle_turn() ended without asking the model anything")
    if stopped_by not in GOOD_STOPS:
        smoke.fail(f"handle_turn() ended an ordinary turn with {stopped_by[:40]!r}: {str(result.get('detail', ''))[:400]}")
    if missing := _unanswered(host):
        smoke.fail(f"handle_turn() ended without a result for the model's call of {missing}")


def _unanswered(host: AgentHost) -> str:
    """The name of a tool the model called and nobody answered; "" when all were."""
    results = {event["body"]["call"] for event in host.log.events if event["kind"] == "tool-result"}
    for event in host.log.events:
        if event["kind"] == "assistant":
            for block in event["body"]["blocks"]:
                if block["type"] == "tool_use" and block["id"] not in results:
                    return str(block["name"])
    return ""
