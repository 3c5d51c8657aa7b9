"""A machine as it is reached: the registry and the book of trust made into steps, each with the keys it may show.

Owns the rule that every step has to be vouched for, and that jumps end. The answer holds addresses and paths: it goes to the
process that connects, never into a result or a log. Must not know asyncssh.
"""

from __future__ import annotations

import msgspec

from thetis_kernel.errors import Refused
from thetis_kernel.ssh.host import Host, HostError
from thetis_kernel.ssh.registry import Registry
from thetis_kernel.ssh.trust import Trust

MAX_JUMPS = 3


class Step(msgspec.Struct, frozen=True):
    """One connection. `keys`: what the machine may show; empty: a person has to look first."""

    name: str
    host: Host
    keys: list[str] = []


class Way(msgspec.Struct, frozen=True):
    """The steps to a machine, itself last. `agent`: the socket of the person's key agent, "" where there is none."""

    name: str
    steps: list[Step]
    agent: str = ""

    @property
    def unknown(self) -> Step | None:
        """The first step whose machine nobody has looked at yet."""
        return next((step for step in self.steps if not step.keys), None)


def way_to(name: str, registry: Registry, trust: Trust, agent: str = "") -> Way:
    """The way to a machine. Raises HostError, ConfigError, and Refused when a step is not vouched for."""
    steps = [Step(one, host, trust.keys(host)) for one, host in chain(name, registry)]
    for step in steps:
        if not trust.vouched(step.name, step.host):
            raise Refused(f"Nobody has vouched for the way to {step.name} as it stands in the registry.", capability="ssh",
                          hint=f"A person does that with `thetis ssh trust {step.name}`.")
    return Way(name, steps, agent)


def chain(name: str, registry: Registry) -> list[tuple[str, Host]]:
    """The machine and what it is reached through, the first to be connected to first. Raises HostError."""
    known = registry.all()
    found: list[tuple[str, Host]] = []
    at = name
    while at:
        if at not in known:
            registry.get(at)  # says which there are
        if any(one == at for one, _ in found):
            raise HostError(f"The jumps to {name} go round in a circle.", hint="Change the jump of one of them.")
        found.append((at, known[at]))
        if len(found) > MAX_JUMPS + 1:
            raise HostError(f"{name} is more than {MAX_JUMPS} jumps away.")
        at = known[at].jump
    return found[::-1]
