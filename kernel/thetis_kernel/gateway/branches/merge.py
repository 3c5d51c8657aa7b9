"""Merging a conversation, which is a person's act: what it would do, doing it, and handing conflicts to the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from thetis_kernel.errors import RepoError, ThetisError, UsageError
from thetis_kernel.gateway.branches.git import Git
from thetis_kernel.protocol import branches as b
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.events import BranchOp
from thetis_kernel.protocol.git import CommitTurn, SweepWorktrees
from thetis_kernel.protocol.ids import branch_name, short
from thetis_kernel.protocol.merging import MergePlan
from thetis_kernel.protocol.plaintext import clean_line

MAX_SUBJECT = 72
MAX_SUBJECTS = 60
MAX_MESSAGE = 16 * 1024
WORK = "Work in progress, before merging"


class Merging:
    """`running(session)`: whether a turn is. `place(session)`: makes sure of its worktree, which may have been pruned.
    `say(session, text, event_id)`: begin a turn with these words."""

    def __init__(self, git_host: Git, running: Callable[[str], bool], place: Callable[[str], Awaitable[object]],
                 say: Callable[[str, str, str], Awaitable[object]]) -> None:
        self._git = git_host
        self._place = place
        self._running = running
        self._say = say
        self._landing = asyncio.Lock()
        self.red: Callable[[str], Awaitable[list[str]]] | None = None
        """Guests of the branch that keep it from being merged, as sentences; set where they are a part of the project."""

    async def plan(self, session: str, into: str) -> MergePlan:
        """See `protocol.merging.PlanMerge`. What stands uncommitted in the conversation's worktree is committed first."""
        trunk = await self._trunk(session, into)
        running = self._running(session)
        await self._place(session)
        if not running:
            await self._git.ask(CommitTurn(root=self._git.root, branch=branch_name(session), message=WORK, known=self._git.known))
        red = [] if running or self.red is None else await self.red(session)
        plan = await self._git.ask(b.PlanLanding(root=self._git.root, branch=branch_name(session), trunk=trunk, target=into))
        plan = msgspec.structs.replace(plan, blocked=[*plan.blocked, *red])
        return MergePlan(session, branch_name(session), plan, await self._message(session, plan), running)

    async def merge(self, session: str, tip: str, onto: str, into: str, message: str) -> b.Landed:
        """See `protocol.merging.Merge`. Raises UsageError while a turn runs, RepoError as `LandBranch`."""
        if self._running(session):
            raise UsageError("A turn of this conversation is running.", code="running", hint="Wait for its end, or stop it.")
        trunk = await self._trunk(session, into)
        await self._place(session)
        async with self._landing:  # one after the other: each is planned against what the one before left
            red = [] if self.red is None else await self.red(session)
            if red:
                raise RepoError(red[0], kind="red", hint="Let the conversation mend it first.")
            plan = await self._git.ask(b.PlanLanding(root=self._git.root, branch=branch_name(session), trunk=trunk, target=into))
            words = _fit(message) or await self._message(session, plan)
            done = await self._git.ask(b.LandBranch(
                root=self._git.root, branch=branch_name(session), trunk=trunk, target=into, tip=tip, onto=onto,
                message=f"{words.rstrip()}\n\nThetis-Conversation: {session}\n", known=self._git.known))
        await self._git.log.append(session, BranchOp(
            op="merge", ok=True, before=done.before, after=done.commit, detail=f"into {done.target}",
            data={"target": done.target, "kept": done.kept, "total": done.total, "checked_out": done.checked_out}))
        return done

    async def resolve(self, session: str, event_id: str) -> bool:
        """Begin a turn that brings the trunk in and settles what conflicts. False while one runs."""
        if self._running(session):
            return False
        plan = (await self.plan(session, "")).plan
        files = "\n".join(f"- {clean_line(path)}" for path in plan.conflicts)
        await self._say(session, (
            f"Bring {plan.target} into your branch with update_from_trunk. These files conflict:\n{files}\n\nResolve each so "
            "that both sides keep what they were for, check that it works, finish with complete_merge and say what you decided."),
            event_id)
        return True

    async def finish(self) -> list[str]:
        """Finish what a kill cut of a merge into the person's checkout; a sentence for each."""
        try:
            found = await self._git.ask(SweepWorktrees(root=self._git.root))
        except ThetisError:
            return []  # no usable root: nothing was ever merged here
        return [notice.sentence for notice in found if notice.kind == "merge"]

    async def apply(self, session: str) -> b.Applied:
        """See `protocol.merging.ApplyChanges`."""
        await self._git.trunk(session)
        if not self._running(session):
            await self._git.ask(CommitTurn(root=self._git.root, branch=branch_name(session), message=WORK, known=self._git.known))
        return await self._git.ask(b.ApplyBranch(root=self._git.root, branch=branch_name(session)))

    async def _trunk(self, session: str, into: str) -> str:
        trunk = await self._git.trunk(session)
        if not trunk and not into:
            raise UsageError("This conversation began where no branch was checked out.", code="no-trunk",
                             hint="Name a branch to merge into: --into NAME.")
        return trunk or into

    async def _message(self, session: str, plan: b.Plan) -> str:
        """The title, then what was committed."""
        state = await self._git.log.state(session)
        title = cutting.head(clean_line(state.title), MAX_SUBJECT) or f"Conversation {short(session)}"
        subjects = [clean_line(subject) for subject in plan.subjects[:MAX_SUBJECTS]]
        listed = "\n".join(f"- {subject}" for subject in dict.fromkeys(subjects) if subject and subject != title)
        return f"{title}\n\n{listed}".rstrip() + "\n"


def _fit(message: str) -> str:
    if len(message) > MAX_MESSAGE:
        raise UsageError(f"A commit's message holds at most {MAX_MESSAGE} characters.", code="bad-arguments")
    return message.strip()
