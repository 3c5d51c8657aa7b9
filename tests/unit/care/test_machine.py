"""What doctor says of the machine around a root."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.cli import machine
from thetis_kernel.cli.daemon import Seen
from thetis_kernel.cli.doctor import _daemon, _store
from thetis_kernel.paths import root_paths
from thetis_kernel.protocol.care import StoreReport


def test_a_network_file_system_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "file_system", lambda path: "nfs4")
    found = [one for one in machine._environment({"THETIS_STATE": str(tmp_path), "PATH": ""}) if one.name == "state"]
    assert [one.level for one in found] == ["ok", "error"] and "nfs4" in found[1].message


def test_the_file_system_of_a_path_is_known() -> None:
    assert machine.file_system(Path("/proc/self")) == "proc"


def test_a_runtime_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    environ = {"THETIS_STATE": str(tmp_path), "PATH": "", "XDG_RUNTIME_DIR": str(tmp_path / "gone")}
    assert any(one.name == "runtime" and one.level == "warn" for one in machine._environment(environ))


def test_state_of_a_root_that_is_gone_is_an_orphan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THETIS_STATE", str(tmp_path / "state"))
    for name in ("here", "gone"):
        (tmp_path / name).mkdir()
        root_paths(tmp_path / name).make()
    (tmp_path / "gone").rmdir()
    [found] = machine._elsewhere()
    assert (found.name, found.level) == ("orphan", "warn") and str(tmp_path / "gone") in found.message


def test_another_version_of_what_holds_the_root_is_said() -> None:
    assert _daemon(Seen(root="/r", log="")).level == "ok"
    assert "daemon restart" in _daemon(Seen(root="/r", log="", holder="daemon", pid=4, version="0.0.1")).hint
    assert _daemon(Seen(root="/r", log="", holder="unknown", pid=4, notices=["It speaks 9."])).level == "error"


def test_what_does_not_verify_is_an_error_and_what_nobody_owns_a_warning() -> None:
    report = StoreReport(sqlite="3.54.1", conversations=2, events=9, damaged=["ab is good up to 3."],
                         orphans=["/x is a worktree."])
    assert [(one.name, one.level) for one in _store(report)] == [("store", "error"), ("orphan", "warn")]
    sound = StoreReport(sqlite="3.54.1", conversations=1, events=9)
    assert [(one.name, one.level) for one in _store(sound)] == [("store", "ok")]
