"""The commit at a turn's end: what is in it, what is not and why, and that nobody else can get in its way unseen."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.repo import marker, staging

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import Repo, driven, make, root_state


def skipped(answer: object) -> dict[str, str]:
    return {each.path: each.why for each in answer.skipped}  # type: ignore[attr-defined]


def test_everything_that_changed_is_in_the_commit(conversation: Conversation) -> None:
    conversation.make()
    tree = conversation.worktree
    tree.write("a.txt", "two\n")
    tree.write("new/deep/er.txt", "new\n")
    tree.write("do.sh", "#!/bin/sh\n", executable=True)
    (tree.path / "d" / "b.txt").unlink()
    (tree.path / "run.sh").chmod(0o644)
    (tree.path / "link").unlink()
    (tree.path / "link").symlink_to("/etc/passwd")
    tree.write(b"n\xff\xfeme", "not UTF-8\n")
    tree.write("Grüße 日本.txt", "non-ASCII\n")
    tree.write("-rf", "looks like an option\n")
    answer = conversation.commit("Do it\n\nbecause", author="Ada <ada@localhost>")
    assert {(each.status, each.path) for each in answer.changed} == {
        ("M", "a.txt"), ("A", "new/deep/er.txt"), ("A", "do.sh"), ("D", "d/b.txt"), ("M", "run.sh"), ("M", "link"),
        ("A", "n\\xff\\xfeme"), ("A", "Grüße 日本.txt"), ("A", "-rf"),
    }  # fmt: skip
    assert answer.total == 9 and answer.skipped == [] and answer.tip == answer.commit == conversation.root.rev(BRANCH)
    assert conversation.is_clean()
    log = tree.git("log", "-1", "--format=%an <%ae>|%cn <%ce>|%B|%P")
    assert log == f"Ada <ada@localhost>|Thetis <thetis@localhost>|Do it\n\nbecause|{conversation.root.head}"
    modes = [line.split()[0::3] for line in tree.git("ls-tree", "HEAD", "do.sh", "link", "run.sh").splitlines()]
    assert modes == [["100755", "do.sh"], ["120000", "link"], ["100644", "run.sh"]]
    assert tree.show("HEAD:link") == b"/etc/passwd"


def test_nothing_changed_is_no_commit_and_asking_again_adds_none(conversation: Conversation) -> None:
    conversation.make()
    assert (conversation.commit().commit, conversation.commit().tip) == ("", conversation.root.head)
    conversation.worktree.write("a.txt", "two\n")
    first = conversation.commit()
    again = conversation.commit()
    assert first.commit and (again.commit, again.tip, again.changed) == ("", first.commit, [])


@pytest.mark.parametrize("where", [".gitignore", "d/.gitignore", ".git/info/exclude", "~/.config/git/ignore"])
def test_ignored_files_stay_out(where: str, tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    home = tmp_path / "another-home"
    if where.startswith("~"):
        (home / ".config" / "git").mkdir(parents=True)
        (home / ".config" / "git" / "ignore").write_text("*.out\n")
    else:
        (root if where.startswith(".git/") else conversation.worktree).write(where, "*.out\n")
    conversation.worktree.write("d/x.out", "built\n")
    conversation.worktree.write("d/x.txt", "written\n")
    answer = driven("commit", str(root.path), BRANCH, "turn", home=home)
    assert {each["path"] for each in answer["changed"]} - {where} == {"d/x.txt"}


def test_the_users_identity_signs_and_gpg_does_not(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    home = tmp_path / "another-home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@localhost\n\tsigningKey = x\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n"
    )
    conversation.worktree.write("a.txt", "two\n")
    assert driven("commit", str(root.path), BRANCH, "turn", home=home)["commit"]
    assert root.git("log", "-1", "--format=%an <%ae> %G?", BRANCH) == "Ada <ada@localhost> N"


@pytest.mark.parametrize("message", ["", "  \n", "\0", "\ud800", "a\0b", "x" * 100_000])
def test_any_message_makes_a_commit(message: str, conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    assert conversation.commit(message).commit
    assert "\0" not in conversation.worktree.git("log", "-1", "--format=%B")


# What is left out, and said

def test_pipes_sockets_and_devices_are_skipped(conversation: Conversation) -> None:
    conversation.make()
    os.mkfifo(conversation.worktree.path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(conversation.worktree.path)
        listener.bind("socket")
        conversation.worktree.write("a.txt", "two\n")
        (conversation.worktree.path / "d" / "b.txt").unlink()
        os.mkfifo(conversation.worktree.path / "d" / "b.txt")
        answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["a.txt"]
    assert skipped(answer) == {"d/b.txt": "it is a pipe, socket or device"}  # a tracked file's disappearance is no deletion


def test_a_large_file_is_kept_out_and_named(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MAX_FILE", 1024 * 1024)
    conversation.make()
    conversation.worktree.write("fits", b"x" * 1024 * 1024)
    conversation.worktree.write("core", b"x" * (1024 * 1024 + 1))
    answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["fits"] and skipped(answer) == {"core": "it is larger than 1 MiB"}


@pytest.mark.parametrize("name", ["git~1", "sub/.git."])
def test_names_git_refuses_are_skipped_and_the_rest_lands(name: str, conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write(name, "evil\n")
    conversation.worktree.write("a.txt", "two\n")
    answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["a.txt"]
    assert "refuses its name" in skipped(answer)[name]


def test_a_file_that_cannot_be_read_is_skipped_and_the_rest_lands(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thetis_kernel.repo import beneath

    real = beneath.read

    def read(top: int, path: bytes, limit: int) -> beneath.Entry:
        if path == b"closed":
            raise PermissionError(13, "Permission denied")
        return real(top, path, limit)

    monkeypatch.setattr(beneath, "read", read)
    conversation.make()
    conversation.worktree.write("closed", "x\n")
    conversation.worktree.write("a.txt", "two\n")
    answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["a.txt"] and "Permission denied" in skipped(answer)["closed"]


def test_a_full_disk_fails_the_commit_and_costs_nothing(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    conversation.worktree.write("big.bin", os.urandom(300_000))
    answer = driven("commit", str(conversation.root.path), BRANCH, "turn", home=conversation.root.home, largest_file=100_000)
    assert answer["error"] == "write-failed", answer
    assert conversation.root.rev(BRANCH) == conversation.root.head
    assert conversation.commit().total == 2 and conversation.is_clean()


# Filters, LFS, encodings

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"


@pytest.mark.parametrize(
    ("rule", "name", "clause"),
    [
        ("*.bin filter=lfs diff=lfs merge=lfs -text", "big.bin", "it has the filter lfs"),
        ("secret* filter=git-crypt diff=git-crypt", "secret.txt", "it has the filter git-crypt"),
        ("[attr]sealed filter=vault\n*.key sealed", "deep/my.key", "it has the filter vault"),
        ("*.u16 working-tree-encoding=UTF-16", "a.u16", "its encoding is UTF-16"),
    ],
)
def test_a_path_a_program_would_encode_is_never_recorded(rule: str, name: str, clause: str, tmp_path: Path) -> None:
    files = {".gitattributes": rule + "\n", name: "text\n".encode("utf-16"), "plain.txt": "one\n"}
    root = make(tmp_path / "r", **files)  # type: ignore[arg-type]
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    blob = root.rev(f"HEAD:{name}")
    conversation.worktree.write(name, "PLAINTEXT\n")
    conversation.worktree.write("new/" + name.rpartition("/")[2], "PLAINTEXT\n")
    conversation.worktree.write("plain.txt", "two\n")
    answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["plain.txt"]
    assert skipped(answer) == {name: clause, "new/" + name.rpartition("/")[2]: clause}
    assert root.rev(f"{BRANCH}:{name}") == blob
    assert b"PLAINTEXT" not in _all_objects(root)
    assert conversation.worktree.read(name) == b"PLAINTEXT\n"  # kept where it is


def _all_objects(root: Repo) -> bytes:
    ids = root.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    return b"".join(root.show(line.split()[0]) for line in ids.splitlines() if line.endswith("blob"))


@pytest.mark.parametrize("trick", ["edit", "delete", "override below", "two turns"])
def test_an_agent_cannot_lift_a_filter_by_editing_the_attributes(trick: str, tmp_path: Path) -> None:
    """What the branch began with counts: else the next commit would hold the secret in plain text."""
    root = make(tmp_path / "r", **{".gitattributes": "secret* filter=git-crypt\n", "d/secret.txt": "SEALED\n"})
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    tree = conversation.worktree
    if trick == "delete":
        (tree.path / ".gitattributes").unlink()
    elif trick == "override below":
        tree.write("d/.gitattributes", "secret* -filter\n")
    else:
        tree.write(".gitattributes", "secret* -filter\n")
    if trick == "two turns":
        conversation.commit()
    tree.write("d/secret.txt", "PLAINTEXT\n")
    answer = conversation.commit()
    assert skipped(answer) == {"d/secret.txt": "it has the filter git-crypt"}
    assert b"PLAINTEXT" not in _all_objects(root)


def test_the_users_own_index_does_not_decide_what_is_sealed(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{".gitattributes": "secret* filter=git-crypt\n", "secret.txt": "SEALED\n"})
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    root.write(".gitattributes", "secret* -filter\n")
    root.git("add", ".gitattributes")
    conversation.worktree.write(".gitattributes", "")
    conversation.worktree.write("secret.txt", "PLAINTEXT\n")
    assert "secret.txt" in skipped(conversation.commit())


def test_a_sealed_file_may_be_deleted_and_a_pointer_stays_a_pointer(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{".gitattributes": "*.bin filter=lfs\n", "a.bin": LFS, "b.bin": LFS})
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    assert conversation.worktree.read("a.bin") == LFS.encode()
    (conversation.worktree.path / "b.bin").unlink()
    answer = conversation.commit()
    assert [(each.status, each.path) for each in answer.changed] == [("D", "b.bin")] and answer.skipped == []


def test_a_required_filter_checks_out_and_commits_what_is_beside_it(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{"plain.txt": "one\n", "secret": "SEALED\n"})
    root.write(".gitattributes", "secret filter=vault\n")
    root.commit()
    for key, value in (("clean", "false"), ("smudge", "false"), ("required", "true")):
        root.git("config", f"filter.vault.{key}", value)
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    assert conversation.worktree.read("secret") == b"SEALED\n"
    conversation.worktree.write("plain.txt", "two\n")
    assert [each.path for each in conversation.commit().changed] == ["plain.txt"]


def test_utf8_is_no_encoding_worth_a_word(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{".gitattributes": "*.txt working-tree-encoding=UTF-8\n", "a.txt": "one\n"})
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("a.txt", "zwölf\n")
    assert conversation.commit().total == 1


# Line ends

@pytest.mark.parametrize(
    ("config", "attributes", "written", "recorded"),
    [
        ({}, "", b"a\r\nb\r\n", b"a\r\nb\r\n"),
        ({"core.autocrlf": "true"}, "", b"a\r\nb\r\n", b"a\nb\n"),
        ({"core.autocrlf": "input"}, "", b"a\r\nb\r\n", b"a\nb\n"),
        ({"core.autocrlf": "true"}, "", b"a\0b\r\nc\r\n", b"a\0b\r\nc\r\n"),  # binary: as it is, and whole
        ({"core.autocrlf": "true"}, "* -text\n", b"a\r\n", b"a\r\n"),
        ({}, "* text=auto\n", b"a\r\nb\r\n", b"a\nb\n"),
        ({}, "* text=auto\n", b"\0a\r\n", b"\0a\r\n"),
        ({}, "* text\n", b"a\0b\r\nc\r\n", b"a\0b\nc\n"),  # said to be text although it holds a NUL
        ({}, "* eol=crlf\n", b"a\r\nb\0\r\n", b"a\nb\0\n"),
        ({}, "* ident\n", b"$Id: 0123 $\n", b"$Id$\n"),
    ],
)
def test_line_ends_are_recorded_as_git_would(
    config: dict[str, str], attributes: str, written: bytes, recorded: bytes, tmp_path: Path
) -> None:
    root = make(tmp_path / "r", **{"seed.txt": "one\n"})
    for key, value in config.items():
        root.git("config", key, value)
    if attributes:
        root.write(".gitattributes", attributes)
        root.commit()
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("new.txt", written)
    assert conversation.commit().total == 1
    assert conversation.worktree.show("HEAD:new.txt") == recorded
    conversation.worktree.git("add", "--renormalize", "new.txt")
    assert conversation.worktree.git("diff", "--cached", "--name-only") == ""  # git makes the same of it


def test_a_checkout_with_line_ends_is_clean(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{"!/a.txt": "one\ntwo\n", "b.txt": "x\n"})
    root.git("config", "core.autocrlf", "true")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    assert conversation.worktree.read("!/a.txt") == b"one\r\ntwo\r\n"
    assert conversation.commit().commit == "" and conversation.is_clean()


def test_attributes_hold_for_files_whose_names_come_before_theirs(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{"z/.gitattributes": "*.bat eol=crlf\n", "z/!b.bat": "x\ny\n", "z/sub/c.bat": "x\n"})
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    assert conversation.worktree.read("z/!b.bat") == b"x\r\ny\r\n" and conversation.worktree.read("z/sub/c.bat") == b"x\r\n"
    assert conversation.commit().commit == "" and conversation.is_clean()


def test_safecrlf_skips_what_it_objects_to(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    root.git("config", "core.autocrlf", "true")
    root.git("config", "core.safecrlf", "true")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("mixed.txt", b"a\r\nb\n")
    conversation.worktree.write("good.txt", b"a\r\n")
    answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["good.txt"] and "git refuses it" in skipped(answer)["mixed.txt"]


def test_modes_and_links_mean_nothing_where_the_configuration_says_so(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{"run.sh": "x\n"})
    (root.path / "run.sh").chmod(0o755)
    (root.path / "link").symlink_to("run.sh")
    root.commit()
    root.git("config", "core.fileMode", "false")
    root.git("config", "core.symlinks", "false")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    assert not (conversation.worktree.path / "link").is_symlink()
    conversation.worktree.write("run.sh", "y\n").chmod(0o644)
    conversation.worktree.write("link", "elsewhere")
    conversation.worktree.write("new.sh", "y\n", executable=True)
    conversation.commit()
    lines = conversation.worktree.git("ls-tree", "HEAD").splitlines()
    assert {line.split("\t")[1]: line.split()[0] for line in lines} == {
        "run.sh": "100755", "link": "120000", "new.sh": "100644",
    }  # fmt: skip
    assert conversation.worktree.show("HEAD:link") == b"elsewhere"


# Files, directories and links in each other's place

def test_a_file_may_become_a_directory_and_back(conversation: Conversation) -> None:
    conversation.make()
    tree = conversation.worktree
    (tree.path / "a.txt").unlink()
    tree.write("a.txt/inside", "x\n")
    shutil.rmtree(tree.path / "d")
    tree.write("d", "now a file\n")
    conversation.commit()
    assert set(tree.names("HEAD")) == {"a.txt/inside", "d", "link", "run.sh"} and conversation.is_clean()
    shutil.rmtree(tree.path / "a.txt")
    tree.write("a.txt", "back\n")
    (tree.path / "d").unlink()
    (tree.path / "d").symlink_to("/etc")
    conversation.commit()
    assert set(tree.names("HEAD")) == {"a.txt", "d", "link", "run.sh"} and conversation.is_clean()
    assert tree.show("HEAD:d") == b"/etc"


def test_content_is_never_read_through_a_symlink_put_there_in_between(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The race of complaints 108: between the look and the read a directory becomes a link to somebody's secrets."""
    from thetis_kernel.repo import commit as module

    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "b.txt").write_text("SECRET\n")
    conversation.make()
    conversation.worktree.write("d/b.txt", "changed\n")
    real = module.index_changes

    def swap(repository: object, *, update: bool = False) -> object:
        found = real(repository, update=update)  # type: ignore[arg-type]
        shutil.rmtree(conversation.worktree.path / "d")
        (conversation.worktree.path / "d").symlink_to(secrets)
        return found

    monkeypatch.setattr(module, "index_changes", swap)
    conversation.commit()
    assert b"SECRET" not in _all_objects(conversation.root)


# The branch under the worktree

def test_a_commit_of_the_users_own_in_the_worktree_is_built_upon(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("mine.txt", "mine\n")
    theirs = conversation.worktree.commit("by hand")
    conversation.worktree.write("staged.txt", "s\n")
    conversation.worktree.git("add", "staged.txt")  # the index is past the commit by now
    answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["staged.txt"]
    assert conversation.root.rev(f"{BRANCH}~1") == theirs


def test_a_branch_moved_from_outside_is_not_overwritten(conversation: Conversation) -> None:
    conversation.make()
    conversation.root.git("update-ref", f"refs/heads/{BRANCH}", "HEAD~1")
    conversation.worktree.write("a.txt", "two\n")
    with pytest.raises(RepoError) as error:
        conversation.commit()
    assert error.value.kind == "branch-moved" and "update-ref" in error.value.hint
    assert conversation.root.rev(BRANCH) == conversation.root.rev("HEAD~1")
    conversation.root.git("update-ref", f"refs/heads/{BRANCH}", "HEAD")
    assert conversation.commit().total == 1


def test_another_checkout_in_the_worktree_is_said(conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.git("switch", "-q", "--detach")
    conversation.worktree.write("a.txt", "two\n")
    with pytest.raises(RepoError) as error:
        conversation.commit()
    assert error.value.kind == "head-moved" and f"switch {BRANCH}" in error.value.hint
    conversation.worktree.git("switch", "-q", BRANCH)
    assert conversation.commit().total == 1


def test_a_crash_between_branch_and_marker_is_no_move_from_outside(conversation: Conversation) -> None:
    conversation.make()
    before = marker.read_marker(conversation.record)
    conversation.worktree.write("a.txt", "two\n")
    conversation.commit()
    assert before is not None
    marker.write_marker(conversation.record, before)
    (conversation.record / "logs" / "HEAD").unlink()
    conversation.worktree.write("a.txt", "three\n")
    assert conversation.commit().total == 1


def test_a_conflict_is_recorded_as_it_stands_and_said(tmp_path: Path) -> None:
    conversation = Conversation(make(tmp_path / "r"), tmp_path / "wt")
    conversation.make()
    conversation.worktree.git("checkout", "-q", "-b", "side")
    conversation.worktree.write("a.txt", "theirs\n")
    conversation.worktree.commit()
    conversation.worktree.git("checkout", "-q", BRANCH)
    conversation.worktree.write("a.txt", "ours\n")
    conversation.commit()
    conversation.worktree.git("merge", "side", check=False)
    answer = conversation.commit()
    assert b"<<<<<<<" in conversation.root.show(f"{BRANCH}:a.txt")
    assert answer.notes == ["a.txt was in conflict; it is recorded as it stands."]


@pytest.mark.parametrize("spoil", ["split", "garbage", "missing", "empty"])
def test_an_index_that_cannot_be_read_is_rebuilt(spoil: str, conversation: Conversation) -> None:
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    index = conversation.record / "index"
    if spoil == "split":
        conversation.worktree.git("update-index", "--split-index")
        conversation.worktree.git("add", "a.txt")
    elif spoil == "garbage":
        index.write_bytes(b"DIRC" + os.urandom(500))
    elif spoil == "missing":
        index.unlink()
    else:
        index.write_bytes(b"")
    answer = conversation.commit()
    assert [each.path for each in answer.changed] == ["a.txt"] and conversation.is_clean()


# Two conversations, and the root

def test_two_conversations_edit_one_file_and_never_meet(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    before = root_state(root.path)
    one, two = (Conversation(root, tmp_path / name, f"conv/{name}") for name in ("one", "two"))
    for conversation in (one, two):
        conversation.make()
    for turn in range(3):
        for conversation in (one, two):
            conversation.worktree.write("a.txt", f"{conversation.branch} {turn}\n")
        assert one.commit().total == two.commit().total == 1
    assert root.show("conv/one:a.txt") == b"conv/one 2\n" and root.show("conv/two:a.txt") == b"conv/two 2\n"
    assert root.git("rev-list", "--count", "main..conv/one") == root.git("rev-list", "--count", "main..conv/two") == "3"
    assert root.read("a.txt") == b"one\n" and root_state(root.path) == before


def test_twenty_turns_leave_the_root_byte_for_byte_as_it_was(tmp_path: Path) -> None:
    root = make(tmp_path / "r", **{"a.txt": "one\n", "d/b.txt": "b\n"})
    root.write("stashed.txt", "x\n")
    root.git("stash", "-u")
    root.git("pack-refs", "--all")
    root.write("a.txt", "edited, not committed\n")
    root.write("staged.txt", "s\n")
    root.git("add", "staged.txt")
    root.write("untracked.txt", "u\n")
    before, packed = root_state(root.path), root.read(".git/packed-refs")
    status = root.git("--no-optional-locks", "status", "--porcelain")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make(with_changes=True)
    for turn in range(20):
        conversation.worktree.write("a.txt", f"{turn}\n")
        conversation.worktree.write(f"new/{turn}.txt", f"{turn}\n")
        assert conversation.commit(f"turn {turn}").total == 2
    assert root_state(root.path) == before
    assert (root.read(".git/packed-refs"), root.git("--no-optional-locks", "status", "--porcelain")) == (packed, status)
    assert root.git("rev-list", "--count", f"main..{BRANCH}") == "21" and root.git("stash", "list")
