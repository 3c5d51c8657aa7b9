"""The time machine's files: what is kept is what stood there, and going back gives exactly that, whatever happened since."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thetis_kernel.errors import RepoError
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.snapshots import scan, taking
from thetis_kernel.repo.snapshots.restoring import restore
from thetis_kernel.repo.snapshots.seeding import seeded
from thetis_kernel.repo.snapshots.taking import drop, find, take
from thetis_kernel.toolhost.guarded import Guard

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import make, root_state

S = "conversation-1"


def digest(top: Path) -> dict[str, str]:
    """Everything below `top` but its `.git`: path -> kind, executable bit, content."""
    found = {}
    for where, directories, names in os.walk(top):
        for name in [*directories, *names]:
            path = Path(where, name)
            inside = str(path.relative_to(top))
            if inside == ".git":
                continue
            seen = path.lstat()
            if path.is_symlink():
                found[inside] = f"link {os.readlink(path)}"
            elif path.is_dir():
                found[inside] = "directory"
            else:
                found[inside] = f"{bool(seen.st_mode & stat.S_IXUSR)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found


class Machine:
    """Snapshots of one conversation's worktree; each is taken at the next number."""

    def __init__(self, conversation: Conversation) -> None:
        self.root = str(conversation.root.path)
        self.repo = conversation.root
        self.tree = conversation.worktree
        self.seq = 0
        self.job = Job(secret=lambda data: b"canary" in data, guarded=Guard().holds)

    def take(self) -> str:
        self.seq += 1
        return take(self.root, BRANCH, S, self.seq, self.job).commit

    def restore(self, commit: str):  # type: ignore[no-untyped-def]
        self.seq += 1
        return restore(self.root, BRANCH, commit, S, self.seq, self.job)

    def digest(self) -> dict[str, str]:
        return digest(self.tree.path)


@pytest.fixture
def machine(conversation: Conversation) -> Machine:
    conversation.make()
    return Machine(conversation)


def test_every_kind_of_file_comes_back(machine: Machine) -> None:
    """complaints 109: what a tool did to the tree is undone whole, untracked files included."""
    tree = machine.tree
    tree.write(".gitignore", "ignored/\n*.log\n")
    tree.write("untracked.txt", "new\n")
    tree.write("ignored/kept.bin", bytes(range(256)) * 40)
    tree.write("a.log", "ignored\n")
    tree.write(b"n\xff\xfeme", "not UTF-8\n")
    tree.write("do.sh", "#!/bin/sh\n", executable=True)
    tree.write("crlf.txt", "one\r\ntwo\n")
    (tree.path / "empty" / "inner").mkdir(parents=True)
    (tree.path / "away").symlink_to("/etc/passwd")
    (tree.path / "into").symlink_to("d")
    before = machine.digest()
    kept = machine.take()
    shutil.rmtree(tree.path / "ignored")
    shutil.rmtree(tree.path / "empty")
    (tree.path / "away").unlink()
    tree.write("away/now/a/directory", "x")
    (tree.path / "into").unlink()
    (tree.path / "do.sh").chmod(0o644)
    tree.write("crlf.txt", "changed\n")
    (tree.path / "untracked.txt").unlink()
    tree.write("later/file", "x")
    (tree.path / "d" / "b.txt").unlink()
    changed = machine.digest()
    answer = machine.restore(kept)
    assert machine.digest() == before and answer.kept == []
    machine.restore(answer.before)
    assert machine.digest() == changed, "going back can be undone"
    assert machine.repo.git("fsck", "--strict") == ""


def test_nothing_new_is_one_snapshot_with_the_latest_label(machine: Machine) -> None:
    first = take(machine.root, BRANCH, S, 5, machine.job)
    again = take(machine.root, BRANCH, S, 9, machine.job)
    assert first.new and not again.new
    machine.tree.write("a.txt", "changed\n")
    later = take(machine.root, BRANCH, S, 12, machine.job)
    assert machine.repo.git("rev-list", "--count", later.commit) == "2"
    found = [find(machine.root, BRANCH, S, seq, 0) for seq in (1, 5, 6, 9, 10, 12, 13)]
    assert found == [again.commit] * 4 + [later.commit] * 2 + [""]


def test_another_conversation_of_the_branch_is_found_by_time(machine: Machine) -> None:
    taken = take(machine.root, BRANCH, "child", 3, machine.job).commit
    made = int(machine.repo.git("log", "-1", "--format=%B", taken).split("Thetis-Taken: ")[1])
    assert find(machine.root, BRANCH, S, 500, made - 1) == taken
    assert find(machine.root, BRANCH, S, 500, made + 1) == ""


def test_secrets_and_guarded_files_are_left_out_and_left_alone(machine: Machine) -> None:
    machine.tree.write(".env", "PASSWORD=x\n")
    machine.tree.write("notes.txt", "the canary word\n")
    taken = take(machine.root, BRANCH, S, 1, machine.job)
    assert {each.path for each in taken.left_out} == {".env", "notes.txt"}
    machine.tree.write("b.txt", "later\n")
    machine.restore(taken.commit)
    assert machine.tree.read(".env") == b"PASSWORD=x\n" and machine.tree.read("notes.txt") == b"the canary word\n"
    assert not (machine.tree.path / "b.txt").exists()


def test_what_no_snapshot_holds_is_never_overwritten(machine: Machine) -> None:
    machine.tree.write("plan", "a file\n")
    machine.tree.write("words.txt", "plain\n")
    kept = machine.take()
    (machine.tree.path / "plan").unlink()
    machine.tree.write("plan/.env", "PASSWORD=x\n")
    machine.tree.write("words.txt", "the canary word\n")
    answer = machine.restore(kept)
    assert {each.path for each in answer.kept} == {"plan", "words.txt"}
    assert machine.tree.read("plan/.env") == b"PASSWORD=x\n" and machine.tree.read("words.txt") == b"the canary word\n"


def test_what_stands_in_a_directory_that_is_left_out_by_now_is_not_overwritten(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build directory that was small when it was kept: no snapshot holds what is in it now."""
    monkeypatch.setattr(scan, "IGNORED_FILES", 20)
    monkeypatch.setattr(taking, "_STILL_NS", -(10**9))  # what was just written is remembered, as it is a moment later
    machine.tree.write(".gitignore", "build/\n")
    machine.tree.write("build/deep/one", "old\n")
    machine.tree.write("build/top", "old\n")
    kept = machine.take()
    assert "build/deep/one" in machine.repo.names(kept)
    machine.tree.write("build/deep/one", "new\n")
    machine.tree.write("build/top", "new\n")
    for number in range(30):
        machine.tree.write(f"build/deep/{number}", "x")
    later = take(machine.root, BRANCH, S, 50, machine.job)
    assert [each.path for each in later.left_out] == ["build"], "what grew is measured again"
    answer = machine.restore(kept)
    assert machine.tree.read("build/deep/one") == machine.tree.read("build/top") == b"new\n"
    assert [each.path for each in answer.kept] == ["build"], "and told once"


def test_a_secret_that_took_the_place_of_a_directory_is_not_removed(machine: Machine) -> None:
    machine.tree.write("keys/a/file", "plain\n")
    kept = machine.take()
    shutil.rmtree(machine.tree.path / "keys")
    machine.tree.write("keys", "the canary word\n")
    answer = machine.restore(kept)
    assert machine.tree.read("keys") == b"the canary word\n" and [each.path for each in answer.kept] == ["keys"]


def test_large_ignored_directories_are_left_out_for_good(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "IGNORED_FILES", 20)
    machine.tree.write(".gitignore", "modules/\nsmall/\n")
    for number in range(30):
        machine.tree.write(f"modules/m{number}", "x")
    machine.tree.write("small/one", "x")
    taken = take(machine.root, BRANCH, S, 1, machine.job)
    assert [each.path for each in taken.left_out] == ["modules"]
    assert "small/one" in machine.repo.names(taken.commit)
    machine.tree.write("modules/more", "x")
    machine.restore(taken.commit)
    assert (machine.tree.path / "modules" / "more").exists()


def test_a_repository_inside_is_left_alone(machine: Machine) -> None:
    machine.tree.write("inner/.git/config", "[core]\n")
    machine.tree.write("inner/file", "one\n")
    kept = machine.take()
    machine.tree.write("inner/.git/config", "[core]\nbare = false\n")
    machine.tree.write("inner/file", "two\n")
    machine.restore(kept)
    assert machine.tree.read("inner/file") == b"one\n"
    assert machine.tree.read("inner/.git/config") == b"[core]\nbare = false\n"


def test_links_are_never_followed(machine: Machine, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("mine\n")
    kept = machine.take()
    shutil.rmtree(machine.tree.path / "d")
    (machine.tree.path / "d").symlink_to(outside)
    machine.restore(kept)
    assert (outside / "b.txt").read_text() == "mine\n" and machine.tree.read("d/b.txt") == b"b\n"
    assert not (machine.tree.path / "d").is_symlink()


def test_the_index_and_the_branch_are_not_touched(machine: Machine) -> None:
    machine.tree.write("a.txt", "two\n")
    tip, status = machine.repo.rev(BRANCH), machine.tree.git("status", "--porcelain")
    kept = machine.take()
    assert (machine.repo.rev(BRANCH), machine.tree.git("status", "--porcelain")) == (tip, status)
    machine.restore(kept)
    assert machine.repo.rev(BRANCH) == tip


def test_too_many_files_is_said(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MAX_FILES", 3)
    with pytest.raises(RepoError, match="more than"):
        machine.take()


def test_dropped_snapshots_are_gone(machine: Machine) -> None:
    machine.take()
    drop(machine.root, BRANCH)
    drop(machine.root, BRANCH)
    assert machine.repo.git("for-each-ref", "refs/thetis") == "" and find(machine.root, BRANCH, S, 0, 0) == ""


NAMES = st.sampled_from(["a.txt", "d", "d/b.txt", "d/e", "d/e/f", "x", "x.log", "out/y", "é", "sp ace"])
CONTENT = st.sampled_from(["", "one\n", "two\r\n", "x" * 5000])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, CONTENT), st.tuples(st.just("run"), NAMES, CONTENT),
        st.tuples(st.just("link"), NAMES, CONTENT), st.tuples(st.just("drop"), NAMES, CONTENT),
        st.tuples(st.just("directory"), NAMES, CONTENT), st.tuples(st.just("take"), NAMES, CONTENT),
    ),
    max_size=14,
)  # fmt: skip


def perform(top: Path, what: str, name: str, content: str) -> None:
    """One change of the worktree, whatever is in its way."""
    path = top / name
    for each in [*reversed(path.relative_to(top).parents)][1:]:
        if (top / each).is_symlink() or (top / each).is_file():
            (top / each).unlink()
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    if what == "drop":
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "link":
        path.symlink_to(content[:20].strip() or "nowhere")
    elif what == "directory":
        path.mkdir()
    else:
        path.write_bytes(content.encode())
        path.chmod(0o755 if what == "run" else 0o644)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(STEPS, st.integers(0, 10))
def test_any_history_of_files_can_be_gone_back_in(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]],
                                                  pick: int) -> None:
    base = tmp_path_factory.mktemp("any")
    root = make(base / "r", **{"a.txt": "one\n", "d/b.txt": "b\n", ".gitignore": "*.log\nout/\n"})
    before = root_state(root.path)
    conversation = Conversation(root, base / "wt")
    conversation.make()
    machine = Machine(conversation)
    taken = [(machine.take(), machine.digest())]
    for what, name, content in steps:
        if what == "take":
            taken.append((machine.take(), machine.digest()))
        else:
            perform(machine.tree.path, what, name, content)
    last = machine.digest()
    commit, wanted = taken[pick % len(taken)]
    answer = machine.restore(commit)
    assert machine.digest() == wanted and answer.kept == []
    machine.restore(answer.before)
    assert machine.digest() == last and root_state(root.path) == before
    shutil.rmtree(base)


def test_a_fresh_checkout_is_known_from_gits_index_and_only_unchanged_files_are(machine: Machine) -> None:
    index = machine.repo.path / ".git" / "worktrees" / BRANCH.replace("/", "-") / "index"
    later = index.stat().st_mtime_ns + 2_000_000_000
    os.utime(index, ns=(later, later))  # as if the checkout was not of this very moment
    known = seeded(index).files
    assert {path.decode() for path in known} == {"a.txt", "d/b.txt", "run.sh", "link"}
    for path, seen in known.items():
        stands = (machine.tree.path / path.decode()).lstat()
        assert (seen.ctime, seen.mtime, seen.size, seen.inode) == (
            stands.st_ctime_ns, stands.st_mtime_ns, stands.st_size, stands.st_ino)
        kind = "100755" if path == b"run.sh" else "120000" if path == b"link" else "100644"
        told = machine.repo.git("rev-parse", f"HEAD:{path.decode()}")
        assert (f"{seen.mode:o}", seen.blob.hex()) == (kind, told)
    machine.tree.write("a.txt", "changed\n")
    kept = machine.take()
    assert machine.repo.show(f"{kept}:a.txt") == b"changed\n"
    assert set(machine.repo.names(kept)) == {"a.txt", "d/b.txt", "run.sh", "link"}


@pytest.mark.parametrize("name", [".gitattributes", "d/.gitattributes"])
def test_where_attributes_convert_content_every_file_is_read(tmp_path: Path, name: str) -> None:
    root = make(tmp_path / "r", **{"a.txt": "one\r\n", "d/b.txt": "two\n", name: "*.txt text eol=crlf\n"})
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    assert seeded(conversation.record / "index").files == {}
    machine = Machine(conversation)
    before = machine.digest()
    kept = machine.take()
    (machine.tree.path / "d" / "b.txt").unlink()
    machine.restore(kept)
    assert machine.digest() == before


@pytest.mark.parametrize("data", [b"", b"DIRC", b"DIRC\0\0\0\x04\0\0\0\x01", b"DIRC\0\0\0\x02\0\0\xff\xff" + b"x" * 500])
def test_an_index_that_cannot_be_read_is_no_memory(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "index").write_bytes(data)
    assert seeded(tmp_path / "index").files == {}


@pytest.mark.slow
def test_200_mb_come_back(machine: Machine) -> None:
    machine.tree.write(".gitignore", "ignored.bin\n")
    block = os.urandom(1 << 20)
    for name in ("untracked.bin", "ignored.bin"):
        with open(machine.tree.path / name, "wb") as file:
            for number in range(200):
                file.write(number.to_bytes(4, "big") + block)
    before = machine.digest()
    kept = machine.take()
    for name in ("untracked.bin", "ignored.bin"):
        (machine.tree.path / name).write_bytes(b"short")
    assert machine.restore(kept).written == 2
    assert machine.digest() == before
