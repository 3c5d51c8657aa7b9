"""What clients may ask about branches; a person decides about theirs on their own machine, never over a bridge."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from thetis_kernel.protocol import kernels as k
from thetis_kernel.protocol import merging as m
from thetis_kernel.protocol import publishing as p
from thetis_kernel.protocol.branches import Applied, Landed

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway


def handlers(gateway: Gateway, only_a_person: Callable[[str], None]) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """The handlers of one client's channel; `only_a_person(what)` raises for a bridge."""

    async def plan(ask: m.PlanMerge) -> m.MergePlan:
        only_a_person("A branch")
        return await gateway.merging.plan(await gateway.conversations.find(ask.session), ask.into)

    async def merge(ask: m.Merge) -> Landed:
        only_a_person("A branch")
        session = await gateway.conversations.find(ask.session)
        done = await asyncio.shield(gateway.merging.merge(session, ask.tip, ask.onto, ask.into, ask.message))
        gateway.changed(session)
        return done

    async def resolve(ask: m.Resolve) -> bool:
        only_a_person("A branch")
        return await gateway.merging.resolve(await gateway.conversations.find(ask.session), ask.event_id)

    async def apply(ask: m.ApplyChanges) -> Applied:
        only_a_person("A checkout")
        return await asyncio.shield(gateway.merging.apply(await gateway.conversations.find(ask.session)))

    async def worktrees(_: m.ListWorktreeLines) -> list[m.WorktreeLine]:
        return await gateway.worktrees.all(await gateway.conversations.all())

    async def prune(_: m.PruneWorktrees) -> list[m.WorktreeLine]:
        only_a_person("A worktree")
        return await asyncio.shield(gateway.worktrees.prune(await gateway.conversations.all()))

    async def kernel(ask: k.LookAtKernel) -> k.KernelState:
        return await gateway.kernels.state(await gateway.conversations.find(ask.session))

    async def approve(ask: k.ApproveKernel) -> k.KernelState:
        only_a_person("A kernel")
        return await gateway.kernels.approve(await gateway.conversations.find(ask.session), ask.tree)

    async def publish(ask: p.Publish) -> p.Published:
        only_a_person("A branch")
        return await asyncio.shield(gateway.branches.ask(p.PublishTrunk(root=gateway.branches.root, remake=ask.remake)))

    async def guard(ask: p.SetGuard) -> p.Guarded:
        only_a_person("A hook")
        return await gateway.branches.ask(p.GuardPushes(root=gateway.branches.root, wanted=ask.wanted))

    return {
        p.Publish: publish,
        p.SetGuard: guard,
        k.LookAtKernel: kernel,
        k.ApproveKernel: approve,
        m.PlanMerge: plan,
        m.Merge: merge,
        m.Resolve: resolve,
        m.ApplyChanges: apply,
        m.ListWorktreeLines: worktrees,
        m.PruneWorktrees: prune,
    }
