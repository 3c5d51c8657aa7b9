"""`wait.until` over a gateway made of a table: when it wakes and why, without the bell too, and what ends it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.hosts.worker.imports import Inbox
from thetis_kernel.toolhost import waiting
from thetis_kernel.toolhost.bell import Bell
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.dispatch import invoke_many
from thetis_kernel.toolhost.operations import perform

from tests.support.turns import turn_context

SECONDS = 20.0


class Gateway:
    """Children by id and their states; `asked` are the operations that came."""

    def __init__(self, context: TurnContext, **states: str) -> None:
        self.states = states
        self.asked: list[str] = []
        self.looked = threading.Condition()
        self._context = context
        context.agents = self.answer

    def answer(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        with self.looked:
            self.asked.append(name)
            self.looked.notify_all()
        wanted = arguments.get("children") or list(self.states)
        return {"agents": [{"child": child, "state": self.states[child]} for child in wanted]}

    def settle(self, child: str, state: str = "done") -> None:
        self.states[child] = state
        self._context.bell.ring()

    def looks(self, count: int) -> None:
        with self.looked:
            assert self.looked.wait_for(lambda: self.asked.count("look") >= count, SECONDS)


class Asleep:
    """A wait on a thread of its own."""

    def __init__(self, context: TurnContext, **query: Any) -> None:
        self._outcome: list[Any] = []
        self._over = threading.Event()
        self._work: Callable[[], Any] = lambda: perform(context, "wait.until", "c1", query)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.append(self._work())
        except ThetisError as error:
            self._outcome.append(error)
        self._over.set()

    @property
    def sleeps(self) -> bool:
        return not self._over.is_set()

    def woke(self) -> Any:
        assert self._over.wait(SECONDS), "it still sleeps"
        (outcome,) = self._outcome
        if isinstance(outcome, ThetisError):
            raise outcome
        return outcome


@pytest.fixture
def context(tmp_path: Path) -> TurnContext:
    return turn_context(tmp_path)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks without a ring are far apart, so that what wakes is the ring."""
    monkeypatch.setattr(waiting, "BACKSTOP_S", 60.0)


@pytest.mark.usefixtures("patient")
def test_all_wakes_with_the_last_and_any_with_the_first(context: TurnContext) -> None:
    gateway = Gateway(context, a="running", b="running")
    every, first = Asleep(context), Asleep(context, until="any")
    gateway.looks(2)
    gateway.settle("a")
    assert first.woke()["woken_by"] == "agents"
    gateway.looks(3)
    assert every.sleeps
    gateway.settle("b", "failed")
    woken = every.woke()
    assert woken["until"] == "all" and [one["state"] for one in woken["agents"]] == ["done", "failed"]
    assert gateway.asked[-1] == "status", "what it answers is told, not only looked at"


@pytest.mark.usefixtures("patient")
def test_first_failure_sleeps_through_what_is_done(context: TurnContext) -> None:
    gateway = Gateway(context, a="running", b="running", c="running")
    asleep = Asleep(context, until="first_failure")
    gateway.looks(1)
    gateway.settle("a")
    gateway.looks(2)
    assert asleep.sleeps
    gateway.settle("b", "cancelled")
    assert asleep.woke()["woken_by"] == "agents"


@pytest.mark.usefixtures("patient")
def test_only_those_named_are_waited_for(context: TurnContext) -> None:
    gateway = Gateway(context, a="running", b="running")
    asleep = Asleep(context, children=["b"])
    gateway.looks(1)
    gateway.settle("b")
    assert [one["child"] for one in asleep.woke()["agents"]] == ["b"]


def test_122_without_the_bell_only_the_latency_grows(context: TurnContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """122: a missed wake-up. The ring is lost, the next look finds what happened."""
    monkeypatch.setattr(waiting, "BACKSTOP_S", 0.05)
    context.bell = Bell(deaf=True)
    gateway = Gateway(context, a="running")
    asleep = Asleep(context)
    gateway.looks(2)
    gateway.settle("a")
    assert asleep.woke()["woken_by"] == "agents"


@pytest.mark.usefixtures("patient")
def test_122_what_rings_during_the_look_is_not_missed(context: TurnContext) -> None:
    gateway = Gateway(context, a="running")
    answer = gateway.answer

    def settles_meanwhile(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        told = answer(name, arguments)
        if gateway.asked == ["look"]:
            gateway.settle("a")  # after the states were read, before the sleep
        return told

    context.agents = settles_meanwhile
    assert Asleep(context).woke()["woken_by"] == "agents"


@pytest.mark.usefixtures("patient")
def test_a_message_wakes_it_at_once_and_one_that_is_there_already(context: TurnContext) -> None:
    Gateway(context, a="running")
    unread = threading.Event()
    context.unread = unread.is_set
    asleep = Asleep(context, until="time")
    unread.set()
    context.bell.ring()
    assert asleep.woke()["woken_by"] == "message"
    assert perform(context, "wait.until", "c2", {})["woken_by"] == "message"


@pytest.mark.usefixtures("patient")
def test_a_note_about_agents_that_settled_does_not_wake_who_waits_for_the_others(context: TurnContext) -> None:
    """It was on its way when the sleep began; the sleep's own answer tells the same. What a person says next does wake it."""
    gateway = Gateway(context, a="done", b="running")
    inbox = Inbox()
    context.unread = lambda: inbox.unread
    inbox.deliver(7, "A sub-agent has settled: a.", wakes=False)
    asleep = Asleep(context, until="all")
    gateway.looks(1)
    context.bell.ring()
    gateway.looks(2)
    assert asleep.sleeps
    inbox.deliver(8, "hurry")
    context.bell.ring()
    assert asleep.woke()["woken_by"] == "message"
    assert [nudge["seq"] for nudge in inbox.poll(False)["nudges"]] == [7, 8] and not inbox.unread


@pytest.mark.usefixtures("patient")
def test_a_stop_ends_it_and_the_call_is_cancelled(context: TurnContext) -> None:
    gateway = Gateway(context, a="running")
    results: list[Any] = []
    calls = '[{"id": "c1", "name": "wait", "op": "wait.until", "op-args": {}}]'
    thread = threading.Thread(target=lambda: results.extend(invoke_many(context, calls)), daemon=True)
    thread.start()
    gateway.looks(1)
    context.cancelled.set()
    thread.join(SECONDS)
    assert [result["outcome"] for result in results] == ["cancelled"]


def test_time_is_up(context: TurnContext) -> None:
    Gateway(context, a="running")
    woken = perform(context, "wait.until", "c1", {"timeout_secs": 1, "until": "all"})
    assert woken["woken_by"] == "time" and woken["waited_ms"] >= 1000


def test_the_longest_sleep_is_the_settings(context: TurnContext) -> None:
    context.place = msgspec.structs.replace(context.place, max_wait_s=1)
    assert perform(context, "wait.until", "c1", {"timeout_secs": 1800, "until": "time"})["woken_by"] == "time"


def test_with_nothing_to_wait_for_it_answers_at_once(context: TurnContext) -> None:
    Gateway(context)
    assert perform(context, "wait.until", "c1", {"until": "all"})["agents"] == []


def test_a_sub_agent_waits_for_time_and_for_no_agents(context: TurnContext) -> None:
    assert context.agents is None
    assert perform(context, "wait.until", "c1", {"timeout_secs": 1})["woken_by"] == "time"
    with pytest.raises(ThetisError, match="no sub-agents to wait for"):
        perform(context, "wait.until", "c1", {"children": ["a"]})


@pytest.mark.parametrize("query", [{"until": "never"}, {"children": [1]}, {"timeout_secs": -1}, {"children": ["a"] * 65}])
def test_what_does_not_fit_is_named(context: TurnContext, query: dict[str, Any]) -> None:
    Gateway(context)
    with pytest.raises(ThetisError) as caught:
        perform(context, "wait.until", "c1", query)
    assert caught.value.code == "bad-arguments"


@pytest.mark.usefixtures("patient")
def test_a_wait_runs_after_the_calls_before_it(context: TurnContext) -> None:
    """Both change nothing, and still: what is waited for is begun by the calls before."""
    gateway = Gateway(context)

    def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "spawn":
            with gateway.looked:  # slow, and slower still than a wait that did not wait for it
                gateway.looked.wait_for(lambda: "look" in gateway.asked, 0.3)
            gateway.states[arguments["label"]] = "done"
            return {"child": arguments["label"], "label": arguments["label"]}
        return gateway.answer(name, arguments)

    context.agents = answer
    task = "Objective: " + "look " * 20
    calls: list[dict[str, Any]] = [
        {"id": f"c{n}", "name": "s", "op": "agents.spawn", "op-args": {"label": f"l{n}", "task": task}} for n in range(6)]
    calls.append({"id": "w", "name": "wait", "op": "wait.until", "op-args": {"until": "all"}})
    results = invoke_many(context, json.dumps(calls))
    assert [len(json.loads(results[-1]["content"])["agents"])] == [6]


# Depth one at dispatch


@pytest.mark.parametrize("name", ["spawn", "status", "transcript", "cancel", "profiles"])
def test_a_sub_agents_turn_is_refused_every_operation_on_agents(context: TurnContext, name: str) -> None:
    arguments = {"spawn": {"label": "x", "task": "t" * 60}, "transcript": {"child": "x"}, "cancel": {"child": "x"}}.get(name, {})
    with pytest.raises(Refused, match="no sub-agents of its own"):
        perform(context, f"agents.{name}", "c1", arguments)


@pytest.mark.parametrize(("label", "task", "said"), [
    ("", "t" * 60, "needs a label"), ("\x1b[2J", "t" * 60, None), ("x", "short", "says too little"),
    ("x", "t" * 70_000, "at most")])
def test_a_brief_is_looked_at(context: TurnContext, label: str, task: str, said: str | None) -> None:
    asked: list[dict[str, Any]] = []
    context.agents = lambda name, arguments: asked.append(arguments) or {}  # type: ignore[func-returns-value]
    if said is None:
        perform(context, "agents.spawn", "c1", {"label": label, "task": task})
        assert asked[0]["label"] == "[2J", "a control sequence is no part of a label"
        return
    with pytest.raises(ThetisError, match=said):
        perform(context, "agents.spawn", "c1", {"label": label, "task": task})
    assert asked == []
