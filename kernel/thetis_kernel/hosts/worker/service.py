"""The worker's requests: run turns of the conversation and its sub-agents, stop them, hand them nudges, go when idle."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import ThetisError
from thetis_kernel.hosts.worker.checking import check_history
from thetis_kernel.hosts.worker.probing import probe
from thetis_kernel.hosts.worker.runtimes import Runtimes
from thetis_kernel.hosts.worker.setting_up import set_up
from thetis_kernel.hosts.worker.turn import Turn
from thetis_kernel.hosts.worker.watching import Watching
from thetis_kernel.protocol.terminals import AtTerminals
from thetis_kernel.protocol.worker import (
    CancelTurn,
    CheckHistory,
    Deliver,
    HistoryChecked,
    ModeChanged,
    Notice,
    ProbeAgent,
    Probed,
    Ring,
    RunTurn,
    SetUp,
    SetUpDone,
    TurnOutcome,
)
from thetis_kernel.toolhost.bell import Bell
from thetis_kernel.toolhost.shared import Written
from thetis_kernel.toolhost.terminals.pool import Pool
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.wasm.call import stores_opened, stuck_calls

if TYPE_CHECKING:
    from thetis_kernel.ipc.threads import Serving, ThreadPeer
    from thetis_kernel.supervise.context import ChildContext


DEAF = "THETIS_BELL"
"""Set to `deaf`, sleeping turns are not woken by rings and find out by looking; for tests."""
REMEMBERED = 64
"""Stops and changes of mode that are kept for turns whose thread may not have begun."""


class WorkerService:
    """State of one worker: at most one running turn of the conversation, and one of each of its sub-agents."""

    peer: ThreadPeer

    def __init__(self, fds: dict[str, int]) -> None:
        self._runtimes = Runtimes(fds)
        self._lock = threading.Lock()
        self._turns: dict[str, Turn] = {}
        self._pool = self._terminals_of("")
        self._helpers = Helpers()
        self.watching = Watching(self._pool, self._helpers)
        self._bell = Bell(deaf=os.environ.get(DEAF) == "deaf")
        self._written = Written(lambda member, words: self.peer.tell(Notice(text=words, child=member)))
        self._stopped: deque[str] = deque(maxlen=REMEMBERED)
        """The turns stops came for, perhaps before their threads had begun them."""
        self._modes: deque[ModeChanged] = deque(maxlen=REMEMBERED)
        """The changes of mode that came, for the same reason."""

    def run_turn(self, ask: RunTurn, serving: Serving) -> TurnOutcome:
        """Run one turn to its end; a second one of the same conversation at the same time is refused."""
        pool = self._terminals_of(ask.child) if ask.child else self._pool
        turn = Turn(ask, self.peer, self._runtimes, pool, self._helpers, self._bell, self._written)
        with self._lock:
            if any(other.child == ask.child for other in self._turns.values()):
                raise ThetisError("This conversation already has a running turn.", code="busy")
            self._turns[turn.id] = turn
            stopped = ask.turn in self._stopped
            for changed in self._modes:
                if changed.turn == ask.turn:
                    turn.mode(changed)
        if stopped:
            turn.cancel()
        self._written.join(ask.child, f"The sub-agent {ask.label!r}" if ask.child else "The agent that began you")
        try:
            crash.point("worker.turn-start")
            opened = stores_opened()
            outcome = turn.run()
            # A call given up inside WASI keeps its thread: this process is then replaced after the turn.
            stuck = outcome.stuck or stuck_calls() > 0
            outcome = msgspec.structs.replace(outcome, stores=stores_opened() - opened, stuck=stuck)
            crash.point("worker.turn-end")
            return outcome
        finally:
            with self._lock:
                del self._turns[turn.id]
            if ask.child:
                self._written.leave(ask.child)
                pool.close_all("the sub-agent's turn is over")

    def _terminals_of(self, child: str) -> Pool:
        return Pool(lambda text: self.peer.tell(Notice(text=text, child=child)))

    def set_up(self, ask: SetUp, serving: Serving) -> SetUpDone:
        """Run the setup command of a new worktree."""
        return set_up(ask, self.peer, serving, self._helpers)

    def check_history(self, ask: CheckHistory, serving: Serving) -> HistoryChecked:
        """Judge the agent's next request; beside a running turn, which does not notice."""
        return check_history(ask, self.peer, self._runtimes)

    def probe_agent(self, ask: ProbeAgent, serving: Serving) -> Probed:
        """Ask the agent whether it is well."""
        return probe(ask, self._runtimes)

    def cancel(self, tell: CancelTurn) -> None:
        """Stop the turn it names; a stop for an older turn does nothing."""
        with self._lock:
            self._stopped.append(tell.turn)
            turn = self._turns.get(tell.turn)
        if turn is not None:
            crash.point("cancel.worker")
            turn.cancel()

    def change_mode(self, tell: ModeChanged) -> None:
        """Judge the effects of the turn it names by another mode from now on."""
        with self._lock:
            self._modes.append(tell)
            turn = self._turns.get(tell.turn)
            if turn is not None:
                turn.mode(tell)
        if tell.read_only:  # what runs in terminals could still write; ending it may take seconds, the channel must not wait
            pool = turn.terminals if turn is not None else self._pool
            why = "the conversation became read-only"
            threading.Thread(target=pool.close_all, args=(why,), daemon=True, name="closing terminals").start()

    def deliver(self, tell: Deliver) -> None:
        """Put a nudge into the running turn's inbox."""
        turn = self._turns.get(tell.turn)
        if turn is not None:
            turn.deliver(tell.seq, tell.text, tell.wakes)

    def ring(self, tell: Ring) -> None:
        """A sub-agent has settled."""
        self._bell.ring()

    def is_idle(self) -> bool:
        """Whether this worker may go now; the supervisor then ends it."""
        return not self._turns and not self._pool.busy and not self.watching.busy


def serve(context: ChildContext) -> None:
    """Role module entry: answer the gateway until it goes away."""
    service = WorkerService(context.fds)
    service.peer = service.watching.peer = context.connect(
        asks={RunTurn: service.run_turn, CheckHistory: service.check_history, SetUp: service.set_up,
              ProbeAgent: service.probe_agent, AtTerminals: service.watching.at},
        tells={CancelTurn: service.cancel, Deliver: service.deliver, Ring: service.ring, ModeChanged: service.change_mode},
        is_idle=service.is_idle,
    )
    context.run()
