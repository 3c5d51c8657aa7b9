"""What each operation is about to do, in the words and with the patch a person is asked with.

An operation without a maker of its own is shown by its name and all its arguments, and can be allowed once only.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import posixpath
from collections.abc import Callable
from typing import Any

from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.toolhost import cloning, edits, machines, settings, skills
from thetis_kernel.toolhost.authority import Intended, Subject
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.files import MAX_READ, decode
from thetis_kernel.toolhost.tree import PathError

Arguments = dict[str, Any]
MAX_COMPARED = 1 << 20
"""Bytes of a file that is still shown as a patch; a larger one is shown as its new contents."""
CONTEXT_LINES = 3


def intended(context: TurnContext, name: str, arguments: Arguments) -> Intended:
    """What the operation would do with checked arguments. Raises what makes it impossible anyway (PathError, Refused)."""
    maker = _MAKERS.get(name)
    if maker is not None:
        return maker(context, arguments)
    told = {key: value for key, value in arguments.items() if value not in ("", {}, [])}
    return Intended(what=_named(name), detail=json.dumps(told, ensure_ascii=False, indent=2))


def _named(name: str) -> str:
    return name.replace(".", ": ").replace("-", " ")


def _command(context: TurnContext, arguments: Arguments) -> Intended:
    cwd = str(arguments.get("cwd", ""))
    where = "in the checkout" if cwd in ("", ".") else f"in {cwd}"
    return Intended(what="Run a command", detail=arguments["command"], command=arguments["command"], where=where)


def _in_terminal(context: TurnContext, arguments: Arguments) -> Intended:
    """A command for a shell that lives on: what was done in it before can change what the words mean, so once only."""
    behind = ", in the background" if arguments.get("background") else ""
    if machine := machines.machine_of(context, arguments["id"]):
        return machines.running(machine, arguments["command"], arguments["id"], behind)
    return Intended(what="Run a command in a terminal", detail=arguments["command"], where=f"terminal {arguments['id']}{behind}")


def _typed(context: TurnContext, arguments: Arguments) -> Intended:
    key = f"key {arguments['key']}" if arguments.get("key") else ""
    text = arguments.get("text", "")
    machine = machines.machine_of(context, arguments["id"])
    return Intended(what=f"Type into a terminal on {machine}" if machine else "Type into a terminal",
                    detail="\n".join(part for part in (text, key) if part), where=f"terminal {arguments['id']}")


def _write(context: TurnContext, arguments: Arguments) -> Intended:
    return _file(context, arguments["path"], lambda old: arguments["contents"])


def _edit(context: TurnContext, arguments: Arguments) -> Intended:
    changed = edits.changed(context.tree, arguments["path"], arguments["old_text"], arguments["new_text"],
                            arguments["replace_all"])
    return _file(context, arguments["path"], lambda old: changed.text)


def _setting(context: TurnContext, arguments: Arguments) -> Intended:
    made = _file(context, settings.FILE, lambda old: settings.changed(old, arguments["key"], arguments["value"]))
    return dataclasses.replace(made, what=f"Set {arguments['key']} in {settings.FILE} of this branch", subjects=())


def _guest(what: str, path: str, detail: str) -> Intended:
    """A change of a guest. What can be remembered, for this conversation, is this guest: "tools/outline"."""
    guest = "/".join(path.split("/")[:2])
    return Intended(what=f"{what} {path}", detail=detail, where="a guest of this conversation",
                    subjects=(Subject(guest, session=guest, wide=False),))


def _code(context: TurnContext, arguments: Arguments) -> Intended:
    return _guest("Write", arguments["path"], arguments["contents"])


def _code_patch(context: TurnContext, arguments: Arguments) -> Intended:
    old, new = (arguments[name].splitlines() for name in ("old_text", "new_text"))
    patch = difflib.unified_diff(old, new, lineterm="", n=CONTEXT_LINES)
    return _guest("Change", arguments["path"], "\n".join(list(patch)[2:]))


def _new_tool(context: TurnContext, arguments: Arguments) -> Intended:
    return _guest("Make a tool in", f"tools/{arguments['name']}", arguments["description"])


def _package(context: TurnContext, arguments: Arguments) -> Intended:
    """A package fetched or taken out: asked about each time, because what is fetched is not known before."""
    requirement = arguments.get("requirement", "")
    what = f"Fetch the package {requirement} for" if requirement else f"Take the package {arguments['name']} out of"
    return Intended(what=f"{what} {arguments['aspect']}", detail=requirement or arguments["name"],
                    where="a guest of this conversation")


def _file(context: TurnContext, path: str, new: Callable[[str], str]) -> Intended:
    before = _bytes(context, path)
    shown = _real_name(context, path)
    old = "" if before is None else _text(before, path)
    wanted = new(old or "")
    if before is None:
        what = f"Create {shown} ({_lines(wanted)})"
    else:
        what = f"Change {shown}"
    if old is None or len(old) + len(wanted) > 2 * MAX_COMPARED:
        detail = wanted
    else:
        patch = difflib.unified_diff(old.splitlines(), wanted.splitlines(), lineterm="", n=CONTEXT_LINES)
        detail = "\n".join(list(patch)[2:])
    kept = hashlib.sha256(before or b"").digest()

    def unchanged() -> bool:
        now = _bytes(context, path)
        return (now is None) == (before is None) and hashlib.sha256(now or b"").digest() == kept

    inside = not shown.startswith("/")
    subject = Subject(shown, rule=shown, session="**" if inside else shown)
    return Intended(what=what, detail=detail, subjects=(subject,), unchanged=unchanged)


def _bytes(context: TurnContext, path: str) -> bytes | None:
    """The file's bytes, None when it is not there or cannot be compared because it is guarded."""
    try:
        return context.tree.read_bytes(path, MAX_READ)
    except Refused:
        return None
    except PathError as error:
        if error.code == "not-found":
            return None
        raise


def _text(data: bytes, path: str) -> str | None:
    if len(data) > MAX_COMPARED:
        return None
    try:
        return decode(data, path)[0]
    except ThetisError:
        return None  # binary: its new contents are shown instead of a patch


def _real_name(context: TurnContext, path: str) -> str:
    """Where the write would land, links followed, as the person knows it: relative to the checkout, or /workspace/..."""
    base, relative = context.tree.locate(path)
    parts, rest = posixpath.normpath(relative).split("/"), ""
    while parts and parts != ["."]:
        try:
            real = context.tree.real(context.tree.prefix(base) + "/".join(parts))
        except PathError:
            rest = posixpath.join(parts.pop(), rest) if rest else parts.pop()
            continue
        return context.tree.prefix(base) + posixpath.join(str(real.relative_to(base)), rest).rstrip("/")
    return context.tree.prefix(base) + rest


def _lines(text: str) -> str:
    count = len(text.splitlines())
    return "1 line" if count == 1 else f"{count} lines"


_MAKERS: dict[str, Callable[[TurnContext, Arguments], Intended]] = {
    "files.write-file": _write,
    "files.edit-file": _edit,
    "terminal.run": _command,
    "terminals.open": machines.opening,
    "config.set": _setting,
    "ssh-hosts.set": machines.setting,
    "ssh-hosts.remove": machines.removing,
    "ssh-hosts.rename": machines.renaming,
    "terminals.run": _in_terminal,
    "terminals.send": _typed,
    "repository.clone": cloning.intended,
    "skills.write": skills.intended,
    "devkit.write-code": _code,
    "devkit.patch-code": _code_patch,
    "devkit.remove-code": lambda context, arguments: _guest("Remove", arguments["path"], ""),
    "devkit.new-tool": _new_tool,
    "devkit.add-dependency": _package,
    "devkit.remove-dependency": _package,
}
