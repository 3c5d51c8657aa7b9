"""What the runner tells the helper process: one line of JSON, built here and nowhere else.

Owns the translation of a tier, a checked boundary and a command into the helper's orders.
Must not know how they are carried out (`enter`).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from thetis_kernel.errors import WallError
from thetis_kernel.walls import bubblewrap, cgroup, environment, landlock, seccomp, system
from thetis_kernel.walls.command import MAX_TIMEOUT_MS, Command
from thetis_kernel.walls.roots import Boundary
from thetis_kernel.walls.tier import Tier

UNLIMITED = "It runs without its limits on memory and processes: {}."
"""What is told where a tier promised them (`cgroup`)."""


class Sockets(msgspec.Struct, frozen=True):
    """What the filter lets through (`seccomp.program`)."""

    unix: bool
    inet: bool
    system_v: bool


class Paths(msgspec.Struct, frozen=True):
    """What Landlock lets through (`landlock.confine`)."""

    read: list[str]
    write: list[str]
    devices: list[str]
    terminals: list[str]
    tcp: bool


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The helper's orders. `cwd` "" means bubblewrap goes there itself; `remove` is a directory to remove if the
    worker dies; `files` are opened for bubblewrap; `cgroup` is a group to make, with what is
    written into it; exactly one of `bubblewrap`, `landlock` is set, neither when there are
    no walls."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    timeout_ms: int
    file_bytes: int
    memory_bytes: int
    threads: int
    bubblewrap: bool
    files: list[str]
    landlock_abi: int
    landlock: Paths | None
    seccomp: Sockets | None
    cgroup: str
    cgroup_files: dict[str, str]
    remove: str

    def line(self) -> bytes:
        """The JSON with its end of line. Raises WallError for a path that is not UTF-8."""
        try:
            return msgspec.json.encode(self) + b"\n"
        except UnicodeEncodeError as error:
            name = error.object.encode("utf-8", "backslashreplace").decode()
            raise WallError(f"{name} cannot be part of a wall: it is not UTF-8.", code="walls-boundary") from error


def build(tier: Tier, command: Command, boundary: Boundary, scratch: Path, program: list[str] | None = None) -> Policy:
    """Orders for `command` in `tier`; scratch is removed by the helper only if it is not the caller's.

    `program`: run this on a terminal in place of the command's text.
    """
    walled = tier.name != "none"
    inside = tier.name == "bubblewrap"
    filtered = walled and seccomp.supported(tier.machine)
    visible = (*boundary.writable, *boundary.readable) if walled else None
    argv = program or [system.shell(), "-c", "--", command.text]
    copied: list[tuple[str, str]] = []
    if inside:
        found = system.etc(command.network)
        copied = [one for one in found if system.is_copied(one[0])]
        argv = bubblewrap.argv(
            tier,
            boundary,
            scratch,
            command.text,
            network=command.network,
            filtered=filtered,
            tmp_bytes=command.limits.tmp_bytes,
            copied=copied,
            bound=[one for one in found if one not in copied],
            program=program,
        )
    return Policy(
        argv=argv,
        env=environment.build(command.toolchains, scratch, visible),
        cwd="" if inside else str(boundary.cwd),
        timeout_ms=max(1, min(command.timeout_ms, MAX_TIMEOUT_MS)),
        file_bytes=command.limits.file_bytes,
        memory_bytes=command.limits.memory_bytes,
        threads=command.limits.threads,
        bubblewrap=inside,
        files=[real for real, _ in copied],
        landlock_abi=tier.landlock_abi,
        landlock=_paths(boundary, scratch, command.network, program) if tier.name == "landlock" else None,
        seccomp=_sockets(tier, command.network) if filtered else None,
        cgroup=cgroup.fresh(tier.cgroup) if tier.cgroup else "",
        cgroup_files=cgroup.limits(tier.cgroup, command.limits.threads, cgroup.memory_kib()) if tier.cgroup else {},
        remove="" if command.scratch else str(scratch),
    )


def _sockets(tier: Tier, network: bool) -> Sockets:
    """In bubblewrap sockets reach nothing but the namespace, unless the network is shared: then abstract ones are
    cut by Landlock's scope, or refused. Landlock hides no named socket, so there none is allowed."""
    if tier.name == "bubblewrap":
        return Sockets(unix=not network or tier.landlock_abi >= landlock.ABI_SCOPE, inet=True, system_v=True)
    return Sockets(unix=False, inet=network, system_v=False)


def _paths(boundary: Boundary, scratch: Path, network: bool, program: list[str] | None) -> Paths:
    machine = [*system.DIRECTORIES, *system.PROC, *(real for real, _ in system.etc(network))]
    return Paths(
        read=machine + [str(path) for path in boundary.readable],
        write=[str(path) for path in (scratch, *boundary.writable)],
        devices=list(system.DEVICES),
        terminals=list(system.OWN_TERMINAL if program else ()),
        tcp=network,
    )
