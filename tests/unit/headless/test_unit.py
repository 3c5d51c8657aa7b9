"""The systemd unit of a root: one that systemd reads as it was meant, whatever the path."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from thetis_kernel.cli.unit import install, unit_name, unit_text
from thetis_kernel.errors import UsageError
from thetis_kernel.paths import RootPaths


def paths(root: str) -> RootPaths:
    return RootPaths(root=Path(root), base=Path("/state/roots/my-repo-0123456789ab"))


def test_it_names_its_root_and_no_key() -> None:
    text = unit_text(paths("/home/me/my repo"), {"THETIS_STATE": "/state", "ANTHROPIC_API_KEY": "sk-secret"})
    assert '"daemon" "serve" "--root" "/home/me/my repo"' in text
    assert 'Environment="THETIS_STATE=/state"' in text and "sk-secret" not in text
    assert "Restart=on-failure" in text and "StartLimitBurst=3" in text


@pytest.mark.parametrize("name", ["a%h", 'a"b', "a\\b", "a$HOME", "a;b", "ümlaut 'q'"])
def test_odd_paths_are_quoted(name: str) -> None:
    text = unit_text(paths(f"/r/{name}"), {})
    start = text.split("ExecStart=")[1].split("\n")[0]
    last = start[start.index('"--root" "') + len('"--root" "') : -1]
    assert last.replace("$$", "$").replace("%%", "%").replace('\\"', '"').replace("\\\\", "\\") == f"/r/{name}"
    assert start.count("%") % 2 == 0


def test_a_line_break_is_refused() -> None:
    with pytest.raises(UsageError, match="control character"):
        unit_text(paths("/r/a\nExecStartPre=/bin/sh"), {})


def test_it_is_installed_where_systemd_looks(tmp_path: Path) -> None:
    place = install(paths("/r"), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert place == tmp_path / "systemd" / "user" / "thetis-my-repo-0123456789ab.service"
    assert place.name == unit_name(paths("/r"))
    assert place.read_text() == unit_text(paths("/r"), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert [each.name for each in place.parent.iterdir()] == [place.name]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_takes_it(tmp_path: Path) -> None:
    unit = tmp_path / "thetis-test.service"
    unit.write_text(unit_text(paths(str(tmp_path)), {}))
    done = subprocess.run(["systemd-analyze", "--user", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "Unknown" not in done.stderr and "Invalid" not in done.stderr
