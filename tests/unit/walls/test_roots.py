"""The boundary: what may be a root, how roots may lie to each other, where a command may stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import WallError
from thetis_kernel.walls import private, roots
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.toolchains import Toolchains


@pytest.fixture
def place(tmp_path: Path) -> Path:
    real = tmp_path.resolve()
    for name in ("wt", "ws", "scratch", "repo/.git", "tool"):
        (real / name).mkdir(parents=True)
    return real


def resolve(place: Path, **fields: object) -> roots.Boundary:
    values: dict[str, object] = {"text": "x", "cwd": place / "wt", "writable": (place / "wt",)}
    return roots.resolve(Command(**(values | fields)), place / "scratch")  # type: ignore[arg-type]


def test_links_in_front_of_a_root_are_resolved(place: Path) -> None:
    (place / "alias").symlink_to(place / "wt")

    boundary = resolve(place, writable=(place / "alias",), cwd=place / "alias")

    assert boundary.writable == (place / "wt",)
    assert boundary.cwd == place / "wt"


@pytest.mark.parametrize(
    "root", ["/", "/etc", "/usr", "/tmp", "/root", "/home", "/proc/self", "/dev/shm", "/run", "/var", "~"]
)
def test_places_that_are_no_root(place: Path, root: str) -> None:
    for field in ("writable", "readable"):
        with pytest.raises(WallError, match=r"cannot be a (writable|readable) root"):
            resolve(place, **{field: (Path(root).expanduser(),), "cwd": Path(root).expanduser()})


def test_a_root_that_is_gone_relative_or_a_file(place: Path) -> None:
    (place / "file").write_text("")
    for bad in (place / "gone", Path("wt"), place / "file"):
        with pytest.raises(WallError, match=r"cannot be a writable root"):
            resolve(place, writable=(bad,))


def test_the_homes_private_places_are_refused(place: Path) -> None:
    home = (place / "person",)
    for name in (
        ".ssh",
        ".ssh/deep",
        ".aws",
        ".config/gcloud",
        ".local",
        ".config",
        ".local/share",
        ".cargo",
        ".gnupg",
    ):
        assert private.why_not(place / "person" / name, home=home), name
    for name in ("project", ".local/state/thetis/worktrees/a", ".cargo/bin", ".config/thing/worktree", ".rustup"):
        assert not private.why_not(place / "person" / name, home=home), name
    assert private.why_not(place, home=home) == "contains your home directory"
    hidden = (place / "state",)
    for path in (place / "state", place / "state/x"):
        assert private.why_not(path, home=home, hidden=hidden)


@pytest.mark.parametrize(
    ("first", "second"), [("wt", "wt/inner"), ("wt/inner", "wt"), ("scratch", "wt"), ("wt", "scratch/x")]
)
def test_roots_do_not_lie_inside_each_other(place: Path, first: str, second: str) -> None:
    for name in (first, second):
        (place / name).mkdir(parents=True, exist_ok=True)

    with pytest.raises(WallError):
        resolve(place, writable=(place / first, place / second))


def test_a_prefix_is_not_inside(place: Path) -> None:
    (place / "wt-evil").mkdir()

    with pytest.raises(WallError, match="outside the writable and readable roots"):
        resolve(place, cwd=place / "wt-evil")


def test_a_link_inside_a_root_that_leads_out_is_outside(place: Path) -> None:
    (place / "wt" / "out").symlink_to(place / "ws")
    (place / "wt" / "loop").symlink_to("loop")

    for cwd in (place / "wt" / "out", place / "wt" / "out" / "gone", Path("relative"), place / "wt" / "loop"):
        with pytest.raises(WallError, match="cannot be the working directory"):
            resolve(place, cwd=cwd)


def test_a_directory_that_is_gone_falls_back_and_says_so(place: Path) -> None:
    boundary = resolve(place, cwd=place / "wt" / "gone")

    assert boundary.cwd == place / "wt"
    assert "is gone" in boundary.note


def test_readable_paths_inside_a_writable_root_are_never_bound(place: Path) -> None:
    """The agent may have replaced them by a link; they are readable there anyway."""
    (place / "wt" / "venv").symlink_to(place / "repo")

    boundary = resolve(place, toolchains=Toolchains((place / "wt" / "venv", place / "tool")))

    assert boundary.readable == (place / "tool",)


def test_the_git_entry_of_a_writable_root_is_protected(place: Path) -> None:
    (place / "wt" / ".git").write_text("gitdir: elsewhere")

    boundary = resolve(place, git_dirs=(place / "repo" / ".git",))

    assert boundary.git == (place / "wt" / ".git",)
    assert place / "repo" / ".git" in boundary.readable


def test_a_git_entry_that_is_a_link_stops_everything(place: Path) -> None:
    (place / "wt" / ".git").symlink_to(place / "repo" / ".git")

    with pytest.raises(WallError, match="somebody replaced it"):
        resolve(place)


def test_a_git_directory_deep_in_a_writable_root_cannot_be_protected(place: Path) -> None:
    (place / "wt" / "sub" / ".git").mkdir(parents=True)
    (place / "wt" / "link").symlink_to(place / "repo")

    for path in (place / "wt" / "sub" / ".git", place / "wt" / "link" / ".git"):
        with pytest.raises(WallError, match="cannot be protected"):
            resolve(place, git_dirs=(path,))


def test_a_spill_file_is_not_written_through_an_agents_directory(place: Path) -> None:
    (place / "wt" / "logs").mkdir()
    (place / "alias").symlink_to(place / "wt" / "logs")

    roots.check_spill(place / "out", (place / "wt",))
    for path in (place / "wt" / "out", place / "wt" / "logs" / "out", place / "alias" / "out", Path("out")):
        with pytest.raises(WallError, match="spill file"):
            roots.check_spill(path, (place / "wt",))
