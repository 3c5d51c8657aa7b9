"""Reliability S9 and S11: whatever a command or a file tool tries, what protects the person stays as it is, to the byte.

CVE-2026-25725 (a settings file that did not exist yet), CVE-2025-53773, CVE-2026-39861 (a link planted for a writer outside).
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import subprocess
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.helper import Helpers
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.tier import Tier

from tests.support.turns import turn_context
from tests.support.walls import SYSTEM_PYTHON, every_wall

PROTECTED = [
    "home/.ssh/id_rsa",
    "config/config.toml",
    "state/trust.json",
    "state/root/data/thetis.db",
    "state/root/artifacts/bundle",
    "state/root/spill/other/out.txt",
    "state/root/worktrees/conv-b/file.txt",
    "install/wit/thetis.wit",
    "install/kernel/authority.py",
    "repo/.git/config",
    "repo/.git/hooks/pre-commit",
    "repo/file.txt",
]
ABSENT = [
    "config/thetis.local.toml",
    "repo/.git/hooks/post-checkout",
    "repo/thetis.toml",
    "state/root/data/thetis.db-wal",
    "repo/.git/info/attributes",
    "state/root/worktrees/conv-c",
    "home/.bashrc",
]
TRIES = """
p='{path}'; d=$(dirname "$p"); lure='{lure}'
echo x > "$p"; echo x >> "$p"; cp "$lure" "$p"; mv "$p" "$p.gone"; rm -rf "$p"; ln -sf "$lure" "$p"; ln "$p" ./hard
chmod 777 "$p"; truncate -s 0 "$p"; mkdir -p "$d"; touch "$p"; mv "$d" "$d.moved"; rm -rf "$d"
ln -s "$p" ./soft && echo x > ./soft; rm -f ./soft ./hard
ln -s "$d" ./dir; echo x > ./dir/$(basename "$p"); rm -f ./dir
"""
LURE = "install/wit/thetis.wit"
"""What links are made to lead to: a file of the test's own, because without walls the attempts succeed."""
SEALED = """
import os, socket, ctypes, fcntl
def tries(name, act):
    try: act(); print('OPEN', name)
    except Exception as e: pass
def udp(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(address); s.send(b'x')
def tcp(address):
    s = socket.socket(); s.settimeout(2); s.connect(address)
def unix(path):
    s = socket.socket(socket.AF_UNIX); s.connect(path)
tries('metadata', lambda: tcp(('169.254.169.254', 80)))
tries('udp dns', lambda: udp(('8.8.8.8', 53)))
tries('name', lambda: socket.getaddrinfo('example.org', 443))
tries('icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(b'x', ('8.8.8.8', 0)))
tries('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/dbus/system_bus_socket', '\\0/org/freedesktop/systemd1/private'):
    tries(path, lambda: unix(path))
for path in ('{home}/.ssh/id_rsa', '{superuser}/.ssh', '/etc/shadow', '{database}', '{other}', '/proc/1/root/etc/shadow'):
    tries(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path).read())
tries('environ', lambda: 1 / ('canary-of-the-parent' in open('/proc/1/environ').read()))
libc = ctypes.CDLL(None, use_errno=True)
tries('userns', lambda: 1 / (libc.unshare(0x10000000) == 0))
tries('mount', lambda: 1 / (libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0))
tries('ptrace', lambda: 1 / (libc.ptrace(16, 1, 0, 0) == 0))
print('done')
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in PROTECTED:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"protected {name}\n")
    for name in ("state/root/worktrees/conv-a", "state/root/workspace", "state/root/spill/mine"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    gitdir = tmp_path / "repo/.git/worktrees/conv-a"
    gitdir.mkdir(parents=True)
    (tmp_path / "state/root/worktrees/conv-a/.git").write_text(f"gitdir: {gitdir}\n")
    return tmp_path


def tries(place: Path, path: str) -> str:
    return TRIES.format(path=path, lure=place / LURE)


def picture(place: Path) -> dict[str, str]:
    """Everything but what the conversation may write: kinds, modes and contents."""
    found = {}
    mine = [place / "state/root/worktrees/conv-a", place / "state/root/workspace"]
    for path in sorted(place.rglob("*")):
        if any(path == one or path.is_relative_to(one) for one in mine) and path.name != ".git":
            continue
        mode = path.lstat().st_mode
        data = (
            path.read_bytes() if stat.S_ISREG(mode) else os.fsencode(os.readlink(path)) if stat.S_ISLNK(mode) else b""
        )
        found[str(path.relative_to(place))] = f"{mode:o} {hashlib.sha256(data).hexdigest()}"
    return found


def run(tier: Tier, place: Path, text: str) -> str:
    root = place / "state/root"
    command = Command(
        text=text,
        cwd=root / "worktrees/conv-a",
        writable=(root / "worktrees/conv-a", root / "workspace"),
        git_dirs=(place / "repo/.git",),
        timeout_ms=60_000,
    )
    with Helpers() as helpers:
        return Runner(tier, helpers).run(command).output


@every_wall
def test_commands_change_nothing_that_protects(tier: Tier, place: Path) -> None:
    before = picture(place)
    script = "\n".join(tries(place, str(place / name)) for name in [*PROTECTED, *ABSENT]) + tries(place, ".git")
    run(tier, place, f"( {script} ) 2>/dev/null; echo ran > proof.txt")
    if tier.name == "landlock":  # it lets modes of the person's own files be changed, as its sentence says
        for name in PROTECTED:
            (place / name).chmod(0o644)
    after = picture(place)
    assert {name for name in before if before[name] != after.get(name)} == set()
    assert set(after) == set(before)
    assert (place / "state/root/worktrees/conv-a/proof.txt").read_text() == "ran\n"


def test_the_attempts_would_succeed_without_walls(place: Path) -> None:
    before = picture(place)
    subprocess.run(
        ["/bin/sh", "-c", tries(place, str(place / "config/config.toml"))],
        cwd=place / "state/root/worktrees/conv-a",
        stderr=subprocess.DEVNULL,
        timeout=60,
    )
    assert picture(place) != before


@every_wall
@pytest.mark.skipif(not SYSTEM_PYTHON, reason="needs a system python")
def test_nothing_outside_is_reached(tier: Tier, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "canary-of-the-parent")
    probe = SEALED.replace("{superuser}", pwd.getpwuid(0).pw_dir).replace("{home}", str(place / "home")).replace(
        "{database}", str(place / "state/root/data/thetis.db")
    )
    (place / "state/root/worktrees/conv-a/probe.py").write_text(
        probe.replace("{other}", str(place / "state/root/worktrees/conv-b"))
    )
    assert run(tier, place, f"{SYSTEM_PYTHON} probe.py") == "done\n"


def test_file_tools_change_nothing_that_protects(place: Path) -> None:
    base = place / "turn"
    base.mkdir()
    context = turn_context(base)
    for number, name in enumerate(PROTECTED):
        (base / "wt" / f"link{number}").symlink_to(place / name)
        (base / "wt" / f"dir{number}").symlink_to((place / name).parent)
    before = picture(place)
    refused = 0
    for number, name in enumerate([*PROTECTED, *ABSENT]):
        for path in (
            str(place / name),
            f"../../{name}",
            f"link{number}",
            f"dir{number}/{Path(name).name}",
            f"dir{number}/new.txt",
            f"/workspace/../../{name}",
            f"/spill/../../{name}",
            f"./x/../../../{name}",
        ):
            for operation, arguments in (
                ("files.write-file", {"contents": "x"}),
                ("files.edit-file", {"old_text": "p", "new_text": "q"}),
            ):
                try:
                    perform(context, operation, "c", {"path": path, **arguments})
                except ThetisError:
                    refused += 1
    changed = {
        name for name, what in picture(place).items() if before.get(name) != what and not name.startswith("turn/wt")
    }
    assert changed == set() and refused > 200
