"""What the gate host is asked: turn a guest's source into a bundle with a verdict."""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.wire import Ask

World = Literal["tool", "gateway", "agent"]


class Diagnostic(msgspec.Struct, frozen=True):
    """One complaint about a candidate: file relative to the guest's directory, 1-based line (0 = whole file)."""

    path: str
    line: int
    message: str


class StepResult(msgspec.Struct, frozen=True):
    """One step of the gate: its name, whether it passed, how long it took."""

    step: str
    ok: bool
    ms: float
    diagnostics: list[Diagnostic] = []


class Package(msgspec.Struct, frozen=True):
    """A pure-Python package a guest brings along: `sha256` of the wheel it came in, its licence in a line, the names of
    packages it needs. `wanted`: it was asked for, not only needed by another. `modules` as a guest's."""

    name: str
    version: str
    sha256: str
    licence: str
    modules: dict[str, str]
    requires: list[str] = []
    wanted: bool = True


class GuestSource(msgspec.Struct, frozen=True):
    """A candidate: aspect name (`agent`, `gateway/tui`, `tool/<name>`), its world, manifest text and modules.

    `modules` maps module names (`main`, `pkg.part`) to source text; `manifest` is the text of guest.toml. `packages`: what
    was vendored, in name order; no part of what the guest wrote itself.
    """

    aspect: str
    world: World
    manifest: str
    modules: dict[str, str]
    packages: list[Package] = []


class Verdict(msgspec.Struct, frozen=True):
    """The gate's answer: pass with a bundle (base64), or the failing step's diagnostics. `describes` is describe()'s JSON."""

    ok: bool
    key: str
    steps: list[StepResult]
    bundle: str = ""
    describes: str = ""


class JudgeGuest(Ask[Verdict], frozen=True, tag="gate.judge"):
    """Judge one candidate. `key` is the artifact key the gateway computed."""

    source: GuestSource
    key: str


GATE_ASKS = (JudgeGuest,)
