"""SIGKILL at every named point, whoever the person talks through: nothing acknowledged is lost, every call has one result, every
turn one end, no effect twice, and the conversation goes on at the next start.

A case is a point, a front (`tests.support.crashes`) and the scenario that reaches the point. Some points kill the kernel (and
the program it lives in), some a child (and the program goes on).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.crash import REGISTRY

from tests.support import history
from tests.support.crashes import FRONTS, Disk, Front, Headless, Screen, said_later
from tests.support.messages_server import MessagesServer, call, error, reply, text
from tests.support.thetis import World, fingerprint

pytestmark = pytest.mark.runtimes

COMMAND = "echo done >> effects.log"
SCENARIOS = {
    **{point: "first" for point in REGISTRY if point.startswith("swap.")},
    **{point: "retry" for point in REGISTRY if point.startswith("retry.")},
    **{point: "stop" for point in REGISTRY if point.startswith("cancel.")},
    **{point: "cut" for point in REGISTRY if point.startswith("recovery.")},
    "resume.asked": "resume",
    "queue.said": "queue",
    "resume.again": "worker",
}
"""How a point is reached; the others by one turn with a mutating command.

first: the shipped guests are judged for the first time. retry: the provider is overloaded once. stop: the person stops the
command. cut: the kernel dies before the end of a turn, and is started again. resume: somebody asks for such a turn again.
worker: the worker dies in the turn. queue: words wait in the queue for the end of the turn; a run's turn stays alone, so that
only the screen comes to them."""
LATER = ("append.after-insert:2", "append.after-commit:2", "ack.before:2", "ack.after:3", "append.after-commit:6")
"""The same points further on: the second event of a conversation is the person's words, which have no turn yet."""
ELSEWHERE = ("branch.", "merge.", "guests.", "spawn.", "child.", "children.", "snapshot.restor", "collect.",
             "compact", "fork.", "rewind.")
"""Points with a test of their own: `test_crash_merges`, `test_children_killed`, `test_timemachine_killed`, `test_collecting`,
`test_compaction_killed`."""
CASES = [*sorted(point for point in REGISTRY if not point.startswith(ELSEWHERE)), *LATER]
OFTEN = {
    "headless": {
        "append.after-insert",
        "append.after-commit:2",
        "tool.running",
        "tool.effect-done",
        "checkout.after",
        "commit.after",
        "worker.turn-end",
        "gateway.turn-end",
        "model-host.mid-stream",
        "stream.received",
        "recovery.after",
    },
    "screen": {"tool.effect-done", "stream.received", "resume.asked"},
    "gateway": {"append.after-commit:2", "cancel.noted", "gateway.turn-start"},
}
"""What every run of the suite looks at; the rest is for `make test-all`."""


def cases() -> Iterator[Any]:
    for front in FRONTS:
        for case in CASES:
            if SCENARIOS.get(case) == "queue" and front.name != "screen":
                continue
            marks = [] if case in OFTEN[front.name] else [pytest.mark.slow]
            yield pytest.param(front, case, id=f"{front.name}-{case}", marks=marks)


class Life:
    """A world, and how its conversation came to the point where something dies."""

    def __init__(self, world: World, front: Front, crash: str, server: MessagesServer | None = None) -> None:
        self.world = world
        self.front = front
        self.crash = crash
        self.server = server
        self.trace = world.base / "trace"
        self.disk = Disk(world)

    def live(self, scenario: str) -> list[dict[str, Any]]:
        """Until the crash, and as far beyond it as the program goes by itself. What was shown."""
        world, front = self.world, self.front
        options: dict[str, Any] = {"crash": self.crash, "trace": self.trace}
        if scenario == "retry":
            return front.say(world, "go", **options)
        if scenario == "stop":
            return front.say(world, f"run {COMMAND}; sleep 60", stop=True, **options)
        if scenario == "queue":
            with said_later(world, "list"):
                return front.say(world, f"run {COMMAND}; sleep 3", turns=2, **options)
        if scenario in ("cut", "resume"):
            front.cut(world, f"run {COMMAND}")
            session = next(session for session, log in self.disk.logs().items() if self._is_cut(log))
            if scenario == "cut":
                front.say(world, "list", conversation=session, **options)
            else:
                front.resume(world, session, **options)
            return []
        if scenario == "worker":
            options["crash"] = f"worker.turn-start,{self.crash}".rstrip(",")
        return front.say(world, f"run {COMMAND}", **options)

    def _is_cut(self, log: list[dict[str, Any]]) -> bool:
        return len(of_kind(log, "turn-started")) > len(of_kind(log, "turn-finished"))

    def reached(self) -> Counter[str]:
        """How often each point was."""
        return Counter(self.trace.read_text().split()) if self.trace.exists() else Counter()


@pytest.fixture
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """`life(front, case)`: a world ready for the scenario."""
    with ExitStack() as stack:

        def made(front: Front, case: str) -> Life:
            world = World(tmp_path)
            if not world.repository.exists():
                world.make_repository({"README.md": "# Crash\n"})
            scenario, server = SCENARIOS.get(case.partition(":")[0], "turn"), None
            if scenario == "first":
                world.environ["THETIS_RUNTIMES"] = str(without_artifacts(world))
            if scenario == "retry":
                server = stack.enter_context(MessagesServer())
                server.say(
                    error(529),
                    reply(text("Running it."), call("c", "run", command=COMMAND)),
                    reply(text("It is done.")),
                )
                connect(world, server.url)
            return Life(world, front, case, server)

        yield made


def without_artifacts(world: World) -> Path:
    """A cache of its own that has the runtimes but no judged guests."""
    shared, own = Path(os.environ["THETIS_RUNTIMES"]), world.base / "runtimes"
    own.mkdir(mode=0o700, exist_ok=True)
    for file in shared.iterdir():
        if file.is_file() and not (own / file.name).exists():
            os.link(file, own / file.name) if file.stat().st_dev == own.stat().st_dev else (
                own / file.name
            ).write_bytes(file.read_bytes())
    return own


def connect(world: World, url: str) -> None:
    """The scripted server as the person's provider; a proxy that fails at once would show any other call."""
    config = world.base / "config.toml"
    config.write_text(f'[[providers]]\nname = "anthropic"\nbase_url = "{url}"\nkey = "env:OUR_KEY"\n')
    world.environ.update(
        THETIS_CONFIG=str(config), OUR_KEY="sk-x", HTTP_PROXY="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9"
    )


def check_log(log: list[dict[str, Any]], ended: bool) -> None:
    """The promises of a log, wherever it was cut; with `ended`, those that hold once a kernel has looked at it."""
    assert [e["seq"] for e in log] == list(range(1, len(log) + 1))
    invoked = Counter(e["body"]["call"] for e in log if e["kind"] == "tool-invocation")
    answered = Counter(e["body"]["call"] for e in log if e["kind"] == "tool-result")
    started = Counter(e["body"]["turn"] for e in log if e["kind"] == "turn-started")
    finished = Counter(e["body"]["turn"] for e in log if e["kind"] == "turn-finished")
    asked = {b["id"] for e in log if e["kind"] == "assistant" for b in e["body"]["blocks"] if b["type"] == "tool_use"}
    assert {*invoked.values(), *answered.values(), *started.values(), *finished.values()} <= {1}
    assert finished.keys() <= started.keys() and answered.keys() <= asked | invoked.keys()
    if ended:
        assert started == finished and invoked.keys() <= answered.keys() and asked <= answered.keys()


def of_kind(log: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["body"] for event in log if event["kind"] == kind]


@pytest.mark.parametrize(("front", "case"), cases())
def test_killed_at(life: Any, front: Front, case: str) -> None:
    one: Life = life(front, case)
    point, _, nth = case.partition(":")
    world, scenario = one.world, SCENARIOS.get(point, "turn")
    before = fingerprint(world.repository)
    shown = one.live(scenario)
    reached = one.reached()
    assert reached[point] >= int(nth or 1), f"{point} was not reached: {dict(reached)}"

    logs = one.disk.logs()  # as it lies there, before any kernel looks at it
    for log in logs.values():
        check_log(log, ended=False)
    assert sum(map(len, logs.values())) >= reached["ack.after"], "each acknowledgement stands for an event at least"
    spoken = {session: log for session, log in logs.items() if of_kind(log, "user")}
    assert len(spoken) <= 1
    session = next(iter(spoken), next(iter(logs), ""))
    if shown:
        assert logs[shown[0]["session"]][: len(shown)] == shown

    # The next start: what was said is not said again, a cut turn is only gone on with, and the conversation goes on.
    words = len(of_kind(logs.get(session, []), "user"))
    again = front.say(world, "list", conversation=session)
    log = one.disk.logs()[session or max(one.disk.logs(), key=lambda s: len(one.disk.logs()[s]))]
    check_log(log, ended=True)
    assert log[: len(logs.get(session, []))] == logs.get(session, []), "what was durable still is"
    assert len(of_kind(log, "user")) == words + 1 and of_kind(log, "turn-finished")[-1]["stopped_by"] == "stop"
    assert not again or again == log[-len(again) :]
    effects = effects_of(world, log)
    assert len(effects) <= len([call for call in of_kind(log, "tool-invocation") if COMMAND in str(call["args"])])
    if one.server is not None:
        for request in one.server.requests:
            history.check(request.messages)
    world.git("fsck", "--strict")
    assert fingerprint(world.repository) == before


def effects_of(world: World, log: list[dict[str, Any]]) -> list[str]:
    """The lines the command left on the conversation's branch."""
    branch = log[0]["body"]["branch"]
    listed = world.git("ls-tree", "--name-only", branch)
    return world.git("show", f"{branch}:effects.log").splitlines() if "effects.log" in listed else []


def test_every_point_is_hit_by_its_scenario(life: Any) -> None:
    """Without dying, and in one world: a point nobody reaches protects nothing. The cases say the same of each front."""
    hit: dict[str, set[str]] = {}
    for scenario in ("queue", "first", "stop", "worker", "cut", "resume", "retry"):
        front = Screen() if scenario == "queue" else Headless()
        one: Life = life(front, next((point for point, name in SCENARIOS.items() if name == scenario)))
        one.crash = ""
        one.trace.unlink(missing_ok=True)
        one.live(scenario)
        hit[scenario] = set(one.reached())
    hit["turn"] = hit["first"]
    for point in REGISTRY:
        if point.startswith(ELSEWHERE):
            continue
        scenario = SCENARIOS.get(point, "turn")
        assert point in hit[scenario], f"{point} is not reached by {scenario}"
    assert set.union(*hit.values()) <= set(REGISTRY)
