"""The instructions about other machines and about settings.

Must not know requests or streams.
"""

from __future__ import annotations

import re

from thetis_kernel.models.rehearsal.answers import failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call
from thetis_kernel.models.rehearsal.shells import MOST_COMMANDS

_OPENED = re.compile(r"\bt\d+\b")


def on_a_machine(scene: Scene, machine: str, commands: str) -> Script:
    """on M run C [then C ...]: in a shell on another machine, which keeps its state"""
    wanted = [one.strip() for one in re.split(r"\s+then\s+", commands) if one.strip()][:MOST_COMMANDS]
    [opened] = yield Step(f"I open a shell on {named(machine)}.", [call("terminal_open", host=machine)])
    terminal = _OPENED.search(opened.text)
    if not opened.ok or terminal is None:
        return failure(opened)
    shown = []
    for command in wanted:
        [ran] = yield Step(f"Running {named(command)} there.", [call("terminal_run", id=terminal[0], command=command)])
        shown.append(f"$ {command}\n{ran.text}")
    return f"On {named(machine)}, in terminal {terminal[0]}:\n\n{fenced(chr(10).join(shown), 'text')}"


def machines(scene: Scene) -> Script:
    """which machines are there"""
    [listed] = yield Step("I look at the list.", [call("ssh_host_list")])
    return fenced(listed.text, "text") if listed.ok else failure(listed)


def register(scene: Scene, machine: str, address: str, user: str) -> Script:
    """register the machine M at ADDRESS as USER"""
    fields = {"host": address, "user": user}
    [made] = yield Step(f"I register {named(machine)}.", [call("ssh_host_set", name=machine, fields=fields)])
    return made.text if made.ok else failure(made)


def set_setting(scene: Scene, key: str, value: str) -> Script:
    """set the setting K to V"""
    [written] = yield Step(f"Setting {named(key)}.", [call("set_config", key=key, value=value)])
    return written.text if written.ok else failure(written)


def read_setting(scene: Scene, key: str) -> Script:
    """read the setting K, or list them all"""
    wanted = call("read_config", key=key) if key else call("list_config")
    [found] = yield Step("I look it up.", [wanted])
    return fenced(found.text, "text") if found.ok else failure(found)
