"""Every setting, typed, with its default. The tables of `thetis.toml` are the structs here, the keys their fields.

`USER_ONLY` names what a root's own files may not say unless the person trusts them: whatever loosens a boundary, spends
money, sends data elsewhere or runs something.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from thetis_kernel.config.discord import Discord
from thetis_kernel.config.modes import Effect, ModeTable
from thetis_kernel.config.subagents import Subagents
from thetis_kernel.config.worktree import Worktree
from thetis_kernel.protocol.models import ModelEntry, Provider

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Minutes = Annotated[float, Meta(gt=0, le=1440)]


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[agent]: how a turn is started and when it ends by itself. The limits of a conversation and those in dollars are off
    (None) until a person sets them."""

    default_mode: str = "agent"
    max_iterations: Count = 60
    max_tokens: Count = 2_000_000
    max_minutes: Minutes = 60.0
    max_dollars: Decimal | None = None
    max_conversation_tokens: Count | None = None
    max_conversation_dollars: Decimal | None = None

    def __post_init__(self) -> None:
        for limit in (self.max_dollars, self.max_conversation_dollars):
            if limit is not None and not (limit.is_finite() and limit > 0):
                raise ValueError(f"A limit in dollars is more than 0, not {limit}")


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[model]: which model new conversations use; "" is the first one available. `fallback` is asked once when it cannot.
    `by_mode`: models by the name of a mode, which answer while a conversation is in it."""

    default: str = ""
    fallback: str = ""
    by_mode: dict[str, str] = {}


class Walls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[walls]: how commands are confined. `unwalled` allows running them without walls where there are none."""

    unwalled: bool = False
    network: bool = False
    readable: list[str] = []
    command_timeout_ms: Annotated[int, Meta(ge=100, le=600_000)] = 120_000


class Files(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[files]: `readable_secrets` are globs of files for secrets (`.env`, keys) that file tools may read all the same."""

    readable_secrets: list[str] = []


class Approvals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[approvals]: `ask` are the effects a person is asked about in every mode. A call that got no answer for `wait_minutes` is
    given back to the agent; the request stays open."""

    ask: list[Effect] = []
    wait_minutes: Minutes = 30.0


class Worker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[worker]: how long an idle conversation keeps its process."""

    idle_minutes: Minutes = 15.0


class Dependencies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[dependencies]: where packages of guests come from. `index`: the address of a package index; "" is what pip is set to."""

    index: str = ""


Percent = Annotated[int, Meta(ge=1, le=100)]


class Context(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[context]: when a conversation is summed up. Above `threshold_percent` of the model's window its middle is, the oldest
    first, until `target_percent` is reached; the first `keep_head` and the last `keep_tail` messages stay as they are.

    `summary_model`: who writes the summary, "" for the conversation's own model.
    """

    enabled: bool = True
    threshold_percent: Percent = 60
    target_percent: Percent = 25
    keep_head: Annotated[int, Meta(ge=0, le=1_000)] = 4
    keep_tail: Annotated[int, Meta(ge=0, le=1_000)] = 30
    summary_model: str = ""


class ToolGroups(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[tool_groups]: whether a conversation is offered only the groups of tools it seems to need, and which it always has.

    `thetis usage --tools` says from the log whether that pays here.
    """

    grouping: bool = False
    always_on: list[str] = []


class Paths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[paths]: `skills` are more directories of skills. In the person's own file they are absolute or begin with `~`; in a
    root's file they are inside the root, and count once it is trusted, as everything it brings does (gateway/trust).

    `data`, `artifacts`, `worktrees`, `workspace`: where that part of a root's state lies, by the same rule; "" is the person's
    state directory (gateway/placing.py).
    """

    skills: list[str] = []
    data: str = ""
    artifacts: str = ""
    worktrees: str = ""
    workspace: str = ""


class Screen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[screen]: how it looks and how it calls. `theme`: dark, light, of high contrast, or the terminal's own colours.

    `notices`, for who looks elsewhere: all (the window's title, a bell, the terminal's own notices), bell, title, off.
    `keys`: keys by the name of a command, comma separated, "none" for no key; the screen says which of them it cannot use.
    """

    theme: Literal["thetis-dark", "thetis-light", "thetis-contrast", "thetis-ansi"] = "thetis-dark"
    notices: Literal["all", "bell", "title", "off"] = "all"
    keys: dict[str, str] = {}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. `tools` holds one table a tool guest, handed to that tool alone; `providers` and `models`: see there."""

    agent: Agent = Agent()
    model: Model = Model()
    walls: Walls = Walls()
    worker: Worker = Worker()
    worktree: Worktree = Worktree()
    paths: Paths = Paths()
    subagents: Subagents = Subagents()
    files: Files = Files()
    approvals: Approvals = Approvals()
    context: Context = Context()
    tool_groups: ToolGroups = ToolGroups()
    dependencies: Dependencies = Dependencies()
    screen: Screen = Screen()
    discord: Discord = Discord()
    modes: dict[str, ModeTable] = {}
    tools: dict[str, dict[str, Any]] = {}
    providers: list[Provider] = []
    models: list[ModelEntry] = []


USER_ONLY = frozenset({
    "agent.max_tokens", "agent.max_iterations", "agent.max_minutes", "agent.max_dollars", "agent.max_conversation_tokens",
    "agent.max_conversation_dollars", "walls.unwalled", "walls.network", "walls.readable",
    "files.readable_secrets", "dependencies",
    "approvals", "context", "modes", "tools", "providers", "models", "model.fallback", "model.by_mode",
    "worktree", "paths", "subagents", "discord", "screen.keys",
})
"""Dotted keys (or whole tables) that only the person's own files and environment may set."""

ROOT_VALUES: dict[str, frozenset[str]] = {"agent.default_mode": frozenset({"plan", "chat"})}
"""Dotted keys of which a root's own files may set these values alone: those that take something away."""

ENVIRONMENT = {
    "THETIS_MODE": "agent.default_mode",
    "THETIS_MODEL": "model.default",
    "THETIS_MAX_ITERATIONS": "agent.max_iterations",
    "THETIS_MAX_DOLLARS": "agent.max_dollars",
    "THETIS_UNWALLED": "walls.unwalled",
    "THETIS_IDLE_MINUTES": "worker.idle_minutes",
    "THETIS_THEME": "screen.theme",
}
"""Environment variables that win over every file."""
