"""Commands in control groups: as far as this machine has them, and in a tree that only looks like them.

Where version 2 has the controllers for memory and processes (`make groups` boots a kernel that has), their limits are met.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.walls import cgroup
from thetis_kernel.walls.command import Limits
from thetis_kernel.walls.tier import Tier

from tests.support.terminals import terminal
from tests.support.walls import SYSTEM_PYTHON, UNTIL_SEEN, Bench, alive, bench, every_wall, mark, seen, wait_until

__all__ = ["bench", "mark"]


def mounted() -> str:
    """Where version 2 can be written here, "" when nowhere."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2" and "ro" not in options.split(",") and os.access(place, os.W_OK):
            return place
    return ""


@pytest.fixture
def groups() -> Iterator[Path]:
    place = Path(mounted() or pytest.skip("no control groups of version 2 can be written here")) / f"t-{os.getpid()}"
    try:
        place.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield place
    place.rmdir()


@pytest.fixture
def limited(groups: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`groups`, handing on both controllers; a command has 64 MiB, and twelve processes fewer than its own limit."""
    for place in (groups.parent, groups):
        try:
            (place / "cgroup.subtree_control").write_text("+memory +pids")
        except OSError as error:
            pytest.skip(f"version 2 of control groups has no controllers for memory and processes here: {error}")
    monkeypatch.setattr(cgroup, "LEAST_MEMORY", 64 << 20)
    monkeypatch.setattr(cgroup, "MEMORY_SHARE", 0.0)
    monkeypatch.setattr(cgroup, "SPARE_PROCESSES", -12)
    return groups


HOG = f"""{SYSTEM_PYTHON} -c "
import os, signal, time
def hold():
    held = bytearray(24 << 20)
    print('held', flush=True)
    time.sleep(60)
    os._exit(0)
pids = [os.fork() or hold() for _ in range(4)]
pid, status = os.wait()
print('one ended by', status & 127, flush=True)
for other in set(pids) - {{pid}}:
    os.kill(other, signal.SIGKILL)
" """
"""Four processes, none of which is over the limit alone."""
ESCAPEES = f"""{SYSTEM_PYTHON} -c "
import os
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            os.setsid()
            os.execvp('sleep', ['sleep', '{{mark}}'])
        made += 1
except BlockingIOError:
    print('no more after', made, flush=True)
" """


@every_wall
def test_what_a_command_has_in_memory_is_counted_together(tier: Tier, bench: Bench, limited: Path) -> None:
    result = bench.run(msgspec.structs.replace(tier, cgroup=str(limited)), HOG)

    assert "one ended by 9" in result.output and result.output.count("held") < 4
    assert any("for want of memory: the command has a limit" in note for note in result.notes), result.notes
    assert not list(limited.glob("thetis-*"))


@every_wall
def test_a_terminal_says_what_ended_for_want_of_memory(tier: Tier, bench: Bench, limited: Path) -> None:
    with terminal(msgspec.structs.replace(tier, cgroup=str(limited)), bench.worktree) as opened:
        run = opened.run(HOG)
        assert any("for want of memory" in note for note in run.trouble()), run.trouble()
        assert opened.run("true").trouble() == []
        assert opened.says("echo still here") == "still here\n"


@every_wall
def test_what_forks_meets_the_limit_wherever_it_went(tier: Tier, bench: Bench, limited: Path, mark: str) -> None:
    inside: list[int] = []

    def look(_: str) -> None:
        [group] = limited.glob("thetis-*")
        inside.append(len(group.joinpath("cgroup.procs").read_text().split()))
        seen(bench)

    command = f"{ESCAPEES.format(mark=mark)}; {UNTIL_SEEN}"
    result = bench.run(
        msgspec.structs.replace(tier, cgroup=str(limited)), command, on_output=look, limits=Limits(threads=42)
    )

    assert result.output.startswith("no more after ") and inside and inside[0] <= 30, (inside, result)
    assert not alive(mark) and not list(limited.glob("thetis-*"))


@every_wall
def test_a_command_is_in_its_group_and_the_group_goes_with_it(
    tier: Tier, bench: Bench, groups: Path, mark: str
) -> None:
    inside: list[list[str]] = []

    def look(_: str) -> None:
        inside.extend(group.joinpath("cgroup.procs").read_text().split() for group in groups.glob("thetis-*"))
        seen(bench)

    result = bench.run(
        msgspec.structs.replace(tier, cgroup=str(groups)),
        f"setsid sleep {mark} & echo begun; {UNTIL_SEEN}",
        on_output=look,
    )

    assert result.output == "begun\n" and not any("limits" in note for note in result.notes)
    assert len(inside) == 1 and len(inside[0]) >= 2
    assert not list(groups.glob("thetis-*")) and not alive(mark)


@every_wall
def test_a_terminal_is_in_one_too(tier: Tier, bench: Bench, groups: Path) -> None:
    with terminal(msgspec.structs.replace(tier, cgroup=str(groups)), bench.worktree) as opened:
        assert opened.says("echo hi") == "hi\n"
        [group] = groups.glob("thetis-*")
        assert len(group.joinpath("cgroup.procs").read_text().split()) >= 1
    assert wait_until(lambda: not list(groups.glob("thetis-*")))


@every_wall
def test_the_limits_are_written_before_the_command_begins(tier: Tier, bench: Bench) -> None:
    fake = bench.place / "fake"
    fake.mkdir()
    (fake / "cgroup.subtree_control").write_text("memory pids\n")

    result = bench.run(msgspec.structs.replace(tier, cgroup=str(fake)), "echo hi")

    [group] = fake.glob("thetis-*")
    assert result.output == "hi\n" and result.notes == ()
    assert (
        int(group.joinpath("pids.max").read_text()) >= 2048 and int(group.joinpath("memory.max").read_text()) >= 1 << 30
    )
    assert group.joinpath("cgroup.procs").read_text() == "0"


@every_wall
def test_where_no_group_can_be_made_the_command_runs_and_the_result_says_so(tier: Tier, bench: Bench) -> None:
    result = bench.run(msgspec.structs.replace(tier, cgroup=str(bench.place / "gone")), "echo hi")

    assert result.output == "hi\n"
    with terminal(msgspec.structs.replace(tier, cgroup=str(bench.place / "gone")), bench.worktree) as opened:
        assert opened.says("echo hi") == "hi\n"
        session = opened.terminal._session
        assert session is not None and session.note == result.notes[0]
    assert result.notes == ("It runs without its limits on memory and processes: No such file or directory.",)
