"""Instructions for testing what stands around a model: they begin with `rehearse:` and are in no list people see.

    rehearse: loop N calls      N replies with one harmless call each, for limits and stops
    rehearse: stuck             the same failing call for ever
    rehearse: slow N ms         a reply that takes N milliseconds
    rehearse: cut               a reply that always ends at the output limit
    rehearse: fail              a stream that breaks after a few words
    rehearse: overflow          the provider says the conversation is too long
    rehearse: agents A; B       a sub-agent for each instruction (`rehearse: slow 3000 ms; rehearse: fail`), and wait for them
    rehearse: vague             a sub-agent with a brief that is refused

Slow, cut, fail and overflow are events of the stream and no answers: their script raises `Drill`.
"""

from __future__ import annotations

from collections.abc import Callable

from thetis_kernel.models.rehearsal import delegating
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call
from thetis_kernel.protocol.models import End

MAX_CALLS = 10_000
MAX_SLOW_MS = 600_000


class Drill(Exception):
    """How the stream goes instead of an answer: `words`, then `end` with `detail`, after `slow_ms` of silence."""

    def __init__(self, end: End, words: str, detail: str = "", slow_ms: int = 0) -> None:
        super().__init__(detail)
        self.end = end
        self.words = words
        self.detail = detail
        self.slow_ms = slow_ms


def loop(scene: Scene, count: str) -> Script:
    """One harmless call a reply."""
    wanted = min(int(count), MAX_CALLS)
    for n in range(1, wanted + 1):
        yield Step(f"Call {n} of {wanted}.", [call("list", path=".")])
    return f"Made {wanted} calls."


def stuck(scene: Scene) -> Script:
    """A call that can never work, until something outside ends it."""
    while True:
        yield Step("Once more.", [call("read", path="no/such/file")])


def slow(scene: Scene, ms: str) -> Script:
    """A reply that takes its time."""
    wanted = min(int(ms), MAX_SLOW_MS)
    raise Drill("stop", f"This took {wanted} ms.", slow_ms=wanted)


def cut(scene: Scene) -> Script:
    """Replies that are cut at the output limit."""
    raise Drill("max-tokens", "I write a very long file, and")


def fail(scene: Scene) -> Script:
    """A broken connection."""
    raise Drill("transport", "I begin to answer and", "The connection broke (rehearsed).")


def overflow(scene: Scene) -> Script:
    """A conversation that is too long."""
    raise Drill("context-overflow", "", "The conversation is too long for the model (rehearsed).")


DRILLS: tuple[tuple[str, Callable[..., Script]], ...] = (
    (r"rehearse: loop (\d{1,6}) calls?", loop),
    (r"rehearse: stuck", stuck),
    (r"rehearse: slow (\d{1,7}) ?ms", slow),
    (r"rehearse: cut", cut),
    (r"rehearse: fail", fail),
    (r"rehearse: overflow", overflow),
    (r"rehearse: agents (\S.*)", delegating.together),
    (r"rehearse: vague", delegating.vague),
)
