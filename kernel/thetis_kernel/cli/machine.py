"""What doctor says of the machine: versions, environment, walls, the gate's programs, the runtimes, state of other roots.

Opens no root. Must not know how findings are printed.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from thetis_kernel import __version__
from thetis_kernel.cli.disk import size
from thetis_kernel.cli.findings import Finding
from thetis_kernel.errors import ThetisError
from thetis_kernel.paths import runtimes_dir, state_home

LOW_DISK = 1 << 30
"""Free bytes below which doctor says so."""
LIBRARIES = ("apsw", "wasmtime", "pygit2", "textual")
OPTIONAL = (("anthropic", "models of the Messages API"), ("asyncssh", "shells on other machines"), ("discord.py", "Discord"))
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"})
"""File systems on which SQLite's write-ahead log is not safe: its shared memory is one machine's (sqlite.org/wal.html)."""


def machine(environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Everything that is not one root's."""
    return [*_versions(), *_environment(environ), *_walls(), *_gate(), *_runtimes(), *_elsewhere()]


def _versions() -> Iterator[Finding]:
    yield Finding("version", "ok", f"thetis {__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield Finding("python", "ok" if sys.version_info >= (3, 11) else "error", f"Python {platform.python_version()}",
                  "Thetis needs Python 3.11 or later.")
    yield Finding("libraries", "ok", ", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    there = []
    for name, what in OPTIONAL:
        try:
            there.append(f"{name} {version(name)} ({what})")
        except PackageNotFoundError:
            there.append(f"no {name} ({what})")
    yield Finding("optional", "ok", ", ".join(there))


def _environment(environ: Mapping[str, str]) -> Iterator[Finding]:
    home = Path(environ.get("HOME") or Path.home())
    writable = os.access(_existing(state_home(environ)), os.W_OK)
    yield Finding("state", "ok" if writable else "error", f"{state_home(environ)}{'' if writable else ' cannot be written'}",
                  f"It has to belong to you; THETIS_STATE names another place. Home is {home}.")
    kind = file_system(state_home(environ))
    if kind in NETWORK:
        yield Finding("state", "error", f"{state_home(environ)} is on {kind}, where SQLite's log can be lost.",
                      "Set THETIS_STATE to a directory of a local disk.")
    for place in dict.fromkeys((_existing(state_home(environ)), _existing(runtimes_dir(environ)))):
        free = shutil.disk_usage(place).free
        yield Finding("disk", "ok" if free > LOW_DISK else "warn", f"{size(free)} free at {place}",
                      "Free some space: `thetis disk` says what is kept.")
    encoding = sys.getfilesystemencoding()
    yield Finding("locale", "ok" if encoding.lower() == "utf-8" else "warn", f"file names are {encoding}", "Set LANG=C.UTF-8.")
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime and not Path(runtime).is_dir():
        yield Finding("runtime", "warn", f"XDG_RUNTIME_DIR names {runtime}, which is not there; /tmp is used.",
                      "Log in with a session, or unset it.")
    program = shutil.which("git", path=environ.get("PATH", ""))
    yield Finding("git", "ok" if program else "warn", program or "no git program", "Agents' commands will want it.")


def _walls() -> Iterator[Finding]:
    from thetis_kernel.walls.probe import probe

    tier = probe(os.environ.get("PATH", ""))
    yield Finding("walls", "error" if tier.name == "none" else "ok", f"{tier.name}: {tier.sentence}", tier.hint)


def _gate() -> Iterator[Finding]:
    from thetis_kernel.forge.checkers import PROGRAMS, program

    for name in PROGRAMS:
        try:
            yield Finding("gate", "ok", f"{name} {version(name)}: {program(name)}")
        except (ThetisError, PackageNotFoundError):
            yield Finding("gate", "error", f"{name} is missing, so no guest passes the gate.", "Install Thetis again.")


def _runtimes() -> Iterator[Finding]:
    from thetis_kernel.wasm.runtimes import WORLDS, seal

    for world in WORLDS:
        try:
            os.close(seal(world))
            yield Finding("runtime", "ok", f"{world}: built")
        except ThetisError as error:
            yield Finding("runtime", "warn", f"{world}: {error.message}", error.hint or "Run `thetis setup`.")


def _elsewhere() -> Iterator[Finding]:
    """State of roots that are not where they were."""
    from thetis_kernel.gateway.care.checking import size_of

    try:
        places = sorted((state_home() / "roots").iterdir())
    except OSError:
        return
    for place in places:
        try:
            root = Path((place / "root").read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n"))
        except OSError:
            continue  # of a version that wrote none
        if root.is_absolute() and not root.exists():
            yield Finding("orphan", "warn", f"{place} is the state of {root}, which is gone ({size(size_of(place))}).",
                          "Move the repository back to go on with its conversations, or remove that directory.")


def file_system(path: os.PathLike[str]) -> str:
    """The kind of file system a path is or would be on, "" where that cannot be told."""
    there = os.path.realpath(_existing(path))
    best, kind = "", ""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
            for line in mounts:
                _, where, what, *_ = line.split(" ")
                where = where.replace("\\040", " ")
                if (there == where or there.startswith(where.rstrip("/") + "/")) and len(where) >= len(best):
                    best, kind = where, what
    except OSError:
        return ""
    return kind


def _existing(path: os.PathLike[str]) -> str:
    where = os.fspath(path)
    while not os.path.exists(where):
        where = os.path.dirname(where)
    return where
