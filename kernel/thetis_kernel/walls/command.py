"""What is asked of a wall and what comes back: plain values with the limits every command has.

    what                   default         at most
    time                   120 s           600 s
    output kept            256 KiB         8 MiB (half from the start, half from the end)
    output spilled         64 MiB          as given
    command text           100,000 bytes   (one argument of a program may have 128 KiB)
    one written file       4 GiB           as given (RLIMIT_FSIZE)
    threads                2048            as given
    core files             none
    /tmp in bubblewrap     256 MiB         as given (TMPDIR is on disk)
    memory                 not limited     as given (RLIMIT_AS); commands go first when memory ends
                            where control groups can be written: 3/4 of the machine's for a whole command (`cgroup`)

Must not know: how any of it is enforced.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from thetis_kernel.walls.toolchains import Toolchains

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
DEFAULT_OUTPUT_BYTES = 256 * 1024
MAX_OUTPUT_BYTES = 8 * 1024 * 1024
MAX_TEXT_BYTES = 100_000  # MAX_ARG_STRLEN is 131,072 (linux/binfmts.h)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds that seldom change, in bytes and counts. `memory_bytes` 0 means none (V8 and wasm reserve terabytes)."""

    file_bytes: int = 4 * 1024**3
    threads: int = 2048
    memory_bytes: int = 0
    spill_bytes: int = 64 * 1024**2
    tmp_bytes: int = 256 * 1024**2


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command line and its boundary. The boundary comes from the session's record, never from a model.

    `text` is given to bash (else sh) with -c. `cwd` must lie in a writable or readable root; when it is gone the first
    writable root is used. `writable`: directories, none inside another; `readable`: more of what may be read.
    `links`: (place, real path) of names for roots at the top of the view, where there is a view; elsewhere they are not there.
    `git_dirs`: repositories' own directories, read-only. The `.git` of each writable root is read-only by itself.
    `scratch`: a directory to keep HOME and TMPDIR in between commands (None: a fresh one, removed after).
    `spill`: a file to create for the whole output when it exceeds `output_bytes`; not in a writable root.
    `unwalled`: a person agreed to run without walls *where there are none*; where there are, they are used.
    """

    text: str
    cwd: Path
    writable: tuple[Path, ...]
    readable: tuple[Path, ...] = ()
    git_dirs: tuple[Path, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    toolchains: Toolchains = Toolchains()
    scratch: Path | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    output_bytes: int = DEFAULT_OUTPUT_BYTES
    spill: Path | None = None
    network: bool = False
    unwalled: bool = False
    limits: Limits = Limits()


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended.

    `exit_code` follows the shell: 128 + n after signal n, which `signal` repeats (0 when there was none).
    `output` is stdout and stderr in the order they were written. `total_bytes` counts what was written, also what
    was left out. `spill` is the file with more of it, or "". `leftover`: background processes that were ended with
    the command. `notes`: sentences for the agent (another cwd, too many processes, ...).
    """

    exit_code: int
    signal: int
    timed_out: bool
    cancelled: bool
    output: str
    truncated: bool
    total_bytes: int
    spill: str
    duration_ms: int
    leftover: int
    notes: tuple[str, ...]
