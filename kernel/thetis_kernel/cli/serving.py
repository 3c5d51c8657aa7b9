"""The daemon's own process: opens the root, says that it serves, lets go of the terminal, and stays.

Must not know the commands that start and stop it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys

import msgspec

from thetis_kernel.cli.keeper import CRASHED, keep
from thetis_kernel.errors import StoreLocked, ThetisError

BACK_S = 60.0
"""How long a daemon that was killed tries to have its root back, when a client has taken it meanwhile."""


class Ready(msgspec.Struct, frozen=True):
    """What a daemon says to who started it: that it serves (`pid`), or why not."""

    pid: int = 0
    problem: str = ""
    hint: str = ""
    code: str = ""


def serve(arguments: argparse.Namespace) -> int:
    """Be the daemon; 0 when it was told to end, 1 when it could not begin."""
    os.umask(0o077)
    if arguments.kept:
        return keep(lambda again: _daemon(arguments, again))
    return _daemon(arguments, again=False)


def _daemon(arguments: argparse.Namespace, again: bool) -> int:
    ready = -1 if again else arguments.ready
    try:
        return asyncio.run(_serve(arguments, ready, again))
    except ThetisError as error:
        _tell(ready, Ready(problem=error.message, hint=error.hint, code=error.code))
        print(f"thetis: {error.message}", *([f"  {error.hint}"] if error.hint else []), sep="\n", file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - whatever it is: it has to be in the log, and the keeper may try again
        from thetis_kernel.gateway.headless import LogFile
        from thetis_kernel.gateway.headless.hearing import place_of

        with contextlib.suppress(ThetisError):
            from thetis_kernel.cli.attach import place

            LogFile(place(arguments).daemon_log).write("error", "the daemon failed", error=place_of(error))
        _tell(ready, Ready(problem=f"The daemon failed ({type(error).__name__}).", hint="`thetis daemon logs` says where."))
        return CRASHED


async def _serve(arguments: argparse.Namespace, ready: int, again: bool) -> int:
    from thetis_kernel.cli.reach import locate
    from thetis_kernel.gateway.gateway import Gateway
    from thetis_kernel.gateway.headless import LogFile, Staying

    paths, loaded = locate(arguments)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (BACK_S if again else 0)
    while True:
        try:
            gateway = await Gateway.open(paths, loaded, unwalled=arguments.unwalled, holder="daemon")
            break
        except StoreLocked:
            if loop.time() >= deadline:
                raise
            await asyncio.sleep(0.2)
    staying = Staying(gateway, LogFile(paths.daemon_log))
    os.chdir("/")  # a daemon holds no directory
    _tell(ready, Ready(pid=os.getpid()))
    if arguments.kept:
        let_go()
    await staying.until_over()
    return 0


def let_go() -> None:
    """No terminal any more: what is read is empty, what is written goes nowhere; the log is the place for words."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _tell(ready: int, told: Ready) -> None:
    if ready < 0:
        return
    with contextlib.suppress(OSError):  # nobody waits any more
        os.write(ready, msgspec.json.encode(told) + b"\n")
        os.close(ready)
