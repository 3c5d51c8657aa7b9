"""The public branch: what mirrors a trunk without what is private. What a person asks, and what the git host is asked.

Never offered over a bridge.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.wire import Ask

Guard = Literal["set", "there", "foreign", "elsewhere", "removed", "none"]
"""set: the guard was put there. there: it was already. foreign: a hook that is not ours is left alone. elsewhere: git is told to
look for hooks in another place. removed, none: it is not there any more, or was not."""


class Published(msgspec.Struct, frozen=True):
    """`branch` mirrors `trunk` now. `commits` of it, of which `made` are new; `hidden`: private directories (at most 50 of
    `hidden_total`), `left_out`: local files that were left out of the newest commit. `remade`: what was public before is not part
    of it any more. `tip` "" when nothing of the trunk is public."""

    trunk: str
    branch: str
    tip: str
    commits: int = 0
    made: int = 0
    hidden: list[str] = []
    hidden_total: int = 0
    left_out: list[str] = []
    remade: bool = False


class Guarded(msgspec.Struct, frozen=True):
    """What became of the guard; `hook` is where it is, or what is in its place."""

    how: Guard
    hook: str


class Publish(Ask[Published], frozen=True, tag="client.publish"):
    """Bring the public branch up to the trunk. `remake`: also when it mirrors something else until now."""

    remake: bool = False


class SetGuard(Ask[Guarded], frozen=True, tag="client.publish-guard"):
    """Put a hook there that lets nothing but the public branch be pushed, or take it away."""

    wanted: bool


class PublishTrunk(Ask[Published], frozen=True, tag="git.publish"):
    """Mirror the branch checked out in `root`. RepoError: `detached`, `all-private`, `not-ours`, `checked-out-elsewhere`."""

    root: str
    remake: bool = False


class GuardPushes(Ask[Guarded], frozen=True, tag="git.publish-guard"):
    """Put the hook there, or take it away; another's is left alone."""

    root: str
    wanted: bool
