"""Class A of the public bugs (a checkout configures the agent): nothing a checkout brings runs or is believed without a person's
word for exactly that. CVE-2025-65099, CVE-2025-59536, CVE-2026-21852, CVE-2026-12537.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from thetis_kernel.config.loading import load
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.gateway.trust import root_is_trusted
from thetis_kernel.paths import root_paths

from tests.support.thetis import World

pytestmark = pytest.mark.runtimes
TOOL = """
from thetis_guest import ToolManifest
def describe() -> ToolManifest:
    return ToolManifest(name="shout", description="Say it loud.", input_schema={"type": "object"})
def invoke(session_id: str, args: dict[str, object], config: dict[str, object]) -> object:
    return "LOUD"
"""
FILES = {
    "README.md": "# Test\n",
    "tools/shout/main.py": TOOL,
    "tools/shout/guest.toml": 'name = "shout"\nworld = "tool"\nversion = "0.1.0"\ndescription = "Says it loud."\n',
    "thetis.toml": "[walls]\nnetwork = true\nreadable = ['/etc']\n",
    "skills/review/SKILL.md": "# Review\x1b]52;c;aGk=\x07\n",
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    made.make_repository(dict(FILES))
    for name in ("THETIS_STATE", "THETIS_REHEARSAL_DELAY_MS", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, made.environ[name])
    return made


async def used(world: World) -> tuple[bool, bool, str]:
    """(whether its tool serves, whether its settings count, what the notices say)."""
    loaded = load(world.repository, world.base / "none.toml", environ={}, trusted=root_is_trusted(world.repository))
    gateway = await Gateway.open(root_paths(world.repository), loaded, warm=False)
    try:
        tools = [guest.aspect for guest in await gateway.guests.tools()]
        return "tool/shout" in tools, loaded.settings.walls.network, " ".join(gateway.notices)
    finally:
        await gateway.close()


async def test_from_a_clone_to_trust_and_back(world: World) -> None:
    tool, settings, said = await used(world)
    assert (tool, settings) == (False, False)
    assert "brings 1 guest, 1 skill and 2 settings" in said and "thetis trust" in said

    shown = world.run("trust", check=False)
    assert (
        shown.returncode == 1
        and "tool/shout" in shown.stdout
        and "walls.network" in shown.stdout
        and "not trusted" in shown.stdout
    )
    assert await used(world) == (tool, settings, said)  # looking is not trusting

    assert world.run("trust", "--yes").returncode == 0
    assert await used(world) == (True, True, "")
    assert str(world.repository) in world.run("trust", "--list").stdout

    world.write({"tools/shout/main.py": TOOL.replace("LOUD", "OTHER")})
    tool, settings, said = await used(world)
    assert (tool, settings) == (False, False) and "changed since you trusted it" in said
    assert "changed since" in world.run("trust", check=False).stdout

    world.write({"tools/shout/main.py": TOOL})
    assert await used(world) == (True, True, "")
    world.run("trust", "--revoke")
    assert (await used(world))[:2] == (False, False)
    assert "No checkout is trusted" in world.run("trust", "--list").stdout


async def test_a_change_while_it_is_open_is_not_loaded(world: World) -> None:
    world.run("trust", "--yes")
    loaded = load(world.repository, world.base / "none.toml", environ={}, trusted=True)
    gateway = await Gateway.open(root_paths(world.repository), loaded, warm=False)
    try:
        world.write({"tools/shout/main.py": TOOL.replace("LOUD", "OTHER")})
        assert "tool/shout" not in [guest.aspect for guest in await gateway.guests.tools()]
        assert any("changed since it was trusted" in words for words in gateway.guests.failures())
    finally:
        await gateway.close()


def test_json_and_control_characters(world: World) -> None:
    world.write({"skills/a\x1b[31mb/SKILL.md": "# x", "thetis.toml": '[walls]\nreadable = ["/\\u001b]0;x\\u0007"]\n'})
    shown = world.run("trust", check=False)
    assert "\x1b" not in shown.stdout and "\x07" not in shown.stdout
    told = json.loads(world.run("trust", "--json", check=False).stdout)
    assert told["trusted"] is False and {item["kind"] for item in told["items"]} == {"guest", "skill", "setting"}


def test_the_root_that_brings_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "x"})
    shown = world.run("trust")
    assert shown.returncode == 0 and "brings nothing" in shown.stdout
    assert not (tmp_path / "state" / "trust.json").exists()


def test_too_much_does_not_keep_the_root_closed(world: World) -> None:
    world.write({"tools/shout/big.bin": b"x" * (2 << 20)})
    assert world.run("trust", check=False).returncode == 2
    notices = [
        f["message"]
        for f in json.loads(world.run("doctor", "--json", check=False).stdout)["findings"]
        if f["name"] == "notice"
    ]
    assert any("not used" in words for words in notices)
