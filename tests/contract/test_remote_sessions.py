"""A shell on another machine: one body over an asyncssh server in this process and a real OpenSSH sshd on loopback.

Reliability S13, complaints class 13 and R32. The sshd half is skipped where there is none (`.ci/sshd` unpacks
one), and required in `make test-all`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.ssh.failures import SshError
from thetis_kernel.ssh.host import Host
from thetis_kernel.ssh.session import open_remote
from thetis_kernel.ssh.way import Step, Way
from thetis_kernel.toolhost.terminals import shell
from thetis_kernel.toolhost.terminals.run import OUTPUT_BYTES, SPILL_BYTES, Run
from thetis_kernel.toolhost.terminals.terminal import Terminal

from tests.support.gateways import wait_for
from tests.support.ssh_server import AsyncServer, Gate, raw
from tests.support.sshd import Sshd, agent, keypair, require_sshd

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")  # asyncssh's, at its server's end

Server = AsyncServer | Sshd


class Place:
    """A server, a key it lets in, and terminals on it."""

    def __init__(self, server: Server, key: Path) -> None:
        self.server = server
        self.key = key
        self.ended: list[Run] = []
        self.lost: list[str] = []
        self._terminals: list[Terminal] = []

    def host(self, **fields: Any) -> Host:
        return Host(**{"host": "127.0.0.1", "port": self.server.port, "user": self.server.user,
                       "identity_file": str(self.key), **fields})

    def way(self, *, keys: list[str] | None = None, held: str = "", **fields: Any) -> Way:
        known = [self.server.public_key] if keys is None else keys
        return Way("build", [Step("build", self.host(**fields), known)], held)

    def terminal(self, way: Way | None = None, cwd: str = "", **fields: Any) -> Terminal:
        reached = way or self.way(**fields)
        made = Terminal(
            "t1", "", lambda place, size: open_remote(reached, shell.remote_program(cwd), size, lambda: False),
            lambda terminal, run: self.ended.append(run), host="build", lost=lambda terminal, why: self.lost.append(why))
        self._terminals.append(made)
        made.open({})
        return made

    def close(self) -> None:
        for terminal in self._terminals:
            terminal.close()


@pytest.fixture(params=["asyncssh", "sshd"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    server: Server = (AsyncServer(tmp_path / "s") if request.param == "asyncssh"
                      else Sshd(tmp_path / "s", require_sshd(), SetEnv=f"TMPDIR={tmp_path}/s"))
    key = keypair(tmp_path / "key")
    server.allow(key)
    server.start()
    found = Place(server, key)
    try:
        yield found
    finally:
        found.close()
        server.stop()


def said(terminal: Terminal, command: str, timeout_s: float = 30.0, **more: Any) -> str:
    run = terminal.run(command, background=False, timeout_s=timeout_s, **more)
    return str(run.output()["output"]).strip()


def test_a_shell_keeps_its_state_and_each_command_its_end(place: Place) -> None:
    terminal = place.terminal()
    assert said(terminal, "pwd") == str(place.server.home) and terminal.cwd == str(place.server.home)
    said(terminal, "mkdir -p 'a b'; cd 'a b'; X='1 2'; export Y=3; f() { echo f; }")
    assert said(terminal, 'echo "$X $Y"; f; basename "$PWD"').split("\n") == ["1 2 3", "f", "a b"]
    assert [terminal.run(one, background=False, timeout_s=20).code for one in ("true", "exit 7", "kill -9 $$", "(exit 3)")] == [
        0, 7, 137, 3]
    assert said(terminal, 'echo "$Y"; cat; echo é') == "3\né"  # and `cat` had no input
    run = terminal.run("sleep 60", background=False, timeout_s=0.5)
    assert run.timed_out and run.code == 137
    assert said(terminal, "echo on; rmdir \"$PWD\"") == "on"
    assert "gone" in " ".join(terminal.run("true", background=False, timeout_s=20).trouble()) or terminal.cwd == str(
        place.server.home)


def test_programs_are_talked_to_and_signalled(place: Place) -> None:
    terminal = place.terminal()
    stop = threading.Event()
    with terminal.watched():
        terminal.run("stty -echo; while read line; do echo \"<$line>\"; done", background=True, timeout_s=60)
        terminal.type(b"hello\r")
        assert wait_for(lambda: "<hello>" in terminal.look().get("new_output", "") or "<hello>" in str(place.lost), 20)
        terminal.signal(2)
        terminal.wait(20, stop)
        assert terminal.look()["ended"]["exit"] == 130
        for number in (15, 9):
            terminal.run("sh -c 'sleep 100 & sleep 100'", background=True, timeout_s=60)
            assert wait_for(lambda: terminal.look()["since_ms"] > 300, 10)
            terminal.signal(number)
            terminal.wait(20, stop)
            assert terminal.look()["ended"]["exit"] == 128 + number


def test_where_it_begins_is_what_its_entry_says(place: Place) -> None:
    (place.server.home / "sub dir").mkdir()
    assert said(place.terminal(cwd="~/sub dir"), "pwd").endswith("/sub dir")
    assert said(place.terminal(cwd="/"), "pwd") == "/"
    with pytest.raises(SshError, match="directory it should begin in is not there, on build"):
        place.terminal(cwd="/not/there")


def test_what_it_needed_over_there_is_removed(place: Place) -> None:
    terminal = place.terminal()
    below = place.server.home.parent
    assert wait_for(lambda: len(list(below.glob("thetis.*"))) == 1)
    [private] = below.glob("thetis.*")
    assert private.stat().st_mode & 0o777 == 0o700
    terminal.close()
    assert wait_for(lambda: not list(below.glob("thetis.*")), 20)


def test_140_a_key_with_a_passphrase_needs_an_agent(place: Place, tmp_path: Path) -> None:
    """termio PR 402: ssh waited for a passphrase nobody could see."""
    locked = keypair(tmp_path / "locked", "secret words")
    place.server.allow(locked)
    with pytest.raises(SshError, match="key of build needs an agent") as refused:
        place.terminal(identity_file=str(locked))
    assert refused.value.code == "ssh-key"
    with agent(tmp_path, place.key) as held:
        with pytest.raises(SshError, match="agent does not hold it"):
            place.terminal(identity_file=str(locked), held=held)
        assert said(place.terminal(identity_file="", held=held), "echo in") == "in"
    locked_too = keypair(tmp_path / "other")
    place.server.allow(locked_too)
    with agent(tmp_path / "home", locked_too) as held:
        os.environ["SSH_AUTH_SOCK"] = held  # the environment is never asked
        try:
            with pytest.raises(SshError, match="no key for build"):
                place.terminal(identity_file="")
        finally:
            del os.environ["SSH_AUTH_SOCK"]


def test_141_only_the_key_a_person_has_seen_is_answered(place: Place, tmp_path: Path) -> None:
    """vscode PR 329462: any host key was accepted."""
    with pytest.raises(SshError, match="Nobody has looked at the host key of build"):
        place.terminal(keys=[])
    old = place.server.public_key
    assert said(place.terminal(), "echo in") == "in"
    before = getattr(place.server, "logins", 0)
    place.close()
    place.server.stop()
    place.server.new_host_key()
    place.server.start()
    with pytest.raises(SshError, match=r"another host key .* SHA256:.* trusted is SHA256:") as refused:
        place.terminal(keys=[old])
    assert refused.value.code == "ssh-host-key" and "thetis ssh trust" in refused.value.hint
    assert getattr(place.server, "logins", before) == before, "it was not even told who wants in"
    rsa = " ".join(keypair(tmp_path / "rsa", kind="rsa").with_name("rsa.pub").read_text().split()[:2])
    with pytest.raises(SshError, match=r"algorithm|another host key|no host key of the kind"):
        place.terminal(keys=[rsa])


def test_142_a_machine_that_is_not_heard_of_any_more(place: Place) -> None:
    """zsh4humans#126: a connection was dead after sleep, and every later ssh hung."""
    gate = Gate(place.server.port)
    try:
        terminal = place.terminal(port=gate.port, options=["ServerAliveInterval=1", "ServerAliveCountMax=1"])
        said(terminal, "cd /")
        done: list[Run] = []
        worker = threading.Thread(target=lambda: done.append(terminal.run("sleep 100", background=False, timeout_s=90)))
        worker.start()
        assert wait_for(lambda: terminal.busy, 10)
        gate.freeze()
        worker.join(60)
        assert "build did not answer for 2 s, so the connection was given up." in " ".join(done[0].trouble())
        gate.thaw()
        again = terminal.run("pwd", background=False, timeout_s=30)
        assert again.output()["output"].strip() == str(place.server.home)
        assert "new one was started there" in " ".join(again.trouble())
        gate.freeze()  # and while nobody runs anything
        assert wait_for(lambda: bool(place.lost), 30) and "did not answer" in place.lost[0]
    finally:
        gate.close()


def test_a_restarted_server_is_connected_to_anew(place: Place) -> None:
    terminal = place.terminal()
    terminal.run("sleep 100", background=True, timeout_s=60)
    place.server.stop()
    assert wait_for(lambda: not terminal.busy, 30)
    assert wait_for(lambda: len(place.ended) == 1)
    assert "connection" in " ".join(place.ended[0].trouble())
    with pytest.raises(SshError) as refused:
        terminal.run("true", background=False, timeout_s=20)
    assert refused.value.code == "ssh-unreachable"
    place.server.start()
    assert said(terminal, "echo back") == "back"


def test_twenty_sessions_at_once(place: Place) -> None:
    found: list[str] = []
    failed: list[BaseException] = []

    def one(number: int) -> None:
        try:
            terminal = place.terminal()
            said(terminal, f"cd /tmp; N={number}")
            found.append(said(terminal, "echo $N"))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not failed and sorted(map(int, found)) == list(range(20))


@pytest.mark.parametrize("megabytes", [4, pytest.param(1024, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_output_without_end_is_bounded(place: Place, tmp_path: Path, megabytes: int) -> None:
    terminal = place.terminal()
    before = _resident()
    spill = tmp_path / "spill"
    command = f"head -c {megabytes}M /dev/zero | tr '\\0' x | fold -w 4000"
    run = terminal.run(command, background=False, timeout_s=1700, spill=spill)
    told = run.output()
    assert run.code == 0 and told["truncated"] and told["total_bytes"] >= megabytes << 20
    assert len(told["output"]) <= OUTPUT_BYTES + 200 and spill.stat().st_size <= SPILL_BYTES
    assert _resident() - before < 96 << 20
    assert said(terminal, "echo on") == "on"


def test_jumps_are_connected_to_one_after_the_other(place: Place, tmp_path: Path) -> None:
    gate = AsyncServer(tmp_path / "gate")
    key = keypair(tmp_path / "gate-key")
    gate.allow(key)
    gate.start()
    try:
        step = Step("gate", Host(host="127.0.0.1", port=gate.port, user="me", identity_file=str(key)), [gate.public_key])
        assert said(place.terminal(Way("build", [step, *place.way().steps])), "echo through") == "through"
        assert gate.logins == 1
        unseen = Step("gate", step.host)
        with pytest.raises(SshError, match="host key of gate"):
            place.terminal(Way("build", [unseen, *place.way().steps]))
    finally:
        gate.stop()


def test_s13_nothing_of_the_users_own_configuration_counts(place: Place, tmp_path: Path) -> None:
    own, marker = tmp_path / "home" / ".ssh", tmp_path / "ran"
    own.mkdir(mode=0o700)
    (own / "config").write_text(
        f"Match exec \"touch {marker}\"\n  Port 1\nHost *\n  ProxyCommand touch {marker}\n  Port 1\n  User nobody\n"
        "  StrictHostKeyChecking no\n")
    (own / "known_hosts").write_text(f"[127.0.0.1]:{place.server.port} {place.server.public_key}\n")
    (own / "id_ed25519").write_bytes(place.key.read_bytes())
    (own / "id_ed25519").chmod(0o600)
    assert said(place.terminal(), "echo in") == "in"
    with pytest.raises(SshError, match="Nobody has looked"):
        place.terminal(keys=[])
    with pytest.raises(SshError, match="no key for build"):
        place.terminal(identity_file="")
    assert not marker.exists()


SECRETS = ("127.0.0.1", "canary-user", "canary-key")


@pytest.mark.parametrize(("wrong", "words"), [
    ("user", "none of the keys"), ("missing key", "cannot be read"), ("open key", "open to other users"),
    ("no key at all", "no private key"), ("a directory", "no ordinary file"), ("port", "refuses connections"),
    ("name", "leads nowhere"), ("host key", "another host key"),
])
def test_what_goes_wrong_is_said_without_addresses(place: Place, tmp_path: Path, wrong: str, words: str) -> None:
    key = tmp_path / "canary-key"
    fields: dict[str, Any] = {"user": "canary-user", "identity_file": str(key)}
    if wrong == "a directory":
        key.mkdir(mode=0o700)
    elif wrong != "missing key":
        keypair(key)
    if wrong == "open key":
        key.chmod(0o644)
    elif wrong == "no key at all":
        key.write_text("no key")
    elif wrong == "port":
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            fields["port"] = unused.getsockname()[1]
    elif wrong == "name":
        fields["host"] = "canary-host.invalid"
    elif wrong == "host key":
        fields["keys"] = [" ".join(key.with_name("canary-key.pub").read_text().split()[:2])]
    with pytest.raises(SshError) as refused:
        place.terminal(**fields)
    told = f"{refused.value} {refused.value.data}"
    assert "build" in told and words in told
    assert not any(secret in told for secret in (*SECRETS, "canary", str(place.server.port)))


def slow_banner(connection: socket.socket) -> None:
    for _ in range(10_000):
        connection.sendall(b"still coming up\r\n")
        if connection_gone(connection):
            return
        threading.Event().wait(0.2)


def connection_gone(connection: socket.socket) -> bool:
    with contextlib.suppress(BlockingIOError):
        return not connection.recv(65536, socket.MSG_DONTWAIT)
    return False


def silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def banner_bomb(connection: socket.socket) -> None:
    for _ in range(100_000):
        connection.sendall(b"x" * 65536)


def line_bomb(connection: socket.socket) -> None:
    for _ in range(1_000_000):
        connection.sendall(b"x\r\n" * 1000)


@pytest.mark.parametrize("talk", [slow_banner, silent, banner_bomb, line_bomb, lambda connection: None])
def test_s13_who_is_no_ssh_server_costs_a_moment(talk: Callable[[socket.socket], None], tmp_path: Path) -> None:
    before = _resident()
    key = keypair(tmp_path / "key")
    with raw(talk) as port:
        host = Host(host="127.0.0.1", port=port, user="me", identity_file=str(key), options=["ConnectTimeout=2"])
        pinned = " ".join(key.with_name("key.pub").read_text().split()[:2])
        with pytest.raises(SshError) as refused:
            open_remote(Way("build", [Step("build", host, [pinned])]), b"", (80, 24), lambda: False)
    assert refused.value.code in ("ssh-timeout", "ssh-protocol", "ssh-unreachable")
    assert _resident() - before < 32 << 20


def test_a_stop_does_not_wait_for_a_machine(tmp_path: Path) -> None:
    stopped = threading.Event()
    key = keypair(tmp_path / "key")
    pinned = " ".join(key.with_name("key.pub").read_text().split()[:2])

    def talk(connection: socket.socket) -> None:
        stopped.set()
        silent(connection)

    with raw(talk) as port:
        host = Host(host="127.0.0.1", port=port, user="me", identity_file=str(key), options=["ConnectTimeout=120"])
        with pytest.raises(Exception, match="stopped"):
            open_remote(Way("build", [Step("build", host, [pinned])]), b"", (80, 24), stopped.is_set)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
