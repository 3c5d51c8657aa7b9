"""Rewind, its undo, and forks: a conversation goes on from an earlier moment, its files with it.

The log is only ever added to: a rewind is an event, and its undo another one. The event is durable before the first file
changes and names the snapshot, so a kill in between is finished before the next turn. Must not know how files are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from thetis_kernel import crash
from thetis_kernel.errors import IpcError, RepoError, StoreError, ThetisError, UsageError
from thetis_kernel.gateway.branches.git import Git
from thetis_kernel.gateway.timemachine.keeping import Keeping
from thetis_kernel.protocol import git, snapshots
from thetis_kernel.protocol.events import (
    BranchOp,
    Event,
    Incident,
    Rewind,
    SessionStarted,
    SettingChanged,
    TurnStarted,
    User,
)
from thetis_kernel.protocol.ids import branch_name, new_session_id, short
from thetis_kernel.protocol.timemachine import Forked, Moment, Rewound, What
from thetis_kernel.store.projection import live, on

MAX_MOMENTS = 500
RESTORED = "restored"
"""The `op` of the event that ends a rewind of files, whether they went back or could not."""


class TimeMachine:
    """`quiet(session)`: hold the conversation while none of its turns runs, raising UsageError when one does.

    `worktree(session)`: have its worktree made.
    """

    def __init__(self, git_host: Git, keeping: Keeping, quiet: Callable[[str], AbstractAsyncContextManager[None]],
                 worktree: Callable[[str], Awaitable[object]]) -> None:
        self._git = git_host
        self._log = git_host.log
        self._keeping = keeping
        self._quiet = quiet
        self._worktree = worktree

    async def moments(self, session: str) -> list[Moment]:
        """Where one can go back to, oldest first."""
        def found() -> list[Moment]:
            live = self._log.store.iterate(session, live=True, after=self._own(session))
            words = [event for event in live if event.kind == "user"]
            return [Moment(event.seq, event.ts_ms, _text(event)) for event in words[-MAX_MOMENTS:]]

        return await asyncio.to_thread(found)

    def _own(self, session: str) -> int:
        """The number of the conversation's own first event: what a fork inherited before it is its parent's."""
        return self._log.store.read(session, 0, 1)[0].seq

    async def rewind(self, session: str, seq: int, what: What) -> Rewound:
        """Go back to right before the words at `seq`. Raises UsageError, RepoError `merge-open`; then nothing has changed."""
        async with self._quiet(session):
            event = await self._words(session, seq)
            tree = await self._files_at(session, session, event) if what != "talk" else ""
            last = (await self._log.state(session)).seq
            await self._log.append(session, Rewind(to_seq=seq - 1 if what != "files" else last, tree=tree))
            crash.point("rewind.logged")
            return await self._go_back(session, _text(event) if what != "files" else "", tree)

    async def undo(self, session: str) -> Rewound:
        """Take the last rewind back. Raises UsageError when there is none, or something was said since."""
        async with self._quiet(session):
            state = await self._log.state(session)
            if not state.rewinds:
                raise UsageError("Nothing was rewound in this conversation.", code="nothing-to-undo")
            at, _ = state.rewinds[-1]
            if at < await asyncio.to_thread(self._own, session):
                raise UsageError("Nothing was rewound in this conversation since it was forked.", code="nothing-to-undo")
            last, *since = await asyncio.to_thread(self._log.store.read, session, at - 1, 1000)
            if any(isinstance(event.body, User | TurnStarted) for event in since):
                raise UsageError("Something was said since that rewind, so taking it back would lose the place.",
                                 hint="Rewind to a message, or fork: the log keeps everything.")
            tree = ""
            if isinstance(last.body, Rewind) and last.body.tree:  # kept first thing, before a file went back
                tree = await self._git.ask(snapshots.FindSnapshot(
                    root=self._git.root, branch=branch_name(session), session=session, seq=at, ts_ms=last.ts_ms))
            await self._log.append(session, Rewind(to_seq=at - 1, tree=tree))
            return await self._go_back(session, "", tree)

    async def fork(self, session: str, seq: int) -> Forked:
        """A conversation of its own from right before the words at `seq`, 0 = from where this one stands."""
        if seq:
            event = await self._words(session, seq)
            return await self._fork(session, seq - 1, _text(event), await self._files_at(session, session, event))
        async with self._quiet(session):
            state = await self._log.state(session)
            kept = await self._keeping.take(session, session, state.seq) if state.materialised is not None else None
            return await self._fork(session, state.seq, "", kept.commit if kept is not None else "")

    async def settle(self, session: str) -> None:
        """Finish what a kill left of going back, before anything is built on it. Part of a turn's beginning."""
        tree = (await self._log.state(session)).restoring
        if tree:
            await self._restore(session, tree)

    async def forget(self, session: str) -> None:
        """The conversation was deleted: its snapshots go too. A repository that cannot be reached keeps them, harmlessly."""
        self._keeping.forget(session)
        with contextlib.suppress(ThetisError):
            await self._git.ask(snapshots.DropSnapshots(root=self._git.root, branch=branch_name(session)))

    async def _fork(self, parent: str, upto: int, text: str, tree: str) -> Forked:
        state = await self._log.state(parent)
        if state.started is None:
            raise UsageError(f"{short(parent)} has not begun.")
        session = new_session_id()
        base = await asyncio.to_thread(self._tip_at, parent, upto)
        await asyncio.to_thread(self._log.store.create, session, SessionStarted(
            root=state.started.root, origin=state.started.origin, mode=state.mode, model=state.model,
            branch=branch_name(session), base=base, parent=parent, parent_seq=upto, relation="fork", tree=tree if base else ""))
        crash.point("fork.made")
        await self._log.append(session, SettingChanged(name="title", value=f"{state.title} (fork)".strip(), by="kernel"))
        if base:
            await self._worktree(session)
            if tree:
                await self._restore(session, tree)
        return Forked(session, text)

    async def _words(self, session: str, seq: int) -> Event:
        state = await self._log.state(session)
        if await asyncio.to_thread(self._own, session) < seq <= state.seq and on(live(state.seq, state.rewinds), seq):
            event = (await asyncio.to_thread(self._log.store.read, session, seq - 1, 1))[0]
            if event.kind == "user":
                return event
        raise UsageError(f"No message of this conversation has the number {seq}.",
                         hint="The list of them says which do; one that was rewound away does not count.")

    async def _files_at(self, home: str, session: str, event: Event) -> str:
        """The snapshot with the files as they were when `event` was said; "" when they stand so now, or there are none."""
        if (await self._log.state(home)).materialised is None:
            return ""
        branch = branch_name(home)
        found = await self._git.ask(git.BranchStatus(root=self._git.root, branch=branch))
        if found.merging:
            raise RepoError("A merge of the trunk is open on this conversation's branch.", kind="merge-open",
                            hint="Have it completed or given up first, or rewind the conversation alone.")
        return await self._git.ask(snapshots.FindSnapshot(
            root=self._git.root, branch=branch, session=session, seq=event.seq, ts_ms=event.ts_ms))

    def _tip_at(self, session: str, upto: int) -> str:
        """The commit the branch stood at when event `upto` was written, "" before it had one."""
        tip = ""
        for event in self._log.store.iterate(session):
            if event.seq > upto:
                break
            if event.kind not in ("session-started", "branch-op"):
                continue  # its body is not worth reading
            if isinstance(event.body, SessionStarted):
                tip = event.body.base
            elif isinstance(event.body, BranchOp) and event.body.ok and event.body.after:
                tip = event.body.after
        return tip

    async def _go_back(self, session: str, text: str, tree: str) -> Rewound:
        if not tree:
            return Rewound(text)
        done = await self._restore(session, tree)
        kept = [f"{each.path}: {each.why}." for each in done.kept]
        return Rewound(text, True, done.written, done.removed, kept)

    async def _restore(self, session: str, tree: str) -> snapshots.Restored:
        """Put the files of snapshot `tree` back, commit them on the branch, and log it: done or given up, once.

        Raises RepoError when they could not be put back; the conversation went back all the same, and the log says so.
        """
        state = await self._log.state(session)
        tip = state.branch.after if state.branch else ""
        branch = branch_name(session)
        try:
            done = await self._put_back(snapshots.RestoreSnapshot(
                root=self._git.root, branch=branch, commit=tree, session=session, seq=state.seq, known=self._git.known))
            made = await self._git.ask(git.CommitTurn(
                root=self._git.root, branch=branch, known=self._git.known,
                message=f"Back to earlier files\n\nThetis-Conversation: {session}\n"))
        except StoreError:
            raise
        except IpcError as error:
            raise ThetisError(f"Not all files are back yet: {error.message}", code="rewind-unfinished",
                              hint="The rest goes back before the next turn begins.") from error
        except ThetisError as error:
            await self._log.append(session, BranchOp(op=RESTORED, ok=False, detail=str(error), data={"tree": tree}))
            await self._log.append(session, Incident(code="rewind-failed", message=f"The files did not go back: {error}"))
            raise
        await self._log.append(session, BranchOp(
            op=RESTORED, ok=True, before=tip, after=made.tip, detail=f"{done.written} written, {done.removed} removed",
            data={"tree": tree, "kept": done.before, "written": done.written, "removed": done.removed,
                  "left": [[each.path, each.why] for each in done.kept[:50]]}))
        return done


    async def _put_back(self, ask: snapshots.RestoreSnapshot) -> snapshots.Restored:
        """Ask a second time when the git host dies at it; what it had done by then counts."""
        try:
            return await self._git.ask(ask)
        except IpcError:
            return await self._git.ask(ask)


def _text(event: Event) -> str:
    return event.body.text if isinstance(event.body, User) else ""
