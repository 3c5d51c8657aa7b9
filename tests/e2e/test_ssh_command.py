"""`thetis ssh`: registering, vouching, looking at keys, trying; against a real server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from thetis_kernel.cli.dispatch import dispatch
from thetis_kernel.cli.parser import parse

from tests.support.ssh_server import AsyncServer
from tests.support.sshd import keypair
from tests.support.thetis import World

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")  # asyncssh's, at its server's end


def fingerprint(server: AsyncServer) -> str:
    told = subprocess.run(["ssh-keygen", "-lf", str(server.base / "host_key.pub")], capture_output=True, text=True, check=True)
    return told.stdout.split()[1]


def test_from_registering_to_a_changed_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n"})
    server = AsyncServer(tmp_path / "machine")
    key = keypair(tmp_path / "key")
    server.allow(key)
    server.start()

    def ssh(*words: str) -> tuple[int, str]:
        code = dispatch(parse(["--root", str(world.repository), "ssh", *words]))
        told = capsys.readouterr()
        return code, told.out + told.err

    try:
        assert "No machine" in ssh()[1]
        assert ssh("set", "build", "--host", "x", "--option", "ProxyCommand=id")[0] == 2
        code, told = ssh("set", "build", "--host", "127.0.0.1", "--port", str(server.port), "--user", "me", "--key", str(key),
                         "--description", "builds things")
        assert code == 0 and "thetis ssh trust build" in told
        code, told = ssh("test", "build")
        assert code == 1 and "Nobody has looked" in told
        code, told = ssh("trust", "build")
        assert code == 1 and fingerprint(server) in told, "nobody is there to answer"
        code, told = ssh("trust", "build", "--fingerprint", "SHA256:" + "A" * 43)
        assert code == 1 and "not the fingerprint you gave" in told and server.logins == 0
        assert ssh("trust", "build", "--fingerprint", fingerprint(server))[0] == 0
        code, told = ssh("test", "build")
        assert code == 0 and "build answers: Linux" in told
        assert "usable" in ssh("ls")[1] and "builds things" in ssh("ls")[1]
        shown = json.loads(ssh("show", "build", "--json")[1])
        assert (shown["user"], shown["vouched"], shown["key_known"]) == ("me", True, True)

        old = fingerprint(server)
        server.stop()
        server.new_host_key()
        server.start()
        code, told = ssh("test", "build")
        assert code == 1 and "another host key" in told and old in told and fingerprint(server) in told
        code, told = ssh("trust", "build")
        assert code == 1 and "ATTENTION" in told
        assert ssh("test", "build")[0] == 1
        assert ssh("trust", "build", "--fingerprint", fingerprint(server))[0] == 0
        assert ssh("rename", "build", "forge")[0] == 0 and ssh("test", "forge")[0] == 0

        registry = world.repository / "ssh-hosts.local.toml"  # somebody else changes where it goes
        registry.write_text(registry.read_text().replace('"me"', '"root"'))
        code, told = ssh("test", "forge")
        assert code == 1 and "vouched" in told
        code, told = ssh("trust", "forge")
        assert code == 1 and "root@127.0.0.1" in told
        assert ssh("trust", "forge", "--yes")[0] == 0 and ssh("test", "forge")[0] == 0
        assert ssh("rm", "forge")[0] == 0 and ssh("show", "forge")[0] == 2
    finally:
        server.stop()
