"""What the gate's process may use in all, as the last line behind the limits of each guest call."""

from __future__ import annotations

import os
import resource
import sys

CPU_S = 30
"""Seconds of processor time. The bench stops a candidate at 20 s; the rest is start-up and what cannot be interrupted."""
DATA_MIB = 1536
"""Private writable memory (measured: 90 MiB for the shipped agent, 530 MiB for 4 MiB of the densest source)."""
ADDRESS_SPACE_GIB = 32
"""wasmtime reserves 4 GiB and guard pages for each linear memory without using them (measured: 4.7 GiB with one store)."""
FILES = 64
FILE_SIZE = 16 << 20
"""Bytes. The gate writes no file, but a guest's captured output lies in memory files, which count."""


def confine() -> None:
    """Lower this process's limits for good. What a system does not have is left out; crossing one ends the process."""
    linux = os.uname().sysname == "Linux"
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
