"""Going back with files, taking that back, forks from any message: over real git, a real worker, the rehearsal model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import Assistant, BranchOp, Rewind, User

from tests.support.gateways import Opened, gateway
from tests.unit.repo.test_snapshots import digest


async def said(g: Opened, session: str, words: str) -> None:
    await g.client.submit(session, words)
    await g.client.wait_idle(session)


async def worktree(g: Opened, session: str) -> Path:
    found = [each for each in await g.client.conversations() if each.id == session]
    return Path(found[0].worktree)


async def three_turns(g: Opened) -> tuple[str, Path, list[dict[str, str]]]:
    """A conversation of three turns; its files before each."""
    session = await g.start("hello")
    await g.client.wait_idle(session)
    tree = await worktree(g, session)
    states = []
    for words in ("write note.txt with one",
                  "run printf two > note.txt; mkdir -p out/empty; echo x > out/new.bin; ln -s note.txt link",
                  "run rm -r out link; printf three > note.txt"):
        states.append(digest(tree))
        await said(g, session, words)
    return session, tree, [*states, digest(tree)]


async def test_going_back_brings_conversation_and_files_and_can_be_taken_back(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session, tree, states = await three_turns(g)
        moments = await g.client.moments(session)
        assert [each.text.split()[0] for each in moments] == ["hello", "write", "run", "run"]
        assert len({str(state) for state in states}) == 4
        for back in (3, 2, 1):
            done = await g.client.rewind(session, moments[back].seq)
            assert (done.text, done.files, done.kept) == (moments[back].text, True, [])
            assert digest(tree) == states[back - 1]
            assert [each.seq for each in await g.client.moments(session)] == [each.seq for each in moments[:back]]
            undone = await g.client.undo_rewind(session)
            assert undone.files and digest(tree) == states[3]
            assert [each.seq for each in await g.client.moments(session)] == [each.seq for each in moments]
        await g.client.rewind(session, moments[2].seq)
        await said(g, session, "write other.txt with four")
        assert (tree / "other.txt").exists() and (tree / "note.txt").read_text().strip() == "one"
        assert [each.text for each in await g.client.moments(session)][-1] == "write other.txt with four"
        with pytest.raises(ThetisError, match="said since"):
            await g.client.undo_rewind(session)
        examined = await g.client.examine(session)
        assert (examined.chain, examined.history) == ([], []), examined
        assert g.world.git("status", "--porcelain").strip() == ""
        assert g.world.git("fsck", "--strict", "--no-dangling").strip() == ""


async def test_the_conversation_alone_or_the_files_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session, tree, states = await three_turns(g)
        moments = await g.client.moments(session)
        await g.client.rewind(session, moments[2].seq, "talk")
        assert digest(tree) == states[3] and len(await g.client.moments(session)) == 2
        await g.client.undo_rewind(session)
        assert digest(tree) == states[3] and len(await g.client.moments(session)) == 4
        done = await g.client.rewind(session, moments[1].seq, "files")
        assert done.text == "" and digest(tree) == states[0] and len(await g.client.moments(session)) == 4


async def test_a_fork_has_the_beginning_and_its_files_and_touches_nothing_else(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session, tree, states = await three_turns(g)
        moments = await g.client.moments(session)
        made = await g.client.fork(session, moments[2].seq)
        own = await worktree(g, made.session)
        assert made.text == moments[2].text and own != tree and digest(own) == states[1] and digest(tree) == states[3]
        await g.client.subscribe(made.session)
        await said(g, made.session, "write note.txt with forked")
        assert (own / "note.txt").read_text().strip() == "forked" and digest(tree) == states[3]
        whole = await g.client.fork(session)
        assert digest(await worktree(g, whole.session)) == states[3]
        looked = await g.client.examine(made.session)
        assert (looked.chain, looked.history, looked.unseen) == ([], [], "")
        names = {each.title for each in await g.client.conversations()}
        assert any(name.endswith("(fork)") for name in names)


async def test_a_fork_takes_no_rewind_of_its_parent_back(tmp_path: Path) -> None:
    """Its chain of snapshots begins with itself: it would have put back files of another moment."""
    async with gateway(tmp_path) as g:
        session, _, states = await three_turns(g)
        moments = await g.client.moments(session)
        await g.client.rewind(session, moments[2].seq)
        made = await g.client.fork(session)
        own = await worktree(g, made.session)
        assert digest(own) == states[1]
        with pytest.raises(ThetisError, match="since it was forked"):
            await g.client.undo_rewind(made.session)
        assert digest(own) == states[1]


async def test_bad_moments_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("hello")
        await g.client.wait_idle(session)
        before = await g.log(session)
        for seq in (0, 1, 3, 10_000):
            with pytest.raises(ThetisError, match="number"):
                await g.client.rewind(session, seq)
        with pytest.raises(ThetisError, match="Nothing was rewound"):
            await g.client.undo_rewind(session)
        assert await g.log(session) == before
        await g.client.submit(session, "run sleep 30")
        await g.until_event(User, 2)
        with pytest.raises(ThetisError, match="running"):
            await g.client.rewind(session, (await g.client.moments(session))[0].seq)
        await g.client.stop(session)


async def test_what_a_kill_left_half_put_back_is_finished_before_the_next_turn(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session, tree, states = await three_turns(g)
        moments = await g.client.moments(session)
        log = await g.log(session)
        assert not any(isinstance(body, Rewind) for body in log)
        event = (await g.client.read(session, moments[1].seq - 1, 1)).events[0]
        found = await g.gateway.timemachine._files_at(session, session, event)
        await g.gateway.log.append(session, Rewind(to_seq=moments[1].seq - 1, tree=found))  # and then it was killed
    async with gateway(tmp_path) as g:
        await g.client.subscribe(session)
        await said(g, session, "hello again")
        ended = [body for body in await g.log(session) if isinstance(body, BranchOp) and body.op == "restored"]
        assert [body.ok for body in ended] == [True] and digest(tree) == states[0]
        replies = [body for body in await g.log(session) if isinstance(body, Assistant)]
        assert replies


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_every_kind_of_file_and_one_of_200_mb_come_back_and_come_with_a_fork(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"README.md": "# x\n", ".gitignore": "kept/\n"}) as g:
        session = await g.start("hello")
        await g.client.wait_idle(session)
        tree = await worktree(g, session)
        part = os.urandom(1 << 20)
        with (tree / "large.bin").open("wb") as file:
            for number in range(200):
                file.write(bytes([number]) + part[1:])
        (tree / "untracked").write_bytes(bytes(range(256)))
        (tree / "kept").mkdir()
        (tree / "kept" / "ignored").write_text("ignored\n")
        (tree / "link").symlink_to("README.md")
        (tree / "run.sh").write_text("#!/bin/sh\n")
        (tree / "run.sh").chmod(0o755)
        before = digest(tree)
        await said(g, session, "run rm -rf large.bin untracked kept link run.sh; echo gone > README.md")
        after = digest(tree)
        assert after.keys() == {"README.md", ".gitignore"}
        [_, moment] = await g.client.moments(session)
        forked = await worktree(g, (await g.client.fork(session, moment.seq)).session)
        assert digest(forked) == before and digest(tree) == after
        done = await g.client.rewind(session, moment.seq)
        assert digest(tree) == before and done.kept == []
        await g.client.undo_rewind(session)
        assert digest(tree) == after
