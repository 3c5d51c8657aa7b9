"""Other machines: the registry and the book of trust of one root, for the agents of its conversations.

The gateway alone knows where machines are. An agent is told names; the process that connects is told the way, once a person
has vouched for exactly that. Neither in a read-only mode nor for a conversation other people write into is anything of it
within reach, not even a name. Must not know how a connection is made: asyncssh is never imported here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import Refused
from thetis_kernel.gateway.bridged import is_bridged
from thetis_kernel.gateway.log import Log
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol.machines import (
    AcceptMachineKey,
    ListMachines,
    MachineCard,
    MachinePlan,
    MachineStep,
    MachineWay,
    PlanMachine,
    ReachMachine,
    RemoveMachine,
    RenameMachine,
    SetMachine,
)
from thetis_kernel.ssh.exclude import keep_out
from thetis_kernel.ssh.host import FIELDS, Host, HostError, made
from thetis_kernel.ssh.registry import FILE, Registry
from thetis_kernel.ssh.trust import Trust
from thetis_kernel.ssh.way import way_to


class Machines:
    """The machines of one root. Reads the registry each time, so what a person just wrote counts at once."""

    def __init__(self, log: Log, modes: Modes, paths: RootPaths) -> None:
        self._log = log
        self._modes = modes
        self._registry = Registry(paths.root)
        self._trust = Trust(paths.base)
        self._excluded = False

    def keep_out(self) -> None:
        """Have git ignore a registry that is there, whoever wrote it: before a conversation can take it for a change of the
        checkout, and whether or not it can be read."""
        if not self._excluded and os.path.lexists(self._registry.file):
            self._excluded = keep_out(self._registry.root, FILE)

    def asks(self, session: str) -> dict[type[Any], Callable[[Any], Any]]:
        """The handlers for one conversation's worker."""
        answers: dict[type[Any], Callable[[Any], Any]] = {
            ListMachines: self._all, ReachMachine: self._reach, AcceptMachineKey: self._accept, PlanMachine: self._plan,
            SetMachine: self._set, RemoveMachine: self._remove, RenameMachine: self._rename,
        }

        def within(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
            async def asked(ask: Any) -> Any:
                await self._check(session)
                return await asyncio.to_thread(answer, ask)

            return asked

        return {kind: within(answer) for kind, answer in answers.items()}

    async def _check(self, session: str) -> None:
        if await is_bridged(self._log, session):
            raise Refused("Other machines are not reached from a conversation over a bridge.", capability="ssh")
        if self._modes.get((await self._log.state(session)).mode).read_only:
            raise Refused("This conversation is in a read-only mode: no other machine is reached by any route.", capability="ssh",
                          hint="A person can switch the mode.")

    def _all(self, _: ListMachines) -> list[MachineCard]:
        self.keep_out()
        known = self._registry.all()
        return [self._card(name, host) for name, host in known.items()]

    def _reach(self, ask: ReachMachine) -> MachineWay:
        way = way_to(ask.name, self._registry, self._trust, os.environ.get("SSH_AUTH_SOCK", ""))
        steps = [MachineStep(step.name, msgspec.to_builtins(step.host), step.keys) for step in way.steps]
        return MachineWay(way.name, steps, way.agent, way.steps[-1].host.remote_cwd)

    def _accept(self, ask: AcceptMachineKey) -> None:
        way = way_to(ask.name, self._registry, self._trust)
        step = next((one for one in way.steps if one.name == ask.step), None)
        if step is None or step.keys:
            raise Refused(f"The host key of {ask.step[:60]} is known already; only a person changes it, outside of a turn.",
                          capability="ssh", hint=f"`thetis ssh trust {ask.step[:60]}`")
        self._trust.accept(step.host, ask.key, instead=False)

    def _plan(self, ask: PlanMachine) -> MachinePlan:
        before = self._registry.all().get(ask.name)
        after = made(ask.name, {**(msgspec.to_builtins(before) if before else {}), **_fields(ask.fields)})
        return MachinePlan(after.digest, before is None or before.digest != after.digest, before is None)

    def _set(self, ask: SetMachine) -> MachineCard:
        plan = self._plan(PlanMachine(ask.name, ask.fields))
        if plan.moves and ask.allowed != plan.digest:
            raise Refused(f"The registry changed meanwhile, so nothing was done to {ask.name}.", capability="ssh",
                          hint="Make the call anew.")
        host = self._registry.set(ask.name, _fields(ask.fields))
        if plan.moves and host.digest == ask.allowed:
            self._trust.vouch(ask.name, host)
        return self._card(ask.name, host)

    def _remove(self, ask: RemoveMachine) -> None:
        self._registry.remove(ask.name)
        self._trust.forget(ask.name)

    def _rename(self, ask: RenameMachine) -> MachineCard:
        vouched = {name for name, host in self._registry.all().items() if self._trust.vouched(name, host)}
        self._registry.rename(ask.name, ask.to)
        self._trust.forget(ask.name)
        for name, host in self._registry.all().items():  # what is reached through it has another jump now
            if (ask.name if name == ask.to else name) in vouched:
                self._trust.vouch(name, host)
        return self._card(ask.to, self._registry.get(ask.to))

    def _card(self, name: str, host: Host) -> MachineCard:
        return MachineCard(name, host.description, self._trust.vouched(name, host), bool(self._trust.keys(host)), host.jump)


def _fields(fields: dict[str, Any]) -> dict[str, Any]:
    extra = sorted(set(fields) - set(FIELDS))
    if extra:
        raise HostError(f"A machine has no field {extra[0][:40]!r}.", hint="Fields: " + ", ".join(FIELDS) + ".")
    return fields
