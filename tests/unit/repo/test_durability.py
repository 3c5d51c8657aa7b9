"""What reaches the disk before an answer does, seen from the system calls (reliability, finding 10)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from thetis_kernel.repo import blobs

from tests.support.conversations import BRANCH, Conversation
from tests.support.repos import CHECKOUT, environment, make


def test_many_files_are_written_as_git_would_and_synced_once_before_anything_refers_to_them(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation.make()
    synced: list[int] = []
    loose = conversation.root.path / ".git" / "objects"

    def sync(path: Path) -> None:
        assert path == loose and b"many/1.bin" not in (conversation.record / "index").read_bytes()
        synced.append(sum(len(names) for _, _, names in os.walk(loose)))

    monkeypatch.setattr(blobs, "sync_filesystem", sync)
    for number in range(blobs.MANY + 1):
        conversation.worktree.write(f"many/{number}.bin", os.urandom(number * 37))
    conversation.worktree.write("same/a", "one\n")  # its content is in the database already
    before = sum(len(names) for _, _, names in os.walk(loose))
    assert conversation.commit().total == blobs.MANY + 2
    assert synced == [before + blobs.MANY + 1]
    assert conversation.is_clean() and conversation.root.git("fsck", "--strict", "--no-dangling") == ""
    for number in (0, 1, blobs.MANY):
        assert conversation.worktree.show(f"HEAD:many/{number}.bin") == conversation.worktree.read(f"many/{number}.bin")
    assert not [name for _, _, names in os.walk(loose) for name in names if name.startswith("tmp_")]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to see what is synced")
def test_a_commit_is_synced_objects_first_then_the_branch(tmp_path: Path) -> None:
    root = make(tmp_path / "r")
    conversation = Conversation(root, tmp_path / "wt")
    conversation.make()
    conversation.worktree.write("a.txt", "two\n")
    log = tmp_path / "trace"
    call = f'{{"function": "commit", "arguments": ["{root.path}", "{BRANCH}", "turn"], "keywords": {{}}, "largest_file": 0}}'
    command = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=fsync,fdatasync,rename,link,unlink",
               sys.executable, "-m", "tests.support.repo_driver", call]  # fmt: skip
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False,
                          env={**environment(root.home), "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    if "ptrace" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    lines = log.read_text(errors="replace").splitlines()
    branch = next(number for number, line in enumerate(lines) if "rename(" in line and f"{BRANCH}\"" in line)
    synced = [line for line in lines[:branch] if "fsync(" in line]
    assert sum("/objects/" in line for line in synced) >= 3  # blob, tree, commit, and their directories
    assert any(f"{BRANCH}.lock" in line for line in synced)
    assert any("fsync(" in line and f"/{BRANCH.split('/')[0]}>" in line for line in lines[branch:])
