"""`thetis ssh`: the machines of this repository, for the person whose they are. Nothing here needs a kernel.

Owns vouching: what is typed here is the person's own word, so setting a machine vouches for the way to it, and `trust` for what
stands in a registry somebody else may have written, together with the key the machine shows. Must not know conversations.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel.cli.printing import say
from thetis_kernel.errors import ThetisError, UsageError
from thetis_kernel.paths import root_paths
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.roots import find_root
from thetis_kernel.ssh.host import Host
from thetis_kernel.ssh.registry import Registry
from thetis_kernel.ssh.trust import Trust
from thetis_kernel.ssh.way import Step, Way, chain, way_to

YES = ("y", "yes")
GIVEN = ("host", "port", "user", "identity_file", "jump", "remote_cwd", "description")


def ssh(arguments: argparse.Namespace) -> int:
    """Do what `action` says. Raises HostError, ConfigError, SshError, Refused."""
    root = find_root(Path(getattr(arguments, "root", None) or Path.cwd())).resolve()
    paths = root_paths(root)
    paths.make()
    registry, trust = Registry(root), Trust(paths.base)
    match arguments.action:
        case "set":
            return _set(arguments, registry, trust)
        case "show":
            return _show(arguments, registry, trust)
        case "rm":
            registry.remove(arguments.name)
            trust.forget(arguments.name)
            say(f"{arguments.name} is out of the list.")
        case "rename":
            _rename(arguments.name, arguments.to, registry, trust)
        case "trust":
            return _trust(arguments, registry, trust)
        case "test":
            return _test(arguments, registry, trust)
        case _:
            _list(registry, trust, json=arguments.json)
    return 0


def _list(registry: Registry, trust: Trust, *, json: bool) -> None:
    known = registry.all()
    if json:
        print(msgspec.json.encode([{"name": name, **_state(name, host, trust)} for name, host in known.items()]).decode())
        return
    if not known:
        print("No machine is registered here. `thetis ssh set NAME --host ADDRESS` registers one.")
    width = max(map(len, known), default=0)
    for name, host in known.items():
        state = _state(name, host, trust)
        words = "usable" if all(state.values()) else "its host key is not known yet" if state["vouched"] else "not vouched for"
        through = f" through {host.jump}" if host.jump else ""
        print(f"{name:<{width}}  {words}{through}  {clean_line(host.description)}".rstrip())


def _state(name: str, host: Host, trust: Trust) -> dict[str, Any]:
    return {"vouched": trust.vouched(name, host), "key_known": bool(trust.keys(host))}


def _set(arguments: argparse.Namespace, registry: Registry, trust: Trust) -> int:
    changes = {name: getattr(arguments, name) for name in GIVEN if getattr(arguments, name) is not None}
    if arguments.option is not None:
        changes["options"] = [one for one in arguments.option if one]
    if not changes:
        raise UsageError("Nothing is given to set.", hint="Such as: thetis ssh set build --host build.example --user me")
    host = registry.set(arguments.name, changes)
    trust.vouch(arguments.name, host)
    known = bool(trust.keys(host))
    say(f"{arguments.name} is registered" + ("." if known else f"; look at its host key: thetis ssh trust {arguments.name}"))
    return 0


def _show(arguments: argparse.Namespace, registry: Registry, trust: Trust) -> int:
    host = registry.get(arguments.name)
    told = {"name": arguments.name, **msgspec.to_builtins(host), **_state(arguments.name, host, trust)}
    if arguments.json:
        print(msgspec.json.encode(told).decode())
        return 0
    for field, value in told.items():
        print(f"{field:<14} {clean_line(', '.join(value) if isinstance(value, list) else str(value))}")
    if keys := trust.keys(host):
        from thetis_kernel.ssh.connecting import fingerprint

        for key in keys:
            print(f"{'host key':<14} {fingerprint(key)}")
    return 0


def _rename(name: str, to: str, registry: Registry, trust: Trust) -> None:
    vouched = {one for one, host in registry.all().items() if trust.vouched(one, host)}
    registry.rename(name, to)
    trust.forget(name)
    for one, host in registry.all().items():
        if (name if one == to else one) in vouched:
            trust.vouch(one, host)
    say(f"{name} is {to} now.")


def _trust(arguments: argparse.Namespace, registry: Registry, trust: Trust) -> int:
    """Vouch for the way, then look at each key on it that is not known, or at the last one again."""
    for name, host in chain(arguments.name, registry):
        if not trust.vouched(name, host):
            say(f"{name} is reached as: {_described(host)}")
            if not _agreed("Is that right? [y/N] ", arguments):
                return 1
            trust.vouch(name, host)
    steps = [Step(name, host, trust.keys(host)) for name, host in chain(arguments.name, registry)]
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if step.keys and not last:
            continue
        if not _look(Way(step.name, [*steps[:number], Step(step.name, step.host)], _agent()), step, trust, arguments, last=last):
            return 1
        steps[number] = Step(step.name, step.host, trust.keys(step.host))
    say(f"{arguments.name} can be used.")
    return 0


def _look(way: Way, step: Step, trust: Trust, arguments: argparse.Namespace, *, last: bool) -> bool:
    import asyncio

    from thetis_kernel.ssh.connecting import fingerprint, look

    _, key = asyncio.run(look(way))
    if key in step.keys:
        say(f"{step.name} shows the key you trust: {fingerprint(key)}")
        return True
    if step.keys:
        say(f"ATTENTION: {step.name} shows another key than before. Trusted was {' or '.join(map(fingerprint, step.keys))}.")
    say(f"{step.name} shows {fingerprint(key)}")
    if last and arguments.fingerprint:
        agreed: bool = fingerprint(key).split()[0] == arguments.fingerprint
        if not agreed:
            say("That is not the fingerprint you gave.")
    else:
        agreed = _agreed("Is that its key? Compare it with what the machine itself says. [y/N] ", arguments)
    if agreed:
        trust.accept(step.host, key, instead=bool(step.keys))
    return agreed


def _test(arguments: argparse.Namespace, registry: Registry, trust: Trust) -> int:
    import asyncio

    from thetis_kernel.ssh.connecting import connect

    way = way_to(arguments.name, registry, trust, _agent())

    async def work() -> str:
        connected = await connect(way)
        try:
            done = await asyncio.wait_for(connected.connection.run("uname -sr", encoding=None), 15)
            return bytes(done.stdout or b"").decode("utf-8", "replace")
        finally:
            await connected.close()

    try:
        answer = asyncio.run(work())
    except ThetisError as error:
        cause = error.__cause__
        if cause is not None:  # a person's own terminal, and it is their machine
            say(f"  {type(cause).__name__}: {clean_line(str(cause))}")
        raise
    print(f"{arguments.name} answers: {clean_line(answer)[:200]}")
    return 0


def _described(host: Host) -> str:
    user = f"{host.user}@" if host.user else ""
    parts = [f"{user}{host.host}:{host.port}", f"key {host.identity_file}" if host.identity_file else "keys of your agent",
             f"through {host.jump}" if host.jump else "", *host.options]
    return clean_line(", ".join(part for part in parts if part))


def _agent() -> str:
    return os.environ.get("SSH_AUTH_SOCK", "")


def _agreed(question: str, arguments: argparse.Namespace) -> bool:
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        say("Nobody is here to answer; --yes or --fingerprint does.")
        return False
    print(question, end="", flush=True)
    return sys.stdin.readline().strip().lower() in YES
