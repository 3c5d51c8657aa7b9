"""The conversation's branch: what the model is told of the tools, and how their results read.

Merging into the trunk is the person's and no tool. The texts never vary, so that the provider's cache of the tool list
holds. Must not know git.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog import Tool
from schemas import count, string, takes
from thetis_guest.lenient import number, objects, strings, text

SHORT = 10
SHOWN = 40
"""Files a result names."""


BRANCHES: tuple[Tool, ...] = (
    Tool(
        "branch_status",
        "Commits ahead of and behind the trunk, uncommitted files, an open merge.",
        takes(),
        "branch.status",
        mutating=False,
    ),
    Tool(
        "branch_log",
        "The commits of your branch, newest first.",
        takes(limit=count(hint="default 20", maximum=200)),
        "branch.log",
        mutating=False,
    ),
    Tool(
        "branch_commit",
        "Commit now, to keep steps apart; the turn's end commits all anyway.",
        takes("message", message=string(hint="what and, after a blank line, why", minLength=1, maxLength=4000)),
        "branch.commit",
        mutating=True,
    ),
    Tool(
        "update_from_trunk",
        "Bring the trunk into your branch, committing your work first. On conflicts marks stand in the files and the "
        "merge stays open: edit them and call complete_merge, or abort_merge.",
        takes(),
        "branch.update-from-trunk",
        mutating=True,
    ),
    Tool(
        "complete_merge",
        "Record an open merge once no marks are left.",
        takes(message=string(hint="of the commit", maxLength=4000)),
        "branch.complete-merge",
        mutating=True,
    ),
    Tool(
        "abort_merge",
        "Give an open merge up; what stood there is kept in a commit.",
        takes(),
        "branch.abort-merge",
        mutating=True,
    ),
    Tool(
        "reset_branch",
        "Go back to the files of an earlier commit, as a new commit on top.",
        takes("revision", revision=string(hint="as branch_log names it", minLength=6, maxLength=40)),
        "branch.reset-to",
        mutating=True,
    ),
    Tool(
        "update_code",
        "Bring changes of the project's common guests and the shipped ones into yours, judged by the gate. Conflicts "
        "stand between marks until you mend them with patch_code.",
        takes(aspect=string(hint="default: all of yours")),
        "devkit.update-code",
        mutating=True,
    ),
)


def _status(value: Any, args: dict[str, Any]) -> str:
    trunk = text(value, "trunk") or "no trunk"
    lines = [
        f"{text(value, 'branch')} at {text(value, 'tip')[:SHORT]}: {number(value, 'ahead')} ahead of and "
        f"{number(value, 'behind')} behind {trunk}, {number(value, 'changed')} files changed since it began, "
        f"{number(value, 'dirty')} not committed."
    ]
    if text(value, "merging"):
        left = strings(value, "unresolved")
        lines.append("A merge is open. " + (f"Marks are left in: {', '.join(left)}." if left else "No marks are left."))
    if filtered := strings(value, "filtered"):
        lines.append(
            f"A git filter owns these, which keeps the branch from being merged: {', '.join(filtered[:SHOWN])}."
        )
    return "\n".join(lines)


def _log(value: Any, args: dict[str, Any]) -> str:
    lines = [f"{text(one, 'id')[:SHORT]}  {text(one, 'subject')}" for one in objects(value, "commits")]
    if value.get("more") is True:
        lines.append("[more: ask with a larger limit]")
    return "\n".join(lines) or "No commits of its own yet."


def _commit(value: Any, args: dict[str, Any]) -> str:
    if not text(value, "commit"):
        return "\n".join(["Nothing had changed.", *_skipped(value), *strings(value, "notes")])
    head = f"Committed as {text(value, 'commit')[:SHORT]}: {_named(value)}."
    return "\n".join([head, *_skipped(value), *strings(value, "notes")])


def _moved(value: Any, args: dict[str, Any]) -> str:
    how = text(value, "how")
    if how == "current":
        return "Nothing to do: the branch has all of that already."
    if how == "conflicts":
        kept = strings(value, "kept")
        lines = ["The merge is open. Both sides changed these files:", *strings(value, "conflicts")]
        if kept:
            why = "one side removed the file, or it is no text"
            lines.append(f"Without marks, as your branch has them ({why}): {', '.join(kept)}.")
        return "\n".join([*lines, "Edit each to what it should be, then call complete_merge; abort_merge gives it up."])
    lines = [f"The branch is at {text(value, 'after')[:SHORT]} now: {_named(value)}."]
    return "\n".join([*lines, *_skipped(value), *strings(value, "notes")])


def _aborted(value: Any, args: dict[str, Any]) -> str:
    after, saved = text(value, "after")[:SHORT], text(value, "saved")[:SHORT]
    return f"The files are those of {after} again; what stood there is kept as {saved}."


def _updated(value: Any, args: dict[str, Any]) -> str:
    """What became of each guest that was brought up to date."""
    lines = []
    for one in objects(value, "guests"):
        aspect, how = text(one, "aspect"), text(one, "how")
        if how == "current":
            lines.append(f"{aspect}: nothing new.")
        elif how == "merged":
            lines.append(f"{aspect}: merged, passes the gate, revision {text(one, 'revision')[:8]}.")
        elif how == "conflicts":
            both = ", ".join(strings(one, "conflicts"))
            lines.append(
                f"{aspect}: both changed {both}. The marks are in the files; mend them with patch_code. What ran before "
                "goes on running."
            )
        else:
            lines.append(
                f"{aspect}: merged without conflicts, but it does not pass the gate. What ran before goes on running:"
            )
            for found in objects(one, "diagnostics"):
                lines.append(f"  {text(found, 'path')}:{number(found, 'line')}: {text(found, 'message')}")
    return "\n".join(lines) or "You have no guests of your own."


def _named(value: Any) -> str:
    files, total = strings(value, "files"), number(value, "total")
    more = f" and {total - SHOWN} more" if total > SHOWN else ""
    return f"{total} files ({', '.join(files[:SHOWN])}{more})" if files else f"{total} files"


def _skipped(value: Any) -> list[str]:
    return [f"Not recorded: {text(one, 'path')}, because {text(one, 'why')}." for one in objects(value, "skipped")]


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "branch.status": _status,
    "branch.log": _log,
    "branch.commit": _commit,
    "branch.update-from-trunk": _moved,
    "branch.complete-merge": _moved,
    "branch.abort-merge": _aborted,
    "branch.reset-to": _moved,
    "devkit.update-code": _updated,
}
