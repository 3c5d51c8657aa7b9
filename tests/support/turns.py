"""A turn's context over real directories, with a journal that records, for tests of toolhost."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from thetis_kernel.protocol.events import Body, StateChanged
from thetis_kernel.protocol.worker import GuestBundle, Place
from thetis_kernel.toolhost.context import TurnContext


class RecordingJournal:
    """Keeps what is appended; state is folded from it."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self._lock = threading.Lock()

    def append(self, body: Body) -> int:
        with self._lock:
            self.bodies.append(body)
            return len(self.bodies)

    def state(self, scope: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for body in self.bodies:
            if isinstance(body, StateChanged) and body.scope == scope:
                found.pop(body.key, None)
                if body.value:
                    found[body.key] = body.value
        return found


class RecordingCommands:
    """Answers every command with `answer` and keeps what was asked."""

    def __init__(self, **answer: Any) -> None:
        self.asked: list[Any] = []
        self._answer = {"exit": 0, "signal": 0, "output": "", "truncated": False, "timed_out": False, "cancelled": False,
                        "spill": "", "duration_ms": 1, **answer}

    def run(self, command: Any, on_output: Any, cancel: threading.Event) -> dict[str, Any]:
        self.asked.append(command)
        on_output("live")
        return dict(self._answer)


def turn_context(tmp_path: Path, *, read_only: bool = False, guests: dict[str, GuestBundle] | None = None,
                 **answer: Any) -> TurnContext:
    """A context whose checkout is tmp_path/wt, workspace tmp_path/ws, spill tmp_path/spill."""
    for name in ("wt", "ws", "spill"):
        (tmp_path / name).mkdir(exist_ok=True)
    place = Place(worktree=str(tmp_path / "wt"), workspace=str(tmp_path / "ws"), spill=str(tmp_path / "spill"), git_dirs=[],
                  read_only=read_only)
    live: list[tuple[str, str]] = []
    context = TurnContext(turn="t1", place=place, journal=RecordingJournal(), commands=RecordingCommands(**answer),
                          output=lambda call, text: live.append((call, text)), guests=guests or {})
    context.live = live  # type: ignore[attr-defined]
    return context
