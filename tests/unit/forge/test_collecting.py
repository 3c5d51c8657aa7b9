"""Old artifacts go when there is too much; what conversations run on stays; a kill at any point leaves whole entries."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import msgspec
import pytest
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.collecting import collect
from thetis_kernel.protocol.gate import Diagnostic, StepResult, Verdict

KIB = 1024
BUNDLE = "x" * 10 * KIB


def key(number: int) -> str:
    return f"{number:064x}"


def verdict(number: int, ok: bool = True) -> Verdict:
    if ok:
        return Verdict(True, key(number), [StepResult("compile", True, 1.0)], BUNDLE, "{}")
    return Verdict(False, key(number), [StepResult("smoke", False, 1.0, [Diagnostic("main.py", 1, "y" * 10 * KIB)])])


@pytest.fixture
def store(tmp_path):
    """Ten entries, the first the longest unused: each 10 KiB and a little, of the sources s0 to s9."""
    made = ArtifactStore(tmp_path / "artifacts")
    for number in range(10):
        made.put(verdict(number, ok=number % 2 == 0), f"s{number}")
        age(made, number, 100_000 - number)
    return made


def age(store, number, seconds):
    then = time.time() - seconds
    os.utime(store._directory / key(number), (then, then))


def left(store):
    return [number for number in range(10) if (store._directory / key(number)).exists()]


def test_nothing_goes_while_there_is_room(store):
    assert collect(store, lambda: pytest.fail("nobody needs to look"), limit=1 << 20) == 0
    assert left(store) == list(range(10))


def test_the_longest_unused_go_first_until_three_quarters_are_left(store):
    freed = collect(store, frozenset, limit=100 * KIB)
    assert freed >= 30 * KIB
    assert left(store) == list(range(10 - len(left(store)), 10))
    assert sum(entry.size for entry in store.entries()) <= 75 * KIB


def test_what_conversations_run_on_stays_however_old(store):
    collect(store, lambda: {"s0", "s2"}, limit=20 * KIB)
    assert left(store) == [0, 2]
    assert store.get(key(0)) == verdict(0)


def test_a_refusal_is_not_kept_for_a_conversation(store):
    collect(store, lambda: {"s1"}, limit=KIB)
    assert left(store) == []


def test_what_was_used_lately_stays(store):
    age(store, 0, 60)
    collect(store, frozenset, limit=KIB)
    assert left(store) == [0]


def test_reading_is_using(store):
    assert store.get(key(0)) == verdict(0)
    collect(store, frozenset, limit=KIB)
    assert left(store) == [0]


def test_entries_of_before_sources_were_noted_stay_valid_and_can_go(tmp_path):
    store = ArtifactStore(tmp_path / "artifacts")
    store.put(verdict(0))
    assert b'"source"' not in (tmp_path / "artifacts" / key(0) / "meta.json").read_bytes()
    assert store.get(key(0)) == verdict(0) and store.entries()[0].source == ""
    age(store, 0, 100_000)
    collect(store, lambda: {""} - {""}, limit=1)
    assert left(store) == []


def test_the_noted_source_is_under_the_seal(store):
    path = store._directory / key(0) / "meta.json"
    path.write_bytes(path.read_bytes().replace(b'"s0"', b'"s1"'))
    assert store.get(key(0)) is None


def test_what_is_damaged_is_not_counted_and_not_removed_twice(store):
    (store._directory / key(3) / "meta.json").write_bytes(b"{}")
    assert key(3) not in {entry.key for entry in store.entries()}
    collect(store, frozenset, limit=KIB)
    assert left(store) == [3] and store.get(key(3)) is None


COLLECT = """
import sys
from pathlib import Path
from thetis_kernel.forge import artifacts, collecting
collecting.collect(artifacts.ArtifactStore(Path(sys.argv[1])), frozenset, limit=1, idle_s=1)
"""


@pytest.mark.parametrize(("point", "gone"), [
    ("collect.chosen", 0), ("collect.hidden", 1), ("collect.chosen:4", 3), ("collect.hidden:4", 4)])  # fmt: skip
def test_a_kill_in_between_leaves_whole_entries_and_what_the_next_start_sweeps(store, point, gone):
    environ = {**os.environ, "THETIS_CRASH": point}
    done = subprocess.run([sys.executable, "-c", COLLECT, store._directory], env=environ, timeout=60)
    assert done.returncode == -signal.SIGKILL
    kept = left(store)
    assert len(kept) == 10 - gone
    assert all(store.get(key(each)) == verdict(each, ok=each % 2 == 0) for each in kept)
    store.sweep()
    assert not list(store._directory.glob(".new-*")) and left(store) == kept


def test_a_judged_source_is_noted(tmp_path):
    import asyncio

    from thetis_kernel.forge.service import Forge
    from thetis_kernel.forge.source import source_digest

    from tests.unit.forge.guests import TOOL_MAIN, tool

    async def judge(ask):
        return msgspec.structs.replace(verdict(0), key=ask.key)

    store = ArtifactStore(tmp_path)
    asyncio.run(Forge(store, judge, digests=lambda world: "d").verdict(tool(TOOL_MAIN)))
    assert [entry.source for entry in store.entries()] == [source_digest(tool(TOOL_MAIN))]
