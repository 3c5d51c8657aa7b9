"""Every key of the settings: what it means, what fits, and who may write it where.

Owns the sentence of each key and the one list of those an agent may set. The list names what is allowed: a setting nobody
thought of here is a person's. Must not know files.
"""

from __future__ import annotations

import types
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from thetis_kernel.config.settings import ROOT_VALUES, USER_ONLY, Settings

Kind = Literal["text", "number", "whole", "yes-no", "choice", "list", "table", "tables"]
Where = Literal["user", "root", "local"]
"""The person's own file, the root's thetis.toml, and its thetis.local.toml."""

AGENT_MAY = frozenset({
    "agent.default_mode", "worker.idle_minutes", "walls.command_timeout_ms", "tool_groups.grouping", "tool_groups.always_on",
    "screen.theme", "screen.notices",
})
"""What an agent may set in its own branch's thetis.toml: nothing of it widens a wall, spends money, names a model or a key,
reaches the network or runs anything. It counts only once a person has merged the branch."""

SENTENCES: dict[str, str] = {
    "agent.default_mode": "The mode new conversations begin in; a repository can only ask for plan or chat.",
    "agent.max_iterations": "Model calls of one turn.",
    "agent.max_tokens": "Tokens of one turn.",
    "agent.max_minutes": "Minutes of one turn.",
    "agent.max_dollars": "Dollars of one turn.",
    "agent.max_conversation_tokens": "Tokens of one conversation with its sub-agents.",
    "agent.max_conversation_dollars": "Dollars of one conversation with its sub-agents.",
    "model.default": "The model new conversations use; empty: the first one available.",
    "model.fallback": "The model that is asked once when the chosen one cannot answer.",
    "model.by_mode": "Models by the name of a mode.",
    "walls.unwalled": "Run commands without walls where there are none.",
    "walls.network": "Let commands reach the network.",
    "walls.readable": "More directories commands may read.",
    "walls.command_timeout_ms": "Milliseconds after which a command is stopped unless its call says otherwise.",
    "worker.idle_minutes": "Minutes an idle conversation keeps its process.",
    "worktree.link": "Ignored files of the root that a new worktree gets as links.",
    "worktree.copy": "Ignored files of the root that a new worktree gets as copies.",
    "worktree.setup": "A command run once in a new worktree.",
    "paths.skills": "More directories of skills.",
    "paths.data": "Where the log lies; empty: the state directory.",
    "paths.artifacts": "Where bundles of changed guests lie; empty: the state directory.",
    "paths.worktrees": "Where conversations have their worktrees; empty: the state directory.",
    "paths.workspace": "Where the workspace lies that all conversations share; empty: the state directory.",
    "subagents.enabled": "Whether there are sub-agents.",
    "subagents.max_children": "Sub-agents of a conversation at a time.",
    "subagents.max_steps": "Model calls of a conversation and its sub-agents since the person last spoke.",
    "subagents.max_child_tokens": "Tokens of one sub-agent.",
    "subagents.max_wait_seconds": "Seconds of one sleep.",
    "subagents.max_result_bytes": "Bytes of a sub-agent's answer.",
    "subagents.stale_minutes": "Minutes without a sign of life after which a sub-agent is said to be stuck.",
    "subagents.profiles": "Kinds of sub-agents of one's own.",
    "files.readable_secrets": "Globs of files for secrets that file tools may read all the same.",
    "approvals.ask": "Effects a person is asked about in every mode.",
    "approvals.wait_minutes": "Minutes a call waits for an answer before it is given back to the agent.",
    "context.enabled": "Whether long conversations are summed up.",
    "context.threshold_percent": "Percent of the model's window above which that happens.",
    "context.target_percent": "Percent of the window that is left afterwards.",
    "context.keep_head": "First messages that stay as they are.",
    "context.keep_tail": "Last messages that stay as they are.",
    "context.summary_model": "Who writes the summary; empty: the conversation's own model.",
    "tool_groups.grouping": "Offer a conversation only the groups of tools it seems to need.",
    "tool_groups.always_on": "Groups every conversation is offered.",
    "dependencies.index": "The package index guests take packages from; empty: what pip is set to.",
    "screen.theme": "The colours of the screen.",
    "screen.notices": "How the screen calls you when you look elsewhere.",
    "screen.keys": "Keys of one's own, by the name of a command.",
    "modes": "Modes of one's own.",
    "tools": "One block a tool, handed to that tool alone.",
    "providers": "Endpoints that speak the Messages API.",
    "models": "Models they have.",
    "discord.token": "Where the token of the bot in Discord is: env:NAME, file:/absolute/path (0600) or keyring:service/user.",
    "discord.mode": "The mode of every conversation over Discord; it has to be read-only.",
    "discord.allowed_users": "Numeric ids of who may talk to the agent over Discord.",
    "discord.admin_users": "Numeric ids of who may also let others in with /pair.",
    "discord.allow_all_users": "Let in everybody who can write where the bot reads.",
    "discord.require_mention": "In channels, words count when they mention the bot.",
    "discord.free_response_channels": "Numeric ids of channels where they need not.",
    "discord.own_conversations": "Each person of a channel has a conversation of their own.",
    "discord.edit_interval_ms": "Milliseconds between two changes of a message while an answer is written.",
    "discord.pairing_seconds": "How long a pairing code lives.",
}
"""One sentence a key; a test insists that none is missing and none is left over."""


class Key(msgspec.Struct, frozen=True):
    """A key of the settings: its default as TOML has it (None: unset), and its type for `msgspec.convert`."""

    name: str
    kind: Kind
    type: Any
    default: Any
    choices: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What it means."""
        return SENTENCES.get(self.name, "")

    @property
    def agent(self) -> bool:
        """Whether an agent may set it."""
        return self.name in AGENT_MAY

    @property
    def places(self) -> tuple[Where, ...]:
        """Where it may be written."""
        return ("user",) if user_only(self.name) else ("user", "root", "local")


def keys() -> dict[str, Key]:
    """Every key, in the order of the structs. Tables of a person's own names are one key each."""
    found: dict[str, Key] = {}
    for section in msgspec.structs.fields(Settings):
        if isinstance(section.type, type) and issubclass(section.type, msgspec.Struct):
            for field in msgspec.structs.fields(section.type):
                name = f"{section.name}.{field.name}"
                found[name] = _key(name, field.type, _default(field))
        else:
            found[section.name] = _key(section.name, section.type, _default(section))
    return found


def nearest(dotted: str) -> Key | None:
    """The key `dotted` is, or lies in where that one is a table of names."""
    known = keys()
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        found = known.get(".".join(parts[:count]))
        if found is not None and (count == len(parts) or found.kind == "table"):
            return found
    return None


def user_only(dotted: str) -> bool:
    """Whether only the person's own file may say it."""
    section = dotted.partition(".")[0]
    return section in USER_ONLY or any(dotted == one or dotted.startswith(f"{one}.") for one in USER_ONLY)


def allowed_in_root(dotted: str, value: Any) -> bool:
    """Whether a root's own file may say this of a key it may name."""
    return dotted not in ROOT_VALUES or value in ROOT_VALUES[dotted]


def _default(field: msgspec.structs.FieldInfo) -> Any:
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    return None if value is msgspec.NODEFAULT else msgspec.to_builtins(value, builtin_types=(Decimal,))


def _key(name: str, annotation: Any, default: Any) -> Key:
    bare = _bare(annotation)
    choices: tuple[str, ...] = ()
    kind: Kind
    if get_origin(bare) is Literal:
        kind, choices = "choice", tuple(get_args(bare))
    elif bare is bool:
        kind = "yes-no"
    elif bare is int:
        kind = "whole"
    elif bare in (float, Decimal):
        kind = "number"
    elif get_origin(bare) is dict:
        kind = "table"
    elif get_origin(bare) is list:
        inner = get_args(bare)[0]
        kind = "tables" if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else "list"
        choices = tuple(get_args(inner)) if get_origin(inner) is Literal else ()
    else:
        kind = "text"
    return Key(name=name, kind=kind, type=annotation, default=default, choices=choices)


def _bare(annotation: Any) -> Any:
    """The type without bounds and without None."""
    if hasattr(annotation, "__metadata__"):
        return _bare(annotation.__origin__)
    if get_origin(annotation) in (Union, types.UnionType):
        return _bare(next(one for one in get_args(annotation) if one is not type(None)))
    return annotation
