"""Branches from words to the trunk: the agent's operations, and a person's merge, diff, apply, path and worktrees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import BranchOp, ToolResult

from tests.support.gateways import Opened, gateway
from tests.support.thetis import World, answer, fingerprint

pytestmark = pytest.mark.runtimes
TEXT = "".join(f"line {number}\n" for number in range(12))
OURS = TEXT.replace("line 2\n", "ours\n")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"a.txt": TEXT})
    return made


def test_from_words_to_the_trunk_and_back_to_nothing(world: World) -> None:
    session = world.events("replace 'line 2' with ours in a.txt")[0]["session"]
    before = fingerprint(world.repository)
    worktree = Path(world.run("path", session).stdout.strip())
    assert (worktree / "a.txt").read_text() == OURS
    assert "+ours" in world.run("diff", session).stdout and "a.txt" in world.run("diff", session, "--stat").stdout
    plan = json.loads(world.run("merge", session, "--dry-run", "--json").stdout)
    assert (plan["plan"]["how"], plan["plan"]["target"], plan["running"]) == ("ready", "main", False)
    [line] = json.loads(world.run("worktrees", "--json").stdout)
    assert (line["session"], line["dirty"], line["reached"], line["prunable"]) == (session, 0, False, False)
    assert line["why"] and line["bytes"] > 0 and json.loads(world.run("worktrees", "--prune", "--json").stdout) == []
    assert fingerprint(world.repository) == before and worktree.is_dir()

    # a dirty checkout is refused and left alone; a branch of another name takes it
    world.write({"a.txt": "mine\n"})
    before = fingerprint(world.repository)
    refused = world.run("merge", session, check=False)
    assert refused.returncode == 1 and "uncommitted work: a.txt" in refused.stdout and "--into" in refused.stdout
    assert world.run("apply", session, check=False).returncode == 1
    assert fingerprint(world.repository) == before
    assert "into aside" in world.run("merge", session, "--into", "aside").stdout
    assert world.git("show", "aside:a.txt") == OURS and (world.repository / "a.txt").read_text() == "mine\n"

    # conflicts: nothing is merged, the conversation settles it, then it lands
    world.git("commit", "-qam", "theirs")
    conflict = world.run("merge", session, check=False)
    assert conflict.returncode == 1 and "--resolve" in conflict.stdout and "a.txt" in conflict.stdout
    assert world.git("status", "--porcelain") == ""
    world.run("merge", session, "--resolve")
    done = world.run("merge", session, "-m", "Both of them")
    assert "your checkout went along" in done.stdout and world.git("status", "--porcelain") == ""
    message = world.git("log", "-1", "--format=%s|%(trailers:key=Thetis-Conversation,valueonly)").strip()
    assert message == f"Both of them|{session}"
    assert "mine" in (world.repository / "a.txt").read_text() and "ours" in (world.repository / "a.txt").read_text()
    assert world.run("diff", session).stdout == "Nothing was changed.\n"

    # nothing of the worktree is needed any more, and it comes back when it is
    [gone] = json.loads(world.run("worktrees", "--prune", "--json").stdout)
    assert gone["session"] == session and not worktree.exists() and world.git("rev-parse", f"conv/{session[:8]}")
    assert world.run("diff", session).stdout == "Nothing was changed.\n"
    assert json.loads(world.run("merge", session, "--dry-run", "--json").stdout)["plan"]["how"] == "nothing"
    assert "0 behind main" in answer(world.events("--conversation", session, "where does the branch stand?"))
    assert worktree.is_dir()


def test_apply_writes_files_alone(world: World) -> None:
    session = world.events("replace 'line 2' with ours in a.txt")[0]["session"]
    head = world.git("rev-parse", "HEAD")
    assert "1 file" in world.run("apply", session).stdout
    assert world.git("status", "--porcelain") == " M a.txt\n" and world.git("rev-parse", "HEAD") == head
    assert (world.repository / "a.txt").read_text() == OURS


async def results(opened: Opened, session: str) -> list[ToolResult]:
    return [event for event in await opened.log(session) if isinstance(event, ToolResult)]


async def test_an_agent_commits_updates_resets_and_gives_up(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"a.txt": TEXT}) as opened:
        world = opened.world

        async def say(text: str) -> None:
            await opened.client.submit(session, text)
            await opened.client.wait_idle(session)

        session = await opened.start("replace 'line 2' with ours in a.txt")
        await opened.client.wait_idle(session)
        first = world.git("rev-parse", f"conv/{session[:8]}").strip()
        [line] = await opened.client.worktrees()
        assert line.held_by == opened.worker_pid(session) and "works in it" in line.why
        await say("create b.txt with b")
        await say("commit as Nothing to see")
        assert (await results(opened, session))[-1].outcome == "ok"
        world.write({"a.txt": TEXT.replace("line 2\n", "theirs\n")})
        world.git("commit", "-qam", "theirs")
        await say("update from the trunk and leave it")
        ops = [event.op for event in await opened.log(session) if isinstance(event, BranchOp)]
        assert ops[-1] == "merge-open"
        with pytest.raises(ThetisError, match="merge is open"):
            plan = await opened.client.plan_merge(session)
            assert any("merge is open" in sentence for sentence in plan.plan.blocked)
            await opened.client.merge(plan)
        await say("give the merge up")
        await say(f"go back to {first[:8]}")
        branch = f"conv/{session[:8]}"
        assert "b.txt" not in world.git("ls-tree", "--name-only", branch) and world.git("show", f"{branch}:a.txt") == OURS
        ops = [event.op for event in await opened.log(session) if isinstance(event, BranchOp)]
        assert ops[-2:] == ["abort", "reset"]

        # in a read-only mode nothing of it is possible
        await opened.client.set(session, "mode", "plan")
        await say("update from the trunk")
        assert world.git("show", f"{branch}:a.txt") == OURS
        assert [event.op for event in await opened.log(session) if isinstance(event, BranchOp)][-1] == "reset"
