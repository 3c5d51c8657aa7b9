"""The tools of one turn: what is offered, what a call becomes, and the groups that are loaded on the way.

Owns the order of these: groups are pinned before the first request, a call of a withheld tool loads its group, a search may,
and what the agent answers itself never reaches the host as anything else. Must not know messages.
"""

from __future__ import annotations

from typing import Any

from desk import Desk
from groups import Loaded, routed
from state import State
from thetis_guest import tooling
from thetis_guest.lenient import flag, mapping, text
from toolbox import CHANGES_TOOLS, Toolbox


class Tools:
    """`restricted`: the mode is read-only; `state` is the conversation's, and is complete when `begin` is called."""

    def __init__(self, turn: dict[str, Any], restricted: bool, state: State) -> None:
        self._turn = turn
        self._restricted = restricted
        self._state = state
        self._references = flag(mapping(turn, "model"), "tool_references")
        self._open(Loaded(turn, state.values["groups"]))

    def _open(self, loaded: Loaded) -> None:
        mode = text(mapping(self._turn, "mode"), "id")
        child = "child" in self._turn
        self._toolbox = Toolbox(tooling.registry(), self._restricted, mode, loaded, self._references, child)
        self._desk = Desk(self._state, self._toolbox)

    def begin(self, opening: str) -> None:
        """Pin the groups of a conversation that begins with these words, unless they are pinned or nothing is grouped."""
        loaded = Loaded(self._turn, self._state.values["groups"])
        if loaded.grouping and not loaded.routed:
            loaded.why = routed(self._turn, opening)
            loaded.at = dict.fromkeys(loaded.why, self._state.seq)
            self._open(loaded)
            for group in loaded.why:
                self._desk.pin(group)
        elif loaded.why != self._toolbox.loaded.why:
            self._open(loaded)

    def part(self, compacted: int) -> dict[str, Any]:
        """The tools part of a request, and beside it what the whole of it would be: [tools, bytes]."""
        return {"tools": self._toolbox.definitions(compacted), "tools_all": self._toolbox.sizes()}

    def deferred(self, compacted: int) -> frozenset[str]:
        """The tools whose definitions a result must refer to."""
        return self._toolbox.deferred(compacted)

    def resolve(self, call: dict[str, Any]) -> dict[str, Any]:
        """A call of the model as one for `tooling.invoke-many`."""
        group = self._toolbox.withheld(text(call, "name"))
        if group and self._toolbox.loaded.admit(group, "called", self._state.seq):
            self._desk.pin(group)
        return self._desk.take(self._toolbox.resolve(call))

    def ran(self, resolved: list[dict[str, Any]]) -> None:
        """A reply's calls have run: a tool that one of them made can be called at once."""
        if any(text(call, "op") in CHANGES_TOOLS for call in resolved):
            self._open(self._toolbox.loaded)
