"""`Supervisor`: every child of a gateway, by name. Started when needed, once; restarted on demand; parked when it
keeps dying; stopped when idle; all stopped in the end.

Must not know what any role does, nor what an incident leads to: it calls back.

Not a child subreaper: the gateway may live in the screen's process, and adopting strangers there would oblige it to
wait for processes it never started. Children die with the gateway by themselves instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from thetis_kernel.clock import SYSTEM, Clock
from thetis_kernel.errors import ChildError, IpcError, RemoteError, ThetisError
from thetis_kernel.protocol.lifecycle import ShutdownIfIdle
from thetis_kernel.supervise.handle import HEARTBEAT, Child, Exit, Heartbeat
from thetis_kernel.supervise.policy import MAX_RESTARTS, WINDOW, Restarts
from thetis_kernel.supervise.record import Record
from thetis_kernel.supervise.spawn import HOSTS, START_TIMEOUT, Plan, RoleSource, spawn

OnIncident = Callable[[str, str, dict[str, Any]], None]
"""code (child-crashed, child-hung, child-start-failed, child-parked), a sentence, fields {name, role, stderr, ...}"""
_STDERR = 4096
"""Bytes of a child's last words in an incident."""
_GRACE = 0.5
"""Seconds one child may take to stop when all are stopped."""
_ANSWER = 5.0
"""Seconds a child has to say whether it is idle."""


class _Slot:
    """What is known under one name."""

    def __init__(self, name: str, restarts: Restarts) -> None:
        self.name = name
        self.restarts = restarts
        self.child: Child | None = None
        self.starting: asyncio.Task[Child] | None = None
        self.reaping: asyncio.Task[None] | None = None
        self.idle: float | None = None
        self.leases = 0
        self.starts = 0
        self.used = 0.0
        self.traffic = 0


class Supervisor:
    """The fleet. Everything here belongs to the loop's thread.

    `sweep`: seconds between looks for idle children. `restarts` within `window` seconds before one is parked.
    `on_exit(name, exit)` is told of every end, also of those that were asked for.
    """

    def __init__(
        self,
        *,
        on_incident: OnIncident,
        on_exit: Callable[[str, Exit], None] | None = None,
        record: Record | None = None,
        source: RoleSource = HOSTS,
        heartbeat: Heartbeat = HEARTBEAT,
        start_timeout: float = START_TIMEOUT,
        restarts: int = MAX_RESTARTS,
        window: float = WINDOW,
        sweep: float = 5.0,
        clock: Clock = SYSTEM,
    ) -> None:
        self._on_incident = on_incident
        self._on_exit = on_exit
        self._record = record
        self._source = source
        self._heartbeat = heartbeat
        self._start_timeout = start_timeout
        self._restarts = restarts
        self._window = window
        self._sweep = sweep
        self._clock = clock
        self._slots: dict[str, _Slot] = {}
        self._closing = False
        self._sweeper: asyncio.Task[None] | None = None

    async def ensure(self, name: str, plan: Plan, *, idle: float | None = None) -> Child:
        """The running child called `name`, started by `plan` if there is none; callers at once share one start.

        After `idle` seconds without use it is asked whether it may be stopped (None = never). A call made right
        after this returns is safe from that; whoever keeps the child over an await takes a `lease`.
        Raises ChildError: `child-start`, `child-parked` (see `forgive`), `child-closing`.
        """
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = _Slot(name, Restarts(maximum=self._restarts, window=self._window))
        slot.idle = idle
        slot.leases += 1  # until the caller goes on, which it does in the same step of the loop
        try:
            return await self._running_child(slot, plan)
        finally:
            slot.leases -= 1
            slot.used = self._clock.monotonic()

    @asynccontextmanager
    async def lease(self, name: str, plan: Plan, *, idle: float | None = None) -> AsyncIterator[Child]:
        """`ensure`, and no idle stop while the block runs."""
        child = await self.ensure(name, plan, idle=idle)
        slot = self._slots[name]
        slot.leases += 1
        try:
            yield child
        finally:
            slot.leases -= 1
            slot.used = self._clock.monotonic()

    def get(self, name: str) -> Child | None:
        """The running child called `name`, if there is one."""
        slot = self._slots.get(name)
        return slot.child if slot is not None and slot.child is not None and slot.child.alive else None

    def rename(self, name: str, to: str, *, idle: float | None = None) -> Child | None:
        """Let the running child called `name` be `to` from now on; None, and nothing has changed, when there is none, or `to`
        is running, being started or parked. `idle` as in `ensure`."""
        slot, other = self._slots.get(name), self._slots.get(to)
        child = self.get(name)
        if self._closing or slot is None or child is None or slot.leases or slot.reaping is not None:
            return None
        if other is not None and (other.child is not None or other.starting is not None or other.restarts.parked):
            return None
        if other is None:
            other = self._slots[to] = _Slot(to, Restarts(maximum=self._restarts, window=self._window))
        slot.child, other.child = None, child
        other.idle, other.used, other.traffic = idle, self._clock.monotonic(), child.peer.traffic
        other.starts += 1
        child.name = to
        if self._record is not None:
            self._record.add(child.pid, to)
        return child

    def names(self) -> list[str]:
        """The names of running children, oldest first."""
        return [child.name for child in self._running()]

    def parked(self) -> list[str]:
        """The names that are not started any more."""
        return [slot.name for slot in self._slots.values() if slot.restarts.parked]

    def forgive(self, name: str) -> None:
        """Let `name` be started again with a clean history: a person asked for it."""
        slot = self._slots.get(name)
        if slot is not None:
            slot.restarts.forgive()

    async def stop(self, name: str, *, grace: float = 2.0) -> Exit | None:
        """Stop the child called `name`; how it ended, None when there was none."""
        child = self.get(name)
        return await child.terminate(grace) if child is not None else None

    async def close(self, *, within: float = 3.0) -> None:
        """Stop everything, the youngest first, in `within` seconds: nobody gets more than half a second to say
        goodbye, and nobody any once the time is nearly over."""
        self._closing = True
        started = self._clock.monotonic()
        if self._sweeper is not None:
            self._sweeper.cancel()
        pending = [slot.starting for slot in self._slots.values() if slot.starting is not None]
        for starting in pending:
            starting.cancel()
        for child in reversed(self._running()):
            left = within - (self._clock.monotonic() - started)
            await child.terminate(max(0.0, min(_GRACE, left - _GRACE)))
        if pending:
            await asyncio.wait(pending)

    # Starting and ending

    async def _running_child(self, slot: _Slot, plan: Plan) -> Child:
        while True:
            if self._closing:
                raise _closing(slot.name)
            if slot.reaping is not None:
                await asyncio.wait([slot.reaping])
            elif slot.child is not None and slot.child.alive:
                return slot.child
            elif slot.child is not None:
                await slot.child.wait()
            elif slot.restarts.parked:
                raise ChildError(
                    f"{slot.name} died too often and is not started any more",
                    code="child-parked",
                    hint="Its last words are in the incidents; try it again once the cause is gone.",
                )
            else:
                if slot.starting is None:
                    slot.starting = asyncio.create_task(self._start(slot, plan), name=f"start {slot.name}")
                    slot.starting.add_done_callback(_look_at)
                return await asyncio.shield(slot.starting)

    def _running(self) -> list[Child]:
        children = [slot.child for slot in self._slots.values() if slot.child is not None]
        return sorted(children, key=lambda child: child.started)

    async def _start(self, slot: _Slot, plan: Plan) -> Child:
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep_forever(), name="idle sweep")
        slot.starts += 1
        try:
            child = await spawn(
                plan,
                name=slot.name,
                source=self._source,
                heartbeat=self._heartbeat,
                start_timeout=self._start_timeout,
                crash_points=slot.starts == 1,  # a crash point strikes once, not again at each restart
                on_exit=lambda child, ended: self._ended(self._slots.get(child.name, slot), child, ended),
            )
        except asyncio.CancelledError:
            if self._closing:  # those who wait for the start were not cancelled themselves
                raise _closing(slot.name) from None
            raise
        except ChildError as error:
            data = {"name": slot.name, "role": plan.role, **error.data}
            self._on_incident("child-start-failed", error.message, data)
            self._count_crash(slot, plan.role)
            raise
        finally:
            slot.starting = None
        slot.child = child
        slot.used = self._clock.monotonic()
        slot.traffic = child.peer.traffic
        if self._record is not None:
            self._record.add(child.pid, slot.name)
        return child

    def _ended(self, slot: _Slot, child: Child, ended: Exit) -> None:
        if slot.child is child:
            slot.child = None
        if self._record is not None:
            self._record.remove(child.pid)
        if not ended.asked:
            code = "child-hung" if ended.hung else "child-crashed"
            data = {"name": slot.name, "role": child.role, "status": ended.status, "stderr": ended.stderr[-_STDERR:]}
            self._on_incident(code, f"{slot.name} is gone: {ended.words}", data)
            self._count_crash(slot, child.role)
        if self._on_exit is not None:
            self._on_exit(slot.name, ended)

    def _count_crash(self, slot: _Slot, role: str) -> None:
        if not slot.restarts.crashed(self._clock.monotonic()):
            data = {"name": slot.name, "role": role}
            self._on_incident("child-parked", f"{slot.name} died too often and is not started any more", data)

    # Idle children

    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(self._sweep)
            now = self._clock.monotonic()
            for slot in list(self._slots.values()):
                if self._is_idle(slot, now):
                    slot.reaping = asyncio.create_task(self._reap(slot), name=f"idle stop of {slot.name}")
                elif slot.child is None and slot.starting is None and not slot.leases and slot.restarts.clean(now):
                    del self._slots[slot.name]

    def _is_idle(self, slot: _Slot, now: float) -> bool:
        child = slot.child
        if child is None or not child.alive or slot.idle is None or slot.reaping is not None:
            return False
        peer = child.peer
        if slot.leases or peer.open_calls or peer.serving or peer.traffic != slot.traffic:
            slot.traffic = peer.traffic
            slot.used = now
            return False
        return now - slot.used >= slot.idle

    async def _reap(self, slot: _Slot) -> None:
        try:
            child = slot.child
            if child is None:
                return
            if await child.peer.call(ShutdownIfIdle(), timeout=_ANSWER):
                await child.terminate()
        except (IpcError, RemoteError) as declined:
            self._note_declined(slot, declined)
        finally:
            slot.used = self._clock.monotonic()
            slot.reaping = None

    def _note_declined(self, slot: _Slot, error: ThetisError) -> None:
        """A child that cannot answer is busy, or about to be found hung; either way it is not stopped for idleness."""
        if error.code not in ("deadline", "peer-gone"):
            data = {"name": slot.name, "code": error.code}
            self._on_incident("child-idle-refused", f"{slot.name} does not say whether it is idle: {error.message}", data)


def _closing(name: str) -> ChildError:
    return ChildError(f"{name} is not started: the kernel is stopping", code="child-closing")


def _look_at(task: asyncio.Task[Child]) -> None:
    """Those who waited have the error; if all of them were cancelled, it is in the incident."""
    if not task.cancelled():
        task.exception()
