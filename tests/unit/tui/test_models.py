"""Picking a model in the middle of a conversation, and for one that has not begun."""

from __future__ import annotations

from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.models import ModelInfo

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen
from thetis_tui.screens.models import ModelsScreen

MODELS = [
    ModelInfo(id="a", provider="p", label="A", window=200_000),
    ModelInfo(id="b", provider="p", label="B \x1b[1m", window=8192),
]


async def test_one_is_picked_for_the_next_turn() -> None:
    gateway = FakeGateway(models=MODELS, default_model="a")
    session = gateway.make("One", model="a")
    async with screen(gateway, conversation=session) as s:
        await s.type("/model")
        await s.pilot.press("enter")
        await s.until(lambda: isinstance(s.app.screen, ModelsScreen), "the list")
        await s.pilot.press("down", "enter")
        await s.until(lambda: bool(gateway.asked(c.ChangeSetting)), "set")
        assert [(each.name, each.value) for each in gateway.asked(c.ChangeSetting)] == [("model", "b")]


async def test_one_is_picked_for_a_conversation_that_has_not_begun_and_an_unknown_one_is_said() -> None:
    gateway = FakeGateway(models=MODELS, default_model="a")
    async with screen(gateway) as s:
        await s.type("/model nowhere")
        await s.pilot.press("enter")
        await s.until(lambda: s.app.state.new_model == "" and not s.app.desk.prompt.text, "refused")
        await s.type("/model b")
        await s.pilot.press("enter")
        await s.until(lambda: s.app.state.new_model == "b", "picked")
        await s.type("hello")
        await s.pilot.press("enter")
        await s.until(lambda: bool(gateway.asked(c.CreateConversation)), "begun")
        assert gateway.asked(c.CreateConversation)[0].model == "b"
