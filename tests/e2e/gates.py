"""Judging in real gate hosts, and guests that are up to no good."""

from __future__ import annotations

from functools import cache
from typing import Any

from thetis_kernel.forge.key import artifact_key
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.gate import GuestSource, JudgeGuest, Verdict
from thetis_kernel.wasm.runtimes import ensure_runtimes, seal


@cache
def sealed(world: str) -> int:
    """A sealed runtime, built when missing; open as long as the test process."""
    ensure_runtimes([world], progress=lambda _: None)
    return seal(world)


def fds(*worlds: str) -> dict[str, int]:
    """As the gateway hands them to children."""
    return {f"runtime-{world}": sealed(world) for world in worlds}


async def fds_later(*worlds: str) -> dict[str, int]:
    """`fds`, as a judge asks for them."""
    return fds(*worlds)


@cache
def compiled(main: str) -> str:
    """The bundle of a guest that is one module."""
    from thetis_kernel.wasm.compiler import compile_bundle

    from tests.support.runtimes import runtime

    return compile_bundle(runtime("compiler"), {"main": main})


async def judged(source: GuestSource, **more: Any) -> Verdict:
    """The verdict of a fresh gate host."""
    fds("compiler", source.world)  # the key names the runtimes as built
    return await DisposableJudge(fds_later, **more)(JudgeGuest(source, artifact_key(source)))


def failing(verdict: Verdict) -> tuple[str, str, int, str]:
    """(step, path, line, message) of a failing verdict's first complaint."""
    assert not verdict.ok and verdict.bundle == ""
    step = verdict.steps[-1]
    assert not step.ok and all(earlier.ok for earlier in verdict.steps[:-1])
    first = step.diagnostics[0]
    return step.step, first.path, first.line, first.message


