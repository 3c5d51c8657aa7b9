"""Worker, daemon and gateway SIGKILLed in turn with four clients attached: they reconnect, agree, and miss no event."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.daemons import Follower, alive, daemon, parent_of, paths_of, status, workers_of
from tests.support.thetis import World, lines

pytestmark = pytest.mark.runtimes


async def until(found: Callable[[], bool], what: str, seconds: float = 90) -> None:
    """Wait for something nobody tells of."""
    try:
        async with asyncio.timeout(seconds):
            while not found():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None


def run(world: World, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([world.thetis, "run", "--json", *arguments], cwd=world.repository, env=world.environ, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def came_back(world: World, old: int) -> bool:
    seen = status(world)
    return bool(seen["holder"] == "daemon" and seen["pid"] != old)


class Scene:
    """A daemon with two conversations, two followers of both, and a run in each."""

    def __init__(self, world: World, *prompts: str) -> None:
        self.world = world
        paths = paths_of(world)
        self.sessions = [world.events("list")[0]["session"] for _ in prompts]
        self.before = {session: world.log(session)[-1]["seq"] for session in self.sessions}
        self.followers = [Follower(paths), Follower(paths)]
        self.prompts = prompts
        self.runs: list[subprocess.Popen[str]] = []

    async def begin(self) -> None:
        for follower in self.followers:
            for session in self.sessions:
                follower.follow(session)
        self.runs = [run(self.world, "--conversation", session, prompt)
                     for session, prompt in zip(self.sessions, self.prompts, strict=True)]
        await until(lambda: all(f.has(s, self.before[s] + 2) for f in self.followers for s in self.sessions), "turns began")

    async def end(self) -> list[str]:
        """What the runs printed, once they are over."""
        return [(await asyncio.to_thread(child.communicate, timeout=180))[0] for child in self.runs]

    async def agree(self, printed: list[str]) -> None:
        """All four saw each event of the log once, in order; exit codes are true to it. A daemon has to run."""
        log = {session: self.world.log(session) for session in self.sessions}
        await until(lambda: all(f.has(s, log[s][-1]["seq"]) for f in self.followers for s in self.sessions), "all was seen")
        for follower in self.followers:
            await follower.stop()
        for session, child, out in zip(self.sessions, self.runs, printed, strict=True):
            whole = [(event["seq"], event["hash"]) for event in log[session]]
            assert [seq for seq, _ in whole] == list(range(1, len(whole) + 1))
            assert all(follower.seen[session] == whole for follower in self.followers)
            told = [(event["seq"], event["hash"]) for event in lines(out)]
            assert told == whole[self.before[session]:], "the run printed each event behind its words, once"
            kinds = [event["kind"] for event in log[session]]
            assert kinds.count("user") == 2 and kinds.count("turn-started") == kinds.count("turn-finished")
            stopped_by = log[session][-1]["body"].get("stopped_by")
            assert child.returncode == (0 if stopped_by == "stop" else 1)

    def kill(self) -> None:
        for child in self.runs:
            if child.poll() is None:
                child.kill()
                child.communicate()


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.make_repository({"README.md": "# A project\n"})
    return world


async def test_four_clients_come_back_to_a_daemon_that_was_killed(world: World) -> None:
    with daemon(world) as pid:
        scene = Scene(world, "rehearse: slow 3000 ms", "rehearse: slow 3000 ms")
        try:
            await scene.begin()
            os.kill(pid, signal.SIGKILL)
            printed = await scene.end()
            assert came_back(world, pid), "the runs went on with it"
            await scene.agree(printed)
            assert [child.returncode for child in scene.runs] == [0, 0]
        finally:
            scene.kill()


@pytest.mark.slow
async def test_four_clients_agree_through_three_deaths(world: World) -> None:
    with daemon(world) as pid:
        scene = Scene(world, "rehearse: slow 600000 ms", "rehearse: slow 25000 ms")
        first, second = scene.sessions
        try:
            await scene.begin()
            os.kill(workers_of(pid)[0], signal.SIGKILL)
            await until(lambda: len(begun(world, first) + begun(world, second)) == 5, "the gateway went on with it")
            os.kill(pid, signal.SIGKILL)
            await until(lambda: came_back(world, pid), "it came back")
            again = status(world)["pid"]
            await until(lambda: len(begun(world, first) + begun(world, second)) == 7, "the daemon went on with both")
            os.kill(parent_of(again), signal.SIGKILL)  # nobody starts it again: one of the runs takes the root
            os.kill(again, signal.SIGKILL)
            await until(lambda: not alive(again) and status(world)["holder"] == "run", "a run became the gateway")
            await until(lambda: len(begun(world, first) + begun(world, second)) >= 8, "it went on with what may be gone on with")
            scene.runs[0].send_signal(signal.SIGINT)
            printed = await scene.end()
        finally:
            scene.kill()
        await until(lambda: status(world)["holder"] == "", "nobody has the root")
        with daemon(world):
            scene.runs[0].returncode = 1 if scene.runs[0].returncode == 130 else scene.runs[0].returncode
            await scene.agree(printed)


def begun(world: World, session: str) -> list[int]:
    """The attempts of its turns."""
    return [event["body"].get("attempt", 0) for event in world.log(session) if event["kind"] == "turn-started"]
