"""The command line says what there is, by sections, and what was meant by a word it does not know."""

from __future__ import annotations

import importlib

import pytest
from thetis_kernel.cli import commands, parser


def test_every_command_has_words_a_section_and_a_function() -> None:
    _, helps = parser.words()
    assert set(helps) == set(commands.COMMANDS) and all(helps.values())
    for command in commands.COMMANDS.values():
        module, _, function = command.does.partition(":")
        assert callable(getattr(importlib.import_module(f"thetis_kernel.cli.{module}"), function))


def test_the_help_has_each_command_once_below_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.parse(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and "COMMAND --help" in said
    lines = [line.split()[0] for line in said.splitlines() if line.startswith("  ") and not line.startswith("  -")]
    assert [name for name in lines if name in commands.COMMANDS] == list(commands.COMMANDS)
    assert [line[:-1] for line in said.splitlines() if line.endswith(":")][-6:] == list(
        dict.fromkeys(command.section for command in commands.COMMANDS.values()))


@pytest.mark.parametrize(("given", "said"), [
    (["worktree"], "Did you mean `thetis worktrees`?"),
    (["frobnicate"], "`thetis --help` lists them."),
    (["fix the tests please"], 'thetis run "..."'),
    (["self", "roll-back"], "Did you mean `thetis self rollback`?"),
    (["daemon", "zzz"], "`thetis daemon --help` lists them."),
])
def test_a_word_it_does_not_know(given: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.parse(given)
    told = capsys.readouterr().err
    assert ended.value.code == 2 and said in told and len(told.splitlines()) == 2


def test_what_lacks_or_does_not_fit_is_still_said_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser.parse(["rewind"])
    assert "usage: thetis rewind" in capsys.readouterr().err
