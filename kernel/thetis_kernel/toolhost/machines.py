"""Other machines for an agent: the registry's operations, and a terminal over there.

Owns what a person is shown. Whatever decides where a connection goes, or as whom, is put to them whatever the mode; so is a host
key nobody has seen, with its fingerprint. No answer here holds an address, a user or a path. Must not know how a connection is
made: the worker gives that (`Reaching`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from thetis_kernel.errors import Refused, RemoteError, ThetisError
from thetis_kernel.protocol.machines import (
    ListMachines,
    MachineCard,
    PlanMachine,
    RemoveMachine,
    RenameMachine,
    SetMachine,
)
from thetis_kernel.toolhost.authority import Capability, Intended, Subject
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.terminals.terminal import Opener, TerminalError

DECIDES = "It decides where connections go, and with which key."
UNSEEN = "Nobody has looked at its host key yet."
FIELDS = ("host", "port", "user", "identity_file", "jump", "options", "remote_cwd", "description")
UNSET: dict[str, Any] = {"port": 22, "options": []}
CALLS = ("terminals.run", "terminals.send", "terminals.signal", "terminals.close")
"""Operations that reach wherever their terminal is."""


class Shown(msgspec.Struct, frozen=True):
    """A host key: the machine's name, the key as it is written, its fingerprint."""

    step: str
    key: str
    fingerprint: str


class Reaching(Protocol):
    """Connections, as the worker makes them. Every method may raise what the gateway or ssh does (Refused, SshError, ...)."""

    def unseen(self, name: str) -> Shown | None:
        """The key of the first machine on the way that nobody has looked at; None when all are known."""
        ...

    def accept(self, name: str, shown: Shown) -> None:
        """A person accepted that key."""
        ...

    def opener(self, name: str) -> Opener:
        """What begins a shell over there, now and whenever the old one has ended."""
        ...


def capability(context: TurnContext, name: str, arguments: dict[str, Any]) -> Capability | None:
    """"ssh" for an operation on a terminal that is, or shall be, on another machine; None for all others."""
    if name == "terminals.open":
        return "ssh" if arguments.get("host") else None
    return "ssh" if name in CALLS and machine_of(context, str(arguments.get("id", ""))) else None


def machine_of(context: TurnContext, identifier: str) -> str:
    """The machine a terminal is on; "" for this one, and where there is no such terminal."""
    if context.terminals is None:
        return ""
    try:
        return context.terminals.pool.get(identifier).host
    except TerminalError:
        return ""


def reaching(context: TurnContext) -> Reaching:
    """The worker's connections."""
    if context.terminals is None or context.terminals.reaching is None:
        raise ThetisError("There are no other machines in this place.", code="unavailable")
    return context.terminals.reaching


# What a person is asked with


def opening(context: TurnContext, arguments: dict[str, Any]) -> Intended:
    """A shell on another machine: with the fingerprint, where nobody has seen it."""
    name = arguments["host"]
    if not name:
        return Intended(what="Open a terminal", where=f"in {arguments['cwd'] or '.'}")
    context.seen.pop(name, None)
    shown = reaching(context).unseen(name)
    if shown is None:
        subject = f"{name}: open"
        return Intended(what=f"Open a shell on {name}", where=f"on {name}",
                        subjects=(Subject(subject, rule=subject, session=subject, wide=False),))
    context.seen[name] = shown
    return Intended(
        what=f"Trust the host key of {shown.step}", where=f"on {name}", insists=UNSEEN,
        detail=f"{shown.fingerprint}\n\nCompare it with what the machine's own console or its owner says:\n"
               f"  ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub\nOnly then a shell is opened. "
               f"`thetis ssh show {shown.step}` says where it is.")


def running(machine: str, command: str, terminal: str, behind: str) -> Intended:
    """A command over there: each time anew, as in every shell that lives on."""
    return Intended(what=f"Run a command on {machine}", detail=command, where=f"on {machine}, terminal {terminal}{behind}")


def setting(context: TurnContext, arguments: dict[str, Any]) -> Intended:
    """A change of the registry."""
    fields = _given(arguments["fields"])
    plan = _plan(context, arguments["name"], fields)
    told = "\n".join(f"{name} = {msgspec.json.encode(value).decode()}" for name, value in fields.items())
    name = arguments["name"]
    what = f"{'Register' if plan.made else 'Change'} the machine {name}"[:200]
    return Intended(what=what, detail=told, where="of this repository", insists=DECIDES if plan.moves else "")


def removing(context: TurnContext, arguments: dict[str, Any]) -> Intended:
    """Taking a machine out."""
    return Intended(what=f"Remove the machine {arguments['name']}"[:200], where="of this repository", insists="It is your list.")


def renaming(context: TurnContext, arguments: dict[str, Any]) -> Intended:
    """Another name for a machine."""
    return Intended(what=f"Call the machine {arguments['name']} {arguments['to']}"[:200], where="of this repository",
                    insists="Whoever uses these names will mean another machine.")


# What is done


def listing(context: TurnContext) -> dict[str, Any]:
    """{"hosts": [...]}: every machine as `_told` has it."""
    return {"hosts": [_told(card) for card in _ask(context, ListMachines())]}


def get(context: TurnContext, name: str) -> dict[str, Any]:
    """One machine as `_told` has it."""
    cards: list[MachineCard] = _ask(context, ListMachines())
    found = next((card for card in cards if card.name == name), None)
    if found is None:
        raise ThetisError(f"There is no machine {name[:60]!r}.", code="not-found",
                          hint="Known: " + (", ".join(card.name for card in cards) or "none") + ".")
    return _told(found)


def put(context: TurnContext, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Set fields; what decides where connections go was allowed by a person, see `setting`."""
    fields = _given(given)
    plan = _plan(context, name, fields)
    card = _ask(context, SetMachine(name=name, fields=fields, allowed=plan.digest if plan.moves else ""))
    return {**_told(card), "made": plan.made}


def remove(context: TurnContext, name: str) -> dict[str, Any]:
    """Take a machine out."""
    _ask(context, RemoveMachine(name=name))
    return {"name": name, "removed": True}


def rename(context: TurnContext, name: str, to: str) -> dict[str, Any]:
    """Call it by another name."""
    return {**_told(_ask(context, RenameMachine(name=name, to=to))), "was": name}


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a call; null empties one."""
    for name in fields:
        if name not in FIELDS or (name == "host" and fields[name] is None):
            raise ThetisError(f"{name[:40]!r} is no field that can be set like that.", code="bad-arguments",
                              hint="Fields: " + ", ".join(FIELDS) + ".")
    if not fields:
        raise ThetisError("Nothing was given to set.", code="bad-arguments", hint="Fields: " + ", ".join(FIELDS) + ".")
    return {name: UNSET.get(name, "") if value is None else value for name, value in fields.items()}


def _plan(context: TurnContext, name: str, fields: dict[str, Any]) -> Any:
    return _ask(context, PlanMachine(name=name, fields=fields))


def _told(card: MachineCard) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(card).items() if value != ""}


def _ask(context: TurnContext, ask: Any) -> Any:
    if context.gateway is None:
        raise ThetisError("There are no other machines in this place.", code="unavailable")
    return asked(context.gateway, ask)


def asked(gateway: Callable[[Any], Any], ask: Any) -> Any:
    """What the gateway answers; its refusals are refusals here too, not failures to be tried again."""
    try:
        return gateway(ask)
    except RemoteError as error:
        if error.code == Refused.code:
            raise Refused(error.message, capability="ssh", hint=error.hint) from error
        raise
