"""Instructions about the conversation's branch: where it stands, commits, the trunk brought in, conflicts settled.

A conflict is settled the plain way: both sides stay, the marks go. Must not know requests or streams.
"""

from __future__ import annotations

import re

from thetis_kernel.models.rehearsal.answers import content, failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call

_MARK = re.compile(r"^(<{7} .*|={7}|>{7} .*)$")
OPEN = "The merge is open."


def stands(scene: Scene) -> Script:
    """where does the branch stand"""
    status, log = yield Step("Looking at the branch.", [call("branch_status"), call("branch_log")])
    if not status.ok:
        return failure(status)
    return f"{status.text}\n\n{fenced(log.text, 'text')}" if log.ok else status.text


def commit(scene: Scene, message: str) -> Script:
    """commit as M"""
    [done] = yield Step("Committing.", [call("branch_commit", message=message)])
    return done.text if done.ok else failure(done)


def update(scene: Scene) -> Script:
    """update from the trunk, and settle what conflicts"""
    [done] = yield Step("Bringing the trunk in.", [call("update_from_trunk")])
    if not done.ok:
        return failure(done)
    if not done.text.startswith(OPEN):
        return done.text
    paths = [line for line in done.text.splitlines()[1:] if line and " " not in line]
    for path in paths:
        [read] = yield Step(f"Both sides changed {named(path)}.", [call("read", path=path)])
        if not read.ok:
            continue  # one side removed it
        kept = [line for line in content(read).split("\n") if not _MARK.match(line)]
        [written] = yield Step("Keeping both.", [call("write", path=path, contents="\n".join(kept).rstrip("\n") + "\n")])
        if not written.ok:
            return failure(written)
    [completed] = yield Step("No marks are left.", [call("complete_merge")])
    if not completed.ok:
        return failure(completed)
    return f"Both sides of {', '.join(map(named, paths))} are kept. {completed.text}"


def begin_update(scene: Scene) -> Script:
    """update from the trunk and leave the conflicts"""
    [done] = yield Step("Bringing the trunk in.", [call("update_from_trunk")])
    return done.text if done.ok else failure(done)


def abort(scene: Scene) -> Script:
    """give the merge up"""
    [done] = yield Step("Giving the merge up.", [call("abort_merge")])
    return done.text if done.ok else failure(done)


def go_back(scene: Scene, revision: str) -> Script:
    """go back to REV"""
    [done] = yield Step(f"Going back to {named(revision)}.", [call("reset_branch", revision=revision)])
    return done.text if done.ok else failure(done)


def update_code(scene: Scene) -> Script:
    """update your code"""
    [done] = yield Step("Bringing my own guests up to date.", [call("update_code")])
    return done.text if done.ok else failure(done)
