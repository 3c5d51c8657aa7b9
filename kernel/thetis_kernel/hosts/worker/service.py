"""The worker's requests: run a turn, stop it, hand it a nudge, go when idle."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import ThetisError
from thetis_kernel.hosts.worker.checking import check_history
from thetis_kernel.hosts.worker.setting_up import set_up
from thetis_kernel.hosts.worker.turn import Turn
from thetis_kernel.protocol.worker import (
    CancelTurn,
    CheckHistory,
    Deliver,
    HistoryChecked,
    ModeChanged,
    Notice,
    RunTurn,
    SetUp,
    SetUpDone,
    TurnOutcome,
)
from thetis_kernel.toolhost.terminals.pool import Pool
from thetis_kernel.wasm.call import stores_opened, stuck_calls

if TYPE_CHECKING:
    from thetis_kernel.ipc.threads import Serving, ThreadPeer
    from thetis_kernel.supervise.context import ChildContext


class WorkerService:
    """State of one worker: at most one running turn."""

    peer: ThreadPeer

    def __init__(self, fds: dict[str, int]) -> None:
        self._fds = fds
        self._lock = threading.Lock()
        self._turn: Turn | None = None
        self._pool = Pool(lambda text: self.peer.tell(Notice(text=text)))
        self._stopped = ""
        """The turn a stop came for last, perhaps before its thread had begun it."""
        self._mode: ModeChanged | None = None
        """The change of mode that came last, for the same reason."""

    def run_turn(self, ask: RunTurn, serving: Serving) -> TurnOutcome:
        """Run one turn to its end; a second one at the same time is refused."""
        turn = Turn(ask, self.peer, self._fds, self._pool)
        with self._lock:
            if self._turn is not None:
                raise ThetisError("This conversation already has a running turn.", code="busy")
            self._turn = turn
            stopped = self._stopped == ask.turn
            if self._mode is not None and self._mode.turn == ask.turn:
                turn.mode(self._mode)
        if stopped:
            turn.cancel()
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
                self._turn = None

    def set_up(self, ask: SetUp, serving: Serving) -> SetUpDone:
        """Run the setup command of a new worktree."""
        return set_up(ask, self.peer, serving)

    def check_history(self, ask: CheckHistory, serving: Serving) -> HistoryChecked:
        """Judge the agent's next request; beside a running turn, which does not notice."""
        return check_history(ask, self.peer, self._fds)

    def cancel(self, tell: CancelTurn) -> None:
        """Stop the turn it names; a stop for an older turn does nothing."""
        with self._lock:
            self._stopped = tell.turn
            turn = self._turn
        if turn is not None and turn.id == tell.turn:
            crash.point("cancel.worker")
            turn.cancel()

    def change_mode(self, tell: ModeChanged) -> None:
        """Judge the effects of the turn it names by another mode from now on."""
        with self._lock:
            self._mode = tell
            if self._turn is not None and self._turn.id == tell.turn:
                self._turn.mode(tell)
        if tell.read_only:  # what runs in terminals could still write; ending it may take seconds, the channel must not wait
            why = "the conversation became read-only"
            threading.Thread(target=self._pool.close_all, args=(why,), daemon=True, name="closing terminals").start()

    def deliver(self, tell: Deliver) -> None:
        """Put a nudge into the running turn's inbox."""
        turn = self._turn
        if turn is not None and turn.id == tell.turn:
            turn.inbox.deliver(tell.seq, tell.text)

    def is_idle(self) -> bool:
        """Whether this worker may go now; the supervisor then ends it."""
        return self._turn is None and not self._pool.busy


def serve(context: ChildContext) -> None:
    """Role module entry: answer the gateway until it goes away."""
    service = WorkerService(context.fds)
    service.peer = context.connect(
        asks={RunTurn: service.run_turn, CheckHistory: service.check_history, SetUp: service.set_up},
        tells={CancelTurn: service.cancel, Deliver: service.deliver, ModeChanged: service.change_mode},
        is_idle=service.is_idle,
    )
    context.run()
