"""The clone host as the process it is: what is asked for arrives, and nothing of the person's or the server's making."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from thetis_kernel.errors import PeerGone, RemoteError
from thetis_kernel.protocol.clone import Clone, Cloned, CloneProgress
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

from tests.support.git_server import bare, git, git_server


@asynccontextmanager
async def running(told: list[CloneProgress] | None = None) -> AsyncIterator[Child]:
    child = await spawn(Plan("clone", tells={CloneProgress: (told if told is not None else []).append}))
    try:
        yield child
    finally:
        child.kill()
        await child.wait()


async def clone(url: str, place: Path, **more: object) -> Cloned:
    async with running() as child:
        return await child.peer.call(Clone(url=url, place=str(place), literal=True, **more))  # type: ignore[arg-type]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Bare repositories to be served, and one to start from."""
    served = tmp_path / "served"
    bare(served, "one", {"a.txt": "A\n", "deep/b.txt": "B\n"}, branches={"next/step": {"c.txt": "C\n"}})
    return served


async def test_the_default_branch_with_its_files_and_its_history(base: Path, tmp_path: Path) -> None:
    with git_server(base) as server:
        done = await clone(f"{server.url}/ok/one.git", tmp_path / "c")
    assert (done.branch, done.files, done.bytes) == ("main", 2, 4)
    assert (tmp_path / "c" / "deep" / "b.txt").read_text() == "B\n"
    assert git(tmp_path / "c", "status", "--porcelain", "--branch") == "## main...origin/main"
    assert git(tmp_path / "c", "rev-parse", "HEAD") == done.commit
    assert git(tmp_path / "c", "branch", "-r", "--format=%(refname:short)") == "origin/main\norigin/next/step"
    assert [hook.suffix for hook in (tmp_path / "c" / ".git" / "hooks").glob("*")] in ([], [".sample"])


@pytest.mark.parametrize(("ref", "branch", "names"), [
    ("next/step", "next/step", {"a.txt", "deep", "c.txt"}), ("v1", "", {"a.txt", "deep"})])
@pytest.mark.parametrize("depth", [0, 1])
async def test_a_branch_or_a_tag(base: Path, tmp_path: Path, ref: str, branch: str, names: set[str], depth: int) -> None:
    with git_server(base) as server:
        done = await clone(f"{server.url}/ok/one.git", tmp_path / "c", ref=ref, depth=depth)
    assert done.branch == branch
    assert {path.name for path in (tmp_path / "c").iterdir()} - {".git"} == names
    assert int(git(tmp_path / "c", "rev-list", "--count", "HEAD")) == (1 if depth or ref == "v1" else 2)


async def test_a_commit_by_its_digits(base: Path, tmp_path: Path) -> None:
    wanted = git(base / "one.git", "rev-parse", "next/step")
    with git_server(base) as server:
        done = await clone(f"{server.url}/ok/one.git", tmp_path / "c", ref=wanted)
    assert (done.branch, done.commit) == ("", wanted)


async def test_what_is_not_there_is_said_with_what_is(base: Path, tmp_path: Path) -> None:
    with git_server(base) as server:
        with pytest.raises(RemoteError, match="no branch or tag 'nope'") as caught:
            await clone(f"{server.url}/ok/one.git", tmp_path / "c", ref="nope")
        assert "main, next/step" in caught.value.hint
        with pytest.raises(RemoteError) as caught:
            await clone(f"{server.url}/ok/none.git", tmp_path / "d")
        assert caught.value.data["kind"] == "clone-failed"


async def test_a_server_that_asks_for_credentials_gets_none(base: Path, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """complaints 112: git in the background asks nobody for a password, and finds none by itself."""
    home = tmp_path / "somebody"
    home.mkdir()
    (home / ".git-credentials").write_text("http://ada:canary-of-a-password@127.0.0.1\n")
    (home / ".netrc").write_text("machine 127.0.0.1 login ada password canary-of-a-password\n")
    (home / ".gitconfig").write_text("[credential]\n\thelper = store\n[http]\n\textraHeader = X-Key: canary-of-a-password\n")
    monkeypatch.setenv("HOME", str(home))
    with git_server(base) as server:
        with pytest.raises(RemoteError) as caught:
            await clone(f"{server.url}/secret/one.git", tmp_path / "c")
        assert caught.value.data["kind"] == "clone-auth"
        await clone(f"{server.url}/ok/one.git", tmp_path / "d")
        assert not [value for headers in server.headers for value in headers.values() if "canary" in value]
        assert not [headers for headers in server.headers if "authorization" in headers]


async def test_an_address_is_not_rewritten_by_anybodys_configuration(base: Path, tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "somebody"
    home.mkdir()
    with git_server(base) as server:
        (home / ".gitconfig").write_text(f'[url "{server.url}/secret/"]\n\tinsteadOf = {server.url}/ok/\n')
        monkeypatch.setenv("HOME", str(home))
        await clone(f"{server.url}/ok/one.git", tmp_path / "c")
        assert all(path.startswith("/ok/") for path in server.paths)


async def test_a_redirect_is_not_followed(base: Path, tmp_path: Path) -> None:
    with git_server(base) as server:
        with pytest.raises(RemoteError) as caught:
            await clone(f"{server.url}/moved/one.git", tmp_path / "c")
        assert "elsewhere" in caught.value.hint
        assert all(path.startswith("/moved/") for path in server.paths)


async def test_submodules_are_named_and_not_cloned(base: Path, tmp_path: Path) -> None:
    work = base / "one-work"
    git(work, "submodule", "add", "-q", str(base / "one.git"), "inner")
    git(work, "commit", "-q", "-m", "with a submodule")
    git(base, "clone", "-q", "--bare", str(work), "two.git")
    with git_server(base) as server:
        done = await clone(f"{server.url}/ok/two.git", tmp_path / "c")
        assert all("/two.git" in path for path in server.paths)
    assert done.notes == ["A submodule is named in it; it was not cloned."]
    assert not any((tmp_path / "c" / "inner").iterdir())


async def test_a_name_that_leads_inside_is_not_reached(base: Path, tmp_path: Path) -> None:
    with git_server(base) as server:
        async with running() as child:
            for host in ("127.0.0.1", "localhost"):
                url = server.url.replace("127.0.0.1", host) + "/ok/one.git"
                with pytest.raises(RemoteError, match="not out in the open"):
                    await child.peer.call(Clone(url=url, place=str(tmp_path / "c")))
        assert server.paths == []
    assert not (tmp_path / "c").exists()


async def test_it_ends_at_once_when_a_server_is_silent(base: Path, tmp_path: Path) -> None:
    with git_server(base) as server:
        async with running() as child:
            asked = asyncio.ensure_future(
                child.peer.call(Clone(url=f"{server.url}/silent/one.git", place=str(tmp_path / "c"), literal=True)))
            await asyncio.to_thread(server.silent.wait, 30)
            child.kill()
            with pytest.raises(PeerGone):
                await asked


async def test_progress_is_told(base: Path, tmp_path: Path) -> None:
    told: list[CloneProgress] = []
    with git_server(base) as server:
        async with running(told) as child:
            await child.peer.call(Clone(url=f"{server.url}/ok/one.git", place=str(tmp_path / "c"), literal=True))
    assert told
    assert all(0 <= one.done <= one.total for one in told)


@pytest.mark.parametrize(("bound", "value", "words"), [
    ("MAX_RECEIVED", 1, "larger than"), ("MAX_ENTRIES", 2, "more than a clone may hold"),
    ("MAX_TREE_BYTES", 3, "more than a clone may hold"), ("KEPT_FREE", 1 << 60, "disk is nearly full"),
])  # fmt: skip
def test_what_is_too_much_is_not_written(base: Path, tmp_path: Path, bound: str, value: int, words: str) -> None:
    """Bounds of what comes, of what it would become, and of the disk; nothing is checked out that breaks one."""
    code = (
        "import sys, pathlib; from thetis_kernel.repo import clone as c; from thetis_kernel.repo.job import Job\n"
        "c.isolate(); setattr(c, sys.argv[1], int(sys.argv[2]))\n"
        "try: c.clone(sys.argv[3], pathlib.Path(sys.argv[4]), '', 0, Job(), lambda *told: None)\n"
        "except c.RepoError as error: print(error.kind, error)"
    )
    place = tmp_path / "c"
    with git_server(base) as server:
        command = [sys.executable, "-c", code, bound, str(value), f"{server.url}/ok/one.git", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("too-large") and words in done.stdout, done.stdout + done.stderr
    assert [path.name for path in place.iterdir()] == [".git"]
