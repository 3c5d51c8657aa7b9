"""The reader of shell commands: what it says of a command is what bash does, and what it does not surely know it refuses."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from thetis_kernel.toolhost.authority import shell
from thetis_kernel.toolhost.authority.shell import MAX_COMMAND, MAX_PARTS, SHELL_STATE, parts

BASH = shutil.which("bash") or "bash"
NOTED = """
command_not_found_handle() { { printf '%s\\0' "$@"; printf '\\1\\0'; } >> "$THE_LOG"; return 0; }
eval "$THE_COMMAND"
"""
"""Every program is unknown here, so bash reports the words it would have run it with."""


def run_by_bash(command: str) -> tuple[list[list[str]], list[str]]:
    """(words of each program bash began, names of files that appeared)."""
    with tempfile.TemporaryDirectory() as place:
        log, work = Path(place) / "log", Path(place) / "work"
        work.mkdir()
        subprocess.run([BASH, "-c", NOTED], cwd=work, capture_output=True, timeout=20,
                       env={"PATH": "/nonexistent", "THE_LOG": str(log), "THE_COMMAND": command + "\nwait"})
        text = log.read_bytes().decode() if log.exists() else ""
        begun = [words.split("\0")[:-1] for words in text.split("\x01\0")[:-1]]
        return begun, sorted(file.name for file in work.iterdir())


def words_of(command: str) -> list[list[str]] | None:
    found = parts(command)
    return None if found is None else [shlex.split(part.text) for part in found]


PIECES = st.sampled_from([
    "p1", "p2", "a-b", "x/y", "1", "2", "22", "'q r'", '"s t"', '"u\\"v"', "\\ ", "\\$", "'", '"', "\\", "$", "`", "*", "?", "[",
    "{", "}", ",", "=", "~", "#", "!", "%", "^", "@", "+", "&&", "||", "|", "&", ";", "\n", "(", ")", "<", ">", ">>", ">&", "&>",
    "2>", "2>&1", "/dev/null", "$(p3)", "<<", "\t", " ", " ", " ", " ", " ", "é", "then", "if", "$'x'", "..", "-n", "|&", ":",
])  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, min_size=1, max_size=14).map("".join))
@example("p1 a~b#c; p2 'x'\\''y' \"z\"")
@example("(p1; (p2 & p1)) | p2 && p1 2>&1 >/dev/null")
@example("p1 2 >f 3>&1 x")
@example("p1 a\\\nb")
@example("p1 =~ x=~ :~ a=b")
def test_what_is_understood_is_what_bash_does(command: str) -> None:
    understood = words_of(command)
    if understood is None:
        return
    begun, files = run_by_bash(command)
    named = [" ".join(words) for words in understood]
    for words in begun:
        bare = [one for one in understood if one[: len(words)] == words]
        assert bare, f"bash ran {words}, understood were {named}"
    for file in files:
        assert any(file in words for words in understood), f"{file} appeared"


@pytest.mark.parametrize("command", [
    "p1 $(p2)", "p1 `p2`", "p1 <(p2)", "X=1 p1", "p1 *.c", "p1 {a,b}", "p1 # p2", "p1 <<E\nE", "p1 <<< x", "f() { p1; }",
    "if p1; then p2; fi", "! p1", "p1 &&", "p1 | | p2", "p1 \"$x\"", "p1 '", 'p1 "', "p1 \\", "p1 ~", "p1 x=~", "p1 \"!x\"",
    "(p1", "p1)", "()", "(p1) > f", "p1 |& p2", "p1 >| f", "[[ x ]]", "time p1", "p1;;p2", "", " ", "\n", "& p1", "p1 a\0b",
    "p1 \x1b[0m", "p1 \u202e", "p1 \u200b", "p1\r", "(" * 100 + "p1" + ")" * 100, "p1;" * (MAX_PARTS + 1), "{ p1; }", "p1 $'x'",
])  # fmt: skip
def test_what_is_not_understood_is_asked(command: str) -> None:
    assert parts(command) is None


def test_complaint_129_an_over_long_command_is_not_compared() -> None:
    assert parts("ls " + "a" * (MAX_COMMAND - 3)) is not None
    assert parts("ls " + "a" * (MAX_COMMAND - 2)) is None


@pytest.mark.parametrize(("command", "rules"), [
    ("git diff --stat && pytest -q | tail -5", ["git diff *", "pytest *", "tail *"]),
    ("git -C /x status", ["git -C /x status"]),
    ("git push origin main", ["git push origin main"]),
    ("cargo test > log.txt", ["cargo test > log.txt"]),
    ("./build.sh -x", ["./build.sh -x"]),
    ("bash -c 'rm -rf .'", ["bash -c 'rm -rf .'"]),
])  # fmt: skip
def test_what_would_be_remembered(command: str, rules: list[str]) -> None:
    found = parts(command)
    assert found is not None and [part.rule for part in found] == rules


@pytest.mark.parametrize("program", sorted(SHELL_STATE))
def test_what_changes_the_shell_is_never_remembered(program: str) -> None:
    found = parts(f"{program} x")
    assert found is not None and found[0].rule == found[0].session == "" and not found[0].wide


def test_the_lists_do_not_contradict_each_other() -> None:
    assert not shell.PLAIN & (SHELL_STATE | shell.RESERVED) and not set(shell.WITH_SUBCOMMAND) & (shell.PLAIN | SHELL_STATE)
