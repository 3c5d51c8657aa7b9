"""What a hostile command tries, and does not get, in every wall. Where a door may be opened, that it then opens.

Reliability S11, with test_protected.py and test_walls.py.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from thetis_kernel.errors import WallError
from thetis_kernel.walls import toolchains
from thetis_kernel.walls.tier import Tier

from tests.support.walls import SYSTEM_PYTHON, Bench, alive, bench, every_tier, every_wall, mark, worker

__all__ = ["bench", "mark"]

needs_python = pytest.mark.skipif(not SYSTEM_PYTHON, reason="no Python outside a home to run inside the wall")


@every_tier
def test_nothing_of_the_workers_environment_is_inside(tier: Tier, bench: Bench) -> None:
    canary = secrets.token_hex(16)
    environment = dict(os.environ) | {"CANARY_KEY": canary}
    look = "env; cat /proc/[0-9]*/environ /proc/self/environ 2>/dev/null | tr '\\0' '\\n'"
    text = "env" if tier.name == "none" else look

    seen = subprocess.run(
        worker(tier, bench.worktree, text), env=environment, capture_output=True, text=True, check=True
    ).stdout

    assert "TERM=dumb" in seen
    assert canary not in seen
    names = {line.partition("=")[0] for line in seen.splitlines()}
    ours = {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "TERM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_TERMINAL_PROMPT",
        "GIT_OPTIONAL_LOCKS",
    }
    assert names <= ours | {"PWD", "SHLVL", "OLDPWD", "_"}  # the last four are the shell's own


@every_wall
def test_what_is_outside_cannot_be_read(tier: Tier, bench: Bench) -> None:
    canary = secrets.token_hex(16)
    secret = bench.outside / "id_rsa"
    secret.write_text(canary)
    neighbour = bench.worktree.parent / "other-worktree"
    neighbour.mkdir()
    (neighbour / "file").write_text(canary)
    (bench.worktree / "link").symlink_to(secret)
    files = f"{secret} {neighbour}/file link /proc/self/root{secret} ../../outside/id_rsa /etc/shadow /etc/gshadow"

    result = bench.run(
        tier, f"for f in {files}; do cat $f 2>/dev/null && echo READ; done; ls {bench.outside} /root /var/lib /run"
    )

    assert canary not in result.output
    assert "READ" not in result.output
    assert result.exit_code == 2  # ls: every one refused or missing
    assert "id_rsa\n" not in result.output


@every_wall
def test_what_is_outside_cannot_be_written(tier: Tier, bench: Bench) -> None:
    (bench.outside / "file").write_text("before")
    (bench.worktree / "link").symlink_to(bench.outside)
    name = f"thetis-{secrets.token_hex(8)}"
    machine = [Path(place) / name for place in ("/usr", "/usr/bin", "/etc", "/", "/dev", "/var", Path.home())]
    goals = [f"{bench.outside}/new", f"{bench.outside}/file", "link/new", "link/file", *machine]

    result = bench.run(
        tier,
        f"for f in {' '.join(map(str, goals))}; do (echo x > $f) 2>/dev/null && echo WROTE $f; done\n"
        f"mv {bench.outside}/file . 2>/dev/null && echo MOVED; ln {bench.outside}/file hard 2>/dev/null && echo LINKED\n"
        f"echo x 2>/dev/null > {bench.worktree.parent}/new\n"  # bubblewrap: into a /tmp that is gone afterwards
        f"rm -f {bench.outside}/file 2>/dev/null; truncate -s 0 {bench.outside}/file 2>/dev/null && echo CUT\n"
        "echo fine > file && mkdir -p a/b && mv file a/b/ && cat a/b/file && echo t > $TMPDIR/t && echo h > $HOME/h && echo ok",
    )

    written = [path for path in machine if path.exists()]
    for path in written:
        path.unlink()
    assert written == []
    assert [line for line in result.output.splitlines() if "denied" not in line] == ["fine", "ok"]
    assert not (bench.worktree.parent / "new").exists()
    assert (bench.outside / "file").read_text() == "before"
    assert sorted(path.name for path in bench.outside.iterdir()) == ["file"]


@every_wall
def test_read_only_roots_are_read_only(tier: Tier, bench: Bench) -> None:
    workspace = bench.place / "workspace"
    workspace.mkdir()
    (workspace / "data").write_text("data")

    result = bench.run(
        tier,
        f"cat {workspace}/data; (echo x > {workspace}/data) 2>/dev/null || echo refused; rm -f {workspace}/data; ls {workspace}",
        readable=(workspace,),
    )
    writable = bench.run(
        tier, f"echo new > {workspace}/data; cat {workspace}/data", writable=(bench.worktree, workspace)
    )

    assert result.output.startswith("datarefused\n")
    assert result.output.endswith("\ndata\n")
    assert (workspace / "data").read_text() == "new\n"
    assert writable.output == "new\n"


@every_wall
@needs_python
def test_the_network_is_off_and_can_be_switched_on(tier: Tier, bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(5)
        probe = (
            "import socket\n"
            "def attempt(name, kind, port):\n"
            "    try:\n"
            "        with socket.socket(socket.AF_INET, kind) as s:\n"
            "            s.settimeout(2); s.connect(('127.0.0.1', port)); s.send(b'inside')\n"
            "        print(name, 'open')\n"
            "    except OSError as e: print(name, 'closed')\n"
            f"attempt('tcp', socket.SOCK_STREAM, {tcp.getsockname()[1]})\n"
            f"attempt('udp', socket.SOCK_DGRAM, {udp.getsockname()[1]})\n"
        )
        off = bench.run(tier, f'{SYSTEM_PYTHON} -c "{probe}"')
        tcp.settimeout(0)
        udp.settimeout(0)
        with pytest.raises(BlockingIOError):
            tcp.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(16)
        tcp.settimeout(5)
        udp.settimeout(5)

        on = bench.run(tier, f'{SYSTEM_PYTHON} -c "{probe}"', network=True)

        assert on.output == "tcp open\nudp open\n"
        assert tcp.accept()[0].recv(16) == b"inside"
        assert udp.recv(16) == b"inside"
    assert "tcp closed" in off.output


@every_wall
@needs_python
def test_no_socket_of_the_machine_can_be_reached(tier: Tier, bench: Bench) -> None:
    """A session bus or a container engine behind a named or abstract socket would run anything outside."""
    name = bench.outside / "bus"
    abstract = f"\0thetis-{secrets.token_hex(8)}"
    probe = (
        "import socket\n"
        f"for name in ({str(name)!r}, {abstract!r}):\n"
        "    try:\n"
        "        socket.socket(socket.AF_UNIX).connect(name); print('REACHED', name[1:])\n"
        "    except OSError as e: print('closed')\n"
        "for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG):\n"
        "    try:\n"
        "        socket.socket(family, socket.SOCK_RAW); print('REACHED', family)\n"
        "    except OSError: print('closed')\n"
    )
    (bench.worktree / "probe.py").write_text(probe)
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as unnamed:
        named.bind(str(name))
        named.listen()
        unnamed.bind(abstract)
        unnamed.listen()

        for network in (False, True):
            result = bench.run(tier, f"{SYSTEM_PYTHON} probe.py", network=network)
            assert result.output == "closed\n" * 5


@every_wall
@needs_python
def test_system_calls_that_lead_out_are_refused(tier: Tier, bench: Bench) -> None:
    (bench.worktree / "probe.py").write_text(
        "import ctypes, os, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "x86 = platform.machine() == 'x86_64'\n"
        "calls = {'ptrace': (101, 117, 16, os.getppid()), 'unshare': (272, 97, 0x10000000), 'keyctl': (250, 219, 0),\n"
        "         'io_uring': (425, 425, 1), 'bpf': (321, 280, 0), 'chroot': (161, 51, 0), 'clone': (56, 220, 0x10000011)}\n"
        "for name, (first, second, *arguments) in calls.items():\n"
        "    result = libc.syscall(first if x86 else second, *map(ctypes.c_long, arguments + [0] * 5))\n"
        "    print(name, 'REFUSED' if result == -1 and ctypes.get_errno() in (1, 38) else result)\n"
        "    if result == 0 and name == 'clone': os._exit(0)\n"
    )

    result = bench.run(tier, f"{SYSTEM_PYTHON} probe.py")

    lines = result.output.splitlines()
    assert len(lines) == 7
    assert all(line.endswith(" REFUSED") for line in lines), lines


@every_wall
def test_no_capabilities_and_no_new_ones(tier: Tier, bench: Bench, mark: str) -> None:
    """As root too: a confined root with mknod or module loading would be outside in one step."""
    seen: list[str] = []

    def look(_: str) -> None:
        for pid in alive(mark):
            seen.append(Path(f"/proc/{pid}/status").read_text())

    result = bench.run(
        tier,
        f"mknod disk b 7 0 2>/dev/null && echo MADE; sleep {mark} & sleep 0.05; echo look; sleep 0.05",
        on_output=look,
    )

    assert "MADE" not in result.output
    fields = dict(line.split(":\t", 1) for line in seen[-1].splitlines())
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(fields[name], 16) == 0
    if os.getuid() == 0:
        assert int(fields["CapBnd"], 16) == 0


@every_wall
def test_processes_outside_get_no_signal(tier: Tier, bench: Bench) -> None:
    if tier.landlock_abi < 6 and tier.name == "landlock":
        pytest.skip("this kernel's Landlock cannot scope signals; the tier says so in its sentence")
    victim = subprocess.Popen(["sleep", "60"])
    try:
        result = bench.run(tier, f"kill -9 {victim.pid} 2>/dev/null && echo KILLED; true")
        assert "KILLED" not in result.output
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@every_wall
@needs_python
def test_no_descriptor_is_inherited(tier: Tier, bench: Bench) -> None:
    (bench.worktree / "fds.py").write_text(
        "import os\nfound = []\nfor n in range(256):\n    try: os.fstat(n)\n    except OSError: continue\n"
        "    found.append(n)\nprint(found)\n"
    )

    with open(bench.outside / "held", "w") as held:
        os.set_inheritable(held.fileno(), True)
        result = bench.run(tier, f"exec {SYSTEM_PYTHON} -I -S fds.py")

    assert result.output in ("[0, 1, 2]\n", "[0, 1, 2, 3]\n")  # 3: the script itself, while it is read


def git(*words: str, cwd: Path) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    return subprocess.run(
        ["git", *identity, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=True
    ).stdout


def listing(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


@every_wall
def test_git_reads_inside_and_nothing_of_it_can_be_written(tier: Tier, bench: Bench) -> None:
    repository = bench.place / "repository"
    repository.mkdir()
    git("init", "-q", cwd=repository)
    (repository / "file").write_text("one\n")
    git("add", ".", cwd=repository)
    git("commit", "-qm", "the first commit", cwd=repository)
    worktree = bench.worktree.parent / "linked"
    git("worktree", "add", "-q", str(worktree), "-b", "conv/one", cwd=repository)
    (worktree / "file").write_text("two\n")
    pointer = (worktree / ".git").read_bytes()
    before = listing(repository)
    inside = {"cwd": worktree, "writable": (worktree,), "git_dirs": (repository / ".git",)}

    read = bench.run(tier, "git log -1 --format=%s && git status --short && git diff --stat | tail -1", **inside)
    wrote = bench.run(
        tier,
        "git add file 2>/dev/null && echo STAGED\n"
        "git -c user.name=x -c user.email=x@x commit -qam x 2>/dev/null && echo COMMITTED\n"
        f"(echo x > {repository}/.git/hooks/post-checkout) 2>/dev/null && echo HOOKED\n"
        "(git config core.fsmonitor 'touch /pwned') 2>/dev/null && echo CONFIGURED\n"
        f"cat {repository}/file 2>/dev/null && echo CHECKOUT-READ; rm -rf .git 2>/dev/null; mkdir .git 2>/dev/null; echo end",
        **inside,
    )

    assert read.output.splitlines() == ["the first commit", " M file", " 1 file changed, 1 insertion(+), 1 deletion(-)"]
    assert wrote.output == "end\n"
    assert listing(repository) == before
    assert (worktree / ".git").read_bytes() == pointer
    if tier.name == "landlock":
        assert wrote.notes == (f"{worktree}/.git was changed by the command and has been put back.",)


@every_wall
def test_the_git_directory_of_a_writable_root_is_read_only_or_refused(tier: Tier, bench: Bench) -> None:
    git("init", "-q", cwd=bench.worktree)
    before = listing(bench.worktree / ".git")
    text = "(echo x > .git/config) 2>/dev/null || echo refused; mv .git elsewhere 2>/dev/null || echo refused"

    if tier.name == "landlock":
        with pytest.raises(WallError, match="Landlock cannot keep"):
            bench.run(tier, text)
    else:
        assert bench.run(tier, text).output == "refused\nrefused\n"
    assert listing(bench.worktree / ".git") == before


@every_wall
def test_the_tools_on_the_users_path_work(tier: Tier, bench: Bench) -> None:
    """The environment this test runs in lives in some home; its interpreter and packages work inside."""
    found = toolchains.find(f"{Path(sys.executable).parent}:{os.environ['PATH']}", Path.home())

    result = bench.run(
        tier,
        "python -c 'import msgspec, sys; print(sys.prefix)' && which pytest && git --version",
        toolchains=found,
    )

    assert result.output.splitlines()[0] == sys.prefix, result.output
    assert result.exit_code == 0


@every_wall
def test_shared_memory_and_terminals_of_the_user_are_out_of_sight(tier: Tier, bench: Bench) -> None:
    name = Path("/dev/shm") / f"thetis-{secrets.token_hex(8)}"
    name.write_text("shared")
    try:
        result = bench.run(
            tier,
            f"cat {name} 2>/dev/null && echo READ; ls /dev/pts/[0-9]* 2>/dev/null; (: > /dev/tty) 2>/dev/null && echo TTY",
        )
    finally:
        name.unlink()

    assert result.output == ""
