"""A conversation's own guests brought up to date with the root's common ones and the shipped ones, and merged into the former.

Everything is a three-way merge of one guest's files over what the conversation's own was made from, judged by the gate like
any change. What conflicts or is red waits in the conversation's checkout to be mended; what served before goes on serving.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from thetis_kernel.errors import StoreError, ThetisError, UsageError
from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.gateway.body import byhand, files, pending, pins
from thetis_kernel.gateway.body.common import BASE_TREE, Common, Upstream
from thetis_kernel.gateway.body.layout import directory_of
from thetis_kernel.gateway.body.repository import SHIPPED_TREE
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import SHIPPED, BranchOp, Incident, Modification
from thetis_kernel.protocol.ids import short

if TYPE_CHECKING:
    from thetis_kernel.gateway.body.service import Bodies

ADOPTED = "As this project's conversations have it in common"
RED_TOGETHER = "the two together do not pass the gate"
Answer = dict[str, Any]
Files = dict[str, str]


class BodyMerging:
    """`bodies` judge and keep; `common` is what they are merged into."""

    def __init__(self, bodies: Bodies, common: Common, log: Log) -> None:
        self._bodies = bodies
        self._common = common
        self._log = log
        self._looked: set[str] = set()

    async def adopt(self, session: str) -> None:
        """A new conversation begins with the common guests."""
        if self._bodies.repository.in_project:
            return
        for aspect, revision in sorted((await self._common.revisions()).items()):
            await self._log.append(session, Modification(
                target=aspect, revision=revision, previous=SHIPPED, verdict="pass", by="kernel", summary=ADOPTED,
                commit=await self._common.tip()))

    async def update(self, session: str, aspect: str, by: str) -> Answer:
        """The contract's `update-code`. Raises UsageError for a guest the conversation has none of its own of."""
        self._refuse_in_project("update_from_trunk brings them up to date.")
        async with self._bodies.line(session):
            own = sorted((await self._log.state(session)).guests)
            if aspect and aspect not in own:
                raise UsageError(f"{aspect} is no guest of this conversation's own.", code="not-found",
                                 hint="Nothing is to be merged: it serves as it is shipped.")
            return {"guests": [await self._update(session, one, by) for one in ([aspect] if aspect else own)]}

    async def merge(self, session: str, aspect: str) -> Answer:
        """Put the conversation's own guests ("" = all that differ) among the common ones, all or none.

        {"ok", "guests": [...], "merged": [aspects], "commit"}. Raises UsageError when it has none of its own.
        """
        self._refuse_in_project("`thetis merge` merges them.")
        async with self._bodies.line(session), self._common.lock:
            own = sorted((await self._log.state(session)).guests)
            wanted = [aspect] if aspect else own
            if not own or not set(wanted) <= set(own):
                raise UsageError("This conversation has no guests of its own to merge.", code="not-found",
                                 hint="`thetis self ls` lists the guests.")
            updated = [await self._update(session, one, "user") for one in wanted]
            if any(one["how"] in ("conflicts", "red") for one in updated):
                return {"ok": False, "guests": updated, "merged": [], "commit": ""}
            revisions = await self._common.revisions()
            now = (await self._log.state(session)).guests
            changed = {one: await self._upstream(session, now[one]) for one in wanted
                       if now[one].revision != revisions.get(one)}
            if not changed:
                return {"ok": True, "guests": updated, "merged": [], "commit": ""}
            names = ", ".join(sorted(changed))
            commit = await self._common.put(changed, f"{names} of {short(session)}\n\nThetis-Conversation: {session}\n")
            await self._log.append(session, BranchOp(
                op="merge-guests", ok=True, after=commit, detail=names,
                data={"guests": {one: each.revision for one, each in changed.items()}}))
            for one, each in changed.items():
                await self._bodies.remember_base(session, one, BASE_TREE, each.files)
            return {"ok": True, "guests": updated, "merged": sorted(changed), "commit": commit}

    async def look(self, session: str) -> None:
        """Once in a gateway's life: shipped guests that have changed are merged under the conversation's own, by themselves
        where that goes; where it does not, an incident says so and the conversation's own goes on serving."""
        if session in self._looked or self._bodies.repository.in_project:
            return
        self._looked.add(session)
        async with self._bodies.line(session):
            for aspect in sorted((await self._log.state(session)).guests):
                if aspect not in shipped_guests():
                    continue
                try:
                    await self._upgrade(session, aspect)
                except StoreError:
                    raise
                except ThetisError:  # a body that cannot be read costs no turn: what serves instead is told where it is asked for
                    continue

    async def look_at_common(self) -> list[str]:
        """The same for the common guests; a sentence for each that could not be."""
        told: list[str] = []
        if self._bodies.repository.in_project:
            return told
        async with self._common.lock:
            for aspect in sorted(await self._common.revisions()):
                there, now = await self._common.guest(aspect), await self._shipped(aspect)
                if there is None or aspect not in shipped_guests() or there.shipped == now:
                    continue
                merged = await self._bodies.repository.merged(there.shipped, there.files, now, ("in common", "shipped"))
                revision = "" if merged.conflicts else await self._bodies.passes(aspect, merged.files)
                if revision:
                    await self._common.put({aspect: Upstream(revision, merged.files, now)}, f"The shipped {aspect} under ours\n")
                else:
                    why = f"both changed {', '.join(merged.conflicts)}" if merged.conflicts else RED_TOGETHER
                    told.append(f"The shipped {aspect} has changed, and this project's common one cannot follow by itself: "
                                f"{why}. It goes on serving; a conversation's `thetis self update` and `merge` settle it.")
        return told

    def _refuse_in_project(self, hint: str) -> None:
        if self._bodies.repository.in_project:
            raise UsageError("In a checkout of Thetis the guests are a part of the project.", code="in-project", hint=hint)

    async def _update(self, session: str, aspect: str, by: str) -> Answer:
        state = await self._log.state(session)
        pins.check(state, aspect, by)
        serving, directory = state.guests[aspect], directory_of(aspect)
        worktree = await self._bodies.own(session, aspect)
        guest = worktree / directory
        if await asyncio.to_thread(byhand.revision_of, guest, aspect) != serving.revision:
            raise UsageError(f"{aspect} has an edit that does not pass the gate.", code="unfinished",
                             hint="Mend it with patch_code, or roll back; then bring it up to date.")
        ours = await asyncio.to_thread(files.texts, guest)
        common, shipped = await self._common.guest(aspect), await self._shipped(aspect)
        made_from = await asyncio.to_thread(pending.known, worktree, SHIPPED_TREE, directory)
        base = await asyncio.to_thread(pending.known, worktree, BASE_TREE, directory)
        if base is None:
            base = await self._adopted(session, aspect)
        conflicts: list[str] = []
        merged, reached = ours, made_from
        if common is not None:
            merged, conflicts = await self._merged(made_from or {} if base is None else base, merged, common.files, "in common")
            reached = shipped if made_from == shipped else common.shipped
        if not conflicts and aspect in shipped_guests() and reached is not None and reached != shipped:
            merged, conflicts = await self._merged(reached, merged, shipped, "shipped")
            reached = shipped
        await asyncio.to_thread(pending.keep, worktree, directory, reached, common.files if common else None)
        answer = {"aspect": aspect, "how": "current", "revision": serving.revision, "conflicts": conflicts, "diagnostics": []}
        if merged == ours:
            await self._bodies.settle(session, aspect)
            return answer
        await asyncio.to_thread(files.replace_guest, guest, merged)
        if conflicts:
            await self._bodies.seen(session, aspect, guest)
            return {**answer, "how": "conflicts", "conflicts": [f"{directory}/{path}" for path in conflicts]}
        verdict = await self._bodies.judged(session, aspect, guest, by, f"Bring {aspect} up to date")
        how = "merged" if verdict["ok"] else "red"
        return {**answer, "how": how, "revision": verdict["revision"], "diagnostics": verdict["diagnostics"]}

    async def _upgrade(self, session: str, aspect: str) -> None:
        state = await self._log.state(session)
        serving, directory = state.guests[aspect], directory_of(aspect)
        made_from = await self._bodies.repository.files(serving.commit, f"{SHIPPED_TREE}/{directory}")
        shipped = await self._shipped(aspect)
        if not made_from or made_from == shipped:
            return
        ours = await self._bodies.repository.files(serving.commit, directory)
        merged, conflicts = await self._merged(made_from, ours, shipped, "shipped")
        worktree = await self._bodies.own(session, aspect)
        edited = await asyncio.to_thread(byhand.revision_of, worktree / directory, aspect) != serving.revision
        pinned = bool(pins.of(state, aspect))
        if not conflicts and not edited and not pinned and await self._bodies.passes(aspect, merged):
            await asyncio.to_thread(files.replace_guest, worktree / directory, merged)
            await asyncio.to_thread(pending.keep, worktree, directory, shipped, None)
            summary = f"The shipped {aspect} has changed: merged"
            await self._bodies.judged(session, aspect, worktree / directory, "kernel", summary)
            return
        why = (f"both changed {', '.join(conflicts)}" if conflicts else "an edit of it is unfinished" if edited
               else "it is pinned" if pinned else RED_TOGETHER)
        incident = Incident(code="upgrade-waits", data={"aspect": aspect, "revision": serving.revision, "conflicts": conflicts},
                            message=f"The shipped {aspect} has changed, and this conversation's own cannot follow by itself: "
                            f"{why}. It goes on serving; `thetis self update` brings the two together.")
        if not await self._bodies.told(session, incident):
            await self._log.append(session, incident)

    async def _merged(self, base: Files, ours: Files, theirs: Files, name: str) -> tuple[Files, list[str]]:
        if base == theirs or ours == theirs:
            return ours, []
        found = await self._bodies.repository.merged(base, ours, theirs, ("this conversation", name))
        return found.files, found.conflicts

    async def _adopted(self, session: str, aspect: str) -> Files | None:
        """The common guest the conversation began with; None when there was none, or since it went back to the shipped one."""
        commit = ""
        for _, change in (await self._log.state(session)).modifications:
            if change.target == aspect and change.revision == SHIPPED:
                commit = ""
            elif change.target == aspect and change.by == "kernel" and change.summary == ADOPTED:
                commit = change.commit
        return await self._bodies.repository.files(commit, directory_of(aspect)) if commit else None

    async def _upstream(self, session: str, serving: Modification) -> Upstream:
        directory = directory_of(serving.target)
        found = await self._bodies.repository.files(serving.commit, directory)
        return Upstream(serving.revision, found, await self._shipped(serving.target))

    async def _shipped(self, aspect: str) -> Files:
        shipped = shipped_guests().get(aspect)
        return await asyncio.to_thread(files.texts, shipped) if shipped else {}
