"""Which wall works here, found by trying it.

Owns the order (bubblewrap, Landlock, none), the search for the bubblewrap program, and the trial: a command runs in
the mechanism and must not be able to read a file outside. A kernel that only claims to confine is found out.
Must not know: who asked, or what is done when there is none.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from thetis_kernel.errors import WallError
from thetis_kernel.walls import bubblewrap, cgroup, install, landlock, scratch, seccomp
from thetis_kernel.walls.command import Command, Limits
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.tier import Tier

_FIXED = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
_TRIAL_MS = 10_000
_HELP_WITHIN_S = 5

_BUBBLEWRAP = (
    "Commands run inside bubblewrap: no network, no other process or file in sight, only the worktree and the workspace "
    "can be written."
)
_LANDLOCK = (
    "Commands run inside Landlock: no sockets, only the worktree and the workspace can be written, nothing private can "
    "be read; file names stay visible and modes and times of your files can be changed."
)
_NO_SCOPE = " This kernel (before 6.12) also lets them send signals to your processes."
_NO_FILTER = " System calls are not filtered on this processor."


@functools.lru_cache(maxsize=8)
def probe(search_path: str = "", exclude: tuple[Path, ...] = ()) -> Tier:
    """The best tier of this machine; tried once per process (about 0.1 s).

    bubblewrap is looked for in fixed system directories, then in the absolute entries of `search_path` (PATH's form)
    that lie in none of `exclude`, the repository and its worktrees: what an agent wrote must not become the wall.
    """
    first, why = find_bubblewrap(search_path, exclude)
    if first is not None:
        return with_groups(first)
    second, why_second = find_landlock()
    hint = why or install.here()
    if second is not None:
        return msgspec.structs.replace(with_groups(second), hint=hint)
    return Tier(name="none", sentence=f"There is no wall for commands here: {why_second}.", hint=hint)


def with_groups(tier: Tier, base: str | None = None) -> Tier:
    """The tier with limits on whole commands, where a trial shows that they can be set; else as it is.

    `base`: where groups are made, None to look for it.
    """
    place = cgroup.find() if base is None else base
    if not place:
        return tier
    cgroup.sweep(place)
    told = cgroup.sentence(cgroup.limits(place, Limits().threads, cgroup.memory_kib()))
    grouped = msgspec.structs.replace(tier, cgroup=place, sentence=tier.sentence + told)
    return tier if _trial(grouped) else grouped


def find_bubblewrap(search_path: str = "", exclude: tuple[Path, ...] = ()) -> tuple[Tier | None, str]:
    """The bubblewrap tier if it works, else None and what to do about it ("" when it is simply not installed)."""
    if sys.platform != "linux":
        return None, ""
    program = _program(search_path, exclude)
    if program is None:
        return None, ""
    options = _options(program)
    missing = sorted(bubblewrap.REQUIRED - options)
    if missing:
        return None, f"Upgrade bubblewrap: {program} does not know {', '.join(missing)}."
    machine = os.uname().machine
    tier = Tier(
        name="bubblewrap",
        sentence=_BUBBLEWRAP + ("" if seccomp.supported(machine) else _NO_FILTER),
        bwrap=program,
        options=options,
        landlock_abi=landlock.abi(),
        machine=machine,
    )
    trouble = _trial(tier)
    if trouble:
        return None, f"{program} is installed but cannot run here; allow unprivileged user namespaces. {trouble}"
    return tier, ""


def find_landlock() -> tuple[Tier | None, str]:
    """The Landlock tier if it works, else None and why not."""
    if sys.platform != "linux":
        return None, f"{sys.platform} has no mechanism Thetis can use"
    version = landlock.abi()
    machine = os.uname().machine
    if version < landlock.LOWEST_ABI:
        return None, f"the kernel's Landlock is {'off' if version == 0 else 'too old'} and bubblewrap does not run"
    if not seccomp.supported(machine):
        return None, f"Landlock alone leaves sockets open, and there is no filter for {machine}"
    tier = Tier(
        name="landlock",
        sentence=_LANDLOCK + ("" if version >= landlock.ABI_SCOPE else _NO_SCOPE),
        landlock_abi=version,
        machine=machine,
    )
    trouble = _trial(tier)
    return (None, trouble) if trouble else (tier, "")


def _program(search_path: str, exclude: tuple[Path, ...]) -> str | None:
    places = [entry for entry in search_path.split(":") if entry.startswith("/")]
    for place in (*_FIXED, *places):
        candidate = (Path(place) / "bwrap").resolve()
        outside = not any(candidate.is_relative_to(tree.resolve()) for tree in exclude)
        if outside and candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    return None


def _options(program: str) -> frozenset[str]:
    """The long options this version documents."""
    try:
        text = subprocess.run(
            [program, "--help"], env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_HELP_WITHIN_S
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(word for row in text.splitlines() for word in row.split()[:1] if word.startswith("--"))


def _trial(tier: Tier) -> str:
    """Empty if a command runs in the tier and does not see what is outside, else a sentence."""
    place = scratch.create()
    try:
        inside = place / "root"
        inside.mkdir()
        with tempfile.NamedTemporaryFile(dir=place) as outside:
            outside.write(b"outside")
            outside.flush()
            # $1 is not available to a command, so the name is part of it; mkdtemp and tempfile make plain names
            text = f"test -w . && ! cat '{outside.name}' 2>/dev/null"
            with Helpers() as helpers:
                trial = Command(text=text, cwd=inside, writable=(inside,), timeout_ms=_TRIAL_MS)
                result = Runner(tier, helpers).run(trial)
        if tier.cgroup and result.notes:
            return result.notes[0]
        if result.exit_code:
            return f"A trial ended with {result.exit_code}: {result.output.strip()[-200:]}"
    except WallError as error:
        return error.message
    finally:
        scratch.remove(place)
    return ""
