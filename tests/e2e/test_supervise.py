"""Children as real processes: how they start, what they see, how they end, and what is left of them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import ChildError, PeerGone
from thetis_kernel.supervise.fleet import Supervisor
from thetis_kernel.supervise.handle import Child, Exit, Heartbeat
from thetis_kernel.supervise.record import Record
from thetis_kernel.supervise.spawn import Plan, RoleSource, spawn

from tests.support.roles.states import Enter, Helper, Report
from tests.support.waiting import until

REPOSITORY = Path(__file__).parents[2]
ROLES = RoleSource("tests.support.roles", REPOSITORY)
STATES = Plan("states")


class Fleet:
    """A supervisor that keeps what it was told."""

    def __init__(self, **more: Any) -> None:
        self.incidents: list[tuple[str, str, dict[str, Any]]] = []
        self.exits: list[tuple[str, Exit]] = []
        self.supervisor = Supervisor(
            on_incident=lambda code, message, data: self.incidents.append((code, message, data)),
            on_exit=lambda name, ended: self.exits.append((name, ended)),
            source=ROLES,
            **more,
        )

    @property
    def codes(self) -> list[str]:
        return [code for code, _, _ in self.incidents]

    async def crash(self, name: str, state: str = "crash") -> Exit:
        """Start `name` and let it die."""
        child = await self.supervisor.ensure(name, STATES)
        await child.peer.call(Enter(state))
        return await asyncio.wait_for(child.wait(), 20)


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    made = Fleet()
    yield made
    await made.supervisor.close()


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    made = await spawn(STATES, name="the child", source=ROLES)
    yield made
    made.kill()
    await made.wait()


# What a child is


async def test_a_child_sees_only_what_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    monkeypatch.setenv("PYTHONPATH", "/evil")
    monkeypatch.setenv("THETIS_OTHER", "ours")
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the working directory')")
    code = os.memfd_create("code")
    os.write(code, b"bytes of the runtime")
    leak = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(leak, True)
    plan = Plan("states", cwd=tmp_path, settings={"THETIS_STATE": "/s"}, fds={"runtime": code})
    child = await spawn(plan, source=ROLES)
    seen = await child.peer.call(Report())
    allowed = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "THETIS_STATE"}
    assert {n for n in seen["environment"].split(",") if not n.startswith("LC_")} <= allowed
    assert "canary" not in Path(f"/proc/{child.pid}/environ").read_text() + str(seen)
    assert seen["settings"] == "THETIS_STATE=/s"
    assert seen["named"] == "runtime:bytes of the runtime" and seen["inheritable"] == "False"
    assert str(leak) not in seen["fds"].split(",")
    assert seen["cwd"] == str(tmp_path) and str(tmp_path) not in seen["path"].split(os.pathsep)
    assert seen["session"] == "True" and seen["stdin"] == "/dev/null"
    assert seen["asyncio"] == "False", "every child pays for what its bootstrap imports"
    assert seen["flags"] == "11"
    # No signal is blocked or ignored beyond Python's own SIGPIPE and SIGXFSZ: commands of the child inherit that.
    assert int(seen["blocked"], 16) == 0
    # The C library's own two (32, 33) are ignored below everything that make started, and no program can change that.
    ours = (1 << signal.SIGPIPE - 1) | (1 << signal.SIGXFSZ - 1) | (1 << 31) | (1 << 32)
    assert int(seen["ignored"], 16) & ~ours == 0
    await child.terminate()
    os.close(code)
    os.close(leak)


@pytest.mark.parametrize("role", ["../evil", "os.path", "a;b", "", "Role", "x y", "-c"])
async def test_a_role_is_a_plain_word(role: str) -> None:
    with pytest.raises(ValueError, match="name"):
        await spawn(Plan(role), source=ROLES)


async def test_a_role_that_does_not_exist_says_so() -> None:
    with pytest.raises(ChildError) as caught:
        await spawn(Plan("words"))  # a test's role, asked of the production source
    assert caught.value.code == "child-start"
    assert "No module named 'thetis_kernel.hosts.words'" in caught.value.data["stderr"]


async def test_a_role_that_raises_says_why() -> None:
    with pytest.raises(ChildError, match="status 70") as caught:
        await spawn(Plan("raises"), source=ROLES)
    assert "ValueError: no such luck" in caught.value.data["stderr"]
    assert "a print goes to the log" in caught.value.data["stderr"]


async def test_a_role_that_never_says_hello_is_given_up() -> None:
    with pytest.raises(ChildError, match="did not start within"):
        await spawn(Plan("silent"), source=ROLES, start_timeout=0.5)


async def test_a_working_directory_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ChildError) as caught:
        await spawn(Plan("states", cwd=tmp_path / "gone"), source=ROLES)
    assert caught.value.code == "child-start"


async def test_cancelling_a_start_leaves_nothing() -> None:
    before = _our_children()
    for delay in (0.0, 0.001, 0.01, 0.05):
        starting = asyncio.create_task(spawn(Plan("silent"), source=ROLES))
        await asyncio.sleep(delay)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    await until(lambda: _our_children() == before)


# How it ends


async def test_it_cleans_up_when_asked_and_ends_at_once(tmp_path: Path) -> None:
    """Although a thread is inside C code, where an ordinary interpreter exit would wait for it, or crash."""
    child = await spawn(Plan("farewell", cwd=tmp_path), source=ROLES)
    ended = await child.terminate(grace=10)
    assert (ended.status, ended.asked, ended.hung) == (0, True, False)
    assert (tmp_path / "farewell").read_text() == "done"


async def test_one_that_does_not_end_is_killed() -> None:
    child = await spawn(Plan("stubborn"), source=ROLES)
    ended = await asyncio.wait_for(child.terminate(grace=0.1), 10)
    assert ended.status == -signal.SIGKILL and ended.asked


async def test_a_storm_of_signals_ends_cleanly(child: Child) -> None:
    for _ in range(200):
        os.kill(child.pid, signal.SIGINT)
    await child.peer.call(Report())  # Ctrl-C is the gateway's to decide
    for _ in range(200):
        os.kill(child.pid, signal.SIGINT)
        os.kill(child.pid, signal.SIGTERM)
    assert (await asyncio.wait_for(child.wait(), 10)).status == 0


@pytest.mark.parametrize(
    ("state", "status", "words"),
    [("crash", -9, "SIGKILL"), ("segfault", -11, "SIGSEGV"), ("exit", 5, "status 5"), ("garbage", 0, "4294967295 bytes")],
)
async def test_every_end_is_told_in_words(child: Child, state: str, status: int, words: str) -> None:
    await child.peer.call(Enter(state))
    ended = await asyncio.wait_for(child.wait(), 20)
    assert words in ended.words and not ended.asked and ended.status == status
    assert not Path(f"/proc/{child.pid}").exists(), "reaped"
    with pytest.raises(PeerGone):
        await child.peer.call(Report())
    if state == "crash":
        assert ended.stderr.endswith("last words\n")
    if state == "segfault":
        assert "Segmentation fault" in ended.stderr


async def test_a_child_that_loses_its_channel_ends_by_itself(child: Child) -> None:
    await child.peer.call(Enter("hang-up"))
    assert (await asyncio.wait_for(child.wait(), 10)).status == 0


async def test_a_child_that_stays_without_a_channel_is_killed(child: Child) -> None:
    os.kill(child.pid, signal.SIGSTOP)
    child.peer.close()
    assert (await asyncio.wait_for(child.wait(), 10)).status == -signal.SIGKILL


async def test_its_process_group_goes_with_it(child: Child) -> None:
    helper = await child.peer.call(Helper())
    pidfd = os.pidfd_open(helper)
    child.kill()
    await child.wait()
    await until(lambda: _over(pidfd), within=5)
    os.close(pidfd)


LINE = len("spam" * 1000 + "\n")
"""What the role floods with."""


async def test_a_flood_on_standard_error_is_bounded(child: Child) -> None:
    await child.peer.call(Enter("flood"))
    await until(lambda: len(child.stderr(1 << 20)) >= 64 * 1024 - LINE)  # all but the line that lost its beginning
    started = asyncio.get_running_loop().time()
    for _ in range(20):
        await child.peer.call(Report())
    assert asyncio.get_running_loop().time() - started < 20
    assert len(child.stderr(1 << 30)) <= 64 * 1024


# Dying with the parent


@pytest.mark.parametrize("state", ["idle", "spin", "c", "stop"])
async def test_children_die_with_their_gateway(state: str) -> None:
    """Idle, in a Python loop, in a C call that holds the interpreter, stopped: gone within a second (P1, P2)."""
    await _all_die(4, state)


@pytest.mark.slow
@pytest.mark.parametrize("state", ["idle", "spin", "c", "stop"])
async def test_ten_children_die_with_their_gateway(state: str) -> None:
    await _all_die(10, state)


async def _all_die(count: int, state: str) -> None:
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.fleet_holder", str(count), state,
        cwd=REPOSITORY, stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    pidfds: list[int] = []
    try:
        assert holder.stdout is not None
        line = await asyncio.wait_for(holder.stdout.readline(), 100)
        pids = [int(pid) for pid in line.strip(b"[]\n").split(b",")]
        pidfds = [os.pidfd_open(pid) for pid in pids]
        assert len(pidfds) == count and not any(map(_over, pidfds))
        if state == "stop":
            await until(lambda: all(map(_stopped, pids)))
        holder.kill()
        took = await until(lambda: all(map(_over, pidfds)), within=20)
        assert took <= 1.0, f"the last of {count} was there for {took:.2f} s"
    finally:
        if holder.returncode is None:
            holder.kill()
        await holder.wait()
        for pidfd in pidfds:
            if not _over(pidfd):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)


async def test_children_outlive_the_thread_that_asked_for_them() -> None:
    """A parent-death signal fires when the spawning *thread* ends: that must not be the thread of some loop."""
    kept: list[Child] = []

    def short_lived() -> None:
        async def begin() -> None:
            kept.append(await spawn(STATES, source=ROLES))

        asyncio.run(begin())

    thread = threading.Thread(target=short_lived)
    thread.start()
    await until(lambda: not thread.is_alive(), within=30)
    pidfd = os.pidfd_open(kept[0].pid)
    other = await spawn(STATES, source=ROLES)
    assert await other.peer.call(Report())
    assert not _over(pidfd)
    other.kill()
    await other.wait()
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.waitpid(kept[0].pid, 0)
    os.close(pidfd)


# The fleet


async def test_callers_at_once_share_one_start(fleet: Fleet) -> None:
    children = await asyncio.gather(*(fleet.supervisor.ensure("one", STATES) for _ in range(10)))
    assert len({child.pid for child in children}) == 1
    assert fleet.supervisor.names() == ["one"]


async def test_a_cancelled_caller_does_not_take_the_start_from_others(fleet: Fleet) -> None:
    first = asyncio.create_task(fleet.supervisor.ensure("one", STATES))
    second = asyncio.create_task(fleet.supervisor.ensure("one", STATES))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).alive


async def test_a_crashed_child_is_started_again_on_demand(fleet: Fleet) -> None:
    first = await fleet.supervisor.ensure("one", STATES)
    await fleet.crash("one")
    second = await fleet.supervisor.ensure("one", STATES)
    assert second.pid != first.pid
    code, message, data = fleet.incidents[0]
    assert code == "child-crashed" and "one" in message and "SIGKILL" in message
    assert data["stderr"] == "last words\n" and data["name"] == "one"


async def test_a_crash_loop_parks_and_a_person_can_forgive(fleet: Fleet) -> None:
    for _ in range(4):
        await fleet.crash("bad")
    assert fleet.codes == ["child-crashed"] * 4 + ["child-parked"]
    with pytest.raises(ChildError) as caught:
        await fleet.supervisor.ensure("bad", STATES)
    assert caught.value.code == "child-parked" and fleet.supervisor.parked() == ["bad"]
    assert (await fleet.supervisor.ensure("good", STATES)).alive, "others are not concerned"
    fleet.supervisor.forgive("bad")
    assert (await fleet.supervisor.ensure("bad", STATES)).alive


async def test_a_child_that_cannot_start_parks_too(fleet: Fleet) -> None:
    for _ in range(4):
        with pytest.raises(ChildError) as caught:
            await fleet.supervisor.ensure("bad", Plan("raises"))
        assert caught.value.code == "child-start"
    with pytest.raises(ChildError) as caught:
        await fleet.supervisor.ensure("bad", Plan("raises"))
    assert caught.value.code == "child-parked"
    assert fleet.codes == ["child-start-failed"] * 4 + ["child-parked"]


async def test_a_stopped_child_is_found_hung_and_others_go_on() -> None:
    fleet = Fleet(heartbeat=Heartbeat(interval=0.2, silence=1.0))
    stuck = await fleet.supervisor.ensure("stuck", STATES)
    other = await fleet.supervisor.ensure("other", STATES)
    os.kill(stuck.pid, signal.SIGSTOP)
    await until(lambda: _stopped(stuck.pid))
    call = asyncio.create_task(stuck.peer.call(Report(), timeout=None))
    async with asyncio.timeout(20):
        while not stuck.exit:
            assert await other.peer.call(Report())
            await asyncio.sleep(0.01)
    with pytest.raises(PeerGone):
        await call
    assert fleet.codes == ["child-hung"] and stuck.exit.hung
    assert other.alive
    await fleet.supervisor.close()


async def test_a_busy_child_is_not_hung() -> None:
    fleet = Fleet(heartbeat=Heartbeat(interval=0.2, silence=2.0))
    child = await fleet.supervisor.ensure("busy", STATES)
    await child.peer.call(Enter("spin"))
    heard = child.peer.pongs
    await until(lambda: child.peer.pongs >= heard + 12, within=30)
    assert fleet.incidents == []
    await fleet.supervisor.close()


async def test_a_short_pause_of_a_child_is_forgiven() -> None:
    fleet = Fleet(heartbeat=Heartbeat(interval=0.1, silence=5.0))
    child = await fleet.supervisor.ensure("one", STATES)
    os.kill(child.pid, signal.SIGSTOP)
    await until(lambda: _stopped(child.pid))
    heard = child.peer.pongs
    await asyncio.sleep(0.5)  # some beats are missed
    assert child.peer.pongs <= heard + 1
    os.kill(child.pid, signal.SIGCONT)
    await until(lambda: child.peer.pongs >= heard + 3)
    assert fleet.incidents == []
    await fleet.supervisor.close()


async def test_our_own_pause_is_not_the_childs_silence() -> None:
    """The gateway was stopped for longer than the limit, and goes on: nobody is killed for that."""
    fleet = Fleet(heartbeat=Heartbeat(interval=0.05, silence=0.3))
    child = await fleet.supervisor.ensure("one", STATES)
    threading.Event().wait(1.0)  # blocks the loop, as a stop would
    heard = child.peer.pongs
    await until(lambda: child.peer.pongs >= heard + 3)
    assert fleet.incidents == []
    await fleet.supervisor.close()


async def test_an_idle_child_is_stopped_and_a_busy_one_declines() -> None:
    fleet = Fleet(sweep=0.05)
    idle = await fleet.supervisor.ensure("idle", STATES, idle=0.1)
    busy = await fleet.supervisor.ensure("busy", STATES, idle=0.1)
    await busy.peer.call(Enter("busy"))
    kept = await fleet.supervisor.ensure("kept", STATES)
    ended = await asyncio.wait_for(idle.wait(), 20)
    assert (ended.status, ended.asked) == (0, True)
    asked = busy.peer.traffic
    await until(lambda: busy.peer.traffic >= asked + 2)  # it was asked again, and declined
    assert busy.alive and kept.alive and fleet.incidents == []
    await until(lambda: fleet.supervisor.get("idle") is None)
    assert (await fleet.supervisor.ensure("idle", STATES)).alive
    await fleet.supervisor.close()


async def test_a_leased_child_is_not_stopped_for_idleness() -> None:
    fleet = Fleet(sweep=0.02)
    async with fleet.supervisor.lease("one", STATES, idle=0.05) as child:
        other = await fleet.supervisor.ensure("two", STATES, idle=0.05)
        await asyncio.wait_for(other.wait(), 20)
        assert child.alive
    await asyncio.wait_for(child.wait(), 20)
    await fleet.supervisor.close()


async def test_a_child_being_asked_whether_it_is_idle_is_given_to_nobody() -> None:
    fleet = Fleet(sweep=0.02)
    child = await fleet.supervisor.ensure("one", STATES, idle=0.0)
    os.kill(child.pid, signal.SIGSTOP)  # so that the question stays open
    await until(lambda: child.peer.open_calls == 1)
    coming = asyncio.create_task(fleet.supervisor.ensure("one", STATES))
    done, _ = await asyncio.wait([coming], timeout=0.2)
    assert not done
    os.kill(child.pid, signal.SIGCONT)
    assert (await asyncio.wait_for(coming, 20)).pid != child.pid
    await fleet.supervisor.close()


async def test_whoever_comes_during_an_idle_stop_gets_a_living_child() -> None:
    fleet = Fleet(sweep=0.01)
    for _ in range(15):
        child = await fleet.supervisor.ensure("one", STATES, idle=0.0)
        assert await child.peer.call(Report())
        await asyncio.sleep(0.03)
    assert fleet.incidents == []
    await fleet.supervisor.close()


async def test_everything_is_stopped_in_reverse_order_and_in_time() -> None:
    fleet = Fleet()
    for name in ("a", "b", "c"):
        await fleet.supervisor.ensure(name, STATES)
    for name in ("x", "y"):
        await fleet.supervisor.ensure(name, Plan("stubborn"))
    loop = asyncio.get_running_loop()
    started = loop.time()
    await fleet.supervisor.close(within=3.0)
    assert loop.time() - started <= 3.0
    assert [name for name, _ in fleet.exits] == ["y", "x", "c", "b", "a"]
    assert fleet.incidents == []
    with pytest.raises(ChildError) as caught:
        await fleet.supervisor.ensure("late", STATES)
    assert caught.value.code == "child-closing"


async def test_closing_during_a_start_leaves_nothing() -> None:
    before = _our_children()
    fleet = Fleet()
    starting = asyncio.create_task(fleet.supervisor.ensure("one", Plan("silent")))
    await asyncio.sleep(0.02)
    await fleet.supervisor.close()
    with pytest.raises(ChildError) as caught:
        await starting
    assert caught.value.code == "child-closing"
    await until(lambda: _our_children() == before)


async def test_the_record_names_exactly_the_running_children(tmp_path: Path) -> None:
    path = tmp_path / "children.json"
    fleet = Fleet(record=Record(path))
    child = await fleet.supervisor.ensure("one", STATES)
    assert str(child.pid) in path.read_text()
    await fleet.supervisor.stop("one")
    assert not path.exists()
    await fleet.supervisor.close()


async def test_a_crash_point_strikes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THETIS_CRASH", "git-host.request")
    fleet = Fleet()
    child = await fleet.supervisor.ensure("one", STATES)
    assert "THETIS_CRASH" in (await child.peer.call(Report()))["environment"]
    await fleet.crash("one")
    child = await fleet.supervisor.ensure("one", STATES)
    assert "THETIS_CRASH" not in (await child.peer.call(Report()))["environment"]
    await fleet.supervisor.close()


async def test_starting_and_killing_leaves_nothing_behind() -> None:
    await _cycles(50)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_starting_and_killing_often_leaves_nothing_behind() -> None:
    await _cycles(500)


async def _cycles(count: int) -> None:
    """P6: no zombie, no descriptor, no thread more than before."""
    await _cycle()
    before = (_our_children(), len(os.listdir("/proc/self/fd")), threading.active_count())
    for _ in range(count // 2):
        await asyncio.gather(_cycle(), _cycle())
    await until(lambda: _our_children() == before[0])
    await until(lambda: len(os.listdir("/proc/self/fd")) <= before[1])
    assert threading.active_count() <= before[2]


async def _cycle() -> None:
    child = await spawn(STATES, source=ROLES)
    child.kill()
    await child.wait()


def _our_children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()) | {
        pid
        for task in os.listdir("/proc/self/task")
        for pid in Path(f"/proc/self/task/{task}/children").read_text().split()
    }


def _stopped(pid: int) -> bool:
    """Whether every thread of it is."""
    stats = [Path(f"/proc/{pid}/task/{task}/stat").read_text() for task in os.listdir(f"/proc/{pid}/task")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def _over(pidfd: int) -> bool:
    """Whether the process has ended, reaped or not, and whatever its pid is now."""
    import select

    return bool(select.select([pidfd], [], [], 0)[0])


async def test_a_child_started_for_nobody_becomes_somebodys(fleet: Fleet) -> None:
    spare = await fleet.supervisor.ensure("spare", STATES)
    assert fleet.supervisor.rename("spare", "worker:a") is spare
    assert fleet.supervisor.get("spare") is None and fleet.supervisor.get("worker:a") is spare
    assert await fleet.supervisor.ensure("worker:a", STATES) is spare
    assert fleet.supervisor.rename("spare", "worker:b") is None, "there is none any more"
    other = await fleet.supervisor.ensure("spare", STATES)
    assert fleet.supervisor.rename("spare", "worker:a") is None, "that one runs"
    os.kill(spare.pid, signal.SIGKILL)
    await spare.wait()
    assert [(code, data["name"]) for code, _, data in fleet.incidents] == [("child-crashed", "worker:a")], "its death is a's"
    assert fleet.supervisor.get("spare") is other


async def test_a_parked_name_takes_no_spare(fleet: Fleet) -> None:
    await fleet.supervisor.ensure("spare", STATES)
    with pytest.raises(ChildError):
        for _ in range(20):
            await fleet.crash("worker:a")
    assert "worker:a" in fleet.supervisor.parked()
    assert fleet.supervisor.rename("spare", "worker:a") is None
