"""From PATH to what has to be shown so that its programs run, and nothing private with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.walls import environment, toolchains
from thetis_kernel.walls.toolchains import Toolchains


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "person"
    for name in (".ssh", ".local/bin", ".local/share", ".local/lib", ".config", "bin", "lib", ".cargo/bin", ".rustup"):
        (place / name).mkdir(parents=True)
    return place


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def find(home: Path, *entries: Path | str, hidden: tuple[Path, ...] = ()) -> Toolchains:
    return toolchains.find(":".join(map(str, entries)), home, hidden)


def test_a_virtual_environment_and_the_interpreter_behind_it(home: Path) -> None:
    base = home / ".pyenv" / "versions" / "3.11"
    program(base / "bin" / "python3.11")
    (base / "lib").mkdir()
    venv = home / "project" / ".venv"
    program(venv / "bin" / "pytest")
    (venv / "bin" / "python").symlink_to(base / "bin" / "python3.11")
    (venv / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\nversion = 3.11\n")

    found = find(home, venv / "bin")

    assert set(found.readable) == {base, venv}
    assert found.path[0] == str(venv / "bin")


def test_links_to_links_are_laid_again_where_nothing_else_shows_them(home: Path) -> None:
    base = home / ".pyenv" / "versions" / "3.12.4"
    program(base / "bin" / "python3.12")
    (base / "lib").mkdir()
    (base.parent / "3.12").symlink_to("3.12.4")
    (home / "bin" / "python").symlink_to("../.pyenv/versions/3.12/bin/python3.12")
    (home / "code").symlink_to(home / "data")
    venv = home / "data" / "project" / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(home / "bin" / "python")
    (venv / "pyvenv.cfg").write_text(f"home = {base.parent / '3.12' / 'bin'}\n")

    found = find(home, home / "code" / "project" / ".venv" / "bin")

    assert set(found.readable) == {base, venv}
    assert dict(found.links) == {
        str(home / "bin" / "python"): "../.pyenv/versions/3.12/bin/python3.12",
        str(home / "code"): str(home / "data"),
        str(base.parent / "3.12"): "3.12.4",
    }


def test_only_programs_are_shown_for_a_link_and_only_interpreters_for_an_environment(home: Path) -> None:
    (home / "letters" / "lib").mkdir(parents=True)
    program(home / "letters" / "bin" / "letter")
    note = home / "note"
    note.write_text("private")
    venv = home / "project" / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "note").symlink_to(note)
    (venv / "pyvenv.cfg").write_text(f"home = {home / 'letters' / 'bin'}\n")

    assert find(home, venv / "bin").readable == (venv,)


def test_links_that_lead_nowhere_are_not_followed(home: Path) -> None:
    state = home / ".local" / "state" / "thetis"
    (state / "bin").mkdir(parents=True)
    for name, text in {
        "a": "b",
        "b": "a",
        "gone": "nowhere",
        "key": str(home / ".ssh"),
        "in": str(state / "out"),
    }.items():
        (home / "bin" / name).symlink_to(text)
    program(home / "tool" / "bin" / "tool")
    (state / "out").symlink_to(home / "tool" / "bin" / "tool")

    found = find(home, home / "bin", home / "bin" / "a", home / "bin" / "key", hidden=(state,))

    assert found.readable == (home / "bin",)
    assert found.links == ()


def test_an_install_prefix_is_shown_whole(home: Path) -> None:
    node = home / ".nvm" / "versions" / "node" / "v22"
    program(node / "bin" / "node")
    (node / "lib").mkdir()

    assert find(home, node / "bin").readable == (node,)


@pytest.mark.parametrize("name", ["bin", ".local/bin", ".cargo/bin"])
def test_the_home_around_a_bin_directory_is_not_shown(home: Path, name: str) -> None:
    program(home / name / "tool")

    assert find(home, home / name).readable == (home / name,)


def test_a_link_to_one_program_shows_that_file_or_its_environment(home: Path) -> None:
    single = program(home / ".local" / "share" / "thing" / "versions" / "1.2")
    piped = home / ".local" / "share" / "pipx" / "venvs" / "black"
    program(piped / "bin" / "black")
    (piped / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (home / ".local" / "bin" / "thing").symlink_to(single)
    (home / ".local" / "bin" / "black").symlink_to(piped / "bin" / "black")

    assert set(find(home, home / ".local" / "bin").readable) == {home / ".local" / "bin", single, piped}


def test_a_link_to_something_private_shows_nothing_of_it(home: Path) -> None:
    key = program(home / ".ssh" / "id_rsa")
    (home / ".local" / "bin" / "key").symlink_to(key)

    assert find(home, home / ".local" / "bin", home / ".ssh").readable == (home / ".local" / "bin",)


def test_pyenv_is_shown_for_its_shims(home: Path) -> None:
    program(home / ".pyenv" / "shims" / "python3")
    (home / ".pyenv" / "libexec").mkdir()

    found = find(home, home / ".pyenv" / "shims")

    assert found.readable == (home / ".pyenv",)


def test_rustup_needs_its_toolchains_but_not_cargos_credentials(home: Path) -> None:
    program(home / ".cargo" / "bin" / "rustup")
    (home / ".cargo" / "credentials.toml").write_text("token")

    found = find(home, home / ".cargo" / "bin")

    assert set(found.readable) == {home / ".cargo" / "bin", home / ".rustup"}
    assert found.variables == (("RUSTUP_HOME", str(home / ".rustup")),)


def test_relative_missing_and_hidden_entries_are_dropped(home: Path) -> None:
    state = home / ".local" / "state" / "thetis"
    program(state / "bin" / "tool")
    (state / "bin" / "lib").mkdir()

    found = find(home, ".", "", "bin", home / "gone", state / "bin", hidden=(state,))

    assert found.readable == ()
    assert all(entry.startswith(("/usr", "/sbin", "/bin")) for entry in found.path)


def test_a_path_through_a_link_becomes_the_real_one(home: Path) -> None:
    node = home / ".fnm" / "v22"
    program(node / "bin" / "node")
    (node / "lib").mkdir()
    (home / "shell-session").symlink_to(node)

    found = find(home, home / "shell-session" / "bin")

    assert found.readable == (node,)
    assert found.path[0] == str(node / "bin")


def test_system_directories_need_nothing(home: Path) -> None:
    assert find(home, "/usr/bin", "/bin").readable == ()


def test_the_environment_is_made_from_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    tools = Toolchains(
        (home / "tool",), (str(home / "tool" / "bin"), str(home / "elsewhere"), "/usr/bin"), (("A", "1"),)
    )

    variables = environment.build(tools, Path("/scratch"), (home / "tool",))

    assert variables == {
        "A": "1",
        "PATH": f"{home}/tool/bin:/usr/bin",
        "HOME": "/scratch/home",
        "TMPDIR": "/scratch/tmp",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    assert environment.build(tools, Path("/scratch"), None)["PATH"] == ":".join(tools.path)
