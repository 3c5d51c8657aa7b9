"""The worker's way to other machines: what the gateway says of one, made into a connection.

The way is asked for each time a shell begins, so what a person changed or took back counts at once. Addresses and paths stay in
this process's memory. The person's key agent is reached by the path of its socket, which comes with the way; neither the
environment of this process nor that of any command has it. Must not know terminals.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.machines import AcceptMachineKey, MachineWay, ReachMachine
from thetis_kernel.ssh.host import made
from thetis_kernel.ssh.way import Step, Way
from thetis_kernel.toolhost.machines import Shown, asked
from thetis_kernel.toolhost.terminals import shell

if TYPE_CHECKING:
    from thetis_kernel.ipc.threads import ThreadPeer
    from thetis_kernel.ssh.session import RemoteSession
    from thetis_kernel.toolhost.terminals.terminal import Opener

ASK_S = 20.0


class Machines:
    """`reaching` of a turn's terminals. A shell that begins anew in a later turn asks the gateway anew."""

    def __init__(self, peer: ThreadPeer, cancelled: threading.Event) -> None:
        self._peer = peer
        self._cancelled = cancelled

    def unseen(self, name: str) -> Shown | None:
        """The key of the first machine on the way that nobody has looked at; None when all are known."""
        way, _ = self._way(name)
        if way.unknown is None:
            return None
        import asyncio  # late, as all of asyncssh: half a second that no other worker spends

        from thetis_kernel.ssh.connecting import fingerprint, look

        step, key = _stoppable(lambda: asyncio.run(look(way)), self._cancelled.is_set)
        return Shown(step.name, key, fingerprint(key))

    def accept(self, name: str, shown: Shown) -> None:
        """A person accepted that key."""
        asked(lambda ask: self._peer.call(ask, timeout=ASK_S), AcceptMachineKey(name=name, step=shown.step, key=shown.key))

    def opener(self, name: str) -> Opener:
        """What begins a shell over there."""

        def start(private: Path, size: tuple[int, int]) -> RemoteSession:
            from thetis_kernel.ssh.session import open_remote

            way, cwd = self._way(name)
            return open_remote(way, shell.remote_program(cwd), size, self._cancelled.is_set)

        return start

    def _way(self, name: str) -> tuple[Way, str]:
        told: MachineWay = asked(lambda ask: self._peer.call(ask, timeout=ASK_S), ReachMachine(name=name))
        steps = [Step(step.name, made(step.name, step.host), step.keys) for step in told.steps]
        return Way(told.name, steps, told.agent), told.cwd


def _stoppable(work: Callable[[], tuple[Step, str]], stopped: Callable[[], bool]) -> tuple[Step, str]:
    """What `work` gives, done by a thread of its own; a stop does not wait for it. It ends by its own deadlines."""
    found: list[tuple[Step, str]] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failed.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True, name="ssh-look").start()
    while not done.wait(0.05):
        if stopped():
            raise ThetisError("The turn was stopped.", code="cancelled")
    if failed:
        raise failed[0]
    return found[0]
