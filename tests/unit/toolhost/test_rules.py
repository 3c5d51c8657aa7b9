"""What an allowance covers, and what cannot be one."""

from __future__ import annotations

import pytest
from thetis_kernel.toolhost.authority import Subject
from thetis_kernel.toolhost.authority.rules import MAX_PATTERN, covers, usable
from thetis_kernel.toolhost.authority.shell import parts


def part(command: str) -> Subject:
    found = parts(command)
    assert found is not None and len(found) == 1
    return found[0]


@pytest.mark.parametrize(("pattern", "command", "covered"), [
    ("git diff *", "git diff --stat", True),
    ("git diff *", "git diff", True),
    ("git diff *", "git difftool", False),
    ("git diff *", "git -C x diff", False),
    ("git diff *", "git diff > out.txt", False),
    ("git diff > out.txt", "git diff > out.txt", True),
    ("git diff *", "git diff 2>/dev/null", True),
    ("pytest -q", "pytest -q", True),
    ("pytest -q", "pytest -q -x", False),
    ("'a b' *", "'a b' c", True),
    ("'a b' *", "a b c", False),
    ("ls '*'", "ls x", False),
    ("*", "rm -rf .", True),
    ("*", "eval x", False),
    ("eval x", "eval x", True),
    ("eval *", "eval x", False),
])  # fmt: skip
def test_commands(pattern: str, command: str, covered: bool) -> None:
    assert covers("exec", pattern, part(command)) is covered


@pytest.mark.parametrize(("pattern", "path", "covered"), [
    ("src/**", "src/a.py", True),
    ("src/**", "src/a/b.py", True),
    ("src/**", "other/src/a.py", False),
    ("src/**", "src", False),
    ("src/**", "src2/a.py", False),
    ("src/**", "src/../.git/config", False),
    ("**", "a.py", True),
    ("**", "../a.py", False),
    ("**", "/workspace/a.py", False),
    ("a.py", "a.py", True),
    ("a.py", "b/a.py", False),
])  # fmt: skip
def test_complaint_129_globs_of_paths_are_anchored(pattern: str, path: str, covered: bool) -> None:
    assert covers("write", pattern, Subject(path)) is covered


@pytest.mark.parametrize("pattern", ["", " ", "a\nb", "a\x1b[0m", "a\u202eb", "a\u3164b", "a\ufe0f", "a\tb",
                                     "x" * (MAX_PATTERN + 1), "'a"])  # fmt: skip
def test_complaint_128_what_cannot_be_read_cannot_be_a_rule(pattern: str) -> None:
    assert usable("exec", pattern)
    assert not covers("exec", pattern, Subject(pattern))


def test_hosts_are_compared_whole() -> None:
    assert covers("http", "example.org", Subject("example.org"))
    assert not covers("http", "example.org", Subject("sub.example.org"))
    assert not covers("http", "**", Subject("example.org"))
