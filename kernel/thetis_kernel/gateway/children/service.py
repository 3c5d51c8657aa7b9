"""Sub-agents of all conversations: begun, looked at, ended, settled; what a parent is told of them and when.

A child is durable before it runs, and its end is in its parent's log once, before anybody hears of it. What a parent has not
heard in an answer of its own it is told in a note, together with what settles at the same time. Must not know what runs a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from thetis_kernel import crash
from thetis_kernel.config.modes import Modes
from thetis_kernel.config.settings import Settings
from thetis_kernel.config.subagents import narrower
from thetis_kernel.errors import Refused, StoreError, ThetisError
from thetis_kernel.gateway.children import lines, reading, results
from thetis_kernel.gateway.children.lines import Known
from thetis_kernel.gateway.children.purse import Purses, home_of
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.gateway.turns import Turns
from thetis_kernel.protocol.children import ChildLine, ChildState
from thetis_kernel.protocol.events import Approval, ChildSettled, ChildStarted, SessionStarted
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.protocol.worker import AskAgents, Ring
from thetis_kernel.store.folds import SessionState

TOGETHER_S = 0.1
"""What settles within this time is told in one note."""
SETTLING_S = 10.0
"""How long somebody waits for a child that has no turn and is not settled."""
AGAIN_S = 2.0
"""Between tries to write how a child ended, on a full disk."""
WITH_PARENT = "It was stopped together with the conversation it belongs to."
_logger = logging.getLogger(__name__)


class Children:
    """`models()`: the ids of the models there are. `commit(session, turn)`: commit what lies in the checkout."""

    def __init__(self, log: Log, turns: Turns, purses: Purses, settings: Settings, modes: Modes,
                 models: Callable[[], Awaitable[list[str]]], commit: Callable[[str, str], Awaitable[None]],
                 changed: Callable[[str], None]) -> None:
        self._log = log
        self._turns = turns
        self._purses = purses
        self._settings = settings.subagents
        self._modes = modes
        self._models = models
        self._commit = commit
        self._changed = changed
        self._locks: dict[str, asyncio.Lock] = {}
        self._known: dict[str, Known] = {}
        self._cut: dict[str, tuple[ChildState, str]] = {}
        self._unheard: dict[str, dict[str, None]] = {}
        """Settled children whose answer the parent has not had."""
        self._untold: dict[str, dict[str, None]] = {}
        """Those of them no note has told of either."""
        self._telling: dict[str, asyncio.Task[None]] = {}
        self._watching: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    # What a worker asks for the parent's agent

    def asks(self, session: str) -> dict[type[Any], Any]:
        """The handlers of a conversation's worker."""
        async def agents(ask: AskAgents) -> bytes:
            turn = self._turns.running(session)
            if turn is None or turn.id != ask.turn:
                raise Refused("A sub-agent has no sub-agents of its own.", capability="delegate")
            arguments = msgspec.json.decode(ask.arguments, type=dict[str, Any])
            return msgspec.json.encode(await self._perform(session, turn, ask.name, arguments))

        return {AskAgents: agents}

    async def _perform(self, session: str, turn: Turn, name: str, arguments: dict[str, Any]) -> Any:
        match name:
            case "spawn":
                return await self.spawn(session, turn, arguments)
            case "look":
                chosen = await self._chosen(session, arguments)
                return {"agents": [{"child": one.child, "state": one.state} for one in chosen]}
            case "status":
                return await self._status(session, arguments)
            case "transcript":
                return await self._transcript(session, str(arguments.get("child", "")), arguments.get("after", 0))
            case "cancel":
                found = await self._find(session, str(arguments.get("child", "")))
                await self.end(session, found.child, "cancelled", "The agent that began it ended it.")
                return await self._status(session, {"child": found.child})
            case "profiles":
                return {"profiles": lines.profiles(self._settings.all())}
            case _:
                raise ThetisError(f"There is no operation agents.{name[:40]}.", code="bad-arguments")

    # Begun

    async def spawn(self, home: str, turn: Turn, arguments: dict[str, Any]) -> dict[str, str]:
        """Begin a sub-agent of `home`; answered once it is durable and its turn is begun. Raises Refused, ThetisError."""
        if not self._settings.enabled:
            raise Refused("Sub-agents are switched off here.", capability="delegate", hint="Do it yourself.")
        state = await self._log.state(home)
        chosen = await lines.chosen(arguments, state, self._settings, self._modes, self._models)
        async with self._lock(home):
            if len(state.children) >= self._settings.max_children:
                raise Refused(f"{len(state.children)} sub-agents run, more are not possible (subagents.max_children).",
                              capability="delegate", hint="Wait for one of them, or cancel one.")
            if reached := (await self._purses.of(home, chosen.model)).reached:
                await self._halt(home, reached)
                raise Refused(f"No sub-agent is begun: {reached}", capability="delegate")
            label = lines.unlike(arguments["label"], [one.label for one in state.children.values()])
            child = new_session_id()
            started = state.started
            mode = narrower(self._modes.get(state.mode), self._modes.get(chosen.mode)).id
            await asyncio.to_thread(self._log.store.create, child, SessionStarted(
                root=started.root if started else "", origin="child", mode=mode, model=chosen.model,
                branch=started.branch if started else "", parent=home, parent_seq=state.seq, relation="child"))
            crash.point("spawn.made")
            body = ChildStarted(child=child, label=label, task=arguments["task"], profile=chosen.profile, mode=mode,
                                model=chosen.model)
            await self._log.append(home, body, event_id=f"{child}:started")
            crash.point("spawn.logged")
            self._known[child] = Known(label=label)
        try:
            begun = await self._turns.begin_child(home, body, turn.attended)
        except ThetisError as error:
            await self._settle(child, home, ("failed", f"It could not be begun: {error}"))
            raise
        crash.point("spawn.begun")
        if turn.stop.is_set():  # stopped while it was being begun
            await self.end(home, child, "cancelled", WITH_PARENT)
        await self._watch(home)
        self._changed(home)
        return {"child": child, "label": label, "mode": mode, "model": chosen.model, "profile": chosen.profile, "turn": begun.id}

    # Looked at

    async def all(self, home: str) -> list[ChildLine]:
        """Every child of a conversation, oldest first, answers included."""
        state = await self._log.state(home)
        settled = [lines.of_settled(one, self._known.get(one.child)) for one in state.settled.values()]
        return [*settled, *[await self._running(one) for one in state.children.values()]]

    def glance(self, state: SessionState) -> list[ChildLine]:
        """The children that run, and those that have settled since the person last spoke, without their answers."""
        return [lines.of_running(one, self._log.known(one.child), self._known.setdefault(one.child, Known(one.label)),
                                 self._settings.stale_minutes * 60) for one in state.children.values()]

    async def _running(self, one: ChildStarted) -> ChildLine:
        state = await self._log.state(one.child)
        known = self._known.setdefault(one.child, Known(one.label))
        return lines.of_running(one, state, known, self._settings.stale_minutes * 60)

    async def _chosen(self, home: str, arguments: dict[str, Any]) -> list[ChildLine]:
        """The children named, else those that run or whose answer the parent has not had."""
        named = arguments.get("children") or ([arguments["child"]] if arguments.get("child") else [])
        known = await self.all(home)
        if named:
            return [_named(known, str(name)) for name in named]
        unheard = self._unheard.get(home, {})
        return [one for one in known if one.state == "running" or one.child in unheard]

    async def _find(self, home: str, name: str) -> ChildLine:
        return _named(await self.all(home), name)

    async def _status(self, home: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Those chosen with their answers, and the others of late without. What is told here needs no note."""
        chosen = await self._chosen(home, arguments)
        for one in chosen:
            if one.state != "running":
                self._unheard.get(home, {}).pop(one.child, None)
                self._untold.get(home, {}).pop(one.child, None)
        told = {one.child for one in chosen}
        others = [msgspec.structs.replace(one, result="") for one in await self.all(home) if one.child not in told]
        state = await self._log.state(home)
        purse = await self._purses.of(home, state.model)
        return {"agents": lines.within(chosen, self._settings.max_result_bytes) + ([] if arguments.get("child") else
                                                                                   lines.within(others[-lines.OTHERS:], 0)),
                "purse": msgspec.to_builtins(purse)}

    async def _transcript(self, home: str, name: str, after: Any) -> dict[str, Any]:
        one = await self._find(home, name)
        start = after if isinstance(after, int) and not isinstance(after, bool) and after >= 0 else 0
        events = await asyncio.to_thread(self._log.store.read, one.child, start)
        text, last = reading.page(events)
        end = (await self._log.state(one.child)).seq
        return {"child": one.child, "label": one.label, "text": text, "next": last, "end": last >= end or not events}

    # Ended

    async def end(self, home: str, child: str, state: ChildState, why: str) -> bool:
        """Have a child's turn stopped, for a reason its parent is told; False when it has settled. Returns before it has."""
        if child not in (await self._log.state(home)).children:
            return False
        self._cut.setdefault(child, (state, why))
        await self._turns.cut(child, why)
        return True

    async def stop_all(self, session: str) -> bool:
        """Stop all sub-agents of a conversation; whether there were any."""
        known = self._log.known(session)
        children = list(known.children) if known is not None else []
        await asyncio.gather(*(self.end(session, child, "cancelled", WITH_PARENT) for child in children))
        return bool(children)

    async def after_call(self, session: str) -> None:
        """A call of a model has been paid for: at the cap the whole tree ends now, not at each one's next call."""
        state = await self._log.state(session)
        home = home_of(session, state)
        if (await self._log.state(home)).children and (reached := (await self._purses.of(home, state.model)).reached):
            await self._halt(home, reached)

    async def _halt(self, home: str, reached: str) -> None:
        for child in list((await self._log.state(home)).children):
            await self.end(home, child, "failed", reached)

    async def _watch(self, home: str) -> None:
        """Look again when the purse's time is up: nobody may be making calls then."""
        if home in self._watching:
            self._watching[home].cancel()
        left = await self._purses.left_s(home)
        self._watching[home] = asyncio.get_running_loop().call_later(max(left, 0) + 0.05, self._time_up, home)

    def _time_up(self, home: str) -> None:
        self._watching.pop(home, None)
        self._keep(self._look_at_time(home))

    async def _look_at_time(self, home: str) -> None:
        state = await self._log.state(home)
        reached = (await self._purses.of(home, state.model)).reached
        if reached:
            await self._halt(home, reached)
        elif state.children:
            await self._watch(home)

    # Settled

    async def settle(self, turn: Turn) -> None:
        """A child's last turn is over: into the parent's log, once, whatever it takes. Never raises."""
        while True:
            try:
                await self._settle(turn.child, turn.home, self._cut.get(turn.child))
                return
            except StoreError:  # a full disk; the next start finds it, if this process ends before
                if self._turns.closing:
                    return
                await asyncio.sleep(AGAIN_S)
            except Exception:  # whatever it is: the next start tries again, and says so
                _logger.exception("how a sub-agent ended could not be told")
                return

    async def _settle(self, child: str, home: str, cut: tuple[ChildState, str] | None) -> None:
        async with self._lock(home):
            state = await self._log.state(home)
            started = state.children.get(child)
            if started is None:
                return
            spent = (await self._log.state(child)).spent
            most = self._settings.max_result_bytes
            body = await asyncio.to_thread(lambda: results.settled(
                child, started.label, self._log.store.iterate(child), dict(spent), most, cut))
            crash.point("child.ending")
            requests = [one for one in state.approvals.values() if one.turn and one.turn == self._turn_of(child)]
            # First: another append that is acknowledged meanwhile folds this one in, and a parent that looks then must see it.
            self._unheard.setdefault(home, {})[child] = None
            self._untold.setdefault(home, {})[child] = None
            await self._log.append(home, body, event_id=f"{child}:settled")
            for request in requests:
                await self._log.append(home, Approval(
                    id=request.id, capability=request.capability, what=request.what, decision="deny", by="kernel"))
            crash.point("child.settled")
        self._cut.pop(child, None)
        self._known.setdefault(child, Known(started.label)).ended()
        turn = self._turns.running(home)
        if turn is not None and turn.deliver is not None:
            with contextlib.suppress(ThetisError):
                turn.deliver(Ring())
        elif turn is None:
            await self._commit(home, self._turn_of(child))
        self._tell_soon(home)
        self._changed(home)

    def _turn_of(self, child: str) -> str:
        state = self._log.known(child)
        return state.last_started.turn if state is not None and state.last_started is not None else ""

    # Told

    def turn_over(self, session: str) -> None:
        """A conversation's turn is over: what it has not heard of its sub-agents is told now."""
        if self._untold.get(session):
            self._tell_soon(session)

    def answered(self, session: str) -> None:
        """A call of a conversation has its result; if it slept, what settled since it looked is told now."""
        if self._untold.get(session):
            self._tell_soon(session)

    async def all_settled(self, session: str) -> bool:
        """Return once no sub-agent runs and the parent has been told; whether there was something to wait for."""
        waited, left = False, int(SETTLING_S / 0.02)
        while left:
            telling = self._telling.get(session)
            if telling is not None:
                await asyncio.wait((telling,))
            elif (children := list((await self._log.state(session)).children)):
                turn = self._turns.running(children[0])
                if turn is not None:
                    await turn.done.wait()
                else:
                    left -= 1
                    await asyncio.sleep(0.02)  # between its last turn and its settling, or before its first
            else:
                return waited
            waited = True
        return False

    def _tell_soon(self, home: str) -> None:
        if home not in self._telling:
            self._telling[home] = self._keep(self._tell(home))

    async def _tell(self, home: str) -> None:
        """A note about what settled and is not told, unless the parent sleeps: then its answer tells."""
        told: list[ChildSettled] = []
        try:
            await asyncio.sleep(TOGETHER_S)
            state = await self._log.state(home)
            untold = self._untold.get(home, {})
            if any(call.op == "wait.until" for call in state.unanswered.values()):
                return
            told = [state.settled[child] for child in untold if child in state.settled]
            for one in told:
                untold.pop(one.child)
            if told:
                with contextlib.suppress(ThetisError):  # deleted meanwhile, or a full disk: status shows them all the same
                    await self._turns.notice(home, lines.note(told), wakes=False)
        finally:
            self._telling.pop(home, None)
            if told and self._untold.get(home):
                self._tell_soon(home)  # settled while the others were told

    def found(self, home: str, children: list[str]) -> None:
        """Children of a kernel that died have been settled; their parent has been told in a note and may ask for the answers."""
        self._unheard.setdefault(home, {}).update(dict.fromkeys(children))

    def close(self) -> None:
        """Nothing is looked at any more."""
        for timer in self._watching.values():
            timer.cancel()
        self._watching.clear()
        for task in list(self._tasks):
            task.cancel()

    def _lock(self, home: str) -> asyncio.Lock:
        return self._locks.setdefault(home, asyncio.Lock())

    def _keep(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _named(known: Sequence[ChildLine], name: str) -> ChildLine:
    """The child of that id, label or beginning of an id; the newest of several. Raises ThetisError `not-found`."""
    whole = [one for one in known if name in (one.child, one.label)]
    if found := whole or [one for one in known if len(name) >= 4 and one.child.startswith(name)]:
        return found[-1]
    named = ", ".join(f"{one.label} ({one.child[:8]})" for one in known[-16:]) or "none"
    raise ThetisError(f"There is no sub-agent {name[:60]!r}.", code="not-found", hint=f"There are: {named}.")
