"""Shim of the agent runtime: the agent world's exports, answered by the guest's functions of the same names."""

from __future__ import annotations

import json

import loader
import thetis_guest
import wit_world
from wit_world.imports import agents, branch, devkit, files, llm, notes, session, terminal, tooling, wait
from wit_world.imports import sys as host

loader.boot(
    sys=host, session=session, llm=llm, tooling=tooling, files=files, terminal=terminal, notes=notes, devkit=devkit,
    agents=agents, wait=wait, branch=branch,
)  # fmt: skip


def _describe() -> str:
    said = loader.named(loader.entry(), "describe")()
    return thetis_guest._bind.scrub(loader.json_text(said, dict, "describe()"))


def _health() -> str:
    return loader.json_text(loader.named(loader.entry(), "health")(), (dict, list), "health()")


def _list_tools(mode: str) -> str:
    return loader.json_text(loader.named(loader.entry(), "list_tools")(mode), list, "list_tools()")


def _handle_turn(turn_json: str) -> str:
    turn = json.loads(turn_json)
    return loader.json_text(loader.named(loader.entry(), "handle_turn")(turn), dict, "handle_turn()")


class WitWorld(wit_world.WitWorld):
    def describe(self) -> str:
        return loader.last_words(_describe)  # type: ignore[no-any-return]

    def health(self) -> str:
        return loader.guarded(_health)

    def list_tools(self, mode: str) -> str:
        return loader.guarded(lambda: _list_tools(mode))

    def handle_turn(self, turn_json: str) -> str:
        return loader.guarded(lambda: _handle_turn(turn_json))
