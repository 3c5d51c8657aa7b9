"""Lost or wrong sessions, as reported against other tools: one test a report, named by its number and source.

Each would fail if the report could be made here.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import RemoteError, StoreFull
from thetis_kernel.paths import root_paths, state_home
from thetis_kernel.protocol.client import EventStored
from thetis_kernel.protocol.events import Compaction, SessionStarted, SettingChanged, TurnFinished, TurnStarted, User
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.store.store import Store

from tests.support.gateways import gateway
from tests.support.terminal import Terminal
from tests.support.thetis import THETIS, World, lines

pytestmark = pytest.mark.runtimes


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Harbour\n"})
    return made


@pytest.fixture
def terminal(world: World) -> Iterator[Terminal]:
    opened = Terminal([THETIS], world.repository, world.environ)
    yield opened
    opened.kill()


def store_of(world: World) -> Path:
    return root_paths(world.repository, world.environ).data


def cut_short(world: World, events: int = 12) -> list[dict[str, Any]]:
    """A run that is killed in the middle of its turn, without a word; the events it had shown until then."""
    shown: list[dict[str, Any]] = []
    with world.started("run", "--json", "rehearse: loop 50 calls") as child:
        assert child.stdout is not None
        while len(shown) < events:
            shown += [table for table in [json.loads(child.stdout.readline())] if "seq" in table]
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
        shown += [table for table in lines(rest[: rest.rfind("\n") + 1]) if "seq" in table]
    return shown


def test_21_codex_6950_every_event_before_the_kill_is_there(world: World) -> None:
    """After the machine was killed, resume showed only up to the last compaction."""
    shown = cut_short(world)
    session = shown[0]["session"]
    store = Store.open(store_of(world))
    store.append(session, Compaction([(2, 8)], "what was done", 4)).result(10)
    store.close()
    log = world.log(session)
    assert [event["hash"] for event in log[: len(shown)]] == [event["hash"] for event in shown]
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))


async def test_22_codex_19037_what_is_shown_is_durable_before(tmp_path: Path) -> None:
    """A session at its usage limit was never written, and gone after the shutdown."""
    async with gateway(tmp_path) as g:
        missing: list[int] = []

        def look(tell: object) -> None:
            if isinstance(tell, EventStored):  # a reader of its own, in the moment the client hears of it
                event = tell.event
                found = g.gateway.log.store.read(event.session, after=event.seq - 1, limit=1)
                if [one.hash for one in found] != [event.hash]:
                    missing.append(event.seq)

        g.client.listen(look)
        session = await g.start("rehearse: loop 500 calls")
        await g.client.wait_idle(session)
        await g.until_event(TurnFinished)
        log = await g.log(session)
        assert log[-1].stopped_by == "limit" and missing == []
    async with gateway(tmp_path) as g:
        assert await g.log(session) == log


@pytest.mark.parametrize("way", ["key", pytest.param("terminated", marks=pytest.mark.slow), "hung up"])
def test_24_codex_7373_every_way_out_says_how_to_come_back(world: World, terminal: Terminal, way: str) -> None:
    terminal.type("list\r")
    terminal.wait("Done ·")
    if way == "key":
        terminal.type("\x11")
    else:
        os.kill(terminal.pid, signal.SIGTERM if way == "terminated" else signal.SIGHUP)
    assert terminal.finish() == 0
    [line] = json.loads(world.run("ls", "--json").stdout)
    assert f"go on with: thetis --conversation {line['id'][:8]}" in terminal.raw.decode("utf-8", "replace")


def test_24_a_run_says_it_as_well_when_it_fails(world: World) -> None:
    done = world.run("run", "rehearse: fail", check=False)
    assert done.returncode == 1 and "go on with: thetis run --conversation" in done.stderr


async def test_25_cc_2_1_196_a_prompt_is_never_replayed_and_a_log_never_deleted(world: World) -> None:
    """Waking a job misread the transcript, deleted it and ran the first prompt again."""
    shown = cut_short(world)
    session = shown[0]["session"]
    async with gateway(world.base) as g:
        await g.client.status()
        assert (await g.client.conversation(session)).state == "interrupted"
        log = (await g.client.read(session, 0, 1000)).events
        assert [event.hash for event in log[: len(shown)]] == [event["hash"] for event in shown]
        assert sum(isinstance(event.body, User) for event in log) == 1
        assert sum(isinstance(event.body, TurnStarted) for event in log) == 1 and g.gateway.turns.all_running() == []


async def test_26_cc_2_1_181_age_removes_nothing(tmp_path: Path) -> None:
    """Another process's cleanup after 30 days removed the history of a session that was open and idle."""
    async with gateway(tmp_path) as g:
        session = await g.start("list")
        await g.client.wait_idle(session)
        log = await g.log(session)
        for path in (tmp_path / "state").rglob("*"):
            os.utime(path, (0, 0), follow_symlinks=False)
        for command in (["ls"], ["doctor"], ["show", session[:8]]):
            await asyncio.to_thread(g.world.run, *command, check=False)
        assert await g.log(session) == log
    async with gateway(tmp_path) as g:
        assert await g.log(session) == log and (await g.client.conversation(session)).branch


def test_28_cc_2_1_224_paths_that_look_alike_share_nothing(tmp_path: Path) -> None:
    worlds = []
    for name in ("my app", "my-app"):
        (tmp_path / name).mkdir()
        made = World(tmp_path)
        made.repository = tmp_path / name
        made.make_repository({"README.md": f"# {name}\n"})
        worlds.append(made)
        made.run("run", f"search {name}")
    for made in worlds:
        [line] = json.loads(made.run("ls", "--json").stdout)
        assert line["title"] == f"search {made.repository.name}"


def test_29_claude_code_25920_a_long_first_message_is_listed(world: World) -> None:
    long = "Read this. " + "word " * 8_000
    world.run("run", long)
    [line] = json.loads(world.run("ls", "--json").stdout)
    assert line["title"].startswith("Read this.") and line["id"][:8] in world.run("ls").stdout
    assert next(e for e in world.log(line["id"]) if e["kind"] == "user")["body"]["text"] == long


def test_30_cc_2_1_239_a_title_outlives_text_and_compaction(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    session = new_session_id()
    store.create(session, SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/x"))
    store.append(session, User("first words")).result(10)
    store.append(session, SettingChanged("title", "Mine")).result(10)
    store.append_many(session, [User("filler " * 2_000) for _ in range(12)]).result(10)
    store.append(session, Compaction([(2, 14)], "much", 12)).result(10)
    store.close()
    store = Store.open(tmp_path / "data")
    assert store.session(session).title == "Mine" and store.state(session).title == "Mine"
    store.close()


def test_32_vibe_kanban_880_worktrees_are_kept_where_a_reboot_keeps_them(tmp_path: Path, world: World) -> None:
    """A reboot emptied worktrees kept under the directory for temporary files."""
    home = {"HOME": "/home/person"}
    temporary = {Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/run")}
    assert not temporary & set(root_paths(world.repository, home).worktrees.parents)
    assert state_home(home).is_relative_to("/home/person")
    world.run("run", "create notes.txt with Hello")
    [line] = json.loads(world.run("ls", "--json").stdout)
    shutil.rmtree(line["worktree"])
    world.run("run", "--conversation", line["id"], "read notes.txt")
    assert (Path(line["worktree"]) / "notes.txt").read_text().strip() == "Hello"


async def test_33_vibe_kanban_1571_what_is_gone_is_not_shown_as_running(world: World) -> None:
    session = cut_short(world)[0]["session"]
    for worktree in root_paths(world.repository, world.environ).worktrees.iterdir():
        shutil.rmtree(worktree)
    [line] = json.loads(world.run("ls", "--json").stdout)
    assert line["id"] == session and line["state"] == "interrupted" and not line["worktree"]
    ends = [e["body"]["stopped_by"] for e in world.log(session) if e["kind"] == "turn-finished"]
    assert ends == ["restarted"]


async def test_34_cc_2_1_108_a_full_disk_is_loud_and_stops_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("rehearse: loop 50 calls")
        await g.until(lambda heard: sum(isinstance(t, EventStored) for t in heard) > 8)
        store = g.gateway.log.store
        append = store.append_many

        def full(*_: Any, **__: Any) -> Future[Any]:
            failed: Future[Any] = Future()
            failed.set_exception(StoreFull("The disk is full.", hint="Free some space."))
            return failed

        monkeypatch.setattr(store, "append_many", full)
        await g.client.wait_idle(session)
        with pytest.raises(RemoteError, match="disk is full") as refused:
            await g.client.submit(session, "go on")
        assert refused.value.hint
        monkeypatch.setattr(store, "append_many", append)
    async with gateway(tmp_path) as g:  # what could not be written down is settled by the next start
        log = await g.log(session)
        assert [b.turn for b in log if isinstance(b, TurnStarted)] == [
            b.turn for b in log if isinstance(b, TurnFinished)
        ]
        await g.client.submit(session, "list")
        await g.client.wait_idle(session)
        assert (await g.log(session))[-1].stopped_by == "stop"


def test_36_pi_1242_a_fork_leaves_its_source_as_it_is(tmp_path: Path) -> None:
    """A fork wrote into the parent's file, or doubled its header."""
    store = Store.open(tmp_path / "data")
    parent, fork = new_session_id(), new_session_id()
    start = SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/x")
    store.create(parent, start)
    store.append_many(parent, [User(f"words {n}") for n in range(6)]).result(10)
    before = [(e.seq, e.hash, e.raw) for e in store.read(parent)]
    store.create(
        fork,
        SessionStarted(
            root="/r",
            origin="tui",
            mode="agent",
            model="m",
            branch="conv/y",
            parent=parent,
            parent_seq=4,
            relation="fork",
        ),
    )
    store.append_many(fork, [User("another way"), SettingChanged("title", "Fork")]).result(10)
    assert [(e.seq, e.hash, e.raw) for e in store.read(parent)] == before
    assert store.session(parent).title != "Fork"
    projected, _ = store.read_projected(fork)
    assert [e.kind for e in store.read(fork)] == ["session-started", "user", "setting-changed"]
    assert [e.body.text for e in projected if isinstance(e.body, User)] == [
        "words 0",
        "words 1",
        "words 2",
        "another way",
    ]
    store.append(parent, User("goes on")).result(10)
    assert "goes on" not in str([e.raw for e in store.read_projected(fork)[0]])
    store.close()
