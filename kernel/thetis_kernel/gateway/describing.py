"""A turn's description for the agent's `handle-turn`, as far as the gateway knows it; the worker adds the checkout's part.

Must not know how a turn runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.config.settings import Settings
from thetis_kernel.gateway.choosing import model_now
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.protocol.ids import branch_name
from thetis_kernel.protocol.models import ModelInfo
from thetis_kernel.store.folds import SessionState


def description(turn: Turn, state: SessionState, modes: Modes, models: Sequence[ModelInfo], settings: Settings) -> bytes:
    """The JSON object; a model the conversation names and nobody has is the first one's description."""
    mode, agent = modes.get(state.mode), settings.agent
    wanted = model_now(state, settings.model.by_mode, [model.id for model in models])
    chosen = next((model for model in models if model.id == wanted), models[0])
    return msgspec.json.encode({
        "session": turn.session,
        "turn": turn.id,
        "attempt": turn.attempt,
        "mode": {"id": mode.id, "label": mode.label, "read_only": mode.read_only, "prompt": mode.prompt},
        "model": {"id": chosen.id, "label": chosen.label, "window": chosen.window, "max_output": chosen.max_output,
                  "tool_references": chosen.tool_references},
        "state": {
            "seq": state.seq,
            "values": {scope: state.values.get(scope, {}) for scope in ("plan", "todos", "groups", "tools")},
            "children": [{"child": one.child, "label": one.label} for one in state.children.values()],
        },
        "context": msgspec.to_builtins(settings.context),
        "tool_groups": msgspec.to_builtins(settings.tool_groups),
        **({} if turn.compact is None else {"compact": {"hint": turn.compact}}),
        "skills": msgspec.Raw(state.values.get("skills", {}).get("offered", "[]").encode()),
        **({"child": {"label": turn.label, "prompt": _profile(turn, settings)}} if turn.child else {}),
        "root": {"path": ".", "branch": branch_name(turn.home)},
        "limits": {"iterations": agent.max_iterations, "tokens": agent.max_tokens, "wall_ms": int(agent.max_minutes * 60_000)},
    })


def _profile(turn: Turn, settings: Settings) -> str:
    """What the sub-agent's profile says to it, "" without one."""
    profile = settings.subagents.all().get(turn.profile)
    return profile.prompt if profile is not None else ""
