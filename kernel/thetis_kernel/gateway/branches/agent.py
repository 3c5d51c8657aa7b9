"""What an agent does with its own branch (the contract's `branch`), logged as `branch-op`. Merging is not among it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import Refused, ThetisError, UsageError
from thetis_kernel.gateway.branches.git import Git
from thetis_kernel.gateway.turn import Turn
from thetis_kernel.protocol import branches as b
from thetis_kernel.protocol import git
from thetis_kernel.protocol.events import BranchOp
from thetis_kernel.protocol.ids import branch_name
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.protocol.worker import AskBranch
from thetis_kernel.toolhost.branches import CHANGING

MAX_FILES = 200
MAX_MESSAGE = 16 * 1024
NO_TRUNK = "This conversation began where no branch was checked out, so there is no trunk to bring in."
Arguments = dict[str, Any]
R = TypeVar("R")


class AgentBranch:
    """The operations by name. `turn(session, id)`: the running turn of that id, raising when it is over."""

    def __init__(self, git_host: Git, modes: Modes, turn: Callable[[str, str], Turn]) -> None:
        self._git = git_host
        self._modes = modes
        self._turn = turn

    def asks(self, session: str) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
        """What the worker of a conversation may ask."""

        async def answer(ask: AskBranch) -> bytes:
            turn = self._turn(session, ask.turn)
            if ask.name in CHANGING:
                if turn.child:
                    raise Refused("A sub-agent works on its parent's branch and does not move it.", capability="branch",
                                  hint="Say in your answer what should be done.")
                if self._modes.get((await self._git.log.state(session)).mode).read_only:
                    raise Refused(f"This conversation is in a read-only mode: branch.{ask.name} is not possible by any route.",
                                  capability="branch", hint="A person can switch the mode.")
            arguments = msgspec.json.decode(ask.arguments, type=Arguments)
            return msgspec.json.encode(await self.perform(session, ask.name, arguments, ask.turn))

        return {AskBranch: answer}

    async def perform(self, session: str, name: str, arguments: Arguments, turn: str = "") -> dict[str, Any]:
        """One operation; its answer as the contract says. Raises UsageError and RepoError."""
        trunk = await self._git.trunk(session)
        root, branch = self._git.root, branch_name(session)
        match name:
            case "status":
                return await self._status(branch, trunk)
            case "log":
                return await self._log(branch, trunk, int(arguments.get("limit") or 20))
            case "commit":
                return await self._commit(session, branch, _message(arguments, "Work"), turn)
            case "update-from-trunk":
                if not trunk:
                    raise UsageError(NO_TRUNK, code="no-trunk")
                moved = await self._git.ask(b.UpdateBranch(root=root, branch=branch, trunk=trunk, known=self._git.known))
                return await self._moved(session, "update", moved, trunk, turn)
            case "complete-merge":
                ask = b.CompleteMerge(root=root, branch=branch, message=_message(arguments, ""), known=self._git.known)
                return await self._moved(session, "update", await self._git.ask(ask), trunk, turn)
            case "abort-merge":
                done = await self._git.ask(b.AbortMerge(root=root, branch=branch))
                await self._note(session, "abort", done.after, done.after, "The merge was given up", turn, {"saved": done.saved})
                return {"after": done.after, "saved": done.saved}
            case "reset-to":
                to = str(arguments.get("revision", ""))
                moved = await self._git.ask(b.ResetBranch(root=root, branch=branch, to=to, known=self._git.known))
                return {**await self._moved(session, "reset", moved, to[:10], turn), "to": to}
            case _:
                raise UsageError(f"There is no operation branch.{name[:40]}.", code="bad-arguments")

    async def _status(self, branch: str, trunk: str) -> dict[str, Any]:
        found = await self._with_trunk(
            lambda name: git.BranchStatus(root=self._git.root, branch=branch, trunk=name), trunk)
        return {"branch": found.branch, "trunk": found.trunk, "tip": found.tip, "base": found.base, "ahead": found.ahead,
                "behind": found.behind, "changed": found.changed, "dirty": found.dirty, "merging": found.merging,
                "unresolved": found.unresolved, "filtered": found.filtered[:MAX_FILES]}

    async def _log(self, branch: str, trunk: str, limit: int) -> dict[str, Any]:
        """The branch's own commits; all it reaches where there is no trunk."""
        found = await self._with_trunk(
            lambda name: git.Log(root=self._git.root, branch=branch, limit=limit, since=name), trunk)
        return {"commits": [{"id": c.id, "subject": c.subject, "body": c.body, "author": c.author, "time": c.time}
                            for c in found.commits], "more": found.more}

    async def _with_trunk(self, asked: Callable[[str], Ask[R]], trunk: str) -> R:
        """The answer against the trunk; without one where that is gone."""
        try:
            return await self._git.ask(asked(trunk))
        except ThetisError as error:
            if not trunk or error.code != "repo":
                raise
            return await self._git.ask(asked(""))

    async def _commit(self, session: str, branch: str, message: str, turn: str) -> dict[str, Any]:
        text = f"{message}\n\nThetis-Conversation: {session}\n" + (f"Thetis-Turn: {turn}\n" if turn else "")
        done = await self._git.ask(git.CommitTurn(root=self._git.root, branch=branch, message=text, known=self._git.known))
        files = [each.path for each in done.changed[:MAX_FILES]]
        skipped = [msgspec.to_builtins(each) for each in done.skipped[:50]]
        if done.commit:
            await self._note(session, "commit", "", done.commit, message.splitlines()[0], turn,
                             {"files": files, "total": done.total, "skipped": skipped})
        return {"commit": done.commit, "tip": done.tip, "files": files, "total": done.total, "skipped": skipped,
                "notes": done.notes}

    async def _moved(self, session: str, op: str, moved: b.Moved, what: str, turn: str) -> dict[str, Any]:
        files = [each.path for each in moved.changed[:MAX_FILES]]
        told = {"files": files, "total": moved.total, "conflicts": moved.conflicts}
        if moved.how == "conflicts":
            await self._note(session, "merge-open", moved.before, moved.after,
                             f"{what} conflicts in {', '.join(moved.conflicts[:5])}", turn, told)
        elif moved.before != moved.after:
            await self._note(session, op, moved.before, moved.after, what, turn, told)
        return {"how": moved.how, "before": moved.before, "after": moved.after, "kept": moved.kept,
                "skipped": [msgspec.to_builtins(each) for each in moved.skipped[:50]], "notes": moved.notes, **told}

    async def _note(self, session: str, op: str, before: str, after: str, detail: str, turn: str, data: dict[str, Any]) -> None:
        done = BranchOp(op=op, ok=True, before=before, after=after, detail=detail, turn=turn, data=data)
        await self._git.log.append(session, done)


def _message(arguments: Arguments, default: str) -> str:
    text = str(arguments.get("message", "")).strip()
    if len(text) > MAX_MESSAGE:
        raise UsageError(f"A commit's message holds at most {MAX_MESSAGE} characters.", code="bad-arguments")
    return text or default
