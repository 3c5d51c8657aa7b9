"""`thetis merge`, `diff`, `apply`, `path` and `worktrees`: a conversation's branch, and what a person does with it."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime

from thetis_kernel.cli.one import asked, say
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import UsageError
from thetis_kernel.protocol.branches import Applied, Landed
from thetis_kernel.protocol.client import DiffText
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.merging import MergePlan, WorktreeLine
from thetis_kernel.protocol.plaintext import clean_line

MAX_NAMED = 20
KIB = 1024


def merge(arguments: argparse.Namespace) -> int:
    """Merge a conversation into its trunk or another branch. Exit 1 when nothing was, because of conflicts or what blocks it."""

    async def work(client: GatewayClient, session: str) -> MergePlan | Landed:
        if arguments.resolve:
            if not await client.resolve(session):
                raise UsageError("A turn of this conversation is running.", hint="Wait for its end, or stop it.")
            await client.wait_idle(session)
            return await client.plan_merge(session, arguments.into)
        plan = await client.plan_merge(session, arguments.into)
        if arguments.dry_run or plan.plan.how != "ready" or plan.plan.blocked:
            return plan
        return await client.merge(plan, arguments.into, arguments.message)

    found = asked(arguments, work, warm=arguments.resolve)
    if isinstance(found, Landed):
        say(arguments, found, _landed(found))
        return 0
    say(arguments, found, _planned(found))
    return 0 if found.plan.how == "nothing" or (found.plan.how == "ready" and not found.plan.blocked) else 1


def diff(arguments: argparse.Namespace) -> int:
    """Print what a conversation changed, as a patch or as a list of files."""

    async def work(client: GatewayClient, session: str) -> DiffText:
        return await client.diff(session)

    found = asked(arguments, work)
    listed = "".join(f"{added:>6}+ {removed:>6}-  {clean_line(path)}\n" for path, added, removed in found.files)
    say(arguments, found, (listed if arguments.stat else found.patch) or "Nothing was changed.\n")
    return 0


def apply(arguments: argparse.Namespace) -> int:
    """Write a conversation's changes into the checkout, uncommitted."""

    async def work(client: GatewayClient, session: str) -> Applied:
        return await client.apply(session)

    found = asked(arguments, work)
    say(arguments, found, f"{_files(found.total)} of the checkout changed; nothing is staged or committed.\n"
         + _listed([f"{each.status} {each.path}" for each in found.changed], found.total))
    return 0


def path(arguments: argparse.Namespace) -> int:
    """Print where a conversation's worktree is. Raises UsageError when it has none."""

    async def work(client: GatewayClient, session: str) -> str:
        return (await client.conversation(session)).worktree

    found = asked(arguments, work)
    if not found:
        raise UsageError("This conversation has no worktree.", hint="It gets one with its next words.")
    say(arguments, found, f"{found}\n")
    return 0


def worktrees(arguments: argparse.Namespace) -> int:
    """List the worktrees of this root's conversations, or remove those nobody needs."""
    paths, loaded = locate(arguments)

    async def work() -> list[WorktreeLine]:
        async with reached(paths, loaded, warm=False) as client:
            return await client.worktrees(prune=arguments.prune)

    found = asyncio.run(work())
    if arguments.prune:
        freed = _size(sum(max(line.bytes, 0) for line in found))
        say(arguments, found, "".join(f"Removed {line.path}\n" for line in found)
             + f"{_count(len(found), 'worktree')} removed, {freed} freed; their branches are still there.\n")
        return 0
    lines = [f"{line.branch:<14} {_size(line.bytes):>9}  {_age(line):<16}  {_state(line):<30}  {clean_line(line.title)}\n"
             for line in found]
    idle = sum(line.prunable for line in found)
    lines += [f"{idle} of them can go: `thetis worktrees --prune`.\n"] if idle else []
    say(arguments, found, "".join(lines) or "No worktrees yet.\n")
    return 0


def _landed(found: Landed) -> str:
    went = "; your checkout went along" if found.checked_out else ""
    return (f"Merged into {found.target} as {found.commit[:10]}: {_files(found.total)}{went}.\n"
            f"The conversation's own commits are kept at {found.kept}.\n" + "".join(f"{note}\n" for note in found.notes))


def _planned(found: MergePlan) -> str:
    plan, short_id = found.plan, short(found.session)
    if plan.how == "nothing":
        return f"{plan.target} has everything {found.branch} has.\n"
    if plan.how == "conflicts":
        return (f"{found.branch} and {plan.target} changed the same lines; nothing was merged.\n"
                f"{_listed(plan.conflicts, len(plan.conflicts))}"
                f"Have the conversation settle it: thetis merge {short_id} --resolve\n")
    head = f"{found.branch} into {plan.target}, as one commit: {_files(plan.total)}\n"
    listed = _listed([f"{each.status} {each.path}" for each in plan.changed], plan.total)
    words = "".join(f"    {line}\n" for line in found.message.splitlines())
    running = ["A turn of this conversation is running."] if found.running else []
    blocked = "".join(f"Not now: {sentence}\n" for sentence in [*running, *plan.blocked])
    return head + listed + f"Message:\n{words}" + blocked


def _listed(names: list[str], total: int) -> str:
    more = [f"  ... and {total - MAX_NAMED} more\n"] if total > MAX_NAMED else []
    return "".join([*(f"  {clean_line(name)}\n" for name in names[:MAX_NAMED]), *more])


def _files(count: int) -> str:
    return _count(count, "file")


def _count(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _size(count: int) -> str:
    if count < 0:
        return "?"
    return f"{count / KIB**2:.1f} MiB" if count >= KIB**2 else f"{count / KIB:.0f} KiB"


def _age(line: WorktreeLine) -> str:
    return datetime.fromtimestamp(line.used_ms / 1000).strftime("%Y-%m-%d %H:%M") if line.used_ms else "(deleted)"


def _state(line: WorktreeLine) -> str:
    return "can go" if line.prunable else line.why
