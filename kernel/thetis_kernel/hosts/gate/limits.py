"""What the gate's process may use and reach in all, as the last line behind the limits of each guest call.

The checkers the gate starts inherit all of it: no sockets, nothing written but below one directory, nothing read but
programs, libraries and Thetis itself. Where a system has no mechanism for one of these, the others still hold.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import sysconfig
from pathlib import Path

from thetis_kernel import paths
from thetis_kernel.errors import GateError
from thetis_kernel.forge import checkers
from thetis_kernel.walls import landlock, libc, seccomp, system

CPU_S = 30
"""Seconds of processor time. The bench stops a candidate at 20 s; the rest is start-up and what cannot be interrupted."""
DATA_MIB = 1536
"""Private writable memory (measured: 90 MiB for the shipped agent, 530 MiB for 4 MiB of the densest source)."""
ADDRESS_SPACE_GIB = 32
"""wasmtime reserves 4 GiB and guard pages for each linear memory without using them (measured: 4.7 GiB with one store)."""
FILES = 64
FILE_SIZE = 16 << 20
"""Bytes. The gate writes no file, but a guest's captured output lies in memory files, which count."""


def confine(scratch: Path | None = None) -> None:
    """Lower this process's limits for good, and wall it in: `scratch` is the one directory it may write to (None: nowhere).

    To be called by the main thread while there is no other that matters: the walls are those of the calling thread and of
    what it starts. Raises OSError when the system has a mechanism that does not take hold.
    """
    linux = os.uname().sysname == "Linux"
    _limit(linux)
    if linux:
        _wall_in(scratch)


def readable() -> list[str]:
    """What the gate and its checkers read: the machine's programs and libraries, Python, Thetis."""
    python = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()]
    ours = [str(Path(__file__).parents[2]), *(str(paths.builtin_root() / name) for name in ("guest", "aspects"))]
    kernel = ["/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/sys/fs/cgroup", "/sys/devices/system/cpu"]
    for name in checkers.PROGRAMS:
        with contextlib.suppress(GateError):  # said by the step that needs it
            ours.append(checkers.program(name))
    return [*system.DIRECTORIES, "/etc/ld.so.cache", "/etc/localtime", *kernel, *(p for p in sys.path if p), *python, *ours]


def _wall_in(scratch: Path | None) -> None:
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    version = landlock.abi()
    if version >= landlock.LOWEST_ABI:
        writable = [str(scratch)] if scratch is not None else []
        landlock.confine(version, read=readable(), write=writable, devices=["/dev/null", "/dev/urandom"], tcp=False)
    machine = os.uname().machine
    if seccomp.supported(machine):
        seccomp.install(seccomp.program(machine, unix=False, inet=False, system_v=False))


def _limit(linux: bool) -> None:
    limits = [
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_AS, ADDRESS_SPACE_GIB << 30),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_CORE, 0),
    ]
    if linux:
        limits.append((resource.RLIMIT_DATA, DATA_MIB << 20))
    for which, wanted in limits:
        _, hard = resource.getrlimit(which)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(which, (value, value))
        except (OSError, ValueError) as exc:
            if linux:
                raise
            sys.stderr.write(f"a limit of the gate's process could not be set: {exc}\n")
