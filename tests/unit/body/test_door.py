"""The gateway's own look at the mode, before anything of a guest changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import Refused
from thetis_kernel.gateway.body.door import DevKitDoor
from thetis_kernel.protocol.worker import AskDevKit, GuestBundle
from thetis_kernel.toolhost.devkit import CHANGING, READING

TOOL = GuestBundle(aspect="tool/x", key="k", bundle="b")


class Bodies:
    def __init__(self, answer: dict[str, Any]) -> None:
        self.done: list[str] = []
        self.answer = answer

    async def perform(self, session: str, name: str, arguments: dict[str, Any], *, by: str) -> dict[str, Any]:
        self.done.append(f"{by} {name}")
        return self.answer


class Guests:
    def __init__(self, tool: GuestBundle | None) -> None:
        self.serving = tool

    async def tool(self, session: str, name: str) -> GuestBundle | None:
        return self.serving


def door(read_only: bool, answer: dict[str, Any] | None = None, tool: GuestBundle | None = TOOL) -> tuple[DevKitDoor, Bodies]:
    bodies = Bodies(answer or {"ok": True, "aspect": "tool/x"})

    class Log:
        async def state(self, session: str) -> SimpleNamespace:
            return SimpleNamespace(mode="any")

    modes = SimpleNamespace(get=lambda name: SimpleNamespace(read_only=read_only))
    return DevKitDoor(bodies, Guests(tool), Log(), modes), bodies  # type: ignore[arg-type]


def ask(name: str) -> AskDevKit:
    return AskDevKit(turn="t", name=name, arguments=b"{}")


@pytest.mark.parametrize("name", CHANGING)
async def test_a_read_only_mode_changes_nothing_whatever_the_worker_let_through(name: str) -> None:
    opened, bodies = door(True)
    with pytest.raises(Refused, match="read-only"):
        await opened.answer("s", ask(name))
    assert bodies.done == []


@pytest.mark.parametrize("name", READING)
async def test_reading_is_possible_in_every_mode(name: str) -> None:
    opened, bodies = door(True)
    await opened.answer("s", ask(name))
    assert bodies.done == [f"agent {name}"]


async def test_a_changed_tool_comes_back_with_the_answer_and_a_removed_one_by_name() -> None:
    answered = await door(False)[0].answer("s", ask("write-code"))
    assert answered.tool == TOOL and answered.gone == "" and msgspec.json.decode(answered.data)["ok"]
    answered = await door(False, tool=None)[0].answer("s", ask("roll-back"))
    assert answered.tool is None and answered.gone == "x"


@pytest.mark.parametrize("answer", [{"ok": False, "aspect": "tool/x"}, {"ok": True, "aspect": "agent"}])
async def test_what_did_not_pass_or_is_no_tool_swaps_nothing(answer: dict[str, Any]) -> None:
    answered = await door(False, answer)[0].answer("s", ask("write-code"))
    assert answered.tool is None and answered.gone == ""
