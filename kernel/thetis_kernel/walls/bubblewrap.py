"""The bubblewrap command line for a boundary: a pure function, so that every word of it can be tested.

Owns the view a command gets. It starts from an empty root: programs and libraries read-only, copies of a few files of
/etc (a mount each would be a third of a short command's time), fresh /proc, /dev and /tmp, then exactly the roots of the
boundary at their own paths. Nothing of /, of a home, of /run or /var is there, so neither are sockets. All namespaces are
new: no network, no other process in sight, and when the first process of the new one ends the kernel ends all others.
Must not know: why a path is in the boundary.
"""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.walls import system
from thetis_kernel.walls.enter import BWRAP_STATUS_FD, COUNT_FD, FILES_FD, SECCOMP_FD, SETTLE_S
from thetis_kernel.walls.roots import Boundary
from thetis_kernel.walls.tier import Tier

#: Options without which there is no wall; the others are used where the installed version has them.
REQUIRED = frozenset(
    {"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "--seccomp"}
    | {"--json-status-fd", "--remount-ro", "--ro-bind", "--tmpfs", "--share-net", "--file"}
)
_SHARED_MEMORY_BYTES = 64 * 1024**2  # what container engines give

#: Runs the command and counts who is still there afterwards, for the note about background processes. Two are
#: always there: bubblewrap's init and this shell.
_COUNTING = (
    f'"$0" -c -- "$1" {COUNT_FD}>&-; c=$?; set -- /proc/[0-9]*; '
    f"if [ $# -gt 2 ]; then sleep {SETTLE_S}; set -- /proc/[0-9]*; fi; "
    f"echo $(($#-2)) >&{COUNT_FD}; exit $c"
)


def argv(
    tier: Tier,
    boundary: Boundary,
    scratch: Path,
    text: str,
    *,
    network: bool,
    filtered: bool,
    tmp_bytes: int,
    copied: list[tuple[str, str]],
    bound: list[tuple[str, str]],
    program: list[str] | None = None,
) -> list[str]:
    """The whole command line. `filtered`: a seccomp filter is waiting on SECCOMP_FD.

    `copied`, `bound`: of the machine's own configuration, as (real path, path inside); the former are waiting, open, on
    FILES_FD and the numbers after it.

    `program` runs in place of the shell with `text`, and keeps the session it was given: its terminal is a pty of its
    own, made for it, so there is nothing outside to type into.
    """
    words = [tier.bwrap, "--unshare-all", "--unshare-user", "--die-with-parent"]
    words += [] if program else ["--new-session"]
    words += ["--share-net"] if network else []
    words += ["--disable-userns"] if "--disable-userns" in tier.options else []
    words += ["--cap-drop", "ALL", "--json-status-fd", str(BWRAP_STATUS_FD)]
    words += ["--seccomp", str(SECCOMP_FD)] if filtered else []
    words += _system(tier, copied, bound)
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += [*_tmpfs(tier, "/dev/shm", _SHARED_MEMORY_BYTES), "--remount-ro", "/dev"]
    words += [*_tmpfs(tier, "/tmp", tmp_bytes), "--symlink", "../tmp", "/var/tmp"]
    words += _links(boundary)
    words += _roots(boundary, scratch)
    words += ["--remount-ro", "/", "--chdir", str(boundary.cwd)]
    return [*words, "--", *(program or ["/bin/sh", "-c", _COUNTING, system.shell(), text])]


def _system(tier: Tier, copied: list[tuple[str, str]], bound: list[tuple[str, str]]) -> list[str]:
    words: list[str] = []
    for directory in system.DIRECTORIES:
        path = Path(directory)
        if path.is_symlink():  # /bin -> usr/bin
            words += ["--symlink", str(path.readlink()), directory]
        elif path.is_dir():
            words += ["--ro-bind", directory, directory]
    for real, name in bound:
        words += ["--ro-bind", real, name]
    for place, (_, name) in enumerate(copied):
        words += ["--perms", "0444"] if "--perms" in tier.options else []
        words += ["--file", str(FILES_FD + place), name]
    return words


def _tmpfs(tier: Tier, where: str, size: int) -> list[str]:
    words = ["--perms", "1777"] if "--perms" in tier.options else []
    words += ["--size", str(size)] if "--size" in tier.options else []
    return [*words, "--tmpfs", where]


def _links(boundary: Boundary) -> list[str]:
    """Before the roots, which are real and so are never behind one of them; the view's own links stay as they are."""
    words: list[str] = []
    for place, text in boundary.links:
        if place not in ("/tmp", "/var/tmp") and not place.startswith(("/proc/", "/dev/")):
            words += ["--symlink", text, place]
    return words


def _roots(boundary: Boundary, scratch: Path) -> list[str]:
    """Outer directories first, so that a root inside another one is not hidden by it; `.git` last of all."""
    binds = [(path, "--ro-bind") for path in boundary.readable]
    binds += [(path, "--bind") for path in (scratch, *boundary.writable)]
    words: list[str] = []
    for path, option in sorted(binds, key=lambda bind: len(bind[0].parts)):
        words += [option, str(path), str(path)]
    for path in boundary.git:
        words += ["--ro-bind", str(path), str(path)]
    return words
