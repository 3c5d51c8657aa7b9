"""The dev kit: a conversation's guests read, changed, judged, kept, and gone back from.

A change is written to the conversation's body, judged as a whole guest, and only if it passes committed, logged as a
`modification` and served from the next call on. One that fails stays in the worktree to be mended, and nothing else
happens: what served before goes on serving. The log is the truth of what serves; the worktree is what is being written.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from thetis_kernel.errors import GateError, Refused, UsageError
from thetis_kernel.forge.diagnostics import diagnostics_of
from thetis_kernel.forge.layout import world_of
from thetis_kernel.forge.manifest import NAME
from thetis_kernel.forge.service import Forge
from thetis_kernel.forge.source import read_guest, source_digest
from thetis_kernel.gateway.body import byhand, dependencies, files, history, pending, pins
from thetis_kernel.gateway.body.answers import told
from thetis_kernel.gateway.body.common import Common
from thetis_kernel.gateway.body.judged import Judged
from thetis_kernel.gateway.body.layout import Place, directory_of, is_skill, place_of
from thetis_kernel.gateway.body.looking import Looking
from thetis_kernel.gateway.body.merging import BodyMerging
from thetis_kernel.gateway.body.repository import BodyRepository
from thetis_kernel.gateway.body.template import new_tool_files
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import REFUSED, SHIPPED, Incident, Modification, StateChanged
from thetis_kernel.protocol.gate import Diagnostic, GuestSource, StepResult, Verdict, World
from thetis_kernel.store.folds import SessionState

Arguments = dict[str, Any]
PERSONS = ("diff", "show", "path", "pin", "merge")
"""Operations for people: what a revision changed, all that is known of one, where a guest lies, whether the agent may change
it, putting it among the root's common guests."""
MARK_LEFT = "a mark of the conflict is left: make the lines around it what they should be, and remove it"
MAX_BACK = 8
"""Revisions looked at when the present one passes no longer."""
MAX_SOURCES = 64
"""Kept at hand, so that a turn asks the git host for a guest once; an agent is about 100 KB."""


class Bodies:
    """`prepare(world)` makes sure the runtimes a verdict needs are there; `resolve` finds packages."""

    def __init__(self, repository: BodyRepository, forge: Forge, log: Log, prepare: Callable[[str], Any],
                 resolve: dependencies.Resolve) -> None:
        self.repository = repository
        self.looking = Looking(repository, log)
        self.merging = BodyMerging(self, Common(repository), log)
        self._forge = forge
        self._log = log
        self._prepare = prepare
        self._resolve = resolve
        self._locks: dict[str, asyncio.Lock] = {}
        self._sources: OrderedDict[tuple[str, str], GuestSource] = OrderedDict()
        self._judged = Judged(repository.directory)

    def line(self, session: str) -> asyncio.Lock:
        """Whoever changes something of the conversation's body waits here."""
        return self._locks.setdefault(session, asyncio.Lock())

    async def perform(self, session: str, name: str, arguments: Arguments, *, by: str) -> dict[str, Any]:
        """One operation of the contract's `devkit`, or one of `PERSONS`, which people alone ask for.

        `by`: agent or user. Raises UsageError, Refused for what is pinned, CodeError, StoreError, and RepoError when git
        cannot answer.
        """
        if by != "user" and name in PERSONS:
            raise UsageError(f"There is no operation devkit.{name}.", code="bad-arguments")
        if name == "update-code":
            state = await self._log.state(session)
            for aspect in [str(arguments["aspect"])] if arguments["aspect"] else state.guests:
                pins.check(state, aspect, by)
            return await self.merging.update(session, str(arguments["aspect"]), by)
        if name == "merge":
            return await self.merging.merge(session, str(arguments["aspect"]))
        async with self._locks.setdefault(session, asyncio.Lock()):
            match name:
                case "list-code":
                    return await self.looking.list_code(session, str(arguments["directory"]))
                case "read-code":
                    return await self.looking.read_code(session, place_of(str(arguments["path"])), arguments)
                case "write-code":
                    place = place_of(str(arguments["path"]))
                    return await self._change(session, place, by, f"Write {place.path}", lambda guest: files.write(
                        guest, place.inside, str(arguments["contents"])))
                case "patch-code":
                    place = place_of(str(arguments["path"]))
                    return await self._change(session, place, by, f"Edit {place.path}", lambda guest: files.patch(
                        guest, place.inside, place.path, str(arguments["old_text"]), str(arguments["new_text"])))
                case "remove-code":
                    place = place_of(str(arguments["path"]))
                    return await self._change(session, place, by, f"Remove {place.path}", lambda guest: files.remove(
                        guest, place.inside, place.path))
                case "new-tool":
                    return await self._new_tool(session, str(arguments["name"]), str(arguments["description"]), by)
                case "add-dependency" | "remove-dependency":
                    return await self._depend(session, str(arguments["aspect"]), by, str(arguments.get("requirement", "")),
                                              str(arguments.get("name", "")))
                case "list-dependencies":
                    return await self.looking.packages(session, str(arguments["aspect"]))
                case "path":
                    aspect = str(arguments["aspect"])
                    return {"path": str(await self._own(session, aspect) / (directory_of(aspect) if aspect else ""))}
                case "pin":
                    return await self._pin(session, str(arguments["aspect"]), str(arguments["revision"]))
                case "show":
                    return await self.looking.show(session, str(arguments["aspect"]), str(arguments["revision"]))
                case "diff":
                    return await self.looking.diff(session, str(arguments["aspect"]), str(arguments["revision"]))
                case "history":
                    return await history.of(self._log, session, str(arguments["aspect"]))
                case "roll-back":
                    return await self._roll_back(session, str(arguments["aspect"]), str(arguments["revision"]), by)
                case _:
                    raise UsageError(f"There is no operation devkit.{name[:40]}.", code="bad-arguments")

    async def serving(self, session: str, aspect: str) -> Verdict | None:
        """The verdict over the conversation's own guest for `aspect`, None when the shipped one serves.

        It may fail: the contract or the gate may have changed since. Raises RepoError when its source cannot be read.
        """
        change = (await self._log.state(session)).guests.get(aspect)
        return None if change is None else await self.verdict_of(change)

    async def compatible(self, session: str, aspect: str) -> tuple[Modification, Verdict] | None:
        """The last revision before the present one that passes the gate as it is now and never had to be put back, with its
        verdict; None when the shipped guest comes first, or there is none among the last few."""
        state = await self._log.state(session)
        put_back = {mishap.data.get("revision") for _, mishap in state.mishaps if mishap.data.get("aspect") == aspect}
        seen: set[str] = set()
        for _, change in reversed(state.modifications):
            if change.target != aspect or change.revision in seen:
                continue
            if change.revision == SHIPPED or len(seen) > MAX_BACK:
                return None
            if seen and change.revision not in put_back:
                verdict = await self.verdict_of(change)
                if verdict.ok:
                    return change, verdict
            seen.add(change.revision)
        return None

    async def verdict_of(self, change: Modification) -> Verdict:
        """The verdict over a revision that served once. Raises RepoError when its source cannot be read."""
        aspect = change.target
        source = self._sources.get((change.commit, aspect))
        if source is None:
            found = await self.repository.files(change.commit, directory_of(aspect))
            try:
                source = files.source_of(found, aspect, _world(aspect))
            except ValueError as error:
                return Verdict(False, "", [StepResult("source", False, 0.0, [Diagnostic("", 0, str(error))])])
            self._remember(change.commit, aspect, source)
        await self._prepare(source.world)
        return await self._forge.verdict(source)

    async def told(self, session: str, incident: Incident) -> bool:
        """Whether the newest incident of this code about this guest says the same: an old one is not told at each start."""
        mishaps = [mishap for _, mishap in (await self._log.state(session)).mishaps
                   if (mishap.code, mishap.data.get("aspect")) == (incident.code, incident.data["aspect"])]
        return bool(mishaps) and mishaps[-1] == incident

    def _remember(self, commit: str, aspect: str, source: GuestSource) -> None:
        self._sources[commit, aspect] = source
        while len(self._sources) > MAX_SOURCES:
            self._sources.popitem(last=False)

    async def own_tools(self, session: str) -> list[str]:
        """Aspects of the tools the conversation has of its own."""
        return sorted(aspect for aspect in (await self._log.state(session)).guests if aspect.startswith("tool/"))

    async def roll_back(self, session: str, aspect: str, revision: str, by: str, why: str = "") -> dict[str, Any]:
        """Serve an earlier revision again (a prefix of its digest, or "shipped"; "" is the one before the present).

        `why` takes the place of the summary that would be logged.
        """
        async with self._locks.setdefault(session, asyncio.Lock()):
            return await self._roll_back(session, aspect, revision, by, why)

    async def _roll_back(self, session: str, aspect: str, revision: str, by: str, why: str = "") -> dict[str, Any]:
        directory = directory_of(aspect)
        pins.check(await self._log.state(session), aspect, by)
        target = history.earlier(await self._log.state(session), aspect, revision)
        guest = await self._own(session, aspect) / directory
        if target is None or target.commit:
            await pending.back_to(self.repository, self.repository.worktree(session), directory, target.commit if target else "")
        if target is None:
            await asyncio.to_thread(self.repository.give_up, guest, aspect)
            summary = f"Back to the shipped {aspect}" if self.repository.original(aspect) else f"Remove {aspect}"
            return await self._kept(session, aspect, SHIPPED, by, why or summary, [])
        if not target.commit:
            raise UsageError(f"{aspect} lies in the person's own directory; its earlier texts are not kept.", code="not-found",
                             hint="Write it again, or look into the log: every text stands in the call that wrote it.")
        found = await self.repository.files(target.commit, directory)
        await asyncio.to_thread(files.replace_guest, guest, found)
        if is_skill(aspect):
            return await self._kept(session, aspect, target.revision, by, why or f"Back to {target.revision[:8]}", [])
        return await self._judge(session, aspect, guest, by, why or f"Back to {target.revision[:8]}")

    async def by_hand(self, session: str, words: str = "Edited by hand", by: str = "user", *,
                      again: bool = False) -> list[dict[str, Any]]:
        """Judge what a person changed in the conversation's checkout with an editor: verdicts as `perform` answers them.

        What passes is kept and serves; what does not is logged as refused, stays as it was written, and nothing else happens.
        A guest whose directory is gone is gone back from, to the shipped one where there is one. `again`: what was refused
        before is judged once more, too. `words`, `by`: of what is logged.
        """
        async with self._locks.setdefault(session, asyncio.Lock()):
            state = await self._log.state(session)
            worktree = await self.repository.ensure(session, _base(state))
            there = await asyncio.to_thread(byhand.guests_in, worktree)
            changed = []
            for aspect in sorted({*there, *state.guests}):
                guest = worktree / directory_of(aspect) if aspect in there else None
                found = await self._edited(session, aspect, guest, words, by, again)
                changed += [found] if found is not None else []
            return changed

    async def _edited(self, session: str, aspect: str, guest: Path | None, words: str, by: str,
                      again: bool) -> dict[str, Any] | None:
        serving = (await self._log.state(session)).guests.get(aspect)
        if guest is None:
            self._judged.put(session, aspect, "")
            return await self._kept(session, aspect, SHIPPED, by, f"{words}: {directory_of(aspect)} was removed", [])
        revision = await asyncio.to_thread(byhand.revision_of, guest, aspect)
        shipped = self.repository.original(aspect)
        known = serving.revision if serving else await asyncio.to_thread(byhand.revision_of, shipped, aspect) if shipped else ""
        if revision == known or (revision == self._judged.get(session, aspect) and not again):
            self._judged.put(session, aspect, revision)
            return None
        before = await self.looking.files_of(aspect, serving)
        names = byhand.changed(before, await asyncio.to_thread(files.texts, guest))
        answer = await self._judge(session, aspect, guest, by, f"{words}: {names}")
        refused = [change.revision for _, change in (await self._log.state(session)).refused if change.target == aspect]
        if not answer["ok"] and refused[-1:] != [revision]:
            await self._log.append(session, Modification(
                target=aspect, revision=revision, previous=serving.revision if serving else SHIPPED, verdict=REFUSED, by=by,
                summary=f"{words}: {names}. {byhand.reason(answer)}"))
        return answer

    # -- changing

    async def _own(self, session: str, aspect: str) -> Path:
        """The body's worktree, with the shipped guest copied and committed there if the conversation has none of its own."""
        state = await self._log.state(session)
        worktree = await self.repository.ensure(session, _base(state))
        original = self.repository.original(aspect)
        if original is not None and not (worktree / directory_of(aspect)).is_dir():
            await asyncio.to_thread(self.repository.begin, worktree, aspect, original)
            await self.repository.commit(session, f"{aspect} as it is shipped\n")
        return worktree

    # -- for merging, under `line`

    async def own(self, session: str, aspect: str) -> Path:
        """The body's checkout, with the conversation's own guest in it."""
        return await self._own(session, aspect)

    async def judged(self, session: str, aspect: str, guest: Path, by: str, summary: str) -> dict[str, Any]:
        """Judge what stands in the checkout and keep it if it passes; the verdict as `perform` answers it."""
        return await self._judge(session, aspect, guest, by, summary)

    async def passes(self, aspect: str, found: dict[str, str]) -> str:
        """The revision these files are if they pass the gate, "" if they do not."""
        try:
            source = files.source_of(found, aspect, _world(aspect))
        except ValueError:
            return ""
        await self._prepare(source.world)
        return source_digest(source) if (await self._forge.verdict(source)).ok else ""

    async def seen(self, session: str, aspect: str, guest: Path) -> None:
        """What stands in the checkout is the kernel's doing, and no edit by hand."""
        self._judged.put(session, aspect, await asyncio.to_thread(byhand.revision_of, guest, aspect))

    async def settle(self, session: str, aspect: str) -> None:
        """A merge that changed nothing is done."""
        await asyncio.to_thread(pending.settle, self.repository.worktree(session), directory_of(aspect))
        await self.repository.commit(session, f"{aspect} is up to date\n")

    async def remember_base(self, session: str, aspect: str, tree: str, found: dict[str, str]) -> None:
        """The conversation's own guest is what the common one is now."""
        where = self.repository.worktree(session) / tree / directory_of(aspect)
        await asyncio.to_thread(files.replace_guest, where, found)
        await self.repository.commit(session, f"{aspect} is merged\n")

    async def _pin(self, session: str, aspect: str, revision: str) -> dict[str, Any]:
        """Serve a revision and keep the agent from changing the guest; "none" takes that back, "" pins what serves."""
        directory_of(aspect)
        answer: dict[str, Any] = {"aspect": aspect, "ok": True, "pinned": "", "diagnostics": [], "steps": []}
        if revision != "none":
            serving = (await self._log.state(session)).guests.get(aspect)
            if serving is None and self.repository.original(aspect) is None:
                raise UsageError(f"There is no guest {aspect}.", hint="`thetis self ls` lists them.", code="not-found")
            now = serving.revision if serving else SHIPPED
            if revision and not now.startswith(revision):
                answer = await self._roll_back(session, aspect, revision, "user")
                now = str(answer["revision"])
            answer["pinned"] = now if answer["ok"] else ""
        if answer["ok"]:
            await self._log.append(session, StateChanged(scope=pins.SCOPE, key=aspect, value=pins.value(answer["pinned"])))
        return answer

    async def _new_tool(self, session: str, name: str, description: str, by: str) -> dict[str, Any]:
        if not NAME.fullmatch(name):
            raise UsageError(f"{name[:80]!r} cannot be a tool's name.", code="bad-arguments",
                             hint="Use 1-48 of a-z, 0-9 and hyphens, none at an edge.")
        aspect = f"tool/{name}"
        worktree = await self._own(session, aspect)
        guest = worktree / directory_of(aspect)
        if guest.is_dir():
            raise UsageError(f"There is a tool {name} already.", hint="Change it with write_code or patch_code.", code="exists")
        await asyncio.to_thread(files.replace_guest, guest, await asyncio.to_thread(new_tool_files, name, description))
        return await self._judge(session, aspect, guest, by, f"New tool {name}")

    async def _change(self, session: str, place: Place, by: str, summary: str,
                      work: Callable[[Path], None]) -> dict[str, Any]:
        pins.check(await self._log.state(session), place.aspect, by)
        guest = await self._own(session, place.aspect) / place.directory
        if not guest.is_dir() and self.repository.original(place.aspect) is None:
            raise UsageError(f"There is no guest {place.aspect}.", hint="Begin a tool with new_tool.", code="not-found")
        await asyncio.to_thread(work, guest)
        return {"path": place.path, **await self._judge(session, place.aspect, guest, by, summary)}

    async def _depend(self, session: str, aspect: str, by: str, requirement: str, name: str) -> dict[str, Any]:
        """Take a package in (`requirement`) or out (`name`). A verdict that is red puts back what was there."""
        pins.check(await self._log.state(session), aspect, by)
        guest = await self._own(session, aspect) / directory_of(aspect)
        if not guest.is_dir():
            raise UsageError(f"There is no guest {aspect}.", hint="Begin a tool with new_tool.", code="not-found")
        there = await asyncio.to_thread(dependencies.present, guest)
        if requirement:
            if self._log.scrubber.knows(requirement.encode("utf-8", "replace")):
                raise Refused("The requirement holds a secret of this machine.", capability="devkit", hint="Ask without.")
            from thetis_kernel.gateway.body.resolver import name_of  # late: most conversations take in nothing

            after = await self._resolve(dependencies.asked(there, requirement, name_of(requirement)))
        else:
            after = dependencies.without(there, name)
        await asyncio.to_thread(files.replace_packages, guest, dependencies.as_files(after))
        answer = await self._judge(session, aspect, guest, by, dependencies.summary(there, after, aspect))
        if not answer["ok"]:
            await asyncio.to_thread(files.replace_packages, guest, dependencies.as_files(there))
            self._judged.put(session, aspect, await asyncio.to_thread(byhand.revision_of, guest, aspect))
        before, now = {(one.name, one.version) for one in there}, {(one.name, one.version) for one in after}
        changed = [one for one in (after if requirement else there) if (one.name, one.version) in before ^ now]
        return {**answer, "packages": dependencies.told(changed)}

    async def _judge(self, session: str, aspect: str, guest: Path, by: str, summary: str) -> dict[str, Any]:
        try:
            source = await asyncio.to_thread(read_guest, guest, aspect)
            self._judged.put(session, aspect, source_digest(source))
        except GateError as error:
            self._judged.put(session, aspect, byhand.unreadable(error))
            step = StepResult("source", False, 0.0, diagnostics_of(error))
            return told(aspect, directory_of(aspect), Verdict(False, "", [step]))
        worktree, directory = self.repository.worktree(session), directory_of(aspect)
        merging = await asyncio.to_thread(pending.is_open, worktree, directory)
        if merging and (left := await asyncio.to_thread(pending.marks, guest)):
            places = [Diagnostic(path, line, MARK_LEFT) for path, line in left]
            return told(aspect, directory, Verdict(False, "", [StepResult("merge", False, 0.0, places)]))
        await self._prepare(source.world)
        verdict = await self._forge.verdict(source)
        if not verdict.ok:
            return told(aspect, directory, verdict)
        if merging:
            await asyncio.to_thread(pending.settle, worktree, directory)
        kept = await self._kept(session, aspect, source_digest(source), by, summary, verdict.steps)
        self._remember(str(kept["commit"]), aspect, source)
        return kept

    async def _kept(self, session: str, aspect: str, revision: str, by: str, summary: str,
                    steps: list[StepResult]) -> dict[str, Any]:
        """Commit what passed and say in the log that it serves."""
        before = (await self._log.state(session)).guests.get(aspect)
        trailer = f"Thetis-Conversation: {session}\nThetis-Aspect: {aspect}\nThetis-Revision: {revision}\n"
        commit = await self.repository.commit(session, f"{summary[:72]}\n\n{trailer}")
        previous = before.revision if before else SHIPPED
        if revision != previous:
            await self._log.append(session, Modification(target=aspect, revision=revision, previous=previous, verdict="pass",
                                                         by=by, summary=summary, commit=commit))
        answer = told(aspect, directory_of(aspect), Verdict(True, revision, steps))
        gone = revision == SHIPPED and self.repository.original(aspect) is None
        return {**answer, "previous": previous, "commit": commit, "changed": revision != previous, "gone": gone}


def _base(state: SessionState) -> str:
    """The commit a branch of the body begins at that is not there (any more): the newest one that served, "" for none."""
    return next((change.commit for _, change in reversed(state.modifications) if change.commit), "")


def _world(aspect: str) -> World:
    return cast(World, world_of(aspect))
