"""`thetis daemon`: start, stop, look at and keep a gateway without a screen.

There is no pid file: whether a daemon runs is what its lock and its socket say, and which process that is says the operating
system. Must not know what the daemon does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import time

import msgspec

from thetis_kernel.cli.attach import attach, place, places
from thetis_kernel.cli.printing import plain, say
from thetis_kernel.errors import IpcError, PeerGone, ProtocolError, ThetisError, UsageError
from thetis_kernel.ipc.unix import owner_of
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol.client import Holder

START_S = 60.0
"""How long a start may take; building runtimes is done before and does not count."""
STOP_S = 15.0
"""Beyond what turns were given: to write, to close, to leave."""


class Seen(msgspec.Struct, frozen=True):
    """How it stands with a root's daemon. `holder` "": nobody has the root open. `running`: turns; `notices`: what is wrong."""

    root: str
    log: str
    holder: Holder | str = ""
    pid: int = 0
    version: str = ""
    socket: str = ""
    running: int = 0
    notices: list[str] = []


def daemon(arguments: argparse.Namespace) -> int:
    """The subcommand's exit status."""
    match arguments.action:
        case "start":
            return start(arguments)
        case "stop":
            return stop(arguments)
        case "restart":
            if look(place(arguments)).holder in ("daemon", "detached"):
                stop(arguments)
            return start(arguments)
        case "status":
            return status(arguments)
        case "logs":
            from thetis_kernel.cli.daemonlogs import logs

            return logs(arguments)
        case "unit":
            return unit(arguments)
        case _:
            from thetis_kernel.cli.serving import serve

            return serve(arguments)


def start(arguments: argparse.Namespace) -> int:
    """Start one and wait until it serves; 0 also when one runs already."""
    from thetis_kernel.cli.reach import locate
    from thetis_kernel.cli.serving import Ready
    from thetis_kernel.cli.setup import ensure_built

    paths, _ = locate(arguments)  # what is wrong with the settings is said here, and not in a log
    if (found := look(paths)).holder:
        return _runs_already(arguments, found)
    ensure_built(quiet=arguments.json)
    reading, writing = os.pipe()
    command = [sys.executable, "-I", "-m", "thetis_kernel", "daemon", "serve", "--kept", f"--ready={writing}",
               "--root", str(paths.root), *(["--unwalled"] if arguments.unwalled else []),
               *(["--no-local"] if getattr(arguments, "no_local", False) else [])]
    child = subprocess.Popen(command, cwd=paths.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True, pass_fds=(writing,))
    os.close(writing)
    raw = _read_line(reading, START_S)
    if raw is None:
        child.terminate()
        raise ThetisError("The daemon did not say that it serves.", code="daemon",
                          hint=f"`thetis daemon logs` may say why; {paths.daemon_log}")
    told = msgspec.json.decode(raw, type=Ready)
    if told.code == "store-locked":
        found = _settled(paths)  # another start was a moment earlier, or a screen
        if found.holder:
            return _runs_already(arguments, found)
    if told.problem:
        raise ThetisError(told.problem, hint=told.hint, code=told.code or "daemon")
    return _said(arguments, look(paths), f"The daemon of {paths.root} runs (process {told.pid}).")


def stop(arguments: argparse.Namespace) -> int:
    """End it and wait until it is gone; 0 also when none runs. Turns get `--wait` seconds, then they are parked."""
    paths = place(arguments)
    wait_s = 0.0 if getattr(arguments, "now", False) else float(getattr(arguments, "wait", 10.0))
    found = look(paths)
    if not found.holder:
        return _said(arguments, found, f"No daemon runs for {paths.root}.")
    if found.holder in ("screen", "run"):
        raise UsageError(f"What has {paths.root} open is a {found.holder} (process {found.pid}), and no daemon.",
                         hint="End that one itself.")
    ending = _Process(found.pid)
    try:
        running = asyncio.run(_shut_down(paths, wait_s))
    except PeerGone:
        running = 0
    except IpcError:  # another version, or one that does not answer: it understands signals
        running = 0
        ending.signal(signal.SIGTERM)
    if running and wait_s and not arguments.json:
        say(f"Waiting up to {wait_s:g} s for {running} running turn{'s' * (running != 1)}; --now parks at once.")
    if not ending.wait(wait_s + STOP_S):
        if not getattr(arguments, "now", False):
            raise ThetisError(f"The daemon (process {found.pid}) has not ended.", code="daemon",
                              hint="`thetis daemon stop --now` ends it for good; nothing acknowledged is lost by that.")
        ending.signal(signal.SIGKILL)
        ending.wait(STOP_S)
    return _said(arguments, look(paths), f"The daemon of {paths.root} has ended (process {found.pid}).")


def status(arguments: argparse.Namespace) -> int:
    """Print how it stands; 0 when a daemon runs, 3 when none does (as systemctl's)."""
    found = look(place(arguments))
    if found.holder == "":
        words = f"No daemon runs for {found.root}."
    elif found.holder in ("screen", "run"):
        words = f"A {found.holder} has {found.root} open (process {found.pid}); no daemon runs."
    elif found.holder in ("daemon", "detached"):
        of = "The daemon" if found.holder == "daemon" else "What a screen left behind"
        turns = f"{found.running} turn{'s' * (found.running != 1)} run" + "s" * (found.running == 1)
        words = f"{of} of {found.root} runs (process {found.pid}, version {found.version}); {turns}."
    else:
        words = f"Something has {found.root} open and does not answer as a gateway (process {found.pid or 'unknown'})."
    _said(arguments, found, "\n".join([words, *(f"  {notice}" for notice in found.notices), f"  log: {found.log}"]))
    return 0 if found.holder in ("daemon", "detached") else 3


def unit(arguments: argparse.Namespace) -> int:
    """Print the systemd user unit of this root, or write it where systemd looks."""
    from thetis_kernel.cli.unit import install, unit_name, unit_text

    paths = place(arguments)
    text = unit_text(paths)
    if not arguments.install:
        as_json = msgspec.json.encode({"name": unit_name(paths), "unit": text}).decode()
        sys.stdout.write(f"{as_json}\n" if arguments.json else text)
        return 0
    where = install(paths)
    then = f"systemctl --user daemon-reload && systemctl --user enable --now {unit_name(paths)}"
    if arguments.json:
        print(msgspec.json.encode({"path": str(where), "then": then}).decode())
    else:
        print(plain(f"{where}\nStart it:  {then}\nWithout a login, too:  loginctl enable-linger"))
    return 0


def look(paths: RootPaths) -> Seen:
    """How it stands now. What does not answer is told by its process, when the operating system knows it."""
    seen = Seen(root=str(paths.root), log=str(paths.daemon_log))
    socket = next((str(each) for each in places(paths)), "")
    pid = next((pid for each in places(paths) if (pid := owner_of(each))), 0)
    try:
        return asyncio.run(_ask(paths, msgspec.structs.replace(seen, socket=socket, pid=pid)))
    except PeerGone:
        return seen
    except (ProtocolError, IpcError) as error:
        return msgspec.structs.replace(seen, holder="unknown", pid=pid, socket=socket, notices=[error.message])


async def _ask(paths: RootPaths, seen: Seen) -> Seen:
    reached = await attach(paths)
    status = await reached.client.status(walls=False)
    running = sum(line.state == "running" for line in await reached.client.conversations(children=True))
    return msgspec.structs.replace(seen, holder=status.holder, pid=status.pid or seen.pid, version=status.version,
                                   running=running, notices=status.notices)


async def _shut_down(paths: RootPaths, wait_s: float) -> int:
    return await (await attach(paths)).client.shutdown(wait_s)


def _settled(paths: RootPaths) -> Seen:
    """Who has the root, given a moment to say so."""
    deadline = time.monotonic() + 10
    while not (found := look(paths)).holder and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def _runs_already(arguments: argparse.Namespace, found: Seen) -> int:
    if found.holder in ("daemon", "detached"):
        return _said(arguments, found, f"A daemon runs already (process {found.pid}).")
    if found.holder == "unknown":
        raise ThetisError(f"Something has this root open (process {found.pid or 'unknown'}): {' '.join(found.notices)}",
                          code="store-locked", hint="`thetis daemon stop --now` ends a daemon that does not answer.")
    way = "Quit it and let its turns run on, or end it" if found.holder == "screen" else "Wait for its end"
    raise UsageError(f"A {found.holder} has this root open (process {found.pid}).", hint=f"{way}; then start the daemon.")


def _said(arguments: argparse.Namespace, found: Seen, words: str) -> int:
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n" if arguments.json else plain(words) + "\n")
    return 0


def _read_line(descriptor: int, seconds: float) -> bytes | None:
    """One line, or None at the deadline or the end."""
    deadline = time.monotonic() + seconds
    data = b""
    try:
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(descriptor, 4096) if ready else b""
            if not part:
                return None
            data += part
        return data
    finally:
        os.close(descriptor)


class _Process:
    """Another process, by a descriptor where there are such: its number cannot come to mean another one."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = os.pidfd_open(pid) if pid and hasattr(os, "pidfd_open") else -1

    def signal(self, number: int) -> None:
        """Send it a signal; nothing when it is gone."""
        with contextlib.suppress(OSError):
            if self._fd >= 0 and sys.platform == "linux":
                signal.pidfd_send_signal(self._fd, number)
            elif self._pid:
                os.kill(self._pid, number)

    def wait(self, seconds: float) -> bool:
        """Whether it is gone, waiting so long for it."""
        deadline = time.monotonic() + seconds
        if self._fd >= 0:
            return bool(select.select([self._fd], [], [], seconds)[0])
        while time.monotonic() < deadline:
            try:
                os.kill(self._pid, 0)
            except OSError:
                return True
            time.sleep(0.05)
        return False
