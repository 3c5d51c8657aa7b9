"""The instructions about terminals: a command in one, several that build on each other, one that goes on in the background.

Must not know requests or streams.
"""

from __future__ import annotations

import re

from thetis_kernel.models.rehearsal.answers import failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call

MOST_COMMANDS = 8
_OPENED = re.compile(r"\bt\d+\b")


def in_a_terminal(scene: Scene, commands: str) -> Script:
    """in a terminal run C [then C ...]: one after the other in one terminal, which keeps its state"""
    wanted = [one.strip() for one in re.split(r"\s+then\s+", commands) if one.strip()][:MOST_COMMANDS]
    [opened] = yield Step("I open a terminal.", [call("terminal_open")])
    terminal = _OPENED.search(opened.text)
    if not opened.ok or terminal is None:
        return failure(opened)
    shown = []
    for command in wanted:
        [ran] = yield Step(f"Running {named(command)} in it.", [call("terminal_run", id=terminal[0], command=command)])
        shown.append(f"$ {command}\n{ran.text}")
    return f"In terminal {terminal[0]}, which stays open:\n\n{fenced(chr(10).join(shown), 'text')}"


def in_the_background(scene: Scene, command: str) -> Script:
    """start C in the background, and look at it once it has ended"""
    [opened] = yield Step("I open a terminal for it.", [call("terminal_open")])
    terminal = _OPENED.search(opened.text)
    if not opened.ok or terminal is None:
        return failure(opened)
    words = f"Starting {named(command)}."
    [started] = yield Step(words, [call("terminal_run", id=terminal[0], command=command, background=True)])
    if not started.ok:
        return failure(started)
    if not scene.news and len(scene.rounds) < 3:
        return f"{named(command)} runs in terminal {terminal[0]}:\n\n{fenced(started.text, 'text')}\n\nI look again when it ends."
    [looked] = yield Step("It has ended, so I look.", [call("terminal_read", id=terminal[0])])
    return (
        f"{named(command)} left in terminal {terminal[0]}:\n\n{fenced(looked.text, 'text')}"
        if looked.ok
        else failure(looked)
    )


def type_into(scene: Scene, words: str, terminal: str) -> Script:
    """type W into T"""
    [answered] = yield Step(f"Typing {named(words)}.", [call("terminal_send", id=terminal, text=words)])
    return f"It answered:\n\n{fenced(answered.text, 'text')}" if answered.ok else failure(answered)


def look_at(scene: Scene, terminal: str) -> Script:
    """look at T"""
    [looked] = yield Step(f"Looking at {named(terminal)}.", [call("terminal_read", id=terminal)])
    return f"In {named(terminal)}:\n\n{fenced(looked.text, 'text')}" if looked.ok else failure(looked)


def end(scene: Scene, terminal: str) -> Script:
    """close T"""
    [closed] = yield Step(f"Closing {named(terminal)}.", [call("terminal_close", id=terminal)])
    return closed.text if closed.ok else failure(closed)
