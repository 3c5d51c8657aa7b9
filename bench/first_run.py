"""How soon a person is told what is wrong with a first connection, from the request to the sentence.

The time of the turn itself, by the log's own clock, so that starting Python counts for nothing; each held to 2 s beside a
turn that is answered.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.report import emit
from tests.e2e.test_real_models import connect
from tests.support.blackhole import blackhole
from tests.support.messages_server import Answer, MessagesServer, error, page, reply, text
from tests.support.thetis import World

FIGURES = ["first_run_bad_key_s", "first_run_unknown_model_s", "first_run_wrong_base_url_s", "first_run_nothing_listens_s",
           "first_run_dark_network_s"]
N = 3


def turn(world: World) -> float:
    """Seconds of one turn."""
    done = world.run("run", "--json", "hello", check=False)
    session = done.stdout.partition('"session":"')[2].partition('"')[0]
    log = {event["kind"]: event["ts_ms"] for event in world.log(session)}
    return (log["turn-finished"] - log["turn-started"]) / 1000


def dark(world: World) -> float:
    """Seconds until the first sentence of a turn that goes on trying."""
    with world.started("run", "hello") as child:
        for line in child.stderr or ():
            if "does not answer" in line:
                break
        told = time.time()
        child.send_signal(2)
        child.communicate(timeout=60)
    session = world.run("ls", "--json").stdout.partition('"id":"')[2].partition('"')[0]
    started = next(event["ts_ms"] for event in world.log(session) if event["kind"] == "turn-started")
    return told - started / 1000


def say(name: str, measure: Callable[[], float], baseline: float) -> None:
    values = [measure() for _ in range(N)]
    against = f"<= 2; an answered turn in the same run {baseline:.3f} s"
    emit(name, statistics.median(values), "s", N, p95=max(values), against=against)


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    with tempfile.TemporaryDirectory() as base, MessagesServer() as server:
        world = World(Path(base))
        world.make_repository({"README.md": "# Bench\n"})
        connect(world, server.url)
        turn(world)
        baseline = statistics.median(turn(world) for _ in range(N))
        answers: dict[str, Answer] = {
            "first_run_bad_key_s": error(401), "first_run_unknown_model_s": error(404),
            "first_run_wrong_base_url_s": page(404, "<p>")}
        for name, answer in answers.items():
            server.otherwise = answer
            say(name, lambda: turn(world), baseline)
        server.otherwise = reply(text("All right."))
        connect(world, "http://127.0.0.1:1")
        say("first_run_nothing_listens_s", lambda: turn(world), baseline)
        with blackhole() as url:
            connect(world, url)
            say("first_run_dark_network_s", lambda: dark(world), baseline)


if __name__ == "__main__":
    main()
