"""Looking after a root: its log checked, what old conversations may give back, a conversation fit to be shown to others."""

from __future__ import annotations

import msgspec

from thetis_kernel.protocol.events import Event
from thetis_kernel.protocol.wire import Ask


class StoreReport(msgspec.Struct, frozen=True):
    """`damaged`: a sentence for each conversation whose chain does not verify. `orphans`: what is on disk for conversations that
    are no more, a sentence each."""

    sqlite: str
    conversations: int
    events: int
    damaged: list[str] = []
    orphans: list[str] = []


class OldLine(msgspec.Struct, frozen=True):
    """What one conversation keeps on disk that could go: `spill` bytes of long outputs, `worktree` bytes; `log`: it is archived,
    so that the whole of it could. `why`: a clause that says why nothing of it goes, "" when it may."""

    session: str
    title: str
    updated_ms: int
    spill: int = 0
    worktree: int = 0
    log: bool = False
    why: str = ""


class CleanPage(msgspec.Struct, frozen=True):
    """Events without secrets and without anything of the registry of machines; at the end of the log there is none."""

    events: list[Event]


class CheckStore(Ask[StoreReport], frozen=True, tag="client.check-store"):
    """Verify every conversation's chain and look for what nobody owns."""


class ListOld(Ask[list[OldLine]], frozen=True, tag="client.list-old"):
    """Conversations nobody wrote to for `days`, the oldest first, and what each keeps on disk."""

    days: int


class PruneOld(Ask[list[OldLine]], frozen=True, tag="client.prune-old"):
    """Remove what they need not keep: long outputs, worktrees that hold nothing; with `logs`, archived conversations whole.

    An open conversation keeps all of it. What went is the answer.
    """

    days: int
    logs: bool = False


class ReadClean(Ask[CleanPage], frozen=True, tag="client.read-clean"):
    """Events with seq > `after`, as they may be shown to others."""

    session: str
    after: int = 0
    limit: int = 500


CARE_ASKS = (CheckStore, ListOld, PruneOld, ReadClean)
