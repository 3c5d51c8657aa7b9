"""Writing a skill: into the conversation's body, one commit, or into the person's own directory.

What does not read as a skill is not kept, and says why, file and line. Must not know who may write where.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import SHIPPED, Modification
from thetis_kernel.protocol.skills import Problem, SkillWritten, WriteSkill
from thetis_kernel.skills.frontmatter import NAME, parse
from thetis_kernel.skills.reading import SKILL, digest_of

TARGET = "skill/"
"""Before the name, in the log's modifications."""


def judged(name: str, contents: str) -> list[Problem]:
    """What is wrong with the text of a skill; a name that is none is one problem."""
    if not NAME.fullmatch(name):
        return [Problem("", 0, f"{name[:60]!r} cannot be a skill's name: up to 48 of a-z, 0-9 and dashes.")]
    return parse(contents.encode("utf-8", "replace"), name, f"skills/{name}/{SKILL}").problems


async def keep(bodies: Bodies, log: Log, session: str, ask: WriteSkill, by: str, person: Path) -> SkillWritten:
    """Keep it, or remove it when its contents are empty. Raises CodeError, RepoError, StoreError, OSError."""
    problems = judged(ask.name, ask.contents) if ask.contents or not NAME.fullmatch(ask.name) else []
    if any(problem.fatal for problem in problems):
        return SkillWritten(ask.name, False, ask.where, problems)
    raw = ask.contents.encode("utf-8", "replace")
    revision = digest_of({SKILL: raw}) if raw else SHIPPED
    summary = f"{'Write' if raw else 'Remove'} the skill {ask.name}"
    async with bodies.line(session):
        state = await log.state(session)
        before = next((c.revision for _, c in reversed(state.modifications) if c.target == TARGET + ask.name), SHIPPED)
        commit = ""
        if ask.where == "person":
            place = person / ask.name
            await asyncio.to_thread(_put, place, raw)
            summary += " in the person's own directory"
        else:
            base = next((c.commit for _, c in reversed(state.modifications) if c.commit), "")
            place = await bodies.repository.ensure(session, base) / "skills" / ask.name
            await asyncio.to_thread(_put, place, raw)
            commit = await bodies.repository.commit(
                session, f"{summary}\n\nThetis-Conversation: {session}\nThetis-Skill: {ask.name}\n")
        await log.append(session, Modification(
            target=TARGET + ask.name, revision=revision, previous=before, verdict="pass", by=by, summary=summary, commit=commit))
    shown = f"{place}/{SKILL}" if ask.where == "person" else f"skills/{ask.name}/{SKILL}"
    return SkillWritten(ask.name, True, ask.where, problems, revision, shown)


def _put(place: Path, raw: bytes) -> None:
    """Make the skill's directory hold this text, whole or not at all; without a text, remove the directory."""
    if not raw:
        shutil.rmtree(place, ignore_errors=True)
        return
    place.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        os.chmod(name, 0o644)
        os.replace(name, place / SKILL)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
