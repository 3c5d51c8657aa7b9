"""Terminals as a person uses them, through the gateway and a real worker: live screens, keys, a shell of one's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import StateChanged, SystemNote, TurnFinished, TurnStarted
from thetis_kernel.protocol.terminals import Shown, WatchTerminal

from tests.support.gateways import Opened, gateway
from tests.support.walls import alive, mark, wait_until

__all__ = ["mark"]

pytestmark = pytest.mark.runtimes


def words(shown: Shown) -> str:
    return "\n".join("".join(cells.text for cells in row) for row in shown.rows)


async def seen(g: Opened, session: str, terminal: str, found: Callable[[Shown], bool]) -> Shown:
    """Look, as a pane does, until `found`."""
    version, until, shown = 0, time.monotonic() + 30, None
    while time.monotonic() < until:
        answer = await g.client.watch_terminal(
            WatchTerminal(session=session, terminal=terminal, version=version, wait_ms=500)
        )
        if answer.shown is not None:
            version, shown = answer.shown.version, answer.shown
            if found(shown):
                return shown
    raise AssertionError(f"never seen: {shown and words(shown)} {answer.terminals}")


async def typed(g: Opened, session: str, terminal: str, text: str) -> None:
    await g.client.type_keys(session, terminal, text.encode())


async def test_a_person_has_a_shell_of_their_own_beside_the_agents(tmp_path: Path, mark: str) -> None:
    async with gateway(tmp_path, {"a.txt": "x\n"}) as g:
        session = await g.start("in a terminal run echo of-the-agent", mode="agent")
        await g.client.wait_idle(session)
        before = len(await g.log(session))
        own = await g.client.open_terminal(session, columns=60, rows=12)
        assert own.own and own.running
        await typed(g, session, own.id, "printf '\\033[31mred\\033[0m'; stty size; ls\r")
        shown = await seen(g, session, own.id, lambda shown: "12 60" in words(shown) and "a.txt" in words(shown))
        assert (
            any(cells.fg == "red" and "red" in cells.text for row in shown.rows for cells in row)
            and shown.cursor is not None
        )
        agents = await seen(g, session, "t1", lambda shown: "of-the-agent" in words(shown))
        assert "$ echo of-the-agent" in words(agents)
        listed = (await g.client.watch_terminal(WatchTerminal(session=session))).terminals
        assert [(one.id, one.own, one.typeable, one.exit_code) for one in listed] == [
            ("t1", False, False, 0),
            (own.id, True, True, None),
        ]

        await g.client.submit(
            session, "in a terminal run echo again"
        )  # the agent has its own, and the log none of this
        await g.client.wait_idle(session)
        log = await g.log(session)
        states = [body.value for body in log[before:] if isinstance(body, StateChanged)]
        assert states and not any(own.id in value for value in states)
        await typed(g, session, own.id, f"sleep {mark}\r")
        assert await asyncio.to_thread(wait_until, lambda: alive(mark))
        await g.client.close_terminal(session, own.id)
        assert await asyncio.to_thread(wait_until, lambda: not alive(mark))


async def test_it_outlives_a_read_only_turn_and_says_how_it_ended(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"a.txt": "x\n"}) as g:
        session = await g.start("in a terminal run true", mode="agent")
        await g.client.wait_idle(session)
        own = await g.client.open_terminal(session)
        await g.client.set(session, "mode", "plan")
        await g.client.submit(session, "what is in this repository?")
        await g.client.wait_idle(session)
        turns = sum(isinstance(body, TurnStarted) for body in await g.log(session))
        await typed(g, session, own.id, "echo still-$((40 + 2)); exit 3\r")
        await seen(g, session, own.id, lambda shown: "still-42" in words(shown))
        while (await g.client.watch_terminal(WatchTerminal(session=session))).terminals[-1].running:
            await asyncio.sleep(0.02)
        [line] = (await g.client.watch_terminal(WatchTerminal(session=session))).terminals
        assert (line.id, line.exit_code, line.typeable) == (own.id, 3, False)
        with pytest.raises(ThetisError, match="no command runs"):
            await typed(g, session, own.id, "x")
        again = await g.client.open_terminal(session, own.id)
        assert again.id == own.id and again.running
        log = await g.log(session)
        assert sum(isinstance(body, TurnStarted) for body in log) == turns, (
            "the end of a person's shell is no news for an agent"
        )


async def test_a_person_types_at_what_the_agent_runs_and_ends_it(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("start cat in the background", mode="agent")
        await g.until_event(TurnFinished)
        await seen(g, session, "t1", lambda shown: True)
        await typed(g, session, "t1", "hello\r")
        await seen(g, session, "t1", lambda shown: words(shown).count("hello") == 2)
        await g.client.close_terminal(session, "t1")
        await g.client.submit(session, "hello")
        await g.client.wait_idle(session)
        [note] = [body for body in await g.log(session) if isinstance(body, SystemNote) and body.about == "terminals"]
        assert "the person closed it" in note.text


async def test_without_a_checkout_or_a_worker_looking_starts_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        made = await g.client.create(origin="headless")
        assert (await g.client.watch_terminal(WatchTerminal(session=made.id, wait_ms=100))).terminals == []
        with pytest.raises(LookupError):
            g.worker_pid(made.id)
        with pytest.raises(ThetisError, match="no checkout yet"):
            await g.client.open_terminal(made.id)
        with pytest.raises(ThetisError, match="gone"):
            await typed(g, made.id, "p1", "x")
