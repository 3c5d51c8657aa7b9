"""The list of conversations: made, found, changed, deleted. What one *is* at any moment is the fold of its log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import Refused, UsageError
from thetis_kernel.gateway.bridged import BRIDGES
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.models import ModelRelay
from thetis_kernel.gateway.spending import Spending, total
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.children import ChildLine
from thetis_kernel.protocol.client import Conversation, State
from thetis_kernel.protocol.events import SessionStarted, SettingChanged
from thetis_kernel.protocol.ids import branch_name, new_session_id, short
from thetis_kernel.protocol.spending import Spent
from thetis_kernel.store.folds import SessionState
from thetis_kernel.store.rows import SessionRow

MAX_TITLE = 120
SETTINGS = ("mode", "model", "title", "archived", "network")


class Conversations:
    """Reads and changes the list; `running` says whether a conversation has a running turn, `parked` whether its worker is."""

    def __init__(self, log: Log, models: ModelRelay, spending: Spending, root: Path, worktrees: Path, modes: Modes,
                 default_mode: str, default_model: str,
                 running: Callable[[str], bool], parked: Callable[[str], bool]) -> None:
        self._log = log
        self._models = models
        self._spending = spending
        self._root = root
        self._worktrees = worktrees
        self._modes = modes
        self._default_mode = default_mode
        self._default_model = default_model
        self._running = running
        self._parked = parked
        self.children: Callable[[SessionState], list[ChildLine]] = lambda state: []
        """How the sub-agents of a conversation stand; set by the gateway."""

    async def create(self, origin: str, mode: str, model: str) -> Conversation:
        """A new conversation. Raises UsageError for a mode or model nobody knows, Refused for a bridge that may change things."""
        mode = mode or self._default_mode
        self._check_mode(mode)
        if origin in BRIDGES and not self._modes.get(mode).read_only:
            raise Refused(f"A conversation over a bridge is read-only, and the mode {mode} is not.", capability="config",
                          hint="Name a read-only mode, such as chat.")
        model = model or self._default_model or (await self._models.models())[0].id
        await self._check_model(model)
        session = new_session_id()
        await asyncio.to_thread(self._log.store.create, session, SessionStarted(
            root=str(self._root), origin=origin, mode=mode, model=model, branch=branch_name(session)))
        return await self.get(session)

    async def find(self, id_or_prefix: str) -> str:
        """The full id. Raises UsageError when there is none or several."""
        return (await asyncio.to_thread(self._log.store.session, id_or_prefix)).id

    async def get(self, session: str) -> Conversation:
        """One line of the list."""
        row = await asyncio.to_thread(self._log.store.session, session)
        return self._line(row, await self._cached([row]))

    async def all(self, children: bool = False) -> list[Conversation]:
        """Every conversation, the one last written to first; with `children` those of sub-agents too."""
        rows = [row for row in await asyncio.to_thread(self._log.store.sessions) if children or row.relation != "child"]
        cached = await self._cached(rows)
        return [self._line(row, cached) for row in rows]

    async def set(self, session: str, name: str, value: str) -> None:
        """Change a setting by an event. Raises UsageError for a name or value that does not fit."""
        if name not in SETTINGS:
            raise UsageError(f"There is no setting {name!r}.", hint="Settings: " + ", ".join(SETTINGS) + ".")
        if name == "mode":
            await self.check_mode_change(session, value)
        elif name == "model":
            await self._check_model(value)
        elif name == "title":
            value = cutting.head(" ".join(value.split()), MAX_TITLE)
        elif value not in ("true", "false"):
            raise UsageError(f"{name} is true or false, not {value[:40]!r}.")
        elif name == "network":
            await self._check_network(session)
        await self._log.append(session, SettingChanged(name=name, value=value))

    async def delete(self, session: str) -> None:
        """Remove its log; a tombstone with the chain's head stays, and so does its branch."""
        if self._running(session):
            raise UsageError(f"{short(session)} has a running turn.", hint="Stop it first.")
        state = self._log.known(session)
        if state is not None and state.children:
            raise UsageError(f"{short(session)} has sub-agents at work.", hint="Stop them first.")
        await asyncio.to_thread(self._log.store.delete, session)
        self._log.forget(session)

    async def _cached(self, rows: list[SessionRow]) -> dict[str, Spent]:
        """What those conversations cost whose logs are not at hand."""
        absent = [row.id for row in rows if self._log.known(row.id) is None]
        return await asyncio.to_thread(lambda: {session: self._spending.remembered(session) for session in absent})

    def _line(self, row: SessionRow, cached: dict[str, Spent]) -> Conversation:
        state = self._log.known(row.id)
        spent, turn_spent = (total(state), state.turn_spent) if state else (cached.get(row.id, Spent()), Spent())
        for child in state.children if state else ():  # those that have settled are in its own log
            at_work = self._log.known(child)
            spent += total(at_work) if at_work is not None else Spent()
        worktree = self._worktrees / f"conv-{row.short_id}"
        return Conversation(
            id=row.id, title=row.title, mode=row.mode, model=row.model, state=self._state(row),
            branch=branch_name(row.id) if row.preview else "",
            worktree=str(worktree) if worktree.is_dir() else "", created_ms=row.created_ms, updated_ms=row.updated_ms,
            last_seq=row.last_seq, preview=row.preview, archived=row.archived,
            spent=spent, turn_spent=turn_spent, asking=len(state.approvals) + len(state.questions) if state else 0,
            network=state.network if state else False,
            children=self.children(state) if state and state.children else [],
            parent=row.parent if row.relation == "child" else "")

    def _state(self, row: SessionRow) -> State:
        if row.damaged:
            return "damaged"
        if self._running(row.id):
            return "running"
        if self._parked(row.id):
            return "parked"
        if row.relation == "child":
            return "idle"  # what was cut of it is not resumed
        return "interrupted" if row.state == "interrupted" else "idle"

    async def check_mode_change(self, session: str, mode: str) -> None:
        """Raise UsageError for a mode nobody knows, Refused for a conversation that came over a bridge."""
        self._check_mode(mode)
        started = (await self._log.state(session)).started
        if started is None or started.origin in BRIDGES:
            raise Refused("The mode of a conversation that came over a bridge cannot be changed.", capability="config",
                          hint="Begin one of your own.")

    async def _check_network(self, session: str) -> None:
        """Raise Refused for a conversation that came over a bridge: other people write into it."""
        started = (await self._log.state(session)).started
        if started is None or started.origin in BRIDGES:
            raise Refused("The network of a conversation that came over a bridge stays off.", capability="config",
                          hint="Begin one of your own.")

    def _check_mode(self, mode: str) -> None:
        if mode not in self._modes.known:
            raise UsageError(f"There is no mode {mode[:40]!r}.", hint="Modes: " + ", ".join(self._modes.known) + ".")

    async def _check_model(self, model: str) -> None:
        known = [info.id for info in await self._models.models()]
        if model not in known:
            raise UsageError(f"There is no model {model[:80]!r}.", hint="Models: " + ", ".join(known) + ".")
