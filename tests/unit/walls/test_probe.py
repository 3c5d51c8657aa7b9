"""Finding the wall: where the program may come from, what is said when there is none, the install line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from thetis_kernel.walls import install, landlock, policy, probe, roots
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.tier import Tier


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ID=debian\n", "apt install bubblewrap"),
        ('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt install bubblewrap"),
        ('ID="fedora"\n', "dnf install bubblewrap"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install bubblewrap"),
        ("ID=arch\n", "pacman -S bubblewrap"),
        ('ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n', "zypper install bubblewrap"),
        ("ID=alpine\n", "apk add bubblewrap"),
        ("", "install the package bubblewrap"),
        ("nonsense", "install the package bubblewrap"),
    ],
)
def test_the_install_line_of_a_system(text: str, expected: str) -> None:
    assert install.line(text) == expected


@pytest.fixture
def no_system_bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_FIXED", ())


def bwrap(directory: Path, body: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "bwrap"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.usefixtures("no_system_bwrap")
def test_a_program_from_the_repository_is_never_the_wall(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    repository = tmp_path / "repository"
    bwrap(repository / "bin", f"touch {ran}")
    (tmp_path / "alias").symlink_to(repository / "bin")
    search = f"{repository}/bin:{tmp_path}/alias:bin:."

    assert probe.find_bubblewrap(search, exclude=(repository,)) == (None, "")
    assert not ran.exists()


@pytest.mark.usefixtures("no_system_bwrap")
def test_a_version_that_lacks_an_option_is_named(tmp_path: Path) -> None:
    program = bwrap(tmp_path / "bin", "echo '    --unshare-all   x'")

    tier, why = probe.find_bubblewrap(str(tmp_path / "bin"))

    assert tier is None
    assert why.startswith(f"Upgrade bubblewrap: {program} does not know --cap-drop")


@pytest.mark.usefixtures("no_system_bwrap")
@pytest.mark.parametrize("body", ["exit 1", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "exit 0"])
def test_a_program_that_does_not_confine_is_found_out(tmp_path: Path, body: str) -> None:
    """One that fails, one that runs the command bare, one that only says it did."""
    listed = "\n".join(sorted(probe.bubblewrap.REQUIRED))
    bwrap(tmp_path / "bin", f'if [ "$1" = --help ]; then cat <<END\n{listed}\nEND\nexit; fi\n{body}')

    tier, why = probe.find_bubblewrap(str(tmp_path / "bin"))

    assert tier is None
    assert "is installed but cannot run here" in why


def test_without_any_mechanism_the_tier_is_none_and_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_FIXED", ())
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    monkeypatch.setattr(install, "here", lambda: "apt install bubblewrap")
    probe.probe.cache_clear()
    try:
        tier = probe.probe()
    finally:
        probe.probe.cache_clear()

    assert tier.name == "none"
    assert tier.hint == "apt install bubblewrap"
    assert "There is no wall" in tier.sentence


@pytest.mark.skipif(not landlock.abi() >= 3, reason="this kernel has no Landlock of version 3 or later")
def test_where_the_kernel_has_landlock_the_tier_works() -> None:
    """Else a broken rule would only make the tier vanish, and its tests with it."""
    tier, why = probe.find_landlock()

    assert tier is not None, why


def bare_bubblewrap() -> bool:
    """Whether bubblewrap runs at all here, asked without any code of ours."""
    command = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "--unshare-user", "--proc", "/proc", "true"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not bare_bubblewrap(), reason="bubblewrap is not installed or not allowed here")
def test_where_bubblewrap_runs_the_tier_works() -> None:
    tier, why = probe.find_bubblewrap(os.environ["PATH"])

    assert tier is not None, why


@pytest.mark.parametrize("version", [1, 2])
def test_a_landlock_that_leaves_truncate_open_is_no_wall(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: version)

    assert probe.find_landlock()[0] is None


def test_a_kernel_that_only_claims_to_confine_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial runs bare here (as under an emulated kernel that accepts the calls): it must not pass."""
    real = policy.build

    def bare(*arguments: object) -> policy.Policy:
        import msgspec

        return msgspec.structs.replace(real(*arguments), landlock=None, seccomp=None)  # type: ignore[arg-type]

    monkeypatch.setattr(policy, "build", bare)
    monkeypatch.setattr(landlock, "abi", lambda: 7)

    tier, why = probe.find_landlock()

    assert tier is None
    assert why.startswith("A trial ended with 1")


def test_what_an_old_kernel_cannot_do_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_trial", lambda tier: "")
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "h", "6.2", "v", "x86_64")))
    for version, said in ((3, True), (6, False)):
        monkeypatch.setattr(landlock, "abi", lambda version=version: version)
        tier, _ = probe.find_landlock()
        assert tier is not None
        assert ("signals" in tier.sentence) is said


@pytest.mark.parametrize(("version", "bits"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (7, 16)])
def test_every_right_a_version_knows_is_handled(version: int, bits: int) -> None:
    assert landlock.handled(version) == (1 << bits) - 1


def orders(tmp_path: Path, tier: Tier, **fields: object) -> policy.Policy:
    for name in ("wt", "scratch"):
        (tmp_path / name).mkdir(exist_ok=True)
    command = Command(text="true", cwd=tmp_path / "wt", writable=(tmp_path / "wt",), **fields)  # type: ignore[arg-type]
    return policy.build(tier, command, roots.resolve(command, tmp_path / "scratch"), tmp_path / "scratch")


@pytest.mark.parametrize(
    ("name", "abi", "network", "unix", "inet"),
    [
        ("landlock", 7, False, False, False),
        ("landlock", 7, True, False, True),
        ("bubblewrap", 7, False, True, True),  # a network namespace of its own
        ("bubblewrap", 7, True, True, True),
        ("bubblewrap", 5, True, False, True),  # abstract sockets are shared with the network and not scoped
        ("bubblewrap", 5, False, True, True),
    ],
)
def test_which_sockets_a_command_may_have(
    tmp_path: Path, name: str, abi: int, network: bool, unix: bool, inet: bool
) -> None:
    tier = Tier(name=name, sentence="", bwrap="/b", landlock_abi=abi, machine="x86_64")  # type: ignore[arg-type]

    sockets = orders(tmp_path, tier, network=network).seccomp

    assert sockets is not None
    assert (sockets.unix, sockets.inet) == (unix, inet)


def test_time_has_an_upper_bound_and_a_lower_one(tmp_path: Path) -> None:
    tier = Tier(name="none", sentence="")
    for asked, given in ((10**9, 600_000), (0, 1), (-5, 1), (5000, 5000)):
        assert orders(tmp_path, tier, timeout_ms=asked).timeout_ms == given
