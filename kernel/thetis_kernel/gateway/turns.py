"""A turn, from a person's words to its commit: durable words, worktree, worker, agent, commit, exactly one end.

Whatever happens in between (a stop, a dead worker, a guest that traps, a full disk), every invocation is answered and the
turn has one turn-finished. A worker's death is retried at most twice by the gateway itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from thetis_kernel import crash
from thetis_kernel.config.modes import Modes
from thetis_kernel.config.settings import Settings
from thetis_kernel.errors import IpcError, StoreError, ThetisError, UsageError
from thetis_kernel.gateway.beginning import How, check_own, check_room, closing, is_child, went
from thetis_kernel.gateway.body.watchdog import Watchdog
from thetis_kernel.gateway.endings import Endings
from thetis_kernel.gateway.guests import AGENT, Guests
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.models import ModelRelay
from thetis_kernel.gateway.plans import handed
from thetis_kernel.gateway.queue import Queue
from thetis_kernel.gateway.repository import Repository
from thetis_kernel.gateway.turn import Offspring, Turn
from thetis_kernel.gateway.workers import Workers
from thetis_kernel.gateway.working import Working
from thetis_kernel.protocol.events import (
    BlobRef,
    ChildStarted,
    Event,
    Nudge,
    SettingChanged,
    SystemNote,
    TurnStarted,
    User,
)
from thetis_kernel.protocol.ids import new_turn_id
from thetis_kernel.protocol.worker import Deliver, ModeChanged, TurnOutcome
from thetis_kernel.store.queueing import next_of

MAX_ATTEMPTS = 2
"""Automatic resumes of one turn after its worker died (DESIGN 6)."""
MAX_WAKES = 5
"""Turns that notices begin one after the other without a person's words: a loop of them ends here."""
_logger = logging.getLogger(__name__)


class Turns:
    """All running turns of the root, at most one a conversation."""

    def __init__(self, log: Log, repository: Repository, guests: Guests, models: ModelRelay, settings: Settings,
                 modes: Modes, watchdog: Watchdog, changed: Callable[[str], None]) -> None:
        self._log = log
        self._repository = repository
        self._guests = guests
        self._models = models
        self._settings = settings
        self._modes = modes
        self._watchdog = watchdog
        self._changed = changed
        self._turns: dict[str, Turn] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._wakes: dict[str, int] = {}
        self.queue = Queue(log)
        self._endings = Endings(log, repository, models, self._discard)
        self.workers: Workers | None = None
        """Set by the gateway right after both exist; they need each other."""
        self.before: list[Callable[[str], Awaitable[None]]] = []
        """(conversation): what is done before a turn is described to the agent; set by the gateway."""
        self.working = Working(log, repository, guests, settings, modes, self._endings, models, self.before)
        self.children: Offspring | None = None
        """Set by the gateway, for the same reason."""
        self.closing = False

    def running(self, session: str) -> Turn | None:
        """The conversation's running turn."""
        return self._turns.get(session)

    def at_work(self, home: str) -> list[Turn]:
        """The running turns of the conversation and its sub-agents: those its worker runs."""
        return [turn for turn in self._turns.values() if turn.home == home]

    def all_running(self) -> list[Turn]:
        """Every running turn."""
        return list(self._turns.values())

    async def submit(self, session: str, text: str, event_id: str, with_changes: bool, *, later: bool = False,
                     alone: bool = False, attended: bool = False,
                     attachments: Sequence[BlobRef] = ()) -> tuple[int, How, str]:
        """(seq, where they went, turn id) once the words are durable. The same event_id again changes nothing.

        `later`: while a turn runs or words wait, wait in the queue. `alone`: the queue does not go on after their turn.
        """
        async with self._locks.setdefault(session, asyncio.Lock()):
            state = await self._log.state(session)
            known = state.seq
            turn = self._turns.get(session)
            if turn is not None and turn.ending:
                await turn.done.wait()
                turn = self._turns.get(session)
            if turn is None or later:
                check_own(state)
            if later and (turn is not None or next_of(state.queue)):
                event = await self.queue.add(session, text, event_id, attachments)
                return event.seq, went(event), ""
            if turn is not None:
                nudge = Nudge(text=text, turn=turn.id, attachments=list(attachments))
                event = await self._log.append(session, nudge, event_id=event_id)
                if event.seq > known and turn.deliver is not None:
                    turn.deliver(Deliver(turn=turn.id, seq=event.seq, text=text))
                return event.seq, went(event), turn.id
            self._check_open()
            self._wakes[session] = 0
            words = User(text=text, with_changes=with_changes, attachments=list(attachments))
            event = await self._log.append(session, words, event_id=event_id)
            if event.seq <= known and event.seq != (await self._log.state(session)).waiting:
                return event.seq, went(event), ""  # said before, and a turn was begun; the log gave the old event
            if self.closing:  # since the words were handed over; they are kept, and saying them elsewhere begins their turn
                raise closing()
            return event.seq, "turn", self._begin(session, 0, attended, alone).id

    async def say_queued(self, session: str, *, attended: bool = False) -> bool:
        """Begin a turn with the next words of the queue; False when one is running or nothing waits."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            if self._turns.get(session) is not None:
                return False
            self._check_open()
            if await self.queue.say(session) is None:
                return False
            self._wakes[session] = 0
            self._begin(session, 0, attended)
            return True

    async def resume(self, session: str, *, attended: bool = False, attempt: int = 0) -> bool:
        """Go on with an interrupted conversation without new words, a person's wish when `attempt` is 0; False: nothing to."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            state = await self._log.state(session)
            if self._turns.get(session) is not None or state.state != "interrupted":
                return False
            check_own(state)
            self._check_open()
            crash.point("resume.asked")
            turn = self._begin(session, attempt, attended)
            if state.last_started is not None and state.last_started.purpose == "compact" and not state.waiting:
                turn.compact = ""  # what was cut did nothing else, and the wish is in the log
            return True

    async def notice(self, session: str, text: str, wakes: bool = True) -> None:
        """Something ended in the worker that the agent began: its running turn hears of it, else a new one does.

        `wakes`: a sleeping turn wakes for it; the ends of sub-agents wake it themselves, if it waits for them.
        Begins a turn only where the last one ended by itself, a person's stop holds; and MAX_WAKES times in a row at most.
        """
        async with self._locks.setdefault(session, asyncio.Lock()):
            turn = self._turns.get(session)
            if turn is not None and turn.ending:
                await turn.done.wait()
                turn = self._turns.get(session)
            if turn is None and is_child(await self._log.state(session)):
                return  # it has settled; nobody is there to hear it
            said = Nudge(text=text, source="system", turn=turn.id if turn is not None else "")
            event = await self._log.append(session, said)
            if turn is not None:
                if turn.deliver is not None:
                    turn.deliver(Deliver(turn=turn.id, seq=event.seq, text=text, wakes=wakes))
            elif self._wakes.get(session, MAX_WAKES) < MAX_WAKES and not self.closing and self._log.store.accepts_turns():
                self._wakes[session] += 1
                self._begin(session, 0, False)

    async def compact(self, session: str, hint: str) -> str:
        """Have the conversation made smaller: by the running turn before its next request, else by a turn of its own; its id."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            running = self._turns.get(session)
            if running is None:
                self._check_open()
                check_own(await self._log.state(session))
            await self._log.append(session, SettingChanged(name="compact", value=hint))
            crash.point("compact.asked")
            turn = running or self._begin(session, 0, False, True)
            turn.compact = None if running else hint
            return turn.id

    async def go_on(self, session: str, attended: bool = True) -> bool:
        """A person gave what nothing waited for (consent, an answer): begin a turn that can use it, unless one is running."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            turn = self._turns.get(session)
            if turn is not None and not turn.ending:
                return False
            if turn is not None:
                await turn.done.wait()
            if self._turns.get(session) is None:
                self._check_open()
                self._begin(session, 0, attended)
            return True

    async def hand_over(self, session: str, mode: str, event_id: str, *, attended: bool = False) -> tuple[int, str]:
        """(seq, turn): keep the plan of a read-only conversation, change to `mode`, begin. Raises UsageError."""
        async with self.quiet(session):
            handing = await handed(self._log, self._modes, session, mode)
            self._check_open()
            events = await self._log.append_many(session, handing, event_ids=["", "", event_id])
            return events[-1].seq, self._begin(session, 0, attended).id

    @contextlib.asynccontextmanager
    async def quiet(self, session: str) -> AsyncIterator[None]:
        """Hold a conversation while no turn of it runs, so that none begins. Raises UsageError when one is running."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            if self.at_work(session):
                raise UsageError("A turn of this conversation is running.", hint="Wait for its end, or stop it.")
            check_own(await self._log.state(session))
            yield

    async def begin_child(self, home: str, started: ChildStarted, attended: bool) -> Turn:
        """Begin the one turn of a new sub-agent of `home`, its task being the words of it. Raises when Thetis is closing."""
        child = started.child
        async with self._locks.setdefault(child, asyncio.Lock()):
            self._check_open()
            named = SettingChanged(name="title", value=started.label, by="kernel")
            await self._log.append_many(child, [named, User(text=started.task)], event_ids=["", f"{child}:task"])
            return self._begin(child, 0, attended, True, family=(home, started.label, started.profile))

    async def mode_changed(self, session: str) -> None:
        """The mode is another one now: running turns' effects are judged by it from here on, those of sub-agents too."""
        for turn in self.all_running():
            if turn.home == session and turn.deliver is not None:
                mode = await self.working.mode(turn)
                if turn.deliver is not None:
                    turn.deliver(ModeChanged(turn=turn.id, mode=mode.id, read_only=mode.read_only, ask=list(mode.ask)))

    async def stop(self, session: str) -> bool:
        """Stop the running turn, durably, and all sub-agents; True when there was something to stop.

        Words handed over before the stop have begun theirs.
        """
        stopped = await self._stop(session)
        children = self.children is not None and await self.children.stop_all(session)
        return stopped or children

    async def cut(self, session: str, why: str) -> None:
        """Stop a sub-agent's turn for another reason than a person's stop, which its log names."""
        turn = self._turns.get(session)
        if turn is not None and not turn.stop.is_set():
            await self._stopped(turn, why)

    async def _stop(self, session: str) -> bool:
        turn = self._turns.get(session)
        if turn is None or turn.ending:
            if turn is not None:
                turn.hurried.set()
            before, turn = turn, await self._begun(session)
            if turn is None or turn is before:
                return before is not None
        if not turn.stop.is_set():
            await self._stopped(turn, "The person stopped this turn.")
        return True

    async def _stopped(self, turn: Turn, why: str) -> None:
        turn.stop.set()
        turn.hurried.set()
        crash.point("cancel.asked")
        with contextlib.suppress(StoreError):  # a full disk must not keep a turn from being stopped
            await self._log.append(turn.session, SystemNote(text=why, about="stop"))
        crash.point("cancel.noted")

    async def _begun(self, session: str) -> Turn | None:
        """The turn that runs once every message handed over until now is where it belongs."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            return self._turns.get(session)

    async def wait_idle(self, session: str) -> None:
        """Return once neither the conversation nor a sub-agent of it has a running turn."""
        while (turn := self._turns.get(session)) is not None or (
                self.children is not None and await self.children.all_settled(session)):
            if turn is not None:
                await turn.done.wait()

    async def drained(self) -> None:
        """Return once no conversation has a running turn."""
        while self._turns:
            await next(iter(self._turns.values())).done.wait()

    async def close(self, *, park: bool = False) -> None:
        """Stop every turn and wait until each has its end in the log. `park`: as cut, so that it can be gone on with."""
        self.closing = True
        turns = self.all_running()
        for turn in turns:
            turn.parked = park
            turn.stop.set()
            turn.hurried.set()
        await asyncio.gather(*(turn.done.wait() for turn in turns))

    def _check_open(self) -> None:
        if self.closing:
            raise closing()
        check_room(self._log.store)

    async def _discard(self, session: str) -> None:
        if self.workers is not None:
            await self.workers.discard(session)

    def _begin(self, session: str, attempt: int, attended: bool, alone: bool = False,
               family: tuple[str, str, str] | None = None) -> Turn:
        """`family`: of a sub-agent, (the conversation it belongs to, its name, its profile)."""
        turn = Turn(session, new_turn_id(), attempt, attended, alone)
        if family is not None:
            turn.child, (turn.home, turn.label, turn.profile) = session, family
        self._turns[session] = turn
        turn.task = asyncio.create_task(self._run(turn), name=f"turn-{session}-{turn.id}")
        return turn

    async def _run(self, turn: Turn) -> None:
        """The whole turn. Ends with exactly one turn-finished; then perhaps a follow-up."""
        follow_up = -1
        said: Event | None = None
        try:
            state = await self._log.state(turn.session)
            model = await self._models.model_of(state)
            begun = await self._log.append(
                turn.session, TurnStarted(turn=turn.id, mode=state.mode, model=model, attempt=turn.attempt,
                                          purpose="" if turn.compact is None else "compact"))
            turn.began = begun.seq
            self._changed(turn.session)
            crash.point("gateway.turn-start")
            outcome, died = await self._outcome(turn)
            turn.ending = True
            await self._endings.finish(turn, outcome, "restarted" if died else outcome.stopped_by)
            if turn.stop.is_set() or outcome.stopped_by != "stop":
                self._wakes[turn.session] = MAX_WAKES  # what the person stopped stays stopped, and so does what failed
            follow_up = await self._follow_up(turn, outcome, died)
            if follow_up < 0 and outcome.stopped_by == "stop" and self._may_go_on(turn):
                said = await self.queue.say(turn.session)
        except Exception as error:  # whatever it is: a turn without an end leaves everybody waiting for it
            turn.ending = True
            if not isinstance(error, ThetisError):
                _logger.exception("a turn met an unexpected error")
            await self._endings.last_resort(turn, error)
        finally:
            self._turns.pop(turn.session, None)
            if said is not None or (follow_up >= 0 and not self.closing):
                if follow_up > 0:
                    crash.point("resume.again")
                family = (turn.home, turn.label, turn.profile) if turn.child else None
                following = self._begin(turn.session, max(follow_up, 0), turn.attended, turn.alone, family)
                if turn.hurried.is_set() or self.closing:  # stopped while its words were being said
                    following.stop.set()
                    following.hurried.set()
            elif turn.child and self.children is not None:
                await self.children.settle(turn)
            turn.done.set()
            self._changed(turn.session)
            if self.children is not None and not turn.child:
                self.children.turn_over(turn.session)

    async def _outcome(self, turn: Turn) -> tuple[TurnOutcome, bool]:
        """(how the agent ended, whether its worker died). Never raises but for the store's errors."""
        try:
            outcome = await self._work(turn)
            if not outcome.failure:
                await self._watchdog.well(turn.home, AGENT)
            elif not turn.stop.is_set() and await self._watchdog.failed(turn.home, AGENT, outcome.failure, outcome.detail):
                return TurnOutcome(stopped_by="restarted", detail="The agent failed and was put back."), True
            return outcome, False
        except StoreError:
            raise
        except IpcError as error:
            if turn.stop.is_set():
                return TurnOutcome(stopped_by="cancelled", detail="Stopped."), False
            await self._endings.incident(turn, "worker-died",
                f"The conversation's worker died in the middle of a turn: {error.message}")
            return TurnOutcome(stopped_by="restarted", detail="Its worker died."), True
        except ThetisError as error:
            if turn.stop.is_set():
                return TurnOutcome(stopped_by="cancelled", detail="Stopped."), False
            await self._endings.incident(turn, error.code, str(error))
            return TurnOutcome(stopped_by="error", detail=str(error)), False

    async def _work(self, turn: Turn) -> TurnOutcome:
        return await self.working.run(turn, self.workers)

    async def _follow_up(self, turn: Turn, outcome: TurnOutcome, died: bool) -> int:
        """The attempt number of a turn that must follow at once, or -1."""
        if not self._may_go_on(turn, alone=False):
            return -1
        if died:  # a sub-agent's parent is told, and decides: nothing of it runs twice by itself
            return turn.attempt + 1 if turn.attempt < MAX_ATTEMPTS and not turn.child else -1
        state = await self._log.state(turn.session)
        if outcome.stopped_by == "asked":  # answered before the turn that asked was over
            return -1 if state.questions else 0
        # Words that came after the agent's last look at its inbox would otherwise wait for the next message.
        return 0 if outcome.stopped_by == "stop" and state.unread_nudges else -1

    def _may_go_on(self, turn: Turn, *, alone: bool = True) -> bool:
        """Whether something may follow the turn by itself: nobody stopped it, and there is room. A queue that may not go on
        waits, and is shown, until a person says so."""
        stopped = turn.hurried.is_set() or self.closing or turn.compact is not None
        return not stopped and not (alone and turn.alone) and self._log.store.accepts_turns()
