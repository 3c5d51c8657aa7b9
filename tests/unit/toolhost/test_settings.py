"""Settings for an agent: the branch's own file, the few keys it may set, nothing of anybody else's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.config.keys import AGENT_MAY, keys
from thetis_kernel.errors import ConfigError, Refused
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.toolhost.settings import changed

from tests.support.turns import turn_context

FILE = """# ours
[screen]
theme = "thetis-dark"  # as agreed

[walls]
network = true
[tools.x]
token = "canary-in-a-tool"
"""


def put(tmp_path: Path, key: str, value: Any, **place: Any) -> dict[str, Any]:
    return perform(turn_context(tmp_path, **place), "config.set", "c", {"key": key, "value": json.dumps(value)})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    turn_context(tmp_path)
    found = tmp_path / "wt" / "thetis.toml"
    found.write_text(FILE)
    return found


def test_what_it_writes_is_the_file_of_its_branch_with_the_comments(file: Path, tmp_path: Path) -> None:
    told = put(tmp_path, "screen.theme", "thetis-light")
    assert file.read_text() == FILE.replace("thetis-dark", "thetis-light")
    assert told["value"] == "thetis-light" and "merged" in told["counts"]
    put(tmp_path, "tool_groups.always_on", ["ssh", "config"])
    put(tmp_path, "walls.command_timeout_ms", 1000)
    put(tmp_path, "screen.theme", None)
    assert "theme" not in file.read_text() and 'always_on = ["ssh", "config"]' in file.read_text()
    plain = {"key": "screen.theme", "value": "thetis-ansi"}  # words without quotes
    assert perform(turn_context(tmp_path), "config.set", "c", plain)["value"] == "thetis-ansi"


@pytest.mark.parametrize("key", [
    *sorted(set(keys()) - AGENT_MAY), "tools.x.hosts", "modes.mine.read_only", "nothing", "screen",
])
def test_whatever_widens_a_wall_costs_or_runs_is_a_persons(file: Path, tmp_path: Path, key: str) -> None:
    for value in (True, 1, "x", ["/"], {"a": 1}, None):
        with pytest.raises(Refused, match=r"a person's|no setting"):
            put(tmp_path, key, value)
    assert file.read_text() == FILE


@pytest.mark.parametrize(("key", "value"), [
    ("agent.default_mode", "agent"), ("agent.default_mode", "ask"), ("screen.theme", "pink"), ("screen.theme", 1),
    ("worker.idle_minutes", 0), ("worker.idle_minutes", "x"), ("walls.command_timeout_ms", 10**9),
    ("tool_groups.grouping", "yes"),
    ("tool_groups.always_on", "ssh"), ("tool_groups.always_on", ["ghp_" + "a1B2" * 9]), ("tool_groups.always_on", [[]]),
])
def test_what_does_not_fit_changes_nothing(file: Path, tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises((ConfigError, Exception)) as refused:
        put(tmp_path, key, value)
    assert getattr(refused.value, "code", "") in ("config", "bad-arguments") and file.read_text() == FILE


def test_it_reads_that_file_alone_and_no_secret_of_it(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wt" / "thetis.local.toml").write_text('[screen]\nnotices = "off"\n')
    (tmp_path / "own.toml").write_text("[worker]\nidle_minutes = 77\n")
    monkeypatch.setenv("THETIS_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "wt" / "ssh-hosts.local.toml").write_text('[canary-machine]\nhost = "canary"\n')
    context = turn_context(tmp_path)
    told = perform(context, "config.list", "c", {})
    assert {one["key"]: one.get("value", one.get("ignored")) for one in told["settings"]} == {
        "screen.theme": "thetis-dark", "walls.network": True, "tools": True}
    everything = msgspec.json.encode([told, *(perform(context, "config.read", "c", {"key": key}) for key in keys())]).decode()
    assert "canary" not in everything and "77" not in everything and '"off"' not in json.dumps(told)
    one = perform(context, "config.read", "c", {"key": "screen.theme"})
    assert (one["value"], one["default"], one["may_set"]) == ("thetis-dark", "thetis-dark", True)
    assert "thetis-ansi" in one["choices"]


def test_a_broken_file_is_not_written_over(file: Path, tmp_path: Path) -> None:
    file.write_text("[screen\n")
    for name, arguments in (("config.list", {}), ("config.read", {"key": "screen.theme"}),
                            ("config.set", {"key": "screen.theme", "value": "thetis-ansi"})):
        with pytest.raises(ConfigError, match=r"thetis\.toml:1"):
            perform(turn_context(tmp_path), name, "c", arguments)
    assert file.read_text() == "[screen\n"


def test_a_read_only_mode_reads(file: Path, tmp_path: Path) -> None:
    assert perform(turn_context(tmp_path, read_only=True), "config.list", "c", {})["file"] == "thetis.toml"
    with pytest.raises(Refused, match="read-only"):
        put(tmp_path, "screen.theme", "thetis-light", read_only=True)
    assert file.read_text() == FILE


def test_without_a_file_there_is_one_afterwards(tmp_path: Path) -> None:
    assert perform(turn_context(tmp_path), "config.list", "c", {})["settings"] == []
    put(tmp_path, "screen.theme", "thetis-light")
    assert (tmp_path / "wt" / "thetis.toml").read_text() == '[screen]\ntheme = "thetis-light"\n'
    assert changed("", "screen.theme", '"thetis-ansi"') == '[screen]\ntheme = "thetis-ansi"\n'
