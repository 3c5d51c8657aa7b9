"""A program of ours that reads a tree an agent writes: what it may see is that tree and the machine's programs.

A search walks directories and opens what it finds by name. Whoever swaps a file for a link between the look and the open
would send it elsewhere, so it gets a view in which elsewhere does not exist. Owns that view for each tier.
Must not know: what is searched for, or who asked.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from thetis_kernel.walls import landlock, libc, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # `become` runs in an interpreter without site packages
    from collections.abc import Sequence

    from thetis_kernel.walls.tier import Tier

_KERNEL = str(Path(__file__).resolve().parents[2])
_START = "import sys; sys.path.insert(0, sys.argv[1]); from thetis_kernel.walls import reading; reading.become(sys.argv[2:])"


def argv(tier: Tier, base: Path, program: Sequence[str]) -> list[str]:
    """The command line that runs `program` (absolute path first) so that it can read `base` and write nothing.

    Without walls it is `program` itself: commands then read everything anyway, a person having agreed.
    """
    if tier.name == "bubblewrap":
        words = [tier.bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--dev", "/dev"]
        for directory in system.DIRECTORIES:
            place = Path(directory)
            if place.is_symlink():
                words += ["--symlink", str(place.readlink()), directory]
            elif place.is_dir():
                words += ["--ro-bind", directory, directory]
        words += ["--ro-bind", program[0], program[0], "--ro-bind", str(base), str(base), "--chdir", str(base)]
        return [*words, "--", *program]
    if tier.name == "landlock":
        return [sys.executable, "-I", "-S", "-c", _START, _KERNEL, str(tier.landlock_abi), str(base), *program]
    return list(program)


def become(words: list[str]) -> None:
    """In a fresh interpreter: [Landlock's version, base, program, arguments ...]. Confine this process, then be the program."""
    version, base, *program = words
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    landlock.confine(int(version), read=[*system.DIRECTORIES, base, program[0]], write=[], devices=["/dev/null"], tcp=False)
    os.chdir(base)
    os.execve(program[0], program, dict(os.environ))
