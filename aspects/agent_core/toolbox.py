"""Which tools the model is offered, and what becomes of each call it makes.

Owns the mode's filter, at listing and again at dispatch, and the answers to calls that cannot run. The host refuses
effects in a read-only mode whatever stands here. Must not know the log.
"""

from __future__ import annotations

import json
from typing import Any

from branches import BRANCHES
from catalog import BUILTIN, Tool
from elsewhere import ELSEWHERE
from groups import GROUPS, Loaded, group_of
from outside import OUTSIDE
from packages import PACKAGES
from skillset import SKILLS
from steering import STEERING
from subagents import DELEGATION, WAIT, unfit
from terminals import TERMINALS
from thetis_guest.lenient import mapping, parsed, text
from validate import Invalid, checked

WRITING_MODES = frozenset({"agent", "ask"})
"""Modes known to be allowed to change things; every other name is read-only."""

OWN: tuple[Tool, ...] = (*BUILTIN, *STEERING, WAIT, *TERMINALS, *DELEGATION, *ELSEWHERE, *SKILLS, *PACKAGES, *BRANCHES, *OUTSIDE)
"""The agent's own tools, in the order they are offered."""
CHANGES_TOOLS = frozenset(tool.op for tool in OWN if tool.op.startswith("devkit.") and tool.mutating)
"""Operations after which the list of tools may be another."""


SEARCHED = ("search", "called")
"""Why a group was loaded when the conversation was under way."""


class Toolbox:
    """The tools of a turn. `registry`: the tool guests as `tooling.registry` lists them; `loaded`: the groups it has.

    `references`: the provider takes definitions that are loaded by a reference in a result; then all of them are sent, the
    same bytes whatever is loaded, and those of other groups are deferred. `child`: it is a sub-agent's turn, which has no
    tools that reach other agents.
    """

    def __init__(
        self,
        registry: list[dict[str, Any]],
        read_only: bool,
        mode: str,
        loaded: Loaded | None = None,
        references: bool = False,
        child: bool = False,
    ) -> None:
        own = {tool.name for tool in OWN}
        guests = [_guest(entry) for entry in registry if text(entry, "name") and text(entry, "name") not in own]
        guests.sort(key=lambda tool: tool.name)
        self._read_only = read_only
        self._mode = mode
        absent = DELEGATION if child else ()
        self._all = {tool.name: tool for tool in (*OWN, *guests) if tool not in absent}
        declared = {text(entry, "name"): text(entry, "group") for entry in registry}
        self._groups = {name: group_of(name, declared.get(name, "")) for name in self._all}
        self.loaded = loaded or Loaded({}, {})
        self.references = references and self.loaded.grouping
        self._told: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        self._sizes: list[int] = []
        self._possible = [tool for tool in self._all.values() if not (read_only and tool.mutating)]

    @property
    def offered(self) -> list[Tool]:
        """What the model sees: the tools of the groups that are always on, then each group's in the order they were loaded."""
        if not self.loaded.grouping:
            return self._possible
        order = {group: 0 if GROUPS[group].always else at for at, group in enumerate(self.loaded.why, 1)}
        seen = [tool for tool in self._possible if self._groups[tool.name] in order]
        return sorted(seen, key=lambda tool: order[self._groups[tool.name]])

    def definitions(self, compacted: int = 0) -> list[dict[str, Any]]:
        """The tools part of a model request; the same bytes as long as mode, registry and what is loaded are the same.

        `compacted`: the newest compaction, after which no reference to what was loaded before is left.
        """
        key = (*self.loaded.why, compacted if self.references else 0)
        if key not in self._told:
            self._told[key] = self._definitions(compacted)
        return self._told[key]

    def _definitions(self, compacted: int) -> list[dict[str, Any]]:
        if not self.references:
            return [tool.definition() for tool in self.offered]
        deferred = self.deferred(compacted)
        later = {"defer_loading": True}
        return [{**tool.definition(), **(later if tool.name in deferred else {})} for tool in self._possible]

    def deferred(self, compacted: int) -> frozenset[str]:
        """The tools whose definitions a model only sees once a result refers to them."""
        if not self.references:
            return frozenset()
        settled = {
            group
            for group, why in self.loaded.why.items()
            if why not in SEARCHED or self.loaded.at.get(group, 0) < compacted
        }
        return frozenset(tool.name for tool in self._possible if self._groups[tool.name] not in settled)

    def of(self, group: str) -> list[tuple[str, bool]]:
        """The tools of a group, and whether the mode allows each."""
        possible = {tool.name for tool in self._possible}
        return [(name, name in possible) for name in self._all if self._groups[name] == group]

    def described(self) -> list[tuple[str, str, str]]:
        """(name, description, group) of every tool."""
        return [(tool.name, tool.description, self._groups[tool.name]) for tool in self._all.values()]

    def sizes(self) -> list[int]:
        """[tools, bytes] of the whole tools part, whatever is loaded."""
        if not self._sizes:
            self._sizes = [len(self._possible), size([tool.definition() for tool in self._possible])]
        return self._sizes

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
            return answered(entry, f"There is no tool named {name!r}. {self._listing()}", False)
        if tool.mutating and self._read_only:
            return answered(
                entry,
                f"{name} is not available: the mode {self._mode!r} is read-only, nothing may be changed or run. "
                f"Say what you would do instead, or ask the person to switch modes. {self._listing()}",
                False,
            )
        try:
            op_args = checked(name, tool.schema, given)
        except Invalid as error:
            return answered(entry, f"{error} Nothing was run; correct the call.", False)
        if refused := unfit(name, op_args):
            return answered(entry, refused, False)
        op = tool.op
        if op.startswith("notes.") and op_args.pop("scope", "") == "project":
            op += "-for-all"
        return {**entry, "op": op, "op-args": op_args}

    def withheld(self, name: str) -> str:
        """The group of a tool that is there and not loaded, "" for every other: a call of it is honoured, and loads it."""
        group = self._groups.get(name, "")
        return "" if not group or self.loaded.has(group) else group

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


def answered(entry: dict[str, Any], words: str, ok: bool) -> dict[str, Any]:
    """The call as one that the agent answers itself."""
    return {**entry, "op": "answer", "op-args": {"text": words, "ok": ok}}


def size(definitions: list[dict[str, Any]]) -> int:
    """Bytes of definitions on the wire."""
    return len(json.dumps(definitions, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
