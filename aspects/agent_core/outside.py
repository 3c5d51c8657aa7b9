"""Other machines and the settings: what the model is told of the tools, and how their results read.

Owns those texts. Nothing of other machines is offered in a read-only mode, not even their names: so all of those tools count as
changing things. The host refuses all of it there whatever stands here. Must not know how a machine is reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog import Tool
from schemas import string, takes
from thetis_guest.lenient import flag, objects, strings, text

_NAME = string(hint="as ssh_host_list names it")

OUTSIDE: tuple[Tool, ...] = (
    Tool("ssh_host_list", "Machines for terminal_open.", takes(), "ssh-hosts.list", mutating=True),
    Tool("ssh_host_get", "A registered machine.", takes("name", name=_NAME), "ssh-hosts.get", mutating=True),
    Tool(
        "ssh_host_set",
        "Register or change a machine; the person is asked.",
        takes(
            "name fields",
            name=_NAME,
            fields={
                "type": "object",
                "description": "host, port, user, identity_file (path), jump, options, remote_cwd, description; null empties",
            },
        ),
        "ssh-hosts.set",
        mutating=True,
    ),
    Tool("ssh_host_remove", "Remove a machine.", takes("name", name=_NAME), "ssh-hosts.remove", mutating=True),
    Tool(
        "ssh_host_rename",
        "Rename a machine.",
        takes("name to", name=_NAME, to=string(hint="the new name")),
        "ssh-hosts.rename",
        mutating=True,
    ),
    Tool(
        "list_config",
        "What this branch's thetis.toml sets.",
        takes(prefix=string(hint="such as screen.")),
        "config.list",
        mutating=False,
    ),
    Tool(
        "read_config",
        "Read one setting.",
        takes("key", key=string(hint="such as screen.theme")),
        "config.read",
        mutating=False,
    ),
    Tool(
        "set_config",
        "Set one in thetis.toml; it counts once merged.",
        takes("key value", key=string(hint="such as screen.theme"), value=string("JSON; null unsets")),
        "config.set",
        mutating=True,
    ),
)


def _machine(one: Any) -> str:
    name, about = text(one, "name"), text(one, "description")
    through = f", through {text(one, 'through')}" if text(one, "through") else ""
    if not flag(one, "ready"):
        state = f"not usable yet: the person has to run `thetis ssh trust {name}`"
    elif not flag(one, "known"):
        state = "usable; the person is shown its host key first"
    else:
        state = "usable"
    return f"{name}: {state}{through}" + (f" | {' '.join(about.split())}" if about else "")


def _machines(value: Any, args: dict[str, Any]) -> str:
    return "\n".join(_machine(one) for one in objects(value, "hosts")) or "no machine is registered"


def _set(value: Any, args: dict[str, Any]) -> str:
    return ("registered " if flag(value, "made") else "changed ") + _machine(value)


def _settings(value: Any, args: dict[str, Any]) -> str:
    lines = [_setting(one) for one in objects(value, "settings")]
    may = ", ".join(strings(value, "may_set"))
    return "\n".join([*(lines or ["the file sets nothing of this"]), f"[you may set: {may or 'none of these'}]"])


def _setting(one: Any) -> str:
    if flag(one, "ignored"):
        return f"{text(one, 'key')}: set, but only the person's own file may; it does not count"
    value = text(one, "value")
    return f"{text(one, 'key')} = {value}" if value else f"{text(one, 'key')} is not set here"


def _read(value: Any, args: dict[str, Any]) -> str:
    choices = strings(value, "choices")
    told = [
        _setting(value),
        text(value, "sentence"),
        f"default: {text(value, 'default') or 'none'}; {text(value, 'kind')}",
    ]
    if choices:
        told.append("one of: " + ", ".join(choices))
    told.append("you may set it" if flag(value, "may_set") else "only the person sets it")
    return "\n".join(told)


def _written(value: Any, args: dict[str, Any]) -> str:
    return f"{_setting(value)}\n[written to {text(value, 'file')}; it counts {text(value, 'counts')}]"


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "ssh-hosts.list": _machines,
    "ssh-hosts.get": lambda value, args: _machine(value),
    "ssh-hosts.set": _set,
    "ssh-hosts.remove": lambda value, args: f"{text(value, 'name')} is out of the list",
    "ssh-hosts.rename": lambda value, args: f"{text(value, 'was')} is now {_machine(value)}",
    "config.list": _settings,
    "config.read": _read,
    "config.set": _written,
}
