"""Answers 1 KB with 1 KB, inline or on a thread, and measures the way back from inside the child."""

from __future__ import annotations

import time

from thetis_kernel.ipc.threads import Serving
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.supervise.context import ChildContext


class Inline(Ask[str], frozen=True, tag="bench.inline"):
    """Answered on the child's reader thread."""

    text: str


class Threaded(Ask[str], frozen=True, tag="bench.threaded"):
    """Answered on a thread of its own."""

    text: str


class FromChild(Ask[list[float]], frozen=True, tag="bench.from-child"):
    """Seconds of each of `n` round trips the child makes to the gateway with `text`."""

    n: int
    text: str


def serve(context: ChildContext) -> None:
    def from_child(ask: FromChild, _: Serving) -> list[float]:
        times = []
        for _n in range(ask.n):
            started = time.perf_counter()
            peer.call(Inline(ask.text))
            times.append(time.perf_counter() - started)
        return times

    peer = context.connect(
        asks={Inline: lambda ask, _: ask.text, Threaded: lambda ask, _: ask.text, FromChild: from_child},
        quick={Inline},
    )
    context.run()
