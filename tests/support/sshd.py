"""A real OpenSSH sshd on loopback, from a private configuration below a test's directory.

The machine's /etc is never touched: as root, sshd runs in a mount namespace of its own (bubblewrap) where /etc/passwd is a file
of the test; as anybody else it runs as that person. Where there is no sshd, the tests are skipped and say so; with
THETIS_REQUIRE_SSHD (`make test-all`) they fail instead.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateways import wait_for


def find_sshd() -> list[str]:
    """The command line of an sshd, [] when there is none: THETIS_SSHD, the system's, or the copy `.ci/sshd` unpacked."""
    unpacked = Path(__file__).resolve().parents[2] / ".ci" / "openssh"
    for candidate in (os.environ.get("THETIS_SSHD", ""), shutil.which("sshd") or "", "/usr/sbin/sshd",
                      str(unpacked / "usr/sbin/sshd")):
        if candidate and os.access(candidate, os.X_OK):
            return [candidate]
    return []


def require_sshd() -> list[str]:
    """The same; skips where there is none, unless it is required."""
    found = find_sshd()
    if sys.platform != "linux" or (os.geteuid() == 0 and not shutil.which("bwrap")):
        found = []
    if not found and os.environ.get("THETIS_REQUIRE_SSHD"):
        pytest.fail("there is no sshd (and bwrap, for root) here, and THETIS_REQUIRE_SSHD is set: run .ci/sshd")
    if not found:
        pytest.skip("this machine has no sshd (`.ci/sshd` unpacks one)")
    return found


def keypair(path: Path, passphrase: str = "", kind: str = "ed25519") -> Path:
    """Make a key with OpenSSH's own tool; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "", "-f", str(path)], check=True,
                   stdin=subprocess.DEVNULL)
    return path


class Sshd:
    """One server. `home` is the login's home directory; `restart` begins it anew, with another host key if asked."""

    def __init__(self, base: Path, command: list[str], **config: str) -> None:
        self.base = base
        self.home = base / "remote-home"
        self.home.mkdir(parents=True)
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self._command = command
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        keypair(base / "host_key")
        (base / "authorized_keys").write_text("")
        (base / "authorized_keys").chmod(0o600)

    def allow(self, key: Path) -> None:
        """Let a key in."""
        with (self.base / "authorized_keys").open("a") as file:
            file.write(key.with_name(f"{key.name}.pub").read_text())

    @property
    def public_key(self) -> str:
        """The host key, as a person would accept it."""
        return " ".join((self.base / "host_key.pub").read_text().split()[:2])

    def start(self) -> None:
        """Begin to listen."""
        settings = {
            "Port": str(self.port), "ListenAddress": "127.0.0.1", "HostKey": str(self.base / "host_key"), "PidFile": "none",
            "AuthorizedKeysFile": str(self.base / "authorized_keys"), "PasswordAuthentication": "no", "UsePAM": "no",
            "KbdInteractiveAuthentication": "no", "StrictModes": "no", "PermitRootLogin": "prohibit-password",
            "PrintMotd": "no", "LogLevel": "ERROR", **self._config,
        }
        file = self.base / "sshd_config"
        file.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        command = [*self._command, "-D", "-e", "-f", str(file)]
        self._log = (self.base / "sshd.log").open("ab")
        library = str(Path(self._command[0]).resolve().parents[1] / "lib" / f"{os.uname().machine}-linux-gnu")
        self._process = subprocess.Popen([*self._walls(), *command], stdin=subprocess.DEVNULL, stdout=self._log,
                                         stderr=self._log, env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": library})
        if not wait_for(self._listens, 15):
            raise AssertionError((self.base / "sshd.log").read_text())

    def stop(self) -> None:
        """End it and every session."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._log.close()
            self._process = None

    def new_host_key(self) -> None:
        """Another host key from the next start on."""
        (self.base / "host_key").unlink()
        keypair(self.base / "host_key")

    def _listens(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise AssertionError((self.base / "sshd.log").read_text())
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _walls(self) -> list[str]:
        """A private /etc/passwd, when sshd is root's: it wants a user of its own, and root's home is not the test's."""
        if os.geteuid() != 0:
            return []
        (self.base / "passwd").write_text(
            f"root:x:0:0:root:{self.home}:/bin/bash\nsshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
            "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n")
        (self.base / "shadow").write_text("root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n")
        return ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid", "--cap-add", "ALL",
                "--ro-bind", str(self.base / "passwd"), "/etc/passwd", "--ro-bind", str(self.base / "shadow"), "/etc/shadow",
                "--tmpfs", "/run", "--dir", "/run/sshd", "--die-with-parent"]


@contextlib.contextmanager
def sshd(base: Path, **config: str) -> Iterator[Sshd]:
    """A running server, ended at the end."""
    server = Sshd(base, require_sshd(), **config)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def agent(base: Path, *keys: Path) -> Iterator[str]:
    """An ssh-agent that holds these keys; the path of its socket."""
    path = base / "agent.sock"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        try:
            if not wait_for(path.exists, 10):
                raise AssertionError("ssh-agent did not begin")
            for key in keys:
                subprocess.run(["ssh-add", "-q", str(key)], check=True, env={**os.environ, "SSH_AUTH_SOCK": str(path)},
                               stdin=subprocess.DEVNULL)
            yield str(path)
        finally:
            process.kill()
