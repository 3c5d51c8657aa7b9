"""In a trusted checkout of Thetis body and project are one branch: guests are those of the conversation's own tree."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.client import GatewayClient
from thetis_kernel.config.loading import load
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.gateway.trust import root_is_trusted
from thetis_kernel.paths import builtin_root, root_paths
from thetis_kernel.protocol.events import SHIPPED, Modification

from tests.support.thetis import World

pytestmark = pytest.mark.runtimes
TOOL, MAIN = "tool/shout", "tools/shout/main.py"
CODE = '''"""Says it loud."""

from __future__ import annotations

from typing import Any

from thetis_guest import ToolManifest


def describe() -> ToolManifest:
    return ToolManifest(name="shout", description="Say it loud.", input_schema={"type": "object"})


def invoke(session_id: str, args: dict[str, Any], config: dict[str, Any]) -> str:
    return "LOUD"
'''
MANIFEST = 'name = "shout"\nworld = "tool"\nversion = "0.1.0"\ndescription = "Says it loud."\n'


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A repository that is a checkout of Thetis, as far as it is looked at, with a tool of its own."""
    made = World(tmp_path)
    made.repository.mkdir()
    leave = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(builtin_root() / "aspects", made.repository / "aspects", ignore=leave)
    made.make_repository({MAIN: CODE, "tools/shout/guest.toml": MANIFEST, "wit/thetis.wit": "package x:y;\n",
                          "kernel/thetis_kernel/__init__.py": ""})  # fmt: skip
    for name in ("THETIS_STATE", "THETIS_REHEARSAL_DELAY_MS", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, made.environ[name])
    return made


async def opened(world: World) -> tuple[Gateway, GatewayClient]:
    loaded = load(world.repository, world.base / "none.toml", environ={}, trusted=root_is_trusted(world.repository))
    gateway = await Gateway.open(root_paths(world.repository), loaded)
    return gateway, await gateway.connect()


async def say(client: GatewayClient, session: str, text: str) -> None:
    await client.submit(session, text)
    await client.wait_idle(session)


async def changes(client: GatewayClient, session: str) -> list[Modification]:
    events = (await client.read(session, 0, 1000)).events
    return [event.body for event in events if isinstance(event.body, Modification)]


async def test_guests_are_those_of_the_conversations_own_tree(world: World) -> None:
    world.run("trust", "--yes")
    gateway, client = await opened(world)
    try:
        assert gateway.bodies.repository.in_project
        session = (await client.create(origin="headless")).id
        await say(client, session, "list")
        assert await changes(client, session) == []  # what is as in the root is nobody's change
        branch = (await client.conversation(session)).branch

        # with the dev kit: judged, committed on the project's branch, served
        done = await client.devkit(session, "patch-code", path=MAIN, old_text="LOUD", new_text="LOUDER")
        assert done["ok"] and "LOUDER" in world.git("show", f"{branch}:{MAIN}")
        bundle = await gateway.guests.tool(session, "shout")
        other = await gateway.guests.tool("", "shout")
        assert bundle is not None and other is not None and bundle.key != other.key
        assert "LOUDER" not in (world.repository / MAIN).read_text()

        # by any other way into the tree: from the next turn on
        await say(client, session, f"replace LOUDER with LOUDEST in {MAIN}")
        await say(client, session, "list")
        last = (await changes(client, session))[-1]
        assert (last.target, last.by, last.verdict) == (TOOL, "kernel", "pass")
        assert last.summary.startswith("As the branch has it")

        # what does not pass serves nobody and is not merged
        served = last.revision
        await say(client, session, f"replace 'def invoke' with 'def invoke(' in {MAIN}")
        await say(client, session, "list")
        assert (await gateway.log.state(session)).guests[TOOL].revision == served
        plan = await client.plan_merge(session)
        assert any("does not pass the gate" in sentence for sentence in plan.plan.blocked)
        with pytest.raises(ThetisError, match="does not pass the gate"):
            await client.merge(plan)
        await say(client, session, f"replace 'def invoke(' with 'def invoke' in {MAIN}")
        plan = await client.plan_merge(session)
        assert plan.plan.blocked == []
        await client.merge(plan)
        assert "LOUDEST" in (world.repository / MAIN).read_text()
        for name in ("merge", "update-code"):
            with pytest.raises(ThetisError, match="part of the project"):
                await client.devkit(session, name)
    finally:
        await gateway.close()


async def test_going_back_is_to_the_roots_guest_in_the_branch_too(world: World) -> None:
    world.run("trust", "--yes")
    gateway, client = await opened(world)
    try:
        session = (await client.create(origin="headless")).id
        await say(client, session, "list")
        await client.devkit(session, "patch-code", path=MAIN, old_text="LOUD", new_text="LOUDER")
        back: dict[str, Any] = await client.devkit(session, "roll-back", aspect=TOOL, revision=SHIPPED)
        branch = (await client.conversation(session)).branch
        assert back["ok"] and not back["gone"] and world.git("show", f"{branch}:{MAIN}") == CODE
        assert await gateway.guests.tool(session, "shout") is not None
    finally:
        await gateway.close()


async def test_without_trust_nothing_of_the_tree_runs(world: World) -> None:
    gateway, client = await opened(world)
    try:
        assert not gateway.bodies.repository.in_project
        session = (await client.create(origin="headless")).id
        await say(client, session, f"replace LOUD with LOUDER in {MAIN}")
        await say(client, session, "list")
        assert await changes(client, session) == [] and await gateway.guests.tool(session, "shout") is None
    finally:
        await gateway.close()
