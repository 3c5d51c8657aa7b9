"""Settings through the door: a person looks and writes, a bridge does neither; and `thetis config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from thetis_kernel.errors import RemoteError

from tests.support.gateways import gateway
from tests.support.thetis import World


async def test_a_person_writes_and_a_bridge_does_not(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as g:
        written = await g.client.write_setting("screen.theme", "thetis-light")
        assert (written.setting.value, written.setting.source) == ("thetis-light", "user")
        assert written.file == str(tmp_path / "none.toml")
        with pytest.raises(RemoteError, match=r"walls\.network"):
            await g.client.write_setting("walls.network", "true", where="root")
        written = await g.client.write_setting("screen.theme", "", unset=True)
        assert (written.setting.value, written.setting.source) == ("thetis-dark", "default")

        await g.client.attend("bridge")
        for asked in (g.client.settings(), g.client.write_setting("screen.theme", "thetis-light")):
            with pytest.raises(RemoteError, match="bridge"):
                await asked
        assert "thetis-light" not in (tmp_path / "none.toml").read_text()


def test_the_command(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n"})
    listed = json.loads(world.run("config", "--json").stdout)
    assert {line["key"] for line in listed["settings"]} >= {"agent.max_tokens", "tools"}
    done = world.run("config", "set", "agent.max_tokens", "12345")
    assert done.returncode == 0 and "agent.max_tokens = 12345" in done.stdout
    assert world.run("config", "get", "agent.max_tokens").stdout.strip() == "12345"
    done = world.run("config", "set", "agent.max_tokens", "lots", check=False)
    assert done.returncode == 2 and "whole number" in done.stderr
    assert "12345" in world.run("config", "ls", "agent").stdout
    assert world.run("config", "unset", "agent.max_tokens").returncode == 0
    assert world.run("config", "get", "agent.max_tokens").stdout.strip() == "2000000"
