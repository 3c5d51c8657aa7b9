"""The root's repository through the git host: worktrees made at the first message, a commit at each turn's end.

A worktree counts only once the durable `materialised` event says so; until then the git host completes or redoes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from thetis_kernel import crash
from thetis_kernel.config.settings import Settings
from thetis_kernel.errors import RepoError, StoreError, ThetisError
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.log import Log
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol import client, cutting, git
from thetis_kernel.protocol.events import BranchOp, Incident, SystemNote, User
from thetis_kernel.protocol.ids import branch_name, short
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.protocol.worker import Place, SetUp, SetUpDone

R = TypeVar("R")
MAX_SUBJECT = 72
SECONDS = 120.0
"""For one request that is not a checkout; those take what they take, and show it."""
SETTING_UP = "Running the setup command"
PHASES = {"checkout": "Checking out the worktree", "changes": "Including your changes", "sync": "Writing it to disk"}


class Repository:
    """Asks the git host on behalf of conversations."""

    def __init__(self, fleet: Fleet, log: Log, paths: RootPaths, settings: Settings, broadcast: Broadcast) -> None:
        self._fleet = fleet
        self._log = log
        self._paths = paths
        self._settings = settings
        self._broadcast = broadcast
        self._info: git.RootInfo | None = None
        self._inspecting = asyncio.Lock()
        self._making: dict[str, asyncio.Lock] = {}
        self._shown: dict[str, str] = {}
        self.run_setup: Callable[[str, SetUp], Awaitable[SetUpDone]] | None = None
        """(conversation, request) -> answer of its worker; set by the gateway right after both exist."""
        fleet.git_tells = {git.GitProgress: self._progress}

    async def inspect(self) -> git.RootInfo:
        """What the root is; asked once while it is usable."""
        async with self._inspecting:
            if self._info is None or not self._info.usable:
                self._info = await self._ask(git.InspectRoot(path=str(self._paths.root)))
        return self._info

    async def accept(self, offer: Literal["init", "first-commit"]) -> None:
        """Do what was offered about an unusable root, a person having agreed. Raises RepoError."""
        self._info = await self._ask(git.AcceptOffer(path=str(self._paths.root), offer=offer))

    async def count_changes(self) -> int:
        """Uncommitted files of the root, -1 when they cannot be told."""
        if not (await self.inspect()).usable:
            return -1
        found = await self._ask(git.CountChanges(root=str(self._paths.root)))
        return found.count if found.known else -1

    async def ensure_worktree(self, session: str) -> Place:
        """The conversation's place to work, made and recorded if it is not there. Raises RepoError, with a way out.

        It is read-only: what its mode allows is for who runs a turn there.
        """
        async with self._making.setdefault(session, asyncio.Lock()):
            info = await self.inspect()
            if not info.usable:
                raise RepoError(info.sentence, kind=info.kind, hint=info.hint)
            worktree = self._paths.worktrees / f"conv-{short(session)}"
            state = await self._log.state(session)
            recorded = state.materialised is not None
            first = None if recorded else await self._first_message(session)
            begun = state.started.base if state.started is not None else ""
            crash.point("checkout.before")
            try:
                made = await self._ask(git.Materialise(
                    root=info.root, branch=branch_name(session), worktree=str(worktree), recorded=recorded, base=begun,
                    with_changes=first is not None and first.with_changes,
                    link=tuple(self._settings.worktree.link), copy=tuple(self._settings.worktree.copy)), timeout=None)
            finally:
                self._show(branch_name(session), "")
            crash.point("checkout.after")
            place = await self._place(session, info, worktree, made.linked)
            if not recorded:
                setup = await self._set_up(session, place)
                await self._log.append(session, BranchOp(
                    op="materialised", ok=True, before=made.base, after=made.commit, detail="; ".join(made.notes),
                    data={"trunk": info.trunk, "files": made.files, "included": made.included, "brought": made.brought,
                          "skipped": [msgspec.to_builtins(s) for s in made.skipped[:50]], **setup}))
                crash.point("checkout.recorded")
        return place

    async def _set_up(self, session: str, place: Place) -> dict[str, Any]:
        """Run the person's setup command in the new worktree; what of it stands in the log.

        Before the worktree counts: one that was cut short runs again. A failure is the agent's to know, and ends nothing.
        """
        command = self._settings.worktree.setup
        if not command or self.run_setup is None:
            return {}
        branch = branch_name(session)
        try:
            self._show(branch, SETTING_UP)
            self._broadcast.publish(client.Progress(what=SETTING_UP, done=0, total=0))
            done = await self.run_setup(session, SetUp(command=command, place=place))
        finally:
            self._show(branch, "")
        if done.exit != 0:
            how = "could not be run" if done.exit < 0 else f"ended with {done.exit}"
            await self._log.append(session, SystemNote(
                text=f"The setup command of this worktree, `{command}`, {how}:\n{done.output}", about="setup"))
        return {"setup": {"command": command, **msgspec.to_builtins(done)}}

    async def _place(self, session: str, info: git.RootInfo, worktree: Path, linked: list[str]) -> Place:
        spill = self._paths.spill / short(session)
        await asyncio.to_thread(lambda: spill.mkdir(exist_ok=True, mode=0o700))
        walls = self._settings.walls
        network = walls.network or (await self._log.state(session)).network
        return Place(
            worktree=str(worktree), workspace=str(self._paths.workspace), spill=str(spill), git_dirs=[info.common_dir],
            readable=list(dict.fromkeys([*walls.readable, *linked])), network=network, unwalled=walls.unwalled,
            command_timeout_ms=walls.command_timeout_ms,
            readable_secrets=list(self._settings.files.readable_secrets))

    async def commit_turn(self, session: str, turn: str) -> None:
        """Commit what the turn changed, under its name, and log it. A failure is an incident, never the turn's."""
        state = await self._log.state(session)
        if state.materialised is None:
            return
        subject = cutting.head(" ".join(state.last_user_text.split()), MAX_SUBJECT) or "Turn"
        message = f"{subject}\n\nThetis-Conversation: {session}\nThetis-Turn: {turn}\n"
        before = state.branch.after if state.branch else ""
        try:
            crash.point("commit.before")
            done = await self._ask(git.CommitTurn(
                root=str(self._paths.root), branch=branch_name(session), message=message,
                known=self._log.scrubber.known))
            crash.point("commit.after")
        except StoreError:
            raise
        except ThetisError as error:
            await self._log.append(session, BranchOp(op="commit", ok=False, detail=str(error), turn=turn))
            await self._log.append(session, Incident(code="commit-failed", message=f"The turn's work is not committed: {error}"))
            return
        skipped = [msgspec.to_builtins(s) for s in done.skipped[:50]]
        if done.commit:
            await self._log.append(session, BranchOp(
                op="commit", ok=True, before=before, after=done.commit, detail=subject, turn=turn,
                data={"files": [c.path for c in done.changed[:200]], "total": done.total, "skipped": skipped}))
        for note in done.notes:
            await self._log.append(session, SystemNote(text=note, about="commit"))

    async def diff(self, session: str) -> client.DiffText:
        """What the conversation has that its trunk has not, uncommitted work included; without a trunk, since it began."""
        state = await self._log.state(session)
        if state.materialised is None:
            return client.DiffText(patch="", files=[])
        asked = git.Diff(root=str(self._paths.root), branch=branch_name(session), base=state.materialised.before,
                         uncommitted=True, max_bytes=2 << 20)
        trunk = str(state.materialised.data.get("trunk", ""))
        against = [msgspec.structs.replace(asked, base="", trunk=trunk)] if trunk else []
        # Its worktree may have been pruned, and its trunk may be gone.
        found = await self._first_of([way for one in [*against, asked]
                                      for way in (one, msgspec.structs.replace(one, uncommitted=False))])
        return client.DiffText(patch=found.patch, truncated=found.truncated,
                               files=[(c.path, c.added, c.removed) for c in found.files])

    async def _first_of(self, ways: list[git.Diff]) -> git.DiffText:
        """The first of the requests git can answer. Raises what the last one does."""
        for ask in ways[:-1]:
            try:
                return await self._ask(ask)
            except ThetisError as error:
                if error.code != "repo":
                    raise
        return await self._ask(ways[-1])

    async def _first_message(self, session: str) -> User | None:
        for event in await asyncio.to_thread(self._log.store.read, session, 0, 50):
            if isinstance(event.body, User):
                return event.body
        return None

    async def _ask(self, ask: Ask[R], timeout: float | None = SECONDS) -> R:
        host = await self._fleet.git()
        return await host.peer.call(ask, timeout=timeout)

    def _progress(self, tell: git.GitProgress) -> None:
        self._show(tell.branch, PHASES[tell.phase])
        self._broadcast.publish(client.Progress(what=PHASES[tell.phase], done=tell.done, total=tell.total))

    def _show(self, branch: str, what: str) -> None:
        """A branch's work goes on with `what`, "" for nothing more: what was shown of it before has ended."""
        before = self._shown.pop(branch, "")
        if before and before != what:
            self._broadcast.publish(client.Progress(what=before, done=1, total=1))
        if what:
            self._shown[branch] = what
