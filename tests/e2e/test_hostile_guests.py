"""Hundreds of broken and hostile guests: none is ever served, none hurts the kernel, each is told where it is wrong."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.errors import GateError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.diagnostics import diagnostics_of
from thetis_kernel.forge.service import Forge
from thetis_kernel.forge.source import read_guest
from thetis_kernel.forge.steps import STEPS
from thetis_kernel.gateway.judging import DisposableJudge
from thetis_kernel.protocol.gate import Diagnostic

from tests.e2e.gates import fds, fds_later
from tests.support.hostile import table
from tests.support.hostile.base import GOOD, Hostile, manifest

pytestmark = pytest.mark.runtimes
CASES = table()
QUICK = [name for name, hostile in CASES.items() if not hostile.slow]
SELECTION = QUICK[::15]
SPARE_S = 30.0


async def refused(hostile: Hostile, directory: Path, forge: Forge) -> tuple[str, list[Diagnostic]]:
    """(step, complaints) of a guest as the gateway comes by them: read from its directory, judged by a gate host."""
    hostile.write(directory)
    try:
        source = await asyncio.to_thread(read_guest, directory, hostile.aspect)
    except GateError as error:
        return error.step, diagnostics_of(error)
    fds("compiler", source.world)
    verdict = await forge.verdict(source)
    known = forge.known(source)
    assert not verdict.ok and verdict.bundle == "", "it passed"
    assert known is not None and not known.ok and known.bundle == "", "it would be served"
    assert all(step.ok for step in verdict.steps[:-1])
    return verdict.steps[-1].step, verdict.steps[-1].diagnostics


def wrong(name: str, hostile: Hostile, step: str, found: list[Diagnostic]) -> str:
    """What is wrong with a refusal; "" when it says where the guest is broken."""
    first = found[0] if found else None
    if step not in hostile.steps:
        return f"{name}: refused at {step}: {first}"
    if first is None or not first.message.strip():
        return f"{name}: refused at {step} without a word"
    if hostile.place and not any(d.path == hostile.place and (d.line > 0 or not hostile.line) for d in found):
        return f"{name}: refused at {step}, but not with {hostile.place}: {found[:3]}"
    if any(ord(sign) < 32 and sign not in "\n\t" for d in found for sign in d.message + d.path):
        return f"{name}: a complaint carries control characters: {first!r}"
    return ""


async def all_refused(names: list[str], tmp_path: Path) -> list[str]:
    judge = DisposableJudge(fds_later, spare_s=SPARE_S)
    forge = Forge(ArtifactStore(tmp_path / "artifacts"), judge)
    problems = []
    try:
        for number, name in enumerate(names):
            try:
                step, found = await refused(CASES[name], tmp_path / str(number), forge)
            except AssertionError as error:
                problems.append(f"{name}: {error}")
                continue
            problems.append(wrong(name, CASES[name], step, found))
        good = Hostile({"guest.toml": manifest(), "main.py": GOOD}, ())
        good.write(tmp_path / "good")
        passed = await forge.verdict(read_guest(tmp_path / "good", "tool/probe"))
        assert passed.ok, "what all of them are made from does not pass itself"
    finally:
        await judge.close()
    return [problem for problem in problems if problem]


def test_there_are_two_hundred_and_every_step_refuses_some():
    assert len(CASES) >= 200
    assert {step for hostile in CASES.values() for step in hostile.steps} >= {step.name for step in STEPS} - {"compile", "golden"}


async def test_a_selection_of_them_is_refused(tmp_path):
    assert await all_refused(SELECTION, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_each_of_them_is_refused(tmp_path):
    assert await all_refused(list(CASES), tmp_path) == []


async def test_an_artifact_somebody_else_made_is_not_believed(tmp_path):
    """A passing entry laid under the very key of a broken guest, whole but for the seal, which only the store can make."""
    broken, good = tmp_path / "broken", tmp_path / "good"
    CASES["traps: raises at import"].write(broken)
    Hostile({"guest.toml": manifest(), "main.py": GOOD}, ()).write(good)
    judge = DisposableJudge(fds_later, spare_s=SPARE_S)
    try:
        foreign, ours = ArtifactStore(tmp_path / "foreign"), ArtifactStore(tmp_path / "artifacts")
        fds("compiler", "tool")
        passed = await Forge(foreign, judge).verdict(read_guest(good, "tool/probe"))
        forge = Forge(ours, judge)
        source = read_guest(broken, "tool/probe")
        foreign.put(msgspec.structs.replace(passed, key=forge.key(source)))
        shutil.copytree(tmp_path / "foreign" / forge.key(source), tmp_path / "artifacts" / forge.key(source))
        assert passed.ok and foreign.get(forge.key(source)).ok
        assert forge.known(source) is None
        assert not (await forge.verdict(source)).ok
    finally:
        await judge.close()
