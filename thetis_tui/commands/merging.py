"""Commands about what becomes of a conversation's branch: merging it, or taking its files into one's own checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thetis_kernel.protocol.client import Conversation
from thetis_kernel.protocol.merging import MergePlan

from thetis_tui.commands.base import Command
from thetis_tui.commands.keeping import OnConversation
from thetis_tui.text import plural

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

MAX_NAMED = 8


class Merge(OnConversation):
    id = "merge"
    title = "Merge conversation…"
    help = "Put everything this conversation changed onto its trunk as one commit; it is said first what will happen."
    slash = "merge"
    argument = "[branch]"

    def applies(self, app: ThetisApp) -> bool:
        return bool(app.state.current) and app.state.turn is None

    async def run_on(self, app: ThetisApp, conversation: Conversation, argument: str = "") -> None:
        from thetis_tui.screens.dialog import conflict_dialog, merge_dialog

        if conversation.id in app.state.turns:
            app.say("A turn is running there.", hint="Stop it first, or wait for its end.", level="warn")
            return
        into = argument.strip()
        found = await app.ask(app.client.plan_merge(conversation.id, into))
        plan = found.plan
        if plan.how == "nothing":
            app.say(f"{plan.target} has everything this conversation has.")
        elif plan.how == "conflicts":
            if await app.answer(conflict_dialog(plan.target, named(plan.conflicts, len(plan.conflicts)))):
                await app.ask(app.client.resolve(conversation.id))
        elif plan.blocked:
            app.say("\n".join(plan.blocked), level="warn")
        elif await app.answer(merge_dialog(plan.target, words(found))):
            done = await app.ask(app.client.merge(found, into))
            went = ", and your checkout went along" if done.checked_out else ""
            app.say("\n".join([f"Merged into {done.target} as {done.commit[:10]}{went}.", *done.notes]))


class Worktrees(Command):
    id = "worktrees"
    title = "Worktrees"
    help = "The directories conversations work in: how large, how changed, which can go; remove those nobody needs."
    slash = "worktrees"

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        from thetis_tui.screens.worktrees import WorktreesScreen

        session = await app.answer(WorktreesScreen())
        if session:
            app.show(session)


class Apply(OnConversation):
    id = "apply"
    title = "Apply changes to your checkout"
    help = "Write what this conversation changed into your checkout, uncommitted; refused for a file you have changed too."
    slash = "apply"

    async def run_on(self, app: ThetisApp, conversation: Conversation, argument: str = "") -> None:
        done = await app.ask(app.client.apply(conversation.id))
        app.say(f"{plural(done.total, 'file')} of your checkout changed. Nothing is staged or committed.")


def words(found: MergePlan) -> str:
    """What merging will do, as sentences and a list."""
    plan = found.plan
    files = named([f"{each.status}  {each.path}" for each in plan.changed], plan.total)
    where = ("Your checkout is clean and goes along." if plan.ours
             else f"{plan.target} is not checked out here; your files stay as they are.")  # fmt: skip
    subject = found.message.split("\n", 1)[0]
    return f"One commit on {plan.target}, “{subject}”, with {plural(plan.total, 'changed file')}:\n{files}\n\n{where}"


def named(names: list[str], total: int) -> str:
    """The first of them, a line each."""
    more = [f"  and {total - MAX_NAMED} more"] if total > MAX_NAMED else []
    return "\n".join([*(f"  {name}" for name in names[:MAX_NAMED]), *more])
