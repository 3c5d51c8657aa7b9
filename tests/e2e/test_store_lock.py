"""The root lock (D6): one owner, known at once, gone with its process and never earlier or later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.errors import StoreError, StoreLocked
from thetis_kernel.store.lock import RootLock
from thetis_kernel.store.store import Store

ROOT = Path(__file__).parents[2]


class Holder:
    """Another process that has the log open."""

    def __init__(self, directory: Path, command: str = "hold", cwd: Path = ROOT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.store_client", str(directory), command],
            cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.children: list[int] = []
        assert self.process.stdout
        self.said = self.process.stdout.readline().split()
        if self.said and self.said[0] == "child":
            self.children.append(int(self.said[1]))
            self.said = self.process.stdout.readline().split()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def end(self) -> None:
        for child in self.children:
            os.kill(child, signal.SIGKILL)
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    held = Holder(tmp_path / "data")
    assert held.said == ["open", str(held.process.pid)]
    yield held
    held.end()


def test_a_second_owner_is_refused_with_the_first_ones_pid(tmp_path: Path, holder: Holder) -> None:
    with pytest.raises(StoreLocked) as caught:
        Store.open(tmp_path / "data")
    assert caught.value.pid == holder.process.pid
    assert str(holder.process.pid) in str(caught.value)


def test_a_second_process_is_refused_from_anywhere(tmp_path: Path, holder: Holder) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "data")
    for directory, cwd in ((link, ROOT), (Path("data"), tmp_path)):
        second = Holder(directory, cwd=cwd)
        assert second.said[:2] == ["locked", str(holder.process.pid)]
        assert second.process.wait(10) == 3
        second.end()


def test_a_stopped_owner_is_still_the_owner(tmp_path: Path, holder: Holder) -> None:
    holder.process.send_signal(signal.SIGSTOP)
    with pytest.raises(StoreLocked):
        Store.open(tmp_path / "data")
    holder.process.send_signal(signal.SIGCONT)


def test_a_killed_owner_is_the_owner_no_more(tmp_path: Path, holder: Holder) -> None:
    holder.kill()
    Store.open(tmp_path / "data").close()


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    parent = Holder(tmp_path / "data", "child")
    parent.kill()
    os.kill(parent.children[0], 0)  # the child lives
    Store.open(tmp_path / "data").close()
    parent.end()


def test_an_owner_that_closed_is_the_owner_no_more(tmp_path: Path) -> None:
    first = Store.open(tmp_path / "data")
    with pytest.raises(StoreLocked) as caught:
        Store.open(tmp_path / "data")
    assert caught.value.pid == os.getpid()
    first.close()
    Store.open(tmp_path / "data").close()


def test_a_stale_pid_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "kernel.lock").write_text("1\n")
    lock = RootLock.acquire(tmp_path)
    assert (tmp_path / "kernel.lock").read_text() == f"{os.getpid()}\n"
    lock.release()
    lock.release()


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "kernel.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        RootLock.acquire(tmp_path)
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_a_failed_open_gives_the_lock_back(tmp_path: Path) -> None:
    (tmp_path / "thetis.db").write_bytes(b"not a database" * 100)
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            Store.open(tmp_path)
        assert not isinstance(caught.value, StoreLocked)
