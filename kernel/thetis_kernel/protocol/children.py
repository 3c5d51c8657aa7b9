"""Sub-agents as the gateway tells of them: one line a child, and what the whole tree has spent of its one purse.

Must not know how a child runs.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import msgspec

from thetis_kernel.protocol.spending import ZERO
from thetis_kernel.protocol.wire import Ask

ChildState = Literal["running", "done", "failed", "cancelled"]
"""done: its turn ended by itself with an answer. failed: a limit, an error, a restart or no answer. cancelled: it was stopped."""
SETTLED = ("done", "failed", "cancelled")


class ChildLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One child. `last`: the tool it called last, with what is short of its arguments. Times: `started_ms` and `ended_ms` are
    wall clock, for display; `elapsed_ms` is as of now. `stale`: it runs and nothing has happened for a long time.

    `result`: its last words, the answer when it is done and partial work otherwise, perhaps cut; `detail`: why it ended so.
    `files`: what it wrote, paths of the checkout.
    """

    child: str
    label: str
    state: ChildState
    last: str = ""
    started_ms: int = 0
    ended_ms: int = 0
    elapsed_ms: int = 0
    steps: int = 0
    tokens: int = 0
    cost: Decimal = ZERO
    unpriced: int = 0
    mode: str = ""
    model: str = ""
    profile: str = ""
    stale: bool = False
    result: str = ""
    detail: str = ""
    files: list[str] = []


class Purse(msgspec.Struct, frozen=True):
    """What a conversation and its sub-agents have used together since a person last spoke. `reached`: the sentence about the
    limit that is reached, "" when none is."""

    tokens: int = 0
    cost: Decimal = ZERO
    steps: int = 0
    elapsed_ms: int = 0
    reached: str = ""


class ListChildren(Ask[list[ChildLine]], frozen=True, tag="client.children"):
    """The sub-agents of a conversation, oldest first, their answers included."""

    session: str


class StopChild(Ask[bool], frozen=True, tag="client.stop-child"):
    """A person stops one sub-agent; False when it has settled already."""

    session: str
    child: str


CHILD_ASKS = (ListChildren, StopChild)
