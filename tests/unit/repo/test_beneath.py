"""Reading and writing below a directory: whatever stands there, nothing outside is read, made or removed."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thetis_kernel.repo import beneath
from thetis_kernel.repo.beneath import Entry

NAMES = st.sampled_from([b"a", b"b", b"link", b"up", b"\xff", b".."])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(b"/".join)
ENTRIES = st.one_of(
    st.builds(Entry, st.just("file"), st.booleans(), st.binary(max_size=20)),
    st.builds(Entry, st.just("link"), st.just(False), st.sampled_from([b"..", b"/", b"../outside", b"a", b"/etc/passwd"])),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(["write", "remove", "read"]), PATHS, ENTRIES), max_size=12))
def test_no_sequence_of_steps_leads_outside(steps: list[tuple[str, bytes, Entry]], tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    for directory in (top, outside):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
    (outside / "a").write_text("precious\n")
    (top / "up").symlink_to("../outside")
    with beneath.opened(top) as fd:
        for what, path, entry in steps:
            try:
                if what == "write":
                    beneath.write(fd, path, entry)
                    assert beneath.read(fd, path, 100) == entry
                elif what == "remove":
                    beneath.remove(fd, path)
                    assert beneath.read(fd, path, 100) == beneath.MISSING
                else:
                    assert beneath.read(fd, path, 100).data != b"precious\n"
            except NotADirectoryError:
                assert b".." in path.split(b"/")
    assert sorted(os.listdir(tmp_path)) == sorted({"home", "top", "outside"} & set(os.listdir(tmp_path)))
    assert os.listdir(outside) == ["a"] and (outside / "a").read_text() == "precious\n"


def test_what_stands_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "run").write_bytes(b"")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with beneath.opened(tmp_path) as top:
        names = ("file", "run", "link", "dir", "pipe", "none", "file/x", "dir/x")
        found = {name: beneath.read(top, name.encode(), 5) for name in names}
        assert beneath.read(top, b"file", 4).kind == "large"
    assert found == {
        "file": Entry("file", False, b"12345"), "run": Entry("file", True, b""), "link": Entry("link", False, b"nowhere"),
        "dir": Entry("directory", False, b""), "pipe": Entry("special", False, b""), "none": beneath.MISSING,
        "file/x": beneath.MISSING, "dir/x": beneath.MISSING,
    }  # fmt: skip


@pytest.mark.timeout(30)
def test_no_race_reads_through_a_swapped_link(tmp_path: Path) -> None:
    """A thread swaps a directory for a link to another's files and back; reads see ours or nothing (complaints 108)."""
    secrets, top = tmp_path / "secrets", tmp_path / "top"
    for directory, text in ((secrets, "SECRET"), (top / "real", "ours")):
        directory.mkdir(parents=True)
        (directory / "f").write_text(text)
    (top / "evil").symlink_to(secrets)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("real", "evil"):
                os.rename(top / name, top / "d")
                os.rename(top / "d", top / name)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    try:
        with beneath.opened(top) as fd:
            for _ in range(20_000):
                seen.add(beneath.read(fd, b"d/f", 100).data)
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"ours", b""} and b"ours" in seen


def test_an_executable_and_a_link_are_made_as_such(tmp_path: Path) -> None:
    with beneath.opened(tmp_path) as top:
        beneath.write(top, b"d/run", Entry("file", True, b"#!"))
        beneath.write(top, b"d/link", Entry("link", False, b"run"))
        beneath.write(top, b"d", Entry("file", False, b"now a file"))
    assert (tmp_path / "d").read_bytes() == b"now a file"
