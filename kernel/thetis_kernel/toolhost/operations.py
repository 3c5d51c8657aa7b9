"""The table of operations: what a call names, what it needs, whether it changes things, and what runs.

An operation is reached two ways, by an import of the same name or through `tooling.invoke-many`; both come here, so both
pass `authority.permit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost import (
    agents,
    asking,
    authority,
    branches,
    cloning,
    commands,
    devkit,
    edits,
    files,
    machines,
    notes,
    originals,
    pictures,
    search,
    settings,
    skills,
    transcripts,
    waiting,
)
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.intentions import intended
from thetis_kernel.toolhost.patches import PATCH
from thetis_kernel.toolhost.shared import noted
from thetis_kernel.toolhost.terminals import calls as terminals

Arguments = dict[str, Any]


class BadArguments(ThetisError):
    """A call whose arguments do not fit; the message names the argument."""

    code = "bad-arguments"


class Operation(msgspec.Struct, frozen=True):
    """`parameters`: name -> (type, default or REQUIRED), checked before `run(context, call id, arguments)`."""

    name: str
    changes: bool
    parameters: dict[str, tuple[type, Any]]
    run: Callable[[TurnContext, str, Arguments], dict[str, Any]]


REQUIRED = object()


def _devkit(name: str, /, **parameters: tuple[type, Any]) -> Operation:
    return Operation(f"devkit.{name}", name in devkit.CHANGING, parameters, lambda c, _, a: devkit.ask(c, name, a))


def _branch(name: str, /, **parameters: tuple[type, Any]) -> Operation:
    return Operation(f"branch.{name}", name in branches.CHANGING, parameters, lambda c, _, a: branches.ask(c, name, a))


OPERATIONS: dict[str, Operation] = {
    op.name: op
    for op in (
        Operation(
            "files.read-file",
            False,
            {"path": (str, REQUIRED), "offset": (int, 1), "limit": (int, 0)},
            lambda c, call, a: pictures.read_file(c, call, a["path"], a["offset"], a["limit"]),
        ),
        Operation(
            "files.write-file",
            True,
            {"path": (str, REQUIRED), "contents": (str, REQUIRED)},
            lambda c, _, a: noted(c.written, c.member, files.write_file(c.tree, a["path"], a["contents"])),
        ),
        Operation(
            "files.edit-file",
            True,
            {"path": (str, REQUIRED), "old_text": (str, REQUIRED), "new_text": (str, REQUIRED), "replace_all": (bool, False)},
            lambda c, _, a: noted(
                c.written, c.member, edits.edit_file(c.tree, a["path"], a["old_text"], a["new_text"], a["replace_all"])),
        ),
        Operation("files.list-dir", False, {"path": (str, ".")}, lambda c, _, a: files.list_dir(c.tree, a["path"])),
        Operation(
            "files.search-files",
            False,
            {
                "pattern": (str, REQUIRED),
                "path": (str, "."),
                "glob": (str, ""),
                "mode": (str, "content"),
                "max_results": (int, 0),
            },
            lambda c, _, a: search.search_files(c, a),
        ),
        Operation(
            "files.find-files",
            False,
            {"glob": (str, REQUIRED), "path": (str, "."), "max_results": (int, 0)},
            lambda c, _, a: search.find_files(c, a),
        ),
        Operation(
            "terminal.run",
            True,
            {"command": (str, REQUIRED), "cwd": (str, "."), "timeout_ms": (int, 0)},
            lambda c, call, a: commands.run(c, call, a["command"], a["cwd"], a["timeout_ms"]),
        ),
        Operation(
            "notes.remember",
            False,
            {"key": (str, REQUIRED), "content": (str, REQUIRED)},
            lambda c, _, a: notes.remember(c.journal, c.turn, a["key"], a["content"]),
        ),
        Operation(
            "notes.remember-for-all",
            True,
            {"key": (str, REQUIRED), "content": (str, REQUIRED)},
            lambda c, _, a: notes.remember_for_all(c.journal, a["key"], a["content"]),
        ),
        Operation("notes.recall-for-all", False, {"key": (str, "")}, lambda c, _, a: notes.recall_for_all(c.journal, a["key"])),
        Operation(
            "session.ask",
            False,
            {"questions": (list, REQUIRED), "intro": (str, "")},
            lambda c, _, a: asking.ask(c.journal, a["intro"], a["questions"]),
        ),
        Operation(
            "session.recall-span",
            False,
            {"first": (int, REQUIRED), "last": (int, REQUIRED)},
            lambda c, _, a: originals.recall_span(c.journal, a["first"], a["last"]),
        ),
        Operation(
            "terminals.open",
            True,
            {"cwd": (str, "."), "name": (str, ""), "env": (dict, {}), "host": (str, "")},
            lambda c, _, a: terminals.open_terminal(c, a["cwd"], a["name"], a["env"], a["host"]),
        ),
        Operation("config.list", False, {"prefix": (str, "")}, lambda c, _, a: settings.listing(c, a["prefix"])),
        Operation("config.read", False, {"key": (str, REQUIRED)}, lambda c, _, a: settings.read(c, a["key"])),
        Operation(
            "config.set",
            True,
            {"key": (str, REQUIRED), "value": (str, REQUIRED)},
            lambda c, _, a: settings.put(c, a["key"], a["value"]),
        ),
        Operation("ssh-hosts.list", False, {}, lambda c, _, a: machines.listing(c)),
        Operation("ssh-hosts.get", False, {"name": (str, REQUIRED)}, lambda c, _, a: machines.get(c, a["name"])),
        Operation(
            "ssh-hosts.set",
            True,
            {"name": (str, REQUIRED), "fields": (dict, REQUIRED)},
            lambda c, _, a: machines.put(c, a["name"], a["fields"]),
        ),
        Operation("ssh-hosts.remove", True, {"name": (str, REQUIRED)}, lambda c, _, a: machines.remove(c, a["name"])),
        Operation(
            "ssh-hosts.rename",
            True,
            {"name": (str, REQUIRED), "to": (str, REQUIRED)},
            lambda c, _, a: machines.rename(c, a["name"], a["to"]),
        ),
        Operation(
            "terminals.run",
            True,
            {"id": (str, REQUIRED), "command": (str, REQUIRED), "timeout_ms": (int, 0), "background": (bool, False)},
            lambda c, call, a: terminals.run(c, call, a["id"], a["command"], a["timeout_ms"], a["background"]),
        ),
        Operation(
            "terminals.read",
            False,
            {"id": (str, REQUIRED), "wait_ms": (int, 0)},
            lambda c, _, a: terminals.read(c, a["id"], a["wait_ms"]),
        ),
        Operation(
            "terminals.send",
            True,
            {"id": (str, REQUIRED), "text": (str, ""), "key": (str, ""), "submit": (bool, True)},
            lambda c, _, a: terminals.send(c, a["id"], a["text"], a["key"], a["submit"]),
        ),
        Operation(
            "terminals.signal",
            True,
            {"id": (str, REQUIRED), "signal": (str, "INT")},
            lambda c, _, a: terminals.send_signal(c, a["id"], a["signal"]),
        ),
        Operation("terminals.close", True, {"id": (str, REQUIRED)}, lambda c, _, a: terminals.close(c, a["id"])),
        Operation("terminals.list", False, {}, lambda c, _, a: terminals.list_terminals(c)),
        Operation(
            "repository.clone",
            True,
            {"repo": (str, REQUIRED), "dir": (str, ""), "ref": (str, ""), "depth": (int, 0)},
            cloning.clone,
        ),
        Operation(
            "transcripts.list",
            False,
            {"limit": (int, 0), "archived": (bool, False)},
            lambda c, _, a: transcripts.listing(c, a),
        ),
        Operation(
            "transcripts.search",
            False,
            {"query": (str, REQUIRED), "conversation": (str, ""), "limit": (int, 0), "tools": (bool, False)},
            lambda c, _, a: transcripts.search(c, a),
        ),
        Operation(
            "transcripts.read",
            False,
            {"conversation": (str, REQUIRED), "from_seq": (int, 1), "limit": (int, 0), "chars": (int, 0)},
            lambda c, _, a: transcripts.read(c, a),
        ),
        Operation(
            "skills.read",
            False,
            {"name": (str, REQUIRED), "file": (str, ""), "again": (bool, False)},
            lambda c, _, a: skills.read(c, a),
        ),
        Operation("skills.find", False, {"query": (str, ""), "limit": (int, 0)}, lambda c, _, a: skills.find(c, a)),
        Operation(
            "skills.write",
            True,
            {"name": (str, REQUIRED), "contents": (str, REQUIRED), "where": (str, "conversation")},
            lambda c, _, a: skills.write(c, a),
        ),
        Operation("notes.recall", False, {"key": (str, "")}, lambda c, _, a: notes.recall(c.journal, a["key"])),
        _devkit("list-code", directory=(str, "")),
        _devkit("read-code", path=(str, REQUIRED), offset=(int, 1), limit=(int, 0)),
        _devkit("write-code", path=(str, REQUIRED), contents=(str, REQUIRED)),
        _devkit("patch-code", path=(str, REQUIRED), old_text=(str, REQUIRED), new_text=(str, REQUIRED)),
        _devkit("remove-code", path=(str, REQUIRED)),
        _devkit("new-tool", name=(str, REQUIRED), description=(str, REQUIRED)),
        _devkit("history", aspect=(str, REQUIRED)),
        _devkit("roll-back", aspect=(str, REQUIRED), revision=(str, "")),
        _devkit("update-code", aspect=(str, "")),
        _branch("status"),
        _branch("log", limit=(int, 20)),
        _branch("commit", message=(str, REQUIRED)),
        _branch("update-from-trunk"),
        _branch("complete-merge", message=(str, "")),
        _branch("abort-merge"),
        _branch("reset-to", revision=(str, REQUIRED)),
        _devkit("add-dependency", aspect=(str, REQUIRED), requirement=(str, REQUIRED)),
        _devkit("remove-dependency", aspect=(str, REQUIRED), name=(str, REQUIRED)),
        _devkit("list-dependencies", aspect=(str, "")),
        Operation(
            "agents.spawn",
            False,
            {"label": (str, REQUIRED), "task": (str, REQUIRED), "profile": (str, ""), "model": (str, ""), "mode": (str, "")},
            lambda c, _, a: agents.spawn(c, a),
        ),
        Operation("agents.status", False, {"child": (str, "")}, lambda c, _, a: agents.ask(c, "status", a)),
        Operation(
            "agents.transcript",
            False,
            {"child": (str, REQUIRED), "after": (int, 0)},
            lambda c, _, a: agents.ask(c, "transcript", a),
        ),
        Operation("agents.cancel", False, {"child": (str, REQUIRED)}, lambda c, _, a: agents.ask(c, "cancel", a)),
        Operation("agents.profiles", False, {}, lambda c, _, a: agents.ask(c, "profiles", a)),
        Operation(
            "wait.until",
            False,
            {"until": (str, ""), "children": (list, []), "terminal": (str, ""), "timeout_secs": (int, 0)},
            lambda c, _, a: waiting.until(c, a["until"], a["children"], a["terminal"], a["timeout_secs"]),
        ),
    )
}


def perform(context: TurnContext, name: str, call: str, arguments: Arguments) -> dict[str, Any]:
    """Permit and run one operation. Raises errors of the tree: Refused, BadArguments, PathError, WallError, ..."""
    answer = permitted(context, name, call, arguments)()
    answer.pop(PATCH, None)  # a person's, and asked for by a guest
    return answer


def permitted(context: TurnContext, name: str, call: str, arguments: Arguments) -> Callable[[], dict[str, Any]]:
    """What runs the operation, once it is permitted; may wait for a person. Raises Refused, BadArguments, PathError, ..."""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise BadArguments(f"There is no operation {name[:80]!r}.", hint="Known: " + ", ".join(sorted(OPERATIONS)) + ".")
    authority.permit(context, name, call, lambda: intended(context, name, _checked(operation, arguments)),
                     instead=machines.capability(context, name, arguments))
    checked = _checked(operation, arguments)
    return lambda: operation.run(context, call, checked)


def _checked(operation: Operation, arguments: Arguments) -> Arguments:
    """The arguments with defaults filled in; an unknown, missing or misfit one is refused by name."""
    extra = sorted(set(arguments) - set(operation.parameters))
    if extra:
        raise BadArguments(f"{operation.name} has no argument {extra[0][:60]!r}.",
                           hint="It takes: " + ", ".join(operation.parameters) + ".")
    checked: Arguments = {}
    for name, (kind, default) in operation.parameters.items():
        value = arguments.get(name)
        if value is None:
            if default is REQUIRED:
                raise BadArguments(f"{operation.name} needs the argument {name}.")
            value = default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BadArguments(f"{operation.name}: {name} must be {_named(kind)}.")
        checked[name] = value
    return checked


def _named(kind: type) -> str:
    return {str: "a text", int: "a whole number", bool: "true or false", dict: "an object", list: "a list"}[kind]
