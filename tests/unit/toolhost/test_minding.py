"""A tool that keeps failing: what the worker tells the gateway, and when it repeats a call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from thetis_kernel.errors import GuestError, ThetisError
from thetis_kernel.hosts.worker.minding import MindedTools
from thetis_kernel.protocol.worker import DevKitAnswer, GuestBundle

NOW, EARLIER, BACK = (GuestBundle(aspect="tool/x", key=key, bundle=key) for key in ("now", "earlier", "back"))


class Place:
    """A context with one tool, a gateway that answers as told, and tools that fail as told."""

    def __init__(self, *, fails: dict[str, str], answers: dict[str, DevKitAnswer] | None = None, harmless: bool = True) -> None:
        self.fails = fails
        self.answers = answers or {}
        self.told: list[tuple[str, bool]] = []
        context: Any = SimpleNamespace(guests={"x": NOW}, harmless={"c1"} if harmless else set(),
                                       cancelled=SimpleNamespace(is_set=lambda: False))  # fmt: skip
        self.context = context
        self.tools = MindedTools(context, self.invoke, self.ask)

    def invoke(self, guest: GuestBundle, call: str, arguments: dict[str, Any]) -> str:
        if guest.key in self.fails:
            raise GuestError("it failed", kind=self.fails[guest.key])
        return f"from {guest.key}"

    def ask(self, name: str, arguments: dict[str, Any]) -> DevKitAnswer:
        self.told.append((name, arguments["better"]))
        if name not in self.answers:
            raise ThetisError("The gateway has other worries.", code="unavailable")
        return self.answers[name]

    def call(self) -> str:
        return self.tools.call("x", "c1", {})


TRY = {"guest-failed": DevKitAnswer(data=b"{}", tool=EARLIER), "guest-replayed": DevKitAnswer(data=b"{}", tool=BACK)}


def test_the_earlier_revision_answers_and_serves_from_then_on() -> None:
    place = Place(fails={"now": "trap"}, answers=TRY)
    assert place.call().startswith("from earlier\n[x failed again (trap) and was put back")
    assert place.told == [("guest-failed", False), ("guest-replayed", True)]
    assert place.context.guests["x"] == BACK and place.call() == "from back"


def test_a_call_that_fails_there_too_is_told_and_changes_nothing() -> None:
    place = Place(fails={"now": "timeout", "earlier": "error"}, answers=TRY)
    with pytest.raises(GuestError, match="it failed") as error:
        place.call()
    assert error.value.kind == "timeout" and place.told == [("guest-failed", False), ("guest-replayed", False)]
    assert place.context.guests["x"] == NOW


def test_a_call_that_may_have_changed_something_is_not_repeated() -> None:
    place = Place(fails={"now": "trap"}, answers=TRY, harmless=False)
    with pytest.raises(GuestError):
        place.call()
    assert place.told == [("guest-failed", False)]


@pytest.mark.parametrize("kind", ["error", "type", "abort", "import"])
def test_what_is_an_answer_is_told_to_nobody_but_the_model(kind: str) -> None:
    place = Place(fails={"now": kind}, answers=TRY)
    with pytest.raises(GuestError):
        place.call()
    assert place.told == []


def test_a_gateway_that_does_not_answer_costs_nothing() -> None:
    place = Place(fails={"now": "trap"})
    with pytest.raises(GuestError):
        place.call()
    place.fails.clear()
    assert place.call() == "from now" and place.told == [("guest-failed", False), ("guest-well", False)]
