"""A person changes the contract in a checkout: runtimes are built anew with progress, every guest is judged again, what used
what is gone is listed and served from its last compatible revision, and all of it comes back with the old contract.

A copy of this checkout stands in for the person's, with an interpreter and a cache of runtimes of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.copy import Copy
from tests.support.thetis import World, answer

pytestmark = [pytest.mark.runtimes, pytest.mark.slow, pytest.mark.timeout(3600)]
BUILD_S = 1500
"""Four runtimes take 95 s on an idle machine."""
CODE = '''"""Finds."""

from __future__ import annotations

from typing import Any

from thetis_guest import ToolManifest, sandbox


def describe() -> ToolManifest:
    return ToolManifest(name="{name}", description="Find.", input_schema={{"type": "object"}})


def invoke(session_id: str, args: dict[str, Any], config: dict[str, Any]) -> Any:
    return {body}
'''
DRIVER = """
import asyncio, json, pathlib, sys
from thetis_kernel.config.loading import load
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.paths import root_paths

async def main(root, session, steps):
    told = []
    gateway = await Gateway.open(root_paths(root), load(root, root / "none.toml", environ={}), warm=False)
    try:
        client = await gateway.connect()
        session = session or (await client.create(origin="headless")).id
        for name, arguments in steps:
            told.append(await client.devkit(session, name, **arguments))
        tools = sorted(await gateway.bodies.own_tools(session))
        serving = {aspect: (await gateway.guests.tool(session, aspect.partition("/")[2])).key for aspect in tools}
    finally:
        await gateway.close()
    print(json.dumps({"session": session, "told": told, "serving": serving}))

asyncio.run(main(pathlib.Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
"""


def driven(copy: Copy, world: World, session: str, *steps: tuple[str, dict[str, str]]) -> dict[str, Any]:
    """Operations of the dev kit in an open gateway of the copy's; with what serves the conversation's own tools afterwards."""
    command = [str(copy.python), "-I", "-c", DRIVER, str(world.repository), session, json.dumps(steps)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, env=world.environ, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    failed = [one["diagnostics"] for one in found["told"] if not one.get("ok", True)]
    assert not failed, failed
    return dict(found)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: {old!r} is there {text.count(old)} times"
    path.write_text(text.replace(old, new))


def change_the_contract(tree: Path) -> None:
    """`sandbox.search` is gone, for `sandbox.find`, which takes the same."""
    replace(tree / "wit/thetis.wit", "  search: func(pattern: string, options-json: string)",
            "  find: func(pattern: string, options-json: string)")  # fmt: skip
    sdk = tree / "guest/thetis_guest/sandbox.py"
    replace(sdk, "def search(", "def find(")
    replace(sdk, '"sandbox", "search"', '"sandbox", "find"')
    for file in ("toolhost/sandbox.py", "toolhost/authority/table.py", "forge/fakes/tool.py"):
        replace(tree / "kernel/thetis_kernel" / file, '"sandbox.search":', '"sandbox.find":')


def test_a_changed_contract_end_to_end(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy")
    world = World(tmp_path / "world", str(copy.python.with_name("thetis")))
    world.environ["THETIS_RUNTIMES"] = str(shutil.copytree(os.environ["THETIS_RUNTIMES"], tmp_path / "runtimes"))
    world.make_repository({"notes.md": "one\ntwo\n"})
    assert "are ready" in world.run("setup", timeout=BUILD_S).stdout

    listing, searching = "sandbox.list_files('.')", "[*sandbox.list_files('.'), *sandbox.search('two')]"
    before = driven(copy, world, "", ("new-tool", {"name": "finder", "description": "Find."}),
                    ("remove-code", {"path": "tools/finder/test_main.py"}),
                    ("write-code", {"path": "tools/finder/main.py", "contents": CODE.format(name="finder", body=listing)}),
                    ("write-code", {"path": "tools/finder/main.py", "contents": CODE.format(name="finder", body=searching)}),
                    ("new-tool", {"name": "lister", "description": "List."}),
                    ("remove-code", {"path": "tools/lister/test_main.py"}),
                    ("write-code", {"path": "tools/lister/main.py", "contents": CODE.format(name="lister", body=listing)}),
                    ("patch-code", {"path": "aspects/agent_core/prompt.py", "old_text": "# How to talk",
                                    "new_text": "# How to speak"}))  # fmt: skip
    session, revisions = before["session"], [one["revision"] for one in before["told"]]
    fitting = revisions[2]
    assert "pass" not in world.run("setup", timeout=BUILD_S).stdout.replace("passes", "")  # nothing to judge again

    originals = {path: path.read_bytes() for path in copy.tree.rglob("*") if path.is_file() and path.suffix in (".py", ".wit")}
    change_the_contract(copy.tree)
    done = world.run("setup", timeout=BUILD_S)
    assert "Building the guest runtimes" in done.stderr and all(name in done.stderr for name in ("tool", "agent", "gateway"))
    assert "Judging the guests of conversations again: 0/3" in done.stderr and "again: 3/3" in done.stderr
    listed = [line for line in done.stdout.splitlines() if "does not pass the gate any more" in line]
    assert len(listed) == 1, done.stdout
    assert f"tool/finder of conversation {session[:8]}" in listed[0] and f"its revision {fitting[:8]} serves" in listed[0]
    assert "ty main.py:" in listed[0] and "search" in listed[0]

    after = driven(copy, world, session, ("show", {"aspect": "tool/finder", "revision": ""}),
                   ("history", {"aspect": "tool/finder"}))  # fmt: skip
    assert set(after["serving"]) == {"tool/finder", "tool/lister"}
    assert not set(after["serving"].values()) & set(before["serving"].values())  # no artifact of the old contract serves
    assert after["told"][1]["revisions"][0]["revision"] == revisions[3]  # what was chosen is kept
    told = answer(world.events("--conversation", session, "list", timeout=300))
    assert "notes.md" in told  # and the conversation goes on, with its own agent
    log = world.run("self", "log", "--conversation", session).stdout
    assert "does not pass" in log or "serves" in log, log

    for path, content in originals.items():
        path.write_bytes(content)
    done = world.run("setup", timeout=BUILD_S)
    assert "does not pass" not in done.stdout and "Building the guest runtimes" not in done.stderr  # both are kept
    back = driven(copy, world, session)
    assert back["serving"] == before["serving"]  # the very artifacts of before
