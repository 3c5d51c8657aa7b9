"""How an answer of several steps is written down, and how it goes on from what has been done.

A script is a generator: it yields a `Step` (words and calls), is sent the results, and returns its answer. Because it is
run from the beginning for each request, against the results the request holds, nothing is remembered anywhere. Must not
know what scripts exist.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from thetis_kernel.models.rehearsal.scene import Done, Scene


class Call(msgspec.Struct, frozen=True):
    """A call to make: a tool's name and its arguments."""

    name: str
    args: dict[str, Any]


class Step(msgspec.Struct, frozen=True):
    """One reply with calls."""

    words: str
    calls: list[Call]


Script = Generator[Step, list[Done], str]


class Unavailable(Exception):
    """The script needs a tool that is not offered; the message names it."""


def call(name: str, /, **args: Any) -> Call:
    """A call to make."""
    return Call(name, args)


def play(script: Script, scene: Scene) -> Step | str:
    """The step the script is at, or its answer. Raises Unavailable when that step needs a tool that is not there."""
    try:
        step = next(script)
        for done in scene.rounds:
            step = script.send(_matching(step, done))
    except StopIteration as end:
        return str(end.value)
    missing = sorted({wanted.name for wanted in step.calls} - scene.tools)
    if missing:
        raise Unavailable(missing[0])
    return step


def _matching(step: Step, done: list[Done]) -> list[Done]:
    """One result for each call of the step, whatever the history holds."""
    lost = Done(name="", args={}, text="The result is not in the history.", ok=False)
    return [done[at] if at < len(done) else lost for at in range(len(step.calls))]
