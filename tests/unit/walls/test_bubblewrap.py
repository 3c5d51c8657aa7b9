"""The command line of bubblewrap, word for word where a word matters."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.walls import bubblewrap, system
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.enter import FILES_FD
from thetis_kernel.walls.roots import Boundary, resolve
from thetis_kernel.walls.tier import Tier

WORKTREE = Path("/state/worktrees/one")
SCRATCH = Path("/scratch/one")
TIER = Tier(name="bubblewrap", sentence="", bwrap="/usr/bin/bwrap", options=frozenset({"--size", "--perms"}))


def argv(
    boundary: Boundary | None = None, tier: Tier = TIER, *, network: bool = False, filtered: bool = True
) -> list[str]:
    inside = boundary or Boundary(writable=(WORKTREE,), readable=(), git=(), cwd=WORKTREE)
    return bubblewrap.argv(
        tier,
        inside,
        SCRATCH,
        "echo hi",
        network=network,
        filtered=filtered,
        tmp_bytes=4096,
        copied=[("/real/passwd", "/etc/passwd"), ("/real/hosts", "/etc/hosts")],
        bound=[("/real/ssl", "/etc/ssl/certs")],
    )


def binds(words: list[str]) -> list[tuple[str, str, str]]:
    return [(words[i], words[i + 1], words[i + 2]) for i, word in enumerate(words) if word in ("--bind", "--ro-bind")]


def test_every_namespace_is_new_and_every_capability_dropped() -> None:
    words = argv()

    for word in ("--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"):
        assert word in words
    assert words[words.index("--cap-drop") + 1] == "ALL"
    assert "--share-net" not in words
    assert "--dev-bind" not in words


def test_the_network_is_shared_only_when_asked() -> None:
    assert "--share-net" in argv(network=True)
    assert "/etc/resolv.conf" not in argv()


def test_only_the_roots_are_writable_and_nothing_is_a_home_or_the_whole_machine() -> None:
    workspace = Path("/state/workspace")
    words = argv(Boundary(writable=(WORKTREE, workspace), readable=(Path("/opt/tool"),), git=(), cwd=WORKTREE))

    writable = {source for option, source, _ in binds(words) if option == "--bind"}
    assert writable == {str(SCRATCH), str(WORKTREE), str(workspace)}
    sources = {source for _, source, _ in binds(words)}
    assert not sources & {"/", "/root", "/home", "/run", "/var", "/etc", "/proc", "/dev", "/sys", str(Path.home())}
    assert all(source == target for option, source, target in binds(words) if option == "--bind")
    assert "/etc/shadow" not in sources


def test_small_files_of_the_machine_are_copied_from_descriptors_and_not_writable() -> None:
    words = argv()

    for place, name in enumerate(("/etc/passwd", "/etc/hosts")):
        at = words.index(name)
        assert words[at - 4 : at] == ["--perms", "0444", "--file", str(FILES_FD + place)]
    assert ("--ro-bind", "/real/ssl", "/etc/ssl/certs") in binds(words)
    assert "/real/passwd" not in words


def test_the_git_file_is_mounted_read_only_over_its_root() -> None:
    words = argv(Boundary(writable=(WORKTREE,), readable=(), git=(WORKTREE / ".git",), cwd=WORKTREE))

    found = binds(words)
    assert found[-1] == ("--ro-bind", str(WORKTREE / ".git"), str(WORKTREE / ".git"))
    assert found.index(("--bind", str(WORKTREE), str(WORKTREE))) < len(found) - 1


def test_a_root_inside_a_readable_directory_comes_after_it() -> None:
    outer = WORKTREE.parent.parent
    found = binds(argv(Boundary(writable=(WORKTREE,), readable=(outer,), git=(), cwd=WORKTREE)))

    assert found.index(("--ro-bind", str(outer), str(outer))) < found.index(("--bind", str(WORKTREE), str(WORKTREE)))


def test_a_root_can_have_another_name_unless_a_root_lies_there(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "wt").mkdir()
    command = Command(text="true", cwd=tmp_path / "wt", writable=(tmp_path / "wt", tmp_path / "ws"),
                      links=(("/workspace", str(tmp_path / "ws")), (str(tmp_path), "/elsewhere")))  # fmt: skip
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert resolve(command, scratch).links == (("/workspace", str(tmp_path / "ws")),)


def test_links_are_laid_before_the_roots_and_never_over_what_the_view_has() -> None:
    links = (("/home/me/code", "/data/code"), ("/tmp", "/private/tmp"), ("/proc/self", "1"))
    words = argv(Boundary(writable=(WORKTREE,), readable=(), git=(), cwd=WORKTREE, links=links))

    at = words.index("/data/code")
    assert words[at - 1 : at + 2] == ["--symlink", "/data/code", "/home/me/code"]
    assert words.index("--tmpfs") < at < words.index("--bind")
    assert not {"/private/tmp", "1"} & set(words)


def test_the_empty_root_is_read_only_at_the_end() -> None:
    words = argv()

    last = max(i for i, word in enumerate(words) if word in ("--bind", "--ro-bind", "--tmpfs", "--symlink"))
    position = [i for i, word in enumerate(words) if word == "--remount-ro" and words[i + 1] == "/"]
    assert position
    assert position[0] > last


def test_memory_backed_directories_have_a_size() -> None:
    words = argv()

    for where, size in (("/tmp", "4096"), ("/dev/shm", str(64 * 1024**2))):
        at = words.index(where) - 1
        assert words[at] == "--tmpfs"
        assert words[at - 4 : at] == ["--perms", "1777", "--size", size]


@pytest.mark.parametrize("option", ["--size", "--perms", "--disable-userns"])
def test_options_an_old_version_does_not_know_are_left_out(option: str) -> None:
    old = Tier(name="bubblewrap", sentence="", bwrap="/usr/bin/bwrap")
    new = Tier(name="bubblewrap", sentence="", bwrap="/usr/bin/bwrap", options=frozenset({option}))

    assert option not in argv(tier=old)
    assert option in argv(tier=new)


def test_the_text_is_one_argument_after_the_options() -> None:
    words = argv()

    assert words[words.index("--") + 1 :][:2] == ["/bin/sh", "-c"]
    assert words[-2:] == [system.shell(), "echo hi"]
    assert words[words.index("--chdir") + 1] == str(WORKTREE)


def test_without_a_filter_none_is_announced() -> None:
    assert "--seccomp" in argv(filtered=True)
    assert "--seccomp" not in argv(filtered=False)
