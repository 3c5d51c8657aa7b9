"""Where groups with limits can be made, what is written into them, and that nothing changes where they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.walls import cgroup, probe
from thetis_kernel.walls.tier import Tier

from tests.support.walls import WALLED

SESSION = "/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope"


def tree(place: Path, handed_on: dict[str, str]) -> str:
    """A control group file system: what each directory hands on to those below it."""
    (place / "cgroup.controllers").parent.mkdir(parents=True, exist_ok=True)
    (place / "cgroup.controllers").write_text("cpu memory pids\n")
    for name, controllers in handed_on.items():
        directory = place / name.strip("/")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "cgroup.subtree_control").write_text(controllers + "\n")
        (directory / "cgroup.procs").write_text("")
    return str(place)


def own(place: Path, text: str) -> str:
    file = place.with_name("own")
    file.write_text(text)
    return str(file)


def test_a_persons_session_has_a_place_beside_the_terminals(tmp_path: Path) -> None:
    slice_ = SESSION.rpartition("/")[0]
    root = tree(tmp_path / "fs", {"/": "cpu memory pids", "/user.slice": "memory pids", slice_: "memory pids", SESSION: ""})
    assert cgroup.find(root, own(tmp_path / "fs", f"0::{SESSION}\n")) == root + slice_


@pytest.mark.parametrize("text", ["", "0::/\n", "4:memory:/x\n1:name=systemd:/\n", "0::/../../other\n", "nonsense"])
def test_no_group_of_ours_no_place(tmp_path: Path, text: str) -> None:
    root = tree(tmp_path / "fs", {"/": "memory pids"})
    assert cgroup.find(root, own(tmp_path / "fs", text)) == ""


def test_what_hands_nothing_on_is_no_place_and_neither_is_version_1(tmp_path: Path) -> None:
    root = tree(tmp_path / "fs", {"/": "cpu", "/a": "hugetlb", "/a/b": "memory pids"})
    assert cgroup.find(root, own(tmp_path / "fs", "0::/a/b\n")) == ""  # b has processes: ours
    (tmp_path / "fs" / "cgroup.controllers").unlink()
    assert cgroup.find(root, own(tmp_path / "fs", "0::/a/b/c\n")) == ""


def test_a_directory_of_somebody_else_is_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "fs", {"/a": "memory pids", "/a/b": ""})
    file = own(tmp_path / "fs", "0::/a/b\n")
    assert cgroup.find(root, file) == root + "/a"
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).endswith("cgroup.procs"))
    assert cgroup.find(root, file) == ""


@pytest.mark.parametrize(("handed_on", "files", "words"), [
    ("memory pids", {"memory.max": str(6 << 30), "pids.max": "132"}, "6.0 GiB of memory and 132 processes"),
    ("pids cpu", {"pids.max": "132"}, "at most 132 processes"),
    ("memory", {"memory.max": str(6 << 30)}, "6.0 GiB of memory in all"),
    ("cpu", {}, ""),
])  # fmt: skip
def test_the_limits_and_their_words(tmp_path: Path, handed_on: str, files: dict[str, str], words: str) -> None:
    root = tree(tmp_path / "fs", {"/": handed_on})
    found = cgroup.limits(root, 100, 8 << 20)
    assert found == files and words in cgroup.sentence(found)


def test_a_small_machine_still_has_room_for_a_command(tmp_path: Path) -> None:
    root = tree(tmp_path / "fs", {"/": "memory"})
    assert cgroup.limits(root, 1, 1 << 18)["memory.max"] == str(cgroup.LEAST_MEMORY)
    assert cgroup.limits(root, 1, 0) == {}


def test_the_memory_of_a_machine(tmp_path: Path) -> None:
    file = tmp_path / "meminfo"
    file.write_text("MemFree:  1 kB\nMemTotal:       24684444 kB\n")
    assert cgroup.memory_kib(str(file)) == 24684444
    assert cgroup.memory_kib(str(tmp_path / "none")) == 0


def test_what_a_killed_helper_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("thetis-1", "thetis-2", "others"):
        (tmp_path / name).mkdir()
    (tmp_path / "thetis-2" / "busy").write_text("")
    cgroup.sweep(str(tmp_path))
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.name != "home") == ["others", "thetis-2"]


def test_a_group_that_cannot_be_made_is_said_so_and_left(tmp_path: Path) -> None:
    group = cgroup.Group(str(tmp_path / "no" / "thetis-1"), {"pids.max": "1"})
    assert group.make() == "No such file or directory"
    assert (group.join(), group.end()) == ("", 0)
    taken = tmp_path / "thetis-2"
    taken.mkdir()
    assert cgroup.Group(str(taken), {}).make() == "File exists"


def test_deaths_for_want_of_memory_are_counted(tmp_path: Path) -> None:
    group = cgroup.Group(str(tmp_path / "thetis-1"), {})
    assert group.make() == ""
    (tmp_path / "thetis-1" / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 1\noom_kill 3\noom_group_kill 0\n")
    assert group.end() == 3


@pytest.mark.skipif(not WALLED, reason="no wall here")
def test_the_tier_tells_of_limits_only_where_a_trial_has_them(tmp_path: Path) -> None:
    tier: Tier = WALLED[0]
    assert probe.with_groups(tier, "") == tier
    assert probe.with_groups(tier, str(tmp_path / "none")) == tier
    root = tree(tmp_path / "fs", {"/": "memory pids"})
    found = probe.with_groups(tier, root)
    assert found.cgroup == root and found.sentence.startswith(tier.sentence) and "processes in all." in found.sentence
