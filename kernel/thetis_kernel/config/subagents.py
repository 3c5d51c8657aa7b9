"""[subagents]: whether there are sub-agents, how many, what they may use, and the profiles they are begun with.

A child's mode is the narrower of its parent's and what is asked for: `narrower` is the whole of that rule. Must not know how
a child runs.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from thetis_kernel.config.modes import EVERY_EFFECT, Mode

NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


class ProfileTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[subagents.profiles.NAME]: a kind of sub-agent. `mode` and `model` "" are the parent's; `prompt` is its part of the
    child's system prompt."""

    label: str = ""
    description: str = ""
    mode: str = ""
    model: str = ""
    prompt: str = ""


BUILTIN = {
    "explore": ProfileTable(
        label="Explore",
        description="Read-only: finds out and answers with places. For questions about the code, several side by side.",
        mode="plan",
        prompt=(
            "You find things out for another agent. Search widely, read what matters, and answer with what you saw: places as "
            "path:line, short quotations, and what you did not find. You change nothing and you write no plan."
        ),
    ),
    "review": ProfileTable(
        label="Review",
        description="Read-only: looks for what is wrong in a change or a part, and says how it knows.",
        mode="plan",
        prompt=(
            "You review work of another agent. Look for what is wrong: cases that fail, callers that break, tests that prove "
            "nothing. Say for each finding where, why, and how sure you are. No praise, no style remarks nobody asked for."
        ),
    ),
    "work": ProfileTable(
        label="Work",
        description="May do what the parent may: carries out one bounded piece of the work, in the same checkout.",
        prompt=(
            "You carry out one piece of another agent's work, in the checkout it and perhaps others work in at the same time. "
            "Change only the files your brief names; when you need others, say so instead."
        ),
    ),
}


class Subagents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[subagents]. `max_children` live at a time. `max_steps`: model calls of a conversation and all its sub-agents since the
    person last spoke; the other limits of that purse are those of [agent]. `max_child_tokens`: of one sub-agent.
    `max_wait_seconds`: one sleep of a parent. `max_result_bytes`: of an answer. `stale_minutes`: without a sign of life."""

    enabled: bool = True
    max_children: Annotated[int, Meta(ge=1, le=64)] = 8
    max_steps: Annotated[int, Meta(ge=1, le=1_000_000)] = 400
    max_child_tokens: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 1_000_000
    max_wait_seconds: Annotated[int, Meta(ge=1, le=21_600)] = 1_800
    max_result_bytes: Annotated[int, Meta(ge=1024, le=1 << 20)] = 24_576
    stale_minutes: Annotated[float, Meta(gt=0, le=1440)] = 10.0
    profiles: dict[str, ProfileTable] = {}

    def __post_init__(self) -> None:
        for name in self.profiles:
            if not NAME.fullmatch(name):
                raise ValueError(f"{name[:40]!r} is no profile's name: up to 32 lower-case letters, digits and dashes")

    def all(self) -> dict[str, ProfileTable]:
        """Every profile by name; the person's own in the place of a built-in one of that name."""
        return {**BUILTIN, **self.profiles}


def narrower(parent: Mode, wanted: Mode) -> Mode:
    """What a child may do: nothing its parent may not, and nothing without asking about which the parent has to ask."""
    if wanted.read_only:
        return wanted
    if parent.read_only:
        return parent
    ask = tuple(effect for effect in EVERY_EFFECT if effect in parent.ask or effect in wanted.ask)
    return msgspec.structs.replace(wanted, ask=ask)
