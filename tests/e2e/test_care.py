"""Doctor, usage, disk and export on a real root; retention that honours open conversations (complaint 26)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from thetis_kernel.gateway.care import retention
from thetis_kernel.protocol.events import ToolInvocation

from tests.support.gateways import Opened, gateway
from tests.support.thetis import World

pytestmark = pytest.mark.runtimes
KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
REGISTRY = '[atlas]\nhost = "10.1.2.3"\nuser = "deploy"\n'


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten days have gone by."""
    now = time.time() + 10 * 86_400

    class Time:
        @staticmethod
        def time() -> float:
            return now

    monkeypatch.setattr(retention, "time", Time)


async def said(g: Opened, prompt: str) -> str:
    session = await g.start(prompt)
    await g.client.wait_idle(session)
    spill = g.gateway.paths.spill / session[:8]
    spill.mkdir(exist_ok=True)
    (spill / "long.txt").write_bytes(b"x" * 100_000)
    return session


async def test_complaint_26_open_conversations_keep_everything(tmp_path: Path, later: None) -> None:
    """However old they are: one that runs, one that waits for a person, one a screen has open. The others give back what they
    need not keep; a log goes only when it is archived and that was asked for, and branches stay."""
    async with gateway(tmp_path, can_ask=True) as g:
        idle, archived, shown = [await said(g, "list") for _ in range(3)]
        running = await said(g, "list")
        await g.client.submit(running, "run sleep 60")
        await g.until(lambda heard: any(isinstance(getattr(getattr(t, "event", None), "body", None), ToolInvocation)
                                        and t.event.session == running and t.event.body.name == "run" for t in heard))  # type: ignore[attr-defined]
        await g.client.set(archived, "archived", "true")
        screen = await g.gateway.connect()
        await screen.attend("screen")
        await screen.read(shown)
        why = {line.session: line.why for line in await g.client.old(5)}
        assert why == {idle: "", archived: "", shown: "somebody has it open", running: "a turn is running in it"}
        gone = {line.session: line for line in await g.client.prune_old(5)}
        assert set(gone) == {idle, archived} and not any(line.log for line in gone.values())
        spills = g.gateway.paths.spill
        assert {each.name for each in spills.iterdir()} == {shown[:8], running[:8]}
        assert {line.id for line in await g.client.conversations()} == {idle, archived, shown, running}, "no log went"
        worktrees = {each.name for each in g.gateway.paths.worktrees.iterdir() if each.is_dir()}
        assert {f"conv-{shown[:8]}", f"conv-{running[:8]}"} <= worktrees
        [last] = await g.client.prune_old(5, logs=True)
        assert (last.session, last.log) == (archived, True)
        assert {line.id for line in await g.client.conversations()} == {idle, shown, running}
        assert f"conv/{archived[:8]}" in g.world.git("branch", "--list", "conv/*"), "its branch stays"
        await g.client.stop(running)


async def test_what_is_young_stays(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        await said(g, "list")
        assert await g.client.old(1) == [] and await g.client.prune_old(1, logs=True) == []


def test_doctor_usage_disk_and_export(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# A project\n"})
    world.environ["MY_API_KEY"] = KEY
    session = world.events(f"create notes.txt with atlas and deploy@10.1.2.3 and {KEY}")[0]["session"]
    (world.repository / "ssh-hosts.local.toml").write_text(REGISTRY)
    (world.repository / "ssh-hosts.local.toml").chmod(0o600)

    findings = json.loads(world.run("doctor", "--json", check=False).stdout)["findings"]
    [store] = [one for one in findings if one["name"] == "store"]
    assert store["level"] == "ok" and "verifies" in store["message"]
    assert {"version", "libraries", "disk", "walls", "daemon", "git"} <= {one["name"] for one in findings}

    used = json.loads(world.run("usage", "--json").stdout)["by"]
    assert list(used["model"]) == ["rehearsal"] and sum(line["calls"] for line in used["tool"].values()) >= 1
    assert list(used["child"]) == ["(its own)"] and len(used["day"]) == 1
    assert "by tool:" in world.run("usage", "--by", "tool").stdout

    kept = {each["what"]: each["bytes"] for each in json.loads(world.run("disk", "--json").stdout)}
    assert kept["log and blobs"] > 0 and kept["worktrees"] > 0
    assert "Nothing is that old" in world.run("disk", "--older-than", "90d").stdout
    assert world.run("disk", "--prune", check=False).returncode == 2

    for form in ("--md", "--html", "--json"):
        text = world.run("export", session, form).stdout
        assert "notes.txt" in text and "[machine]" in text
        for secret in (KEY, "atlas", "10.1.2.3", "deploy@"):
            assert secret not in text, (form, secret)
    out = tmp_path / "out.md"
    world.run("export", session, "-o", str(out))
    assert out.stat().st_mode & 0o777 == 0o600
    again = world.run("export", session, "-o", str(out), check=False)
    assert again.returncode == 1 and "is there already" in again.stderr


def test_doctor_finds_what_a_deleted_conversation_left(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# A project\n"})
    world.run("run", "list")
    [base] = (Path(world.environ["THETIS_STATE"]) / "roots").iterdir()
    (base / "spill" / "deadbeef").mkdir()
    findings = json.loads(world.run("doctor", "--json", check=False).stdout)["findings"]
    assert any(one["name"] == "orphan" and "deadbeef" in one["message"] for one in findings)
    assert not any(one["name"] == "orphan" and "worktree" in one["message"] for one in findings), "what is in use is none"
