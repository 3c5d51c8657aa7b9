"""Which tools the model is offered, and what becomes of each call it makes.

Owns the mode's filter, at listing and again at dispatch, and the answers to calls that cannot run. The host refuses
effects in a read-only mode whatever stands here. Must not know the log.
"""

from __future__ import annotations

from typing import Any

from catalog import BUILTIN, Tool
from elsewhere import ELSEWHERE
from packages import PACKAGES
from skillset import SKILLS
from terminals import TERMINALS
from thetis_guest.lenient import mapping, parsed, text
from validate import Invalid, checked

WRITING_MODES = frozenset({"agent", "ask"})
"""Modes known to be allowed to change things; every other name is read-only."""

OWN: tuple[Tool, ...] = (*BUILTIN, *TERMINALS, *ELSEWHERE, *SKILLS, *PACKAGES)
"""The agent's own tools, in the order they are offered."""
CHANGES_TOOLS = frozenset(tool.op for tool in OWN if tool.op.startswith("devkit.") and tool.mutating)
"""Operations after which the list of tools may be another."""


class Toolbox:
    """The tools of a turn. `registry`: the tool guests as `tooling.registry` lists them."""

    def __init__(self, registry: list[dict[str, Any]], read_only: bool, mode: str) -> None:
        own = {tool.name for tool in OWN}
        guests = [_guest(entry) for entry in registry if text(entry, "name") and text(entry, "name") not in own]
        guests.sort(key=lambda tool: tool.name)
        self._read_only = read_only
        self._mode = mode
        self._all = {tool.name: tool for tool in (*OWN, *guests)}
        self.offered = [tool for tool in self._all.values() if not (read_only and tool.mutating)]

    def definitions(self) -> list[dict[str, Any]]:
        """The tools part of a model request; the same bytes as long as mode and registry are the same."""
        return [tool.definition() for tool in self.offered]

    def resolve(self, call: dict[str, Any]) -> dict[str, Any]:
        """A tool_use block as a call for `tooling.invoke-many`: an operation, or the answer why there is none."""
        name = text(call, "name")
        given = call.get("input")
        entry: dict[str, Any] = {
            "id": text(call, "id"),
            "name": name,
            "args": given if isinstance(given, dict) else {},
        }
        tool = self._all.get(name)
        if tool is None:
            return _answer(entry, f"There is no tool named {name!r}. {self._listing()}")
        if tool.mutating and self._read_only:
            return _answer(
                entry,
                f"{name} is not available: the mode {self._mode!r} is read-only, nothing may be changed or run. "
                f"Say what you would do instead, or ask the person to switch modes. {self._listing()}",
            )
        try:
            op_args = checked(name, tool.schema, given)
        except Invalid as error:
            return _answer(entry, f"{error} Nothing was run; correct the call.")
        return {**entry, "op": tool.op, "op-args": op_args}

    def _listing(self) -> str:
        return "The tools here are: " + ", ".join(tool.name for tool in self.offered) + "."


def read_only(mode: dict[str, Any]) -> bool:
    """Whether a turn in `mode` may change nothing: unless the host says plainly that it may."""
    return mode.get("read_only") is not False


def _guest(entry: dict[str, Any]) -> Tool:
    """A registry entry as a tool; one that does not say it changes nothing counts as changing things."""
    name = text(entry, "name")
    told = text(entry, "input_schema")  # a manifest carries its schema as text
    schema = parsed(told) if told else mapping(entry, "input_schema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        schema = {"type": "object", "properties": {}}
    mutating = entry.get("mutating") is not False
    return Tool(name, text(entry, "description"), schema, f"tool:{name}", mutating)


def _answer(entry: dict[str, Any], words: str) -> dict[str, Any]:
    return {**entry, "op": "answer", "op-args": {"text": words, "ok": False}}
