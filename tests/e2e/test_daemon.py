"""The daemon as a person has it: started, attached to, stopped, found out about; turns that go on without anybody."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from thetis_kernel.cli.attach import attach
from thetis_kernel.errors import RemoteError
from thetis_kernel.ipc.framing import encode
from thetis_kernel.protocol.wire import PROTOCOL, Hello

from tests.support.daemons import alive, daemon, parent_of, paths_of, status, workers_of
from tests.support.gateways import wait_for
from tests.support.thetis import World, answer, kinds

pytestmark = pytest.mark.runtimes


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.make_repository({"README.md": "# A project\n"})
    return world


def running(world: World) -> list[str]:
    """Conversations with a running turn."""
    return [line["id"] for line in json.loads(world.run("ls", "--json").stdout) if line["state"] == "running"]


def ends(world: World, session: str) -> list[str]:
    return [event["body"]["stopped_by"] for event in world.log(session) if event["kind"] == "turn-finished"]


def attempts(world: World, session: str) -> list[int]:
    return [event["body"].get("attempt", 0) for event in world.log(session) if event["kind"] == "turn-started"]


def slow(world: World, ms: int) -> tuple[subprocess.Popen[str], str]:
    """A `thetis run` in the middle of a slow turn, and its conversation."""
    child = subprocess.Popen([world.thetis, "run", f"rehearse: slow {ms} ms"], cwd=world.repository, env=world.environ,
                             text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert wait_for(lambda: bool(running(world)), 60)
    return child, running(world)[0]


def test_runs_attach_and_it_ends_in_order(world: World) -> None:
    assert world.run("daemon", "status", check=False).returncode == 3
    with daemon(world) as pid:
        seen = status(world)
        assert (seen["holder"], seen["pid"], seen["running"]) == ("daemon", pid, 0)
        assert "project" in answer(world.events("what is in this repository?"))
        assert len(workers_of(pid)) >= 1, "the turn ran in the daemon"
        again = json.loads(world.run("daemon", "start", "--json").stdout)
        assert again["pid"] == pid, "a second start changes nothing"
        keeper = parent_of(pid)
        world.run("daemon", "stop")
        assert not alive(pid) and wait_for(lambda: not alive(keeper))
    log = [json.loads(line) for line in world.run("daemon", "logs", "--json").stdout.splitlines()]
    assert [line["what"] for line in log] == ["daemon began", "turn began", "turn ended", "daemon ended"]
    assert "project" not in json.dumps(log), "nothing anybody said"
    world.run("daemon", "stop")  # twice is fine


def test_complaint_117_two_starts_at_once_are_one_daemon(world: World) -> None:
    """Nobody is told a false reason: each waits for the lock's holder to say who it is."""
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(lambda _: world.run("daemon", "start", "--json", check=False), range(4)))
    try:
        assert [done.returncode for done in started] == [0] * 4, [done.stderr for done in started]
        assert len({json.loads(done.stdout)["pid"] for done in started}) == 1
    finally:
        world.run("daemon", "stop", "--now")


def test_what_holds_the_root_is_said(world: World) -> None:
    with world.started("run", "rehearse: slow 60000 ms"):
        assert wait_for(lambda: status(world)["holder"] == "run", 30)
        refused = world.run("daemon", "start", check=False)
        assert refused.returncode == 2 and "A run has this root open (process" in refused.stderr
        refused = world.run("daemon", "stop", check=False)
        assert refused.returncode == 2 and "no daemon" in refused.stderr


def test_complaint_116_while_a_turn_runs_nothing_is_pulled_from_under_it(world: World) -> None:
    """Going back, undoing and deleting are refused with the reason; words become a nudge of the one turn."""
    with daemon(world):
        child, session = slow(world, 600_000)
        try:
            for verb in (["rewind", session, "2"], ["undo", session]):
                refused = world.run(*verb, check=False)
                assert refused.returncode in (1, 2) and "is running" in refused.stderr, (verb, refused.stderr)

            async def delete() -> None:
                await (await attach(paths_of(world))).client.delete(session)

            with pytest.raises(RemoteError, match="has a running turn"):
                asyncio.run(delete())
            before = world.log(session)
            said = subprocess.Popen([world.thetis, "run", "--conversation", session, "and this"], cwd=world.repository,
                                    env=world.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            assert wait_for(lambda: "nudge" in kinds(world.log(session)[len(before):]), 30)
            said.kill()
            said.wait()
            assert kinds(world.log(session)).count("turn-started") == 1, "one turn at a time, whoever speaks"
        finally:
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)


def test_complaint_114_eight_writers_at_once_tear_nothing(world: World) -> None:
    """One process owns the log: what eight clients say at once is there, whole and in one order, and verifies."""
    with daemon(world), ThreadPoolExecutor(8) as pool:
        session = world.events("list")[0]["session"]
        done = list(pool.map(
            lambda n: world.run("run", "--conversation", session, f"remember k{n}: v{n}", timeout=120), range(8)))
        assert all(each.returncode == 0 for each in done)
        log = world.log(session)
        assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
        said = [event["body"]["text"] for event in log if event["kind"] in ("user", "nudge")]
        assert sorted(said) == sorted(["list", *(f"remember k{n}: v{n}" for n in range(8))])
        findings = json.loads(world.run("doctor", "--conversation", session, "--json").stdout)["findings"]
        assert all(one["level"] == "ok" for one in findings), findings


def test_a_stopped_daemon_parks_and_the_next_goes_on(world: World) -> None:
    with daemon(world):
        child, session = slow(world, 6000)
        child.send_signal(signal.SIGHUP)  # its terminal goes away: the turn is the daemon's
        child.communicate(timeout=30)
        assert child.returncode == 129
        assert running(world) == [session]
        world.run("daemon", "stop", "--wait", "0")
        assert ends(world, session) == ["restarted"]
    with daemon(world):
        assert wait_for(lambda: ends(world, session) == ["restarted", "stop"], 60)
        assert attempts(world, session) == [0, 1]
        assert kinds(world.log(session)).count("user") == 1, "resuming says nothing for the person"


@pytest.mark.slow
def test_a_graceful_stop_lets_turns_finish(world: World) -> None:
    with daemon(world):
        child, session = slow(world, 1500)
        world.run("daemon", "stop", "--wait", "60")
        child.communicate(timeout=60)
        assert child.returncode == 0
        assert ends(world, session) == ["stop"]


def test_it_comes_back_after_a_kill_and_resumes_twice_at_most(world: World) -> None:
    with daemon(world) as pid:
        child, session = slow(world, 600_000)
        child.send_signal(signal.SIGHUP)
        child.communicate(timeout=30)
        for attempt in (1, 2):
            os.kill(pid, signal.SIGKILL)
            assert wait_for(lambda old=pid: (found := status(world))["holder"] == "daemon" and found["pid"] != old, 60)  # type: ignore[misc]
            pid = status(world)["pid"]
            assert wait_for(lambda n=attempt: attempts(world, session)[-1] == n, 60)  # type: ignore[misc]
        os.kill(pid, signal.SIGKILL)
        assert wait_for(lambda old=pid: (found := status(world))["holder"] == "daemon" and found["pid"] != old, 60)  # type: ignore[misc]
        world.run("run", "list")  # it serves, and had time to begin what it would begin
        assert attempts(world, session) == [0, 1, 2]
        [line] = [line for line in json.loads(world.run("ls", "--json").stdout) if line["id"] == session]
        assert line["state"] == "interrupted"


@pytest.mark.slow
def test_what_a_screen_left_cut_is_not_taken_up(world: World) -> None:
    """Only turns that were open when the daemon opened the log: what was found cut before is a person's to go on with."""
    child, session = slow(world, 60_000)
    child.kill()
    child.communicate()
    assert ends(world, session) == ["restarted"]  # by this look, which repaired it
    with daemon(world):
        world.run("run", "list")
        assert attempts(world, session) == [0]


def test_eight_runs_at_once_have_true_exit_codes(world: World) -> None:
    prompts = [("list", 0), ("read README.md", 0), ("what is in this repository?", 0), ("run true", 0),
               ("rehearse: fail", 1), ("rehearse: overflow", 1), ("create a.txt with b", 0), ("run exit 3", 0)]
    with daemon(world), ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda each: world.run("run", each[0], check=False, timeout=120), prompts))
        assert [(one[0], each.returncode) for one, each in zip(prompts, done, strict=True)] == prompts
        assert all("conversation " in each.stderr for each in done)
        assert world.run("run", "--model", "nobody", "list", check=False).returncode == 2


def test_complaint_146_an_idle_pipe_on_standard_input_is_not_read(world: World) -> None:
    reading, writing = os.pipe()
    try:
        with daemon(world):
            done = subprocess.run([world.thetis, "run", "list"], cwd=world.repository, env=world.environ, stdin=reading,
                                  capture_output=True, timeout=60, check=False)
            assert done.returncode == 0
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.slow
def test_a_stale_socket_and_a_process_that_is_gone_are_nothing(world: World) -> None:
    with daemon(world) as pid:
        os.kill(parent_of(pid), signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        assert wait_for(lambda: not alive(pid))
        assert paths_of(world).socket.exists(), "left behind"
        assert status(world)["holder"] == ""
        with daemon(world) as new:
            assert new != pid and status(world)["pid"] == new


@pytest.mark.slow
def test_a_moved_root_ends_it_with_a_sentence(world: World) -> None:
    with daemon(world) as pid:
        elsewhere = world.base / "elsewhere"
        world.repository.rename(elsewhere)
        assert wait_for(lambda: not alive(pid), 30)
        elsewhere.rename(world.repository)
        assert "is not where it was any more" in world.run("daemon", "logs").stdout


@pytest.mark.slow
def test_a_client_without_the_runtime_directory_finds_it(world: World) -> None:
    with daemon(world) as pid:
        told = world.run("daemon", "status", "--json", XDG_RUNTIME_DIR="").stdout
        assert json.loads(told)["pid"] == pid


_OTHER_VERSION = """
import os, socket, struct, sys, time
path, frame = sys.argv[1], bytes.fromhex(sys.argv[2])
os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
open(path + ".token", "w").write("x")
server.listen(8)
print("ready", flush=True)
while True:
    client, _ = server.accept()
    try:
        client.sendall(frame)
    except OSError:
        pass
"""


def test_another_version_is_said_and_ended(world: World) -> None:
    """Nothing of ours is written to a gateway that speaks another protocol; it understands a signal."""
    paths = paths_of(world)
    frame = bytes(encode(Hello(protocol=99, version="9", role="daemon", pid=1))).hex()
    other = subprocess.Popen([sys.executable, "-c", _OTHER_VERSION, str(paths.socket), frame], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None and other.stdout.readline().strip() == "ready"
        refused = world.run("run", "list", check=False)
        assert refused.returncode == 1 and "is another version" in refused.stderr and "daemon restart" in refused.stderr
        seen = status(world)
        assert (seen["holder"], seen["pid"]) == ("unknown", other.pid)
        world.run("daemon", "stop", "--wait", "0")
        assert other.wait(10) == -signal.SIGTERM
    finally:
        other.kill()
        other.communicate()


def test_strangers_are_closed_within_a_second(world: World) -> None:
    """Reliability S8 at a daemon's own socket, and it serves on. (Another user: tests/unit/ipc/test_unix.py.)"""
    with daemon(world):
        paths = paths_of(world)
        token = paths.socket.with_name(paths.socket.name + ".token").read_text()
        hello = bytes(encode(Hello(protocol=PROTOCOL, version="1", role="client", pid=1, token=token)))
        for what, said in {"garbage": b"\xff" * 64, "4 GiB": b"\xff\xff\xff\xff", "half a frame": hello[: len(hello) // 2],
                           "a replay": hello + hello, "silence": b"", "no token": hello.replace(b"token", b"tok3n")}.items():
            assert closed_after(str(paths.socket), said) < 1.0 + busy(), what
        assert status(world)["holder"] == "daemon"


def closed_after(path: str, said: bytes) -> float:
    """Seconds until the daemon has closed the connection on which this was said."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(path)
        sock.sendall(said)
        started = time.monotonic()
        while sock.recv(65536):
            pass
        return time.monotonic() - started


def busy() -> float:
    """Seconds a machine that is busy with something else may take longer to look at its clock; 1 where it is idle."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
