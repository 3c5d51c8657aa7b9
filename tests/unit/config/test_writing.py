"""The one writer of settings: whole or not at all, comments kept, no secret in clear, no boundary loosened by a root's files."""

from __future__ import annotations

import multiprocessing
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.config.keys import AGENT_MAY, SENTENCES, keys, user_only
from thetis_kernel.config.loading import Layers, load
from thetis_kernel.config.settings import ROOT_VALUES, USER_ONLY
from thetis_kernel.config.writing import change, known, write
from thetis_kernel.errors import ConfigError
from thetis_kernel.gateway.settings import SettingsDoor, secret
from thetis_kernel.protocol.settings import WriteSetting

FILE = Path("config.toml")
COMMENTED = """# mine, do not touch
[agent]   # how turns begin
max_tokens = 1_000  # a small one

# colours
[screen]
theme = 'thetis-light' # bright here

[tools.http_fetch]
hosts = [
  "a.example",  # why
]
"""


def set_in(text: str, key: str, value: str | None, where: Any = "user") -> str:
    return change(FILE, text, key, value, where, secret)


@pytest.fixture
def layers(tmp_path: Path) -> Layers:
    (tmp_path / "root").mkdir()
    return Layers(tmp_path / "root", tmp_path / "own" / "config.toml")


def test_comments_stay_where_they_were() -> None:
    changed = set_in(COMMENTED, "screen.theme", "thetis-dark")
    assert changed == COMMENTED.replace("'thetis-light'", '"thetis-dark"')
    changed = set_in(COMMENTED, "agent.max_tokens", "2000")
    assert changed == COMMENTED.replace("1_000", "2000")
    assert set_in(changed, "agent.max_tokens", None).count("#") == 5
    assert set_in(COMMENTED, "walls.network", "true").startswith(COMMENTED)


VALUES = {"agent.max_tokens": st.integers(1, 10**9).map(str), "screen.theme": st.sampled_from(["thetis-dark", "thetis-ansi"]),
          "model.default": st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20).filter(
              lambda text: text[:1] not in ('"', "'")),
          "walls.network": st.sampled_from(["true", "false"]), "tools.x.limit": st.integers(-5, 5).map(str),
          "walls.readable": st.just('["/a", "/b c"]'), "agent.max_minutes": st.floats(0.5, 100).map(repr)}


@given(st.lists(st.sampled_from(sorted(VALUES)).flatmap(lambda key: st.tuples(st.just(key), VALUES[key] | st.none()))))
@settings(deadline=None, max_examples=60)
def test_every_change_is_that_change_alone(changes: list[tuple[str, str | None]]) -> None:
    text = COMMENTED
    for key, value in changes:
        before, comments = tomllib.loads(text), text.count("# mine") + text.count("# colours")
        text = set_in(text, key, value)
        after = tomllib.loads(text)
        section, last = key.rsplit(".", 1)
        for table in (before, after):
            inner: Any = table
            for part in section.split("."):
                inner = inner.get(part, {})
            found = inner.pop(last, None)
        assert (found is None) == (value is None)
        assert {k: v for k, v in after.items() if v} | {"tools": {}} == {k: v for k, v in before.items() if v} | {
            "tools": {}} or {**before, "tools": _full(before)} == {**after, "tools": _full(after)}
        assert comments == text.count("# mine") + text.count("# colours")


def _full(table: dict[str, Any]) -> dict[str, Any]:
    return {name: block for name, block in table.get("tools", {}).items() if block}


@pytest.mark.parametrize(("key", "value", "hint"), [
    ("agent.max_tokens", "many", "whole number"), ("agent.max_tokens", "0", ">= 1"), ("walls.network", "yes", "true or false"),
    ("screen.theme", "pink", "one of"), ("walls.readable", "/usr", "list"), ("agent.max_minutes", "1e9", "<= 1440"),
    ("providers", "[]", "Edit"), ("agent.max_tokn", "3", "max_tokens"), ("modes", "{}", "entries"),
    ("nothing.x", "1", "config ls"),
    ("agent", "1", "config ls"), ("agent.max_tokens.more", "1", "max_tokens"), ("agent.\x1b[2J", "1", "config ls"),
])
def test_what_does_not_fit_is_refused_with_the_way_out(key: str, value: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        set_in(COMMENTED, key, value)
    assert hint in refused.value.hint and "\x1b" not in refused.value.message


def test_the_whole_is_judged_before_a_byte_is_written(layers: Layers) -> None:
    """Complaint 128 (claude-code#25909): a settings file was written that could not be read back."""
    write(layers, "user", "agent.default_mode", "plan", secret)
    before = layers.user_file.read_bytes()
    for key, value in (("agent.default_mode", "nonsense"), ("modes.agent.read_only", "false"), ("agent.max_dollars", "-1"),
                       ("modes.Not-A-Name.read_only", "true"), ("subagents.profiles.x.nothing", "1"),
                       ("worktree.link", '["/etc"]')):
        with pytest.raises(ConfigError, match=r"Nothing was changed|no setting"):
            write(layers, "user", key, value, secret)
        assert layers.user_file.read_bytes() == before
    (layers.root / "thetis.local.toml").write_text("[agent\n")
    with pytest.raises(ConfigError, match=r"thetis\.local\.toml:1"):  # together with the overlay
        write(layers, "user", "screen.theme", "thetis-ansi", secret)
    assert layers.user_file.read_bytes() == before


def test_a_file_that_cannot_be_read_is_never_rewritten(layers: Layers) -> None:
    layers.user_file.parent.mkdir()
    for broken in (b"[agent\n", b"a = 1\na = 2\n", b"\xff\xfe", b"x = \x00", b"x = " + b"[" * 5000):
        layers.user_file.write_bytes(broken)
        with pytest.raises(ConfigError):
            write(layers, "user", "screen.theme", "thetis-dark", secret)
        assert layers.user_file.read_bytes() == broken


@pytest.mark.parametrize("where", ["root", "local"])
def test_a_roots_files_cannot_loosen_a_boundary(layers: Layers, where: Any) -> None:
    for key in keys().values():
        if user_only(key.name):
            with pytest.raises(ConfigError, match=r"own files cannot say|table of names"):
                write(layers, where, key.name, "1", secret)
    with pytest.raises(ConfigError, match=r"cannot set agent\.default_mode"):
        write(layers, where, "agent.default_mode", "agent", secret)
    assert not layers.file(where).exists()
    write(layers, where, "agent.default_mode", "chat", secret)
    assert load(layers.root, layers.user_file).settings.agent.default_mode == "chat"


def test_a_link_in_the_repository_is_not_written_through(layers: Layers, tmp_path: Path) -> None:
    victim = tmp_path / "victim.toml"
    victim.write_text("")
    (layers.root / "thetis.toml").symlink_to(victim)
    with pytest.raises(ConfigError, match="is a link"):
        write(layers, "root", "screen.theme", "thetis-dark", secret)
    assert victim.read_text() == ""


def test_a_persons_own_link_stays_one(layers: Layers, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "thetis.toml"
    kept.parent.mkdir()
    kept.write_text("# in my dotfiles\n")
    layers.user_file.parent.mkdir()
    layers.user_file.symlink_to(kept)
    write(layers, "user", "screen.theme", "thetis-ansi", secret)
    assert layers.user_file.is_symlink() and "thetis-ansi" in kept.read_text() and "# in my dotfiles" in kept.read_text()


@pytest.mark.parametrize(("key", "value"), [
    ("tools.x.token", "abcdef"), ("tools.x.api_key", '"hunter2"'), ("tools.x.note", "ghp_" + "a1B2" * 9),
    ("tools.x", '{ inner = { password = "p" } }'), ("tools.x.list", '["ghp_' + "a1B2" * 9 + '"]'),
])
def test_secrets_are_references(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match="secret in clear"):
        set_in("", key, value)
    assert 'token = "env:MINE"' in set_in("", "tools.x.token", "env:MINE")


def test_what_an_agent_may_set_is_a_list_and_harmless() -> None:
    assert set(keys()) >= AGENT_MAY and not any(user_only(key) for key in AGENT_MAY)
    assert not AGENT_MAY & {key for key in keys() if key.partition(".")[0] in (
        "model", "models", "providers", "approvals", "tools", "modes", "subagents", "worktree", "paths", "files", "dependencies")}
    assert {key for key in AGENT_MAY if key.startswith(("walls.", "agent."))} == {
        "walls.command_timeout_ms", "agent.default_mode"}
    assert "agent.default_mode" in ROOT_VALUES


def test_every_setting_has_its_sentence() -> None:
    assert set(SENTENCES) == set(keys())
    assert all(known(name) == key for name, key in keys().items() if key.kind != "table")
    assert {one.partition(".")[0] for one in USER_ONLY} <= {key.partition(".")[0] for key in keys()}


def _one_of_many(layers: Layers, number: int) -> None:
    write(layers, "user", f"tools.t{number}.limit", str(number), secret)


def test_writers_side_by_side_lose_nothing(layers: Layers) -> None:
    """Complaint 114 (claude-code#28922 and others): a shared file torn by parallel sessions."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_one_of_many, args=(layers, number)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert tomllib.loads(layers.user_file.read_text())["tools"] == {f"t{n}": {"limit": n} for n in range(6)}
    assert [one.name for one in layers.user_file.parent.iterdir()] == ["config.toml"]


def test_what_a_screen_is_shown(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    layers.user_file.parent.mkdir()
    layers.user_file.write_text(
        '[tools.x]\ntoken = "hunter2"\nkey = "env:K"\n[agent]\nmax_tokens = 7\n[walls]\nreadable = ["/a"]\n'
    )
    (layers.root / "thetis.toml").write_text('[walls]\nnetwork = true\n[screen]\ntheme = "thetis-ansi"\n')
    monkeypatch.setenv("THETIS_IDLE_MINUTES", "3")
    door = SettingsDoor(layers)
    lines = {line.key: line for line in door.all().settings}
    assert "hunter2" not in str(lines) and "env:K" in lines["tools"].value
    assert (lines["agent.max_tokens"].value, lines["agent.max_tokens"].source) == ("7", "user")
    assert (lines["walls.network"].value, lines["walls.network"].source) == ("false", "default")
    assert (lines["screen.theme"].source, lines["worker.idle_minutes"].source) == ("root", "environment")
    written = door.write(WriteSetting(key="screen.theme", value="thetis-dark"))
    assert (written.file, written.setting.value, written.setting.source) == (str(layers.user_file), "thetis-ansi", "root")
    assert [line.key for line in door.all("walls.").settings] == [key for key in keys() if key.startswith("walls.")]
