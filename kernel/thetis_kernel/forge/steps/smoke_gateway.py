"""Smoke of a gateway guest: it renders one event of every kind, the same way twice, and answers assets and messages."""

from __future__ import annotations

import msgspec

from thetis_kernel.forge.fakes.gateway import GatewayHost
from thetis_kernel.forge.fakes.host import dumps
from thetis_kernel.forge.steps.smoking import Smoke
from thetis_kernel.protocol.blocks import RenderedEvent

NEVER_HIDDEN = frozenset({"user", "assistant", "incident"})
"""A transcript without these would not be one."""


def run(smoke: Smoke) -> None:
    """Raises Failed."""
    smoke.named()
    _render(smoke)
    host = GatewayHost()
    smoke.answer(host, "serve-asset", "/")
    smoke.answer(host, "on-client-message", dumps({"kind": "list", "session": host.session}))


def _render(smoke: Smoke) -> None:
    host = GatewayHost()
    batch = dumps(host.log.events)
    text = smoke.text(host, "render-events", batch)
    if smoke.text(GatewayHost(), "render-events", batch) != text:
        smoke.fail("render_events() draws the same events differently each time; what it draws is kept")
    try:
        rendered = msgspec.json.decode(text, type=list[RenderedEvent])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        smoke.fail(f"render_events() must return [{{seq, blocks}}, ...] as protocol.blocks describes them: {exc}")
    found = {event.seq: event for event in rendered}
    for event in host.log.events:
        drawn = found.get(event["seq"])
        if drawn is None:
            smoke.fail(f"render_events() left out the {event['kind']} event; hide one by giving it no blocks")
        if event["kind"] in NEVER_HIDDEN and not drawn.blocks:
            smoke.fail(f"render_events() hides the {event['kind']} event")
    if len(rendered) != len(host.log.events):
        smoke.fail(f"render_events() returned {len(rendered)} events for {len(host.log.events)}")
    again = smoke.text(GatewayHost(), "render-events", "[]")
    if again.strip() != "[]":
        smoke.fail("render_events() makes something of no events")
