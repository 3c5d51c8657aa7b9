"""`thetis publish` as a person runs it, and not over a bridge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from thetis_kernel.errors import RemoteError

from tests.support.gateways import gateway
from tests.support.thetis import World, fingerprint

CANARY = "canary-harbour"


def test_a_branch_for_others_and_a_guard(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n", "keys/x.txt": CANARY, "thetis.local.toml": f'x = "{CANARY}"\n'})
    world.write({"keys/.thetis-private": "", "a.txt": "a\n"})
    world.git("add", "-A")
    world.git("commit", "-qm", "marked")
    before = fingerprint(world.repository)
    told = world.run("publish").stdout
    assert "public mirrors main: 2 commits, 2 of them new" in told and "Private, in every commit: keys." in told
    after = {name: what for name, what in fingerprint(world.repository).items() if name != ".git/refs/heads/public"}
    assert after == before
    objects = world.git("rev-list", "--objects", "public").split()
    assert CANARY not in "".join(world.git("cat-file", "-p", one) for one in objects if len(one) == 40)
    assert json.loads(world.run("publish", "--json").stdout)["made"] == 0
    assert "only the branch public is pushed" in world.run("publish", "--guard").stdout
    hook = world.repository / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\nexit 0\n")
    foreign = world.run("publish", "--guard", check=False)
    assert foreign.returncode == 1 and "somebody else" in foreign.stdout and hook.read_text() == "#!/bin/sh\nexit 0\n"


async def test_not_over_a_bridge(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        bridge = await opened.gateway.connect()
        await bridge.attend("bridge")
        for attempt in (bridge.publish(), bridge.publish(remake=True), bridge.guard_pushes(False)):
            with pytest.raises(RemoteError, match="over a bridge"):
                await attempt
        assert (await opened.client.publish()).commits == 1
