"""One turn in the worker: the agent guest on a thread of its own, its imports, and every way it can be stopped."""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from thetis_kernel.errors import GuestError, Refused, RemoteError, ThetisError
from thetis_kernel.hosts.worker.commands import WalledCommands
from thetis_kernel.hosts.worker.imports import Inbox, agent_imports, sys_imports
from thetis_kernel.hosts.worker.journal import GatewayJournal
from thetis_kernel.hosts.worker.machines import Machines
from thetis_kernel.hosts.worker.minding import MindedTools
from thetis_kernel.hosts.worker.surroundings import surroundings, tell_rules
from thetis_kernel.hosts.worker.terminals import boundary, terminals
from thetis_kernel.protocol.worker import (
    AskAgents,
    AskBranch,
    AskDevKit,
    CompleteModel,
    DevKitAnswer,
    FetchHttp,
    GuestBundle,
    ModeChanged,
    Output,
    RunTurn,
    TurnOutcome,
)
from thetis_kernel.stopsign import StopSign
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.sandbox import sandbox_imports
from thetis_kernel.wasm.call import Abort, GuestCall, run_in_thread
from thetis_kernel.wasm.limits import AGENT_LIMITS, TOOL_LIMITS

if TYPE_CHECKING:
    from thetis_kernel.hosts.worker.runtimes import Runtimes
    from thetis_kernel.ipc.threads import ThreadPeer
    from thetis_kernel.toolhost.bell import Bell
    from thetis_kernel.toolhost.shared import Written
    from thetis_kernel.toolhost.terminals.pool import Pool
    from thetis_kernel.walls.helper import Helpers

STOP_GRACE_S = 0.06
"""A stopped agent may return by itself for this long, then its wasm is aborted. It loses nothing by that: the log has it
all. A stop has 200 ms in all, and a healthy agent's way back from an import takes about 5."""
DEVKIT_S = 180.0
"""For an operation of the dev kit: a gate host has 60 s for a candidate (gateway.judging), and two wait for others."""
AGENTS_S = 60.0
"""For an operation on sub-agents: the gateway writes a few events, or reads some."""
STUCK_S = 5.0
"""After an abort, an agent still inside an import for this long is given up; the gateway recycles the worker."""


class Turn:
    """One turn. `run` blocks its thread until the agent has returned, was aborted, or is stuck."""

    def __init__(self, ask: RunTurn, peer: ThreadPeer, runtimes: Runtimes, pool: Pool, helpers: Helpers, bell: Bell,
                 written: Written) -> None:
        self.id = ask.turn
        self.child = ask.child
        self.inbox = Inbox()
        self._ask = ask
        self._peer = peer
        self._runtimes = runtimes
        self._abort = Abort()
        self._tool_abort = Abort()
        self._journal = GatewayJournal(peer, ask.child)
        self._cancelled = StopSign()
        commands = self._commands = WalledCommands(ask.place, peer, helpers)
        self._context = TurnContext(
            turn=ask.turn,
            place=ask.place,
            journal=self._journal,
            commands=commands,
            reading=commands.reading,
            fetch=lambda tool, wanted: peer.call(
                FetchHttp(tool=tool, wanted=wanted, child=ask.child), timeout=None, cancel=self._cancelled),
            output=lambda call, text: peer.tell(Output(call=call, text=text, child=ask.child)),
            guests={guest.aspect.removeprefix("tool/"): guest for guest in ask.tools},
            call_guest=self._call_tool,
            devkit=self._devkit,
            branch=self._branch,
            gateway=lambda ask: peer.call(ask, timeout=None, cancel=self._cancelled),
            agents=None if ask.child else self._agents,
            bell=bell,
            unread=lambda: self.inbox.unread,
            member=ask.child,
            written=written,
            cancelled=self._cancelled,
            consent=lambda request: peer.call(request, timeout=None, cancel=self._cancelled),
            confine=lambda: commands.confined("", Path(ask.place.worktree), self._cancelled),
            terminals=terminals(pool, ask.place, commands, self._cancelled, Machines(peer, self._cancelled)),
        )
        self.terminals = pool
        self._bell = bell
        self._minded = MindedTools(self._context, self._invoke_tool, self._ask_devkit)

    def deliver(self, seq: int, text: str, wakes: bool = True) -> None:
        """Words for the agent: into its inbox, and out of its sleep if they are worth that."""
        self.inbox.deliver(seq, text, wakes)
        self._bell.ring()

    def mode(self, tell: ModeChanged) -> None:
        """The person changed the mode: effects are judged by it from now on, also those that wait."""
        self._context.place = msgspec.structs.replace(
            self._context.place, mode=tell.mode, read_only=tell.read_only, ask=tell.ask)

    def cancel(self) -> None:
        """Stop: effects at once, then the guest."""
        self._cancelled.set()
        self._tool_abort.fire("stopped")

    def run(self) -> TurnOutcome:
        """Call handle-turn and say how it ended; never raises for what a guest does."""
        try:
            self.terminals.begin_turn(boundary(self._ask.place), self._ask.place.read_only, self._journal)
            turn_json = self._turn_json()
            imports = {
                **sys_imports(self._context, self._ask.agent, _diagnose),
                **agent_imports(self._context, self._journal, self.inbox, self._complete),
            }
            call = GuestCall(self._runtimes.agent(), self._ask.agent.bundle, imports, AGENT_LIMITS,
                             abort=self._abort, on_log=_guest_output(self._ask.agent.aspect))
            with self._runtimes.spare_tools.hold():
                answer = self._wait(run_in_thread(call, "handle-turn", turn_json))
        except GuestError as error:
            if self._cancelled.is_set() and error.kind == "abort":
                return TurnOutcome(stopped_by="cancelled", detail="Stopped.")
            return TurnOutcome(stopped_by="error", detail=error.message, failure=error.kind, traceback=error.traceback)
        except ThetisError as error:
            return TurnOutcome(stopped_by="error", detail=str(error), failure=error.code)
        if answer is None:
            return TurnOutcome(stopped_by="cancelled", detail="Stopped; the agent did not return.", stuck=True)
        return _outcome(answer)

    def _wait(self, future: Future[str]) -> str | None:
        """The agent's answer; None when it is stuck after a stop."""
        over = threading.Event()
        future.add_done_callback(lambda _: over.set())
        self._cancelled.on_set(over.set)
        over.wait()
        try:
            return future.result(timeout=STOP_GRACE_S)
        except FutureTimeout:
            self._abort.fire("stopped")
        try:
            return future.result(timeout=STUCK_S)
        except FutureTimeout:
            return None

    def _turn_json(self) -> str:
        table: dict[str, Any] = msgspec.json.decode(self._ask.turn_json)
        around = surroundings(self._context.tree, Path(self._ask.place.workspace), self._commands.workspace())
        tell_rules(self._journal, around)
        table["root"] = {**table.get("root", {}), **around}
        return json.dumps(table, ensure_ascii=False)

    def _complete(self, request: bytes, record: bool) -> bytes:
        return self._peer.call(CompleteModel(turn=self.id, request=request, record=record), timeout=None)

    def _devkit(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask the gateway. A tool that changed serves from the next call on; a call in flight keeps what it began with."""
        answer = self._ask_devkit(name, arguments)
        for tool in (*([answer.tool] if answer.tool is not None else []), *answer.more):
            self._context.guests[tool.aspect.removeprefix("tool/")] = tool
        if answer.gone:
            self._context.guests.pop(answer.gone, None)
        data: dict[str, Any] = msgspec.json.decode(answer.data)
        return data

    def _ask_devkit(self, name: str, arguments: dict[str, Any]) -> DevKitAnswer:
        return self._peer.call(AskDevKit(turn=self.id, name=name, arguments=msgspec.json.encode(arguments)), timeout=DEVKIT_S)

    def _branch(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask the gateway about the branch; once begun, what moves files is not given up half-way."""
        ask = AskBranch(turn=self.id, name=name, arguments=msgspec.json.encode(arguments))
        data: dict[str, Any] = msgspec.json.decode(self._peer.call(ask, timeout=None))
        return data

    def _agents(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask the gateway about sub-agents; a stop does not wait for the answer."""
        ask = AskAgents(turn=self.id, name=name, arguments=msgspec.json.encode(arguments))
        try:
            data: dict[str, Any] = msgspec.json.decode(self._peer.call(ask, timeout=AGENTS_S))
        except RemoteError as error:
            if error.code == Refused.code:  # what the gateway refuses is refused, not a failure to be tried again
                raise Refused(error.message, capability="delegate", hint=error.hint) from error
            raise
        return data

    def _call_tool(self, name: str, call: str, arguments: dict[str, Any]) -> str:
        return self._minded.call(name, call, arguments)

    def _invoke_tool(self, guest: GuestBundle, call: str, arguments: dict[str, Any]) -> str:
        name = guest.aspect.removeprefix("tool/")
        imports = {**sys_imports(self._context, guest, _diagnose), **sandbox_imports(self._context, call, name)}
        run = GuestCall(self._runtimes.tool(), guest.bundle, imports, TOOL_LIMITS, abort=self._tool_abort,
                        on_log=_guest_output(guest.aspect), spares=self._runtimes.spare_tools)
        session = str(msgspec.json.decode(self._ask.turn_json).get("session", ""))
        return run.run("invoke", session, json.dumps(arguments, ensure_ascii=False), guest.config)


def _outcome(answer: str) -> TurnOutcome:
    try:
        table = json.loads(answer)
        return TurnOutcome(stopped_by=str(table["stopped_by"]), detail=str(table.get("detail", "")),
                           iterations=int(table.get("iterations", 0)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return TurnOutcome(stopped_by="error", detail="The agent's handle-turn answered something else than its contract.",
                           failure="type")


def _diagnose(aspect: str, level: str, message: str) -> None:
    """A guest's own log line: into this process's captured stderr, one bounded line each."""
    sys.stderr.write(f"[{aspect} {level}] {message[:2000]!r}\n")


def _guest_output(aspect: str) -> Any:
    return lambda stream, text: _diagnose(aspect, stream, text)
