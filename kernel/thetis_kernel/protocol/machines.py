"""Other machines, as a worker asks the gateway about them. What an agent is told and what a connection needs are apart.

`MachineWay` alone holds addresses, users and paths of keys. It goes to the process that connects, and into no result, event
or log.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.protocol.wire import Ask


class MachineCard(msgspec.Struct, frozen=True):
    """What an agent is told of a machine: its name, what the person says it is for, and whether it can be used. `ready`: a
    person vouched for the way to it; `known`: they have seen its host key."""

    name: str
    description: str = ""
    ready: bool = False
    known: bool = False
    through: str = ""


class MachineStep(msgspec.Struct, frozen=True):
    """One connection: the fields of the registry, and the host keys it may show (none: nobody has looked yet)."""

    name: str
    host: dict[str, Any]
    keys: list[str]


class MachineWay(msgspec.Struct, frozen=True):
    """How a machine is reached. `agent`: the socket of the person's key agent. `cwd`: where shells begin."""

    name: str
    steps: list[MachineStep]
    agent: str = ""
    cwd: str = ""


class MachinePlan(msgspec.Struct, frozen=True):
    """What a change of the registry would come to. `moves`: it decides where connections go or as whom, so a person has to allow
    it; `digest`: over that. `made`: there is no machine of that name yet."""

    digest: str
    moves: bool
    made: bool


class ListMachines(Ask[list[MachineCard]], frozen=True, tag="worker.machines"):
    """All machines of the root's registry."""


class ReachMachine(Ask[MachineWay], frozen=True, tag="worker.reach-machine"):
    """How a machine is reached, right now. Refused when nobody vouched for exactly this way."""

    name: str


class AcceptMachineKey(Ask[None], frozen=True, tag="worker.accept-machine-key"):
    """A person was shown this key of a step's machine and accepted it. Refused where one is known already."""

    name: str
    step: str
    key: str


class PlanMachine(Ask[MachinePlan], frozen=True, tag="worker.plan-machine"):
    """What setting these fields would come to; nothing is changed."""

    name: str
    fields: dict[str, Any]


class SetMachine(Ask[MachineCard], frozen=True, tag="worker.set-machine"):
    """Set fields of a machine. `allowed`: the digest of the plan a person allowed, "" when none had to."""

    name: str
    fields: dict[str, Any]
    allowed: str = ""


class RemoveMachine(Ask[None], frozen=True, tag="worker.remove-machine"):
    """Take a machine out of the registry."""

    name: str


class RenameMachine(Ask[MachineCard], frozen=True, tag="worker.rename-machine"):
    """Call a machine by another name."""

    name: str
    to: str
