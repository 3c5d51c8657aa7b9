"""Shim of the gateway runtime: the gateway world's exports, answered by the guest's functions of the same names."""

from __future__ import annotations

import json

import loader
import thetis_guest
import wit_world
from wit_world.imports import sys as host
from wit_world.imports import view

loader.boot(sys=host, view=view)


def _describe() -> str:
    said = loader.named(loader.entry(), "describe")()
    return thetis_guest._bind.scrub(loader.json_text(said, dict, "describe()"))


def _serve_asset(path: str) -> str:
    return loader.json_text(loader.named(loader.entry(), "serve_asset")(path), dict, "serve_asset()")


def _on_client_message(message_json: str) -> str:
    message = json.loads(message_json)
    answer = loader.named(loader.entry(), "on_client_message")(message)
    return loader.json_text(answer, (dict, list, str, int, float, type(None)), "on_client_message()")


def _render_events(events_json: str) -> str:
    events = json.loads(events_json)
    return loader.json_text(loader.named(loader.entry(), "render_events")(events), list, "render_events()")


class WitWorld(wit_world.WitWorld):
    def describe(self) -> str:
        return loader.last_words(_describe)  # type: ignore[no-any-return]

    def serve_asset(self, path: str) -> str:
        return loader.guarded(lambda: _serve_asset(path))

    def on_client_message(self, message_json: str) -> str:
        return loader.guarded(lambda: _on_client_message(message_json))

    def render_events(self, events_json: str) -> str:
        return loader.guarded(lambda: _render_events(events_json))
