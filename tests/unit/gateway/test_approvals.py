"""Consent in the gateway: rules and grants, one question, an answer that fits, restarts, and nobody to ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.approvals import Approvals
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.rules import Rules
from thetis_kernel.protocol.approvals import Part, digest, shown
from thetis_kernel.protocol.events import Approval, SessionStarted, SystemNote, TurnFinished, TurnStarted
from thetis_kernel.protocol.worker import AskApproval, Verdict
from thetis_kernel.store.store import Store

SESSION = "ab" * 8


class Turn:
    """A running turn as Approvals knows it."""

    def __init__(self, identifier: str = "t1", attended: bool = True) -> None:
        self.id = identifier
        self.stop = asyncio.Event()
        self.attended = attended


class Desk:
    """Approvals over a real store, and what they asked of the rest of the gateway."""

    def __init__(self, store: Store, data: Path, wait_s: float) -> None:
        self.log = Log(store, Broadcast())
        self.rules = Rules(data)
        self.resumed: list[str] = []
        self.approvals = Approvals(self.log, self.rules, wait_s, self._resume, lambda _: None)

    async def _resume(self, session: str) -> bool:
        self.resumed.append(session)
        return True

    async def request(self) -> Approval:
        """The open request, once there is one."""
        async with asyncio.timeout(10):
            while not (found := await self.approvals.open(SESSION)):
                await asyncio.sleep(0.005)
        return found[-1]

    async def bodies(self, kind: type[Any]) -> list[Any]:
        return [e.body for e in await asyncio.to_thread(self.log.store.read, SESSION) if isinstance(e.body, kind)]

    def ask(self, ask: AskApproval, turn: Turn | None = None) -> asyncio.Task[Verdict]:
        return asyncio.create_task(self.approvals.ask(SESSION, turn or Turn(), ask))

    async def decide(self, request: Approval, decision: Any) -> None:
        await self.approvals.answer(SESSION, request.id, shown(request), decision)


@asynccontextmanager
async def desk(tmp_path: Path, wait_s: float = 60, new: bool = True) -> AsyncIterator[Desk]:
    (tmp_path / "data").mkdir(exist_ok=True)
    store = await asyncio.to_thread(Store.open, tmp_path / "data")
    try:
        if new:
            store.create(SESSION, SessionStarted(root="/r", origin="tui", mode="ask", model="m", branch="b"))
        yield Desk(store, tmp_path / "data", wait_s)
    finally:
        await asyncio.to_thread(store.close)


def command(text: str, *parts: str, rememberable: bool = True, patterns: bool = True) -> AskApproval:
    found = [Part(text=part, rule=part if patterns else "", session=part if patterns else "") for part in parts or (text,)]
    return AskApproval(turn="t1", call="c1", capability="exec", what="Run a command", where="", detail=text, cut=0, parts=found,
                       effect=digest("exec", text), rememberable=rememberable)


async def test_once_is_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        asked = d.ask(command("make"))
        request = await d.request()
        assert request.detail == "make" and request.offers == ["allow-once", "allow-session", "allow-rule", "deny"]
        await d.decide(request, "allow-once")
        assert await asked == Verdict(allowed=True, asked=True)
        again = d.ask(command("make"))
        await d.decide(await d.request(), "deny")
        assert not (await again).allowed
        assert [b.decision for b in await d.bodies(Approval)] == ["", "allow-once", "", "deny"]


async def test_for_this_conversation_and_for_good(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        asked = d.ask(command("make"))
        await d.decide(await d.request(), "allow-session")
        assert (await asked).allowed
        assert await d.ask(command("make")) == Verdict(allowed=True)
        asked = d.ask(command("make && ls", "make", "ls"))
        request = await d.request()
        assert [(part.text, part.allowed) for part in request.parts] == [("make", True), ("ls", False)]
        await d.decide(request, "allow-rule")
        assert (await asked).allowed
        assert [rule.pattern for rule in await d.rules.all()] == ["ls"], "what was allowed already is not made a rule again"
        assert await d.ask(command("ls && make", "ls", "make")) == Verdict(allowed=True)


async def test_what_must_not_be_remembered_is_asked_each_time(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        await d.rules.add("exec", ["make"])
        asked = d.ask(command("make", rememberable=False))
        request = await d.request()
        assert request.offers == ["allow-once", "deny"]
        with pytest.raises(UsageError, match="cannot be answered"):
            await d.decide(request, "allow-rule")
        await d.decide(request, "deny")
        assert not (await asked).allowed
        asked = d.ask(command("eval x", patterns=False))
        request = await d.request()
        assert request.offers == ["allow-once", "deny"]
        await d.decide(request, "deny")
        await asked


async def test_an_answer_is_for_what_was_shown(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        asked = d.ask(command("rm -r build"))
        request = await d.request()
        other = msgspec.structs.replace(request, detail="ls")
        with pytest.raises(UsageError, match="something else"):
            await d.approvals.answer(SESSION, request.id, shown(other), "allow-once")
        with pytest.raises(UsageError, match="not open"):
            await d.approvals.answer(SESSION, "0" * 12, shown(request), "allow-once")
        assert not asked.done(), "nothing was answered by either"
        await d.decide(request, "allow-once")
        assert (await asked).allowed
        with pytest.raises(UsageError, match="not open"):
            await d.decide(request, "allow-once")


async def test_every_shown_field_is_in_the_digest() -> None:
    request = Approval("i", "exec", "w", where="p", detail="d", cut=0, parts=[Part("a", "b", "c")], offers=["deny"])
    for change in ({"id": "j"}, {"capability": "write"}, {"what": "x"}, {"where": "q"}, {"detail": "e"}, {"cut": 1},
                   {"parts": [Part("a", "b", "d")]}, {"parts": [Part("a", "b", "c", allowed=True)]}, {"offers": []}):
        assert shown(msgspec.structs.replace(request, **change)) != shown(request), change


async def test_where_nobody_can_be_asked_the_reason_is_said_at_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        verdict = await d.ask(command("make"), Turn(attended=False))
        assert not verdict.allowed and "nobody to ask" in verdict.reason and await d.approvals.open(SESSION) == []
        await d.rules.add("exec", ["make"])
        assert (await d.ask(command("make"), Turn(attended=False))).allowed, "a rule of the person's is an answer"


async def test_a_stop_ends_the_wait(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        turn = Turn()
        asked = d.ask(command("make"), turn)
        await d.request()
        turn.stop.set()
        assert not (await asked).allowed


async def test_complaint_101_what_was_stopped_does_not_come_back_with_a_late_answer(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        turn = Turn()
        asked = d.ask(command("make"), turn)
        request = await d.request()
        turn.stop.set()
        await asked
        await d.log.append(SESSION, TurnFinished("t1", "cancelled"))
        with pytest.raises(UsageError, match="not open"):
            await d.decide(request, "allow-once")
        assert d.resumed == []


async def test_a_request_outlives_its_wait_and_its_answer_counts_for_the_next_try(tmp_path: Path) -> None:
    async with desk(tmp_path, wait_s=0.05) as d:
        verdict = await d.ask(command("make"))
        assert not verdict.allowed and "stays open" in verdict.reason
        request = await d.request()
        await d.decide(request, "allow-once")
        assert d.resumed == [SESSION]
        (note,) = await d.bodies(SystemNote)
        assert "now allowed" in note.text
        assert (await d.ask(command("make"), Turn("t2"))).allowed
        assert not (await d.ask(command("make"), Turn("t3"))).allowed, "it was for once"
        assert len(await d.approvals.open(SESSION)) == 1, "and is asked about again"


async def test_a_request_survives_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        await d.log.append(SESSION, TurnStarted("t1", "ask", "m"))
        asked = d.ask(command("make"))
        before = await d.request()
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
    async with desk(tmp_path, new=False) as d:
        await d.log.append(SESSION, TurnFinished("t1", "restarted"))
        assert await d.approvals.open(SESSION) == [before]
        again = d.ask(command("make"), Turn("t2"))
        await asyncio.sleep(0)
        await d.decide(await d.request(), "deny")
        assert not (await again).allowed
        asks = [body for body in await d.bodies(Approval) if not body.decision]
        assert len(asks) == 1, "the same effect is not asked about twice"


async def test_complaint_128_a_rule_that_cannot_be_read_back_is_not_kept(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        for bad in ("make\nrm -rf /", "a\x1b[0m", ""):
            with pytest.raises(UsageError):
                await d.rules.add("exec", [bad])
        await d.rules.add("exec", ['say "hi" \\ # [[rules]]', "é *"])
        assert [rule.pattern for rule in await d.rules.all()] == ['say "hi" \\ # [[rules]]', "é *"]
        assert not list((tmp_path / "data").glob(".rules*")), "no draft stays behind"


async def test_complaint_128_a_broken_file_of_rules_is_not_written_over(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        d.rules.file.write_text("[[rules]\n")
        assert await d.rules.allowing() == [], "and allows nothing"
        asked = d.ask(command("make"))
        request = await d.request()
        with pytest.raises(UsageError, match="does not fit"):
            await d.decide(request, "allow-rule")
        assert d.rules.file.read_text() == "[[rules]\n"
        assert not asked.done(), "an answer that could not be kept is none"
        await d.decide(request, "allow-once")
        assert (await asked).allowed


async def test_rules_are_listed_and_revoked(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        made = await d.rules.add("exec", ["make", "ls *"])
        assert [rule.id for rule in made] == ["r1", "r2"] and (d.rules.file.stat().st_mode & 0o777) == 0o600
        assert (await d.rules.revoke("r1")).pattern == "make"
        assert [rule.pattern for rule in await d.rules.all()] == ["ls *"]
        with pytest.raises(UsageError, match="no rule"):
            await d.rules.revoke("r1")
        with pytest.raises(UsageError, match="no effect"):
            await d.rules.add("read", ["x"])
        assert not (await d.ask(command("make"), Turn(attended=False))).allowed, "what was revoked does not count"
