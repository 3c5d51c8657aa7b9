"""What a person and the agent see of a conversation's guests: which there are, their text, their changes, their packages.

Reads the log, the body's checkout and commits, and the shipped guests; changes nothing.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from thetis_kernel.errors import ThetisError, UsageError
from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.forge.layout import MANIFEST
from thetis_kernel.forge.manifest import parse_manifest
from thetis_kernel.gateway.body import byhand, dependencies, files, history, pins
from thetis_kernel.gateway.body.compare import patch_of
from thetis_kernel.gateway.body.layout import Place, aspect_of, directory_of
from thetis_kernel.gateway.body.repository import BodyRepository
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import SHIPPED, Modification

Arguments = dict[str, Any]
READ_LINES = 1000


class Looking:
    """The reading half of the dev kit."""

    def __init__(self, repository: BodyRepository, log: Log) -> None:
        self._repository = repository
        self._log = log

    async def list_code(self, session: str, directory: str) -> dict[str, Any]:
        """The guests, or the files of the one in `directory`. Raises UsageError when there is none."""
        if directory.strip("/"):
            guest = await self._where(session, aspect_of(directory))
            names = await asyncio.to_thread(files.code_files, guest)
            if not names:
                raise UsageError(f"There is no guest in {directory[:200]}.", hint="List the guests with list_code.",
                                 code="not-found")
            clean = directory.strip("/")
            return {"files": [{"path": f"{clean}/{name}", "bytes": (guest / name).stat().st_size} for name in names]}
        state = await self._log.state(session)
        own = state.guests
        listed = []
        for aspect in sorted({*shipped_guests(), *own}):
            change = own.get(aspect)
            source = await asyncio.to_thread(_described, await self._where(session, aspect), aspect)
            listed.append({"aspect": aspect, "directory": directory_of(aspect), "origin": "own" if change else "shipped",
                           "revision": change.revision if change else SHIPPED, "pinned": pins.of(state, aspect), **source})
        return {"guests": listed}

    async def read_code(self, session: str, place: Place, arguments: Arguments) -> dict[str, Any]:
        """Lines of a file: `offset` from 1, `limit` 0 for the usual many. Raises CodeError."""
        guest = await self._where(session, place.aspect)
        text = await asyncio.to_thread(files.read, guest, place.inside, place.path)
        lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        first = max(int(arguments["offset"]), 1)
        kept = lines[first - 1:][: int(arguments["limit"]) or READ_LINES]
        return {"path": place.path, "text": "\n".join(kept), "first": first, "lines": len(kept), "total": len(lines),
                "truncated": first - 1 + len(kept) < len(lines)}

    async def _where(self, session: str, aspect: str) -> Path:
        """The directory the guest can be read in: the conversation's own, or the shipped one."""
        own = self._repository.worktree(session) / directory_of(aspect)
        return own if own.is_dir() else shipped_guests().get(aspect, own)

    async def diff(self, session: str, aspect: str, revision: str) -> dict[str, Any]:
        """{"aspect", "revision", "previous", "patch"}: what a revision changed; "" is the one that serves against the shipped."""
        state = await self._log.state(session)
        refused = history.refusal(state, aspect, revision)
        if refused is not None:
            return await self._diff_refused(session, refused, state.guests.get(aspect))
        change = history.named(state, aspect, revision)
        previous = history.of_revision(state, aspect, change.previous) if revision else None
        after = await self.files_of(aspect, None if change.revision == SHIPPED else change)
        before = await self.files_of(aspect, previous)
        return {"aspect": aspect, "revision": change.revision, "previous": previous.revision if previous else SHIPPED,
                "patch": patch_of(before, after, directory_of(aspect))}

    async def _diff_refused(self, session: str, refused: Modification, serving: Modification | None) -> dict[str, Any]:
        """What did not pass is kept nowhere but in the checkout, and shown as long as it stands there."""
        aspect, guest = refused.target, self._repository.worktree(session) / directory_of(refused.target)
        if not guest.is_dir() or await asyncio.to_thread(byhand.revision_of, guest, aspect) != refused.revision:
            raise UsageError(f"{refused.revision[:8]} did not pass the gate and was changed since; its text is not kept.",
                             hint=f"`thetis self show {aspect} {refused.revision[:8]}` says why it did not.", code="not-found")
        after = await asyncio.to_thread(files.texts, guest)
        return {"aspect": aspect, "revision": refused.revision, "previous": serving.revision if serving else SHIPPED,
                "patch": patch_of(await self.files_of(aspect, serving), after, directory_of(aspect))}

    async def show(self, session: str, aspect: str, revision: str) -> dict[str, Any]:
        """All that is known of a revision: its line of the history, and "patch". Raises UsageError when there is none."""
        listed = (await history.of(self._log, session, aspect, most=0))["revisions"]
        state = await self._log.state(session)
        change = history.refusal(state, aspect, revision) or history.named(state, aspect, revision)
        entry = next(one for one in listed if one["revision"] == change.revision)
        try:
            patch = str((await self.diff(session, aspect, change.revision))["patch"])
        except UsageError as error:
            patch = f"({error.message})\n"
        return {**entry, "patch": patch}

    async def files_of(self, aspect: str, change: Modification | None) -> dict[str, str]:
        """The files of a revision; of the shipped guest for None."""
        if change is not None:
            return await self._repository.files(change.commit, directory_of(aspect)) if change.commit else {}
        shipped = shipped_guests().get(aspect)
        return await asyncio.to_thread(files.texts, shipped) if shipped else {}

    async def packages(self, session: str, aspect: str) -> dict[str, Any]:
        """The packages in a guest, "" in every one."""
        aspects = [aspect] if aspect else sorted({*shipped_guests(), *(await self._log.state(session)).guests})
        found: list[dict[str, Any]] = []
        for each in aspects:
            guest = await self._where(session, each)
            found += dependencies.told(await asyncio.to_thread(dependencies.present, guest), each)
        return {"packages": found}


def _described(directory: Path, aspect: str) -> dict[str, str]:
    """Version and description from a manifest that may be anything."""
    try:
        manifest = parse_manifest(files.read(directory, MANIFEST, MANIFEST), aspect)
    except (ThetisError, OSError):
        return {"version": "", "description": "(its manifest cannot be read)"}
    return {"version": manifest.version, "description": manifest.description}
