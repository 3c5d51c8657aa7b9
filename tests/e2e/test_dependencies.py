"""A guest takes in a package: judged, versioned and served with it, told by name, version, hash and licence, and out again."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import Modification, ToolResult

from tests.support.gateways import Opened, gateway
from tests.support.package_index import Index

MAIN = "tools/word-count/main.py"
PRETTY = {"pretty/__init__.py": "from pretty.core import dress\n", "pretty/core.py": "from small import MARK\n\n\n"
          "def dress(text: str) -> str:\n    return MARK + text\n"}  # fmt: skip


@pytest.fixture
def index(tmp_path: Path) -> Index:
    made = Index(tmp_path / "index")
    made.add("small", "2.0", {"small.py": 'MARK = "* "\n'}, licence="BSD-3-Clause")
    made.add("native", "1.0", {"native.so": b""}, tag="cp314-cp314-linux_x86_64")
    (tmp_path / "none.toml").write_text(f'[dependencies]\nindex = "{made.url}"\n')
    return made


async def tool(opened: Opened) -> str:
    made = await opened.client.create(origin="headless")
    done = await opened.client.devkit(made.id, "new-tool", name="word-count", description="Counts.")
    assert done["ok"], done
    return made.id


async def test_a_tool_takes_a_package_in_uses_it_and_takes_it_out(tmp_path: Path, index: Index) -> None:
    digest = index.add("pretty", "1.2", PRETTY, requires=("small",))
    async with gateway(tmp_path) as opened:
        session = await tool(opened)
        taken = await opened.client.devkit(session, "add-dependency", aspect="tool/word-count", requirement="pretty")
        assert taken["ok"] and [(each["name"], each["version"]) for each in taken["packages"]] == [
            ("pretty", "1.2"), ("small", "2.0")]  # fmt: skip
        diff = await opened.client.devkit(session, "diff", aspect="tool/word-count", revision=taken["revision"][:8])
        assert "+licence: BSD-3-Clause" in diff["patch"] and f"+sha256: {digest}" in diff["patch"]
        assert "return MARK" not in diff["patch"]
        used = await opened.client.devkit(
            session, "patch-code", path=MAIN, old_text="from thetis_guest import",
            new_text="from pretty import dress\nfrom thetis_guest import")  # fmt: skip
        assert used["ok"], used
    async with gateway(tmp_path) as opened:  # what serves comes from the repository of guests, packages with it
        listed = (await opened.client.devkit(session, "list-dependencies"))["packages"]
        assert listed[0] == {"aspect": "tool/word-count", "name": "pretty", "version": "1.2", "sha256": digest,
                             "licence": "MIT", "modules": 2, "wanted": True}  # fmt: skip
        assert await opened.gateway.guests.tool(session, "word-count") is not None
        needed = await opened.client.devkit(session, "remove-dependency", aspect="tool/word-count", name="pretty")
        assert not needed["ok"] and "pretty" in needed["diagnostics"][0]["message"]
        assert len((await opened.client.devkit(session, "list-dependencies"))["packages"]) == 2  # put back
        await opened.client.devkit(session, "roll-back", aspect="tool/word-count")
        gone = await opened.client.devkit(session, "remove-dependency", aspect="tool/word-count", name="pretty")
        assert gone["ok"] and [each["name"] for each in gone["packages"]] == ["pretty", "small"]
        assert (await opened.client.devkit(session, "list-dependencies"))["packages"] == []
        changes = [event for event in await opened.log(session) if isinstance(event, Modification)]
        assert changes[1].summary == "tool/word-count: take in pretty 1.2, small 2.0"
        assert changes[-1].summary == "tool/word-count: take out pretty 1.2, small 2.0"


async def test_native_wheels_are_refused_with_the_reason_and_change_nothing(tmp_path: Path, index: Index) -> None:
    async with gateway(tmp_path) as opened:
        session = await tool(opened)
        before = len(await opened.log(session))
        with pytest.raises(ThetisError, match=r"native code \(native-1.0-cp314") as error:
            await opened.client.devkit(session, "add-dependency", aspect="tool/word-count", requirement="native")
        assert error.value.code == "native" and error.value.hint
        assert len(await opened.log(session)) == before


async def test_a_package_that_was_changed_by_hand_is_none(tmp_path: Path, index: Index) -> None:
    async with gateway(tmp_path, warm=False) as opened:
        session = await tool(opened)
        await opened.client.devkit(session, "add-dependency", aspect="tool/word-count", requirement="small")
        where = Path((await opened.client.devkit(session, "path", aspect="tool/word-count"))["path"])
        [file] = (where / "packages").iterdir()
        file.write_text(file.read_text().replace('\\"* \\"', '\\"! \\"'))
        await opened.gateway.outside.look()
        [verdict] = await opened.gateway.outside.look()
        assert not verdict["ok"] and "not what was taken in" in verdict["diagnostics"][0]["message"]


async def test_a_pinned_guest_is_not_changed_by_the_agent(tmp_path: Path, index: Index) -> None:
    async with gateway(tmp_path) as opened:
        session = await tool(opened)
        pinned = await opened.client.devkit(session, "pin", aspect="tool/word-count")
        assert pinned["pinned"]
        for name, arguments in (
            ("write-code", {"path": MAIN, "contents": "x = 1"}), ("roll-back", {"aspect": "tool/word-count", "revision": ""}),
            ("update-code", {"aspect": ""}),
            ("add-dependency", {"aspect": "tool/word-count", "requirement": "small", "name": ""})):  # fmt: skip
            with pytest.raises(ThetisError, match="pinned") as error:
                await opened.gateway.bodies.perform(session, name, arguments, by="agent")
            assert error.value.code == "refused" and "pin tool/word-count none" in error.value.hint
        with pytest.raises(ThetisError, match="no operation"):
            await opened.gateway.bodies.perform(session, "pin", {"aspect": "tool/word-count", "revision": "none"}, by="agent")
        await opened.client.devkit(session, "pin", aspect="tool/word-count", revision="none")
        back = {"aspect": "tool/word-count", "revision": ""}
        assert (await opened.gateway.bodies.perform(session, "roll-back", back, by="agent"))["ok"]


async def test_the_agent_takes_a_package_in_and_is_told_what_it_is(tmp_path: Path, index: Index) -> None:
    async with gateway(tmp_path) as opened:
        session = await tool(opened)
        await opened.client.submit(session, "take small into tool/word-count")
        await opened.client.wait_idle(session)
        taken, listed = [event for event in await opened.log(session) if isinstance(event, ToolResult)]
        assert taken.outcome == listed.outcome == "ok" and '"licence":"BSD-3-Clause"' in listed.content
        [change] = [event for event in await opened.log(session) if isinstance(event, Modification) and event.by == "agent"]
        assert change.summary == "tool/word-count: take in small 2.0"
        opened.gateway.scrubber.learn("hunter2-hunter2-hunter2")
        with pytest.raises(ThetisError, match="holds a secret"):
            await opened.client.devkit(session, "add-dependency", aspect="tool/word-count", requirement="hunter2-hunter2-hunter2")
