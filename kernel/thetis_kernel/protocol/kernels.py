"""A conversation's kernel: the `kernel/` of its own branch, which runs its worker once a person has approved that tree."""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.git import Changed
from thetis_kernel.protocol.wire import Ask


class KernelState(msgspec.Struct, frozen=True):
    """`how`: off (`why` says what keeps it), same (the branch has the kernel that runs), waiting (for a person), approved, or
    abandoned (it died early, or did not start). `tree`: the id of the branch's kernel tree; `changed`: against the trunk's."""

    how: Literal["off", "same", "waiting", "approved", "abandoned"]
    tree: str = ""
    why: str = ""
    changed: list[Changed] = []


class LookAtKernel(Ask[KernelState], frozen=True, tag="client.kernel"):
    """How it stands with the kernel of a conversation's branch."""

    session: str


class ApproveKernel(Ask[KernelState], frozen=True, tag="client.approve-kernel"):
    """Run this conversation's worker with exactly this tree from now on; `tree` "" takes an approval back."""

    session: str
    tree: str


class TreeOf(Ask[str], frozen=True, tag="git.tree-of"):
    """The id of the tree at `directory` in `commit` (or a branch); "" when there is none."""

    root: str
    commit: str
    directory: str


class Export(Ask[str], frozen=True, tag="git.export"):
    """Write `directory` of `commit` (or a branch) below `into`, under the name of its tree; the tree's id."""

    root: str
    commit: str
    directory: str
    into: str


KERNEL_GIT_ASKS = (TreeOf, Export)
