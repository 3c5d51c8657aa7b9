"""Which wall this machine has: a value, found by `probe` and used by `runner`."""

from __future__ import annotations

from typing import Literal

import msgspec

TierName = Literal["bubblewrap", "landlock", "none"]


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """A mechanism that was tried and works (or "none").

    `sentence` says in one sentence what it promises, `hint` how to get a better one ("" when this is the best),
    `bwrap` the absolute path of the program, `options` the long options that program knows, `landlock_abi` and
    `machine` (as uname says) what the kernel offers. `cgroup`: where groups with limits can be made (`cgroup.find`), or "".
    """

    name: TierName
    sentence: str
    hint: str = ""
    bwrap: str = ""
    options: frozenset[str] = frozenset()
    landlock_abi: int = 0
    machine: str = ""
    cgroup: str = ""
