"""Bounded output: what is kept, what is left out, and that no character is cut in two."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol import cutting
from thetis_kernel.walls.capture import Capture, LiveText

CHUNKS = st.lists(st.binary(max_size=40), max_size=20)


@given(CHUNKS, st.integers(0, 200))
def test_all_of_it_or_its_start_and_its_end(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    capture = Capture(limit)
    for chunk in chunks:
        capture.feed(chunk)

    assert capture.total == len(whole)
    assert capture.truncated == (len(whole) > limit)
    text = capture.text()
    if not capture.truncated:
        assert text == whole.decode("utf-8", "replace")
        return
    assert re.search(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", text)


@given(st.text(min_size=1, max_size=300), st.integers(0, 100), st.integers(1, 7))
def test_text_is_never_cut_inside_a_character(text: str, limit: int, step: int) -> None:
    data = text.encode("utf-8", "replace")
    capture = Capture(limit)
    for start in range(0, len(data), step):
        capture.feed(data[start : start + step])

    clean = data.decode()
    if not capture.truncated:
        assert capture.text() == clean
        return
    parts = re.fullmatch(r"(.*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n(.*)", capture.text(), re.DOTALL)
    assert parts is not None
    head, missing, tail = parts.groups()
    assert clean.startswith(head)
    assert clean.endswith(tail)
    assert len(head.encode()) + int(missing) + len(tail.encode()) == len(data)
    assert int(missing) <= len(data) - limit + 8 * cutting.LONGEST  # bytes of a visible character at either side


@given(CHUNKS, st.integers(0, 60), st.integers(0, 200))
def test_the_spilled_file_is_the_start_of_everything(chunks: list[bytes], limit: int, spill_limit: int) -> None:
    import tempfile

    whole = b"".join(chunks)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "spill"
        capture = Capture(limit, path, spill_limit)
        for chunk in chunks:
            capture.feed(chunk)
        capture.close()

        assert path.exists() == capture.truncated
        assert capture.spill == (str(path) if capture.truncated else "")
        if capture.truncated:
            assert path.read_bytes() == whole[:spill_limit]


def test_a_spill_file_that_exists_or_is_a_link_is_not_touched(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(victim)
    for path in (victim, link):
        capture = Capture(2, path, 100)
        capture.feed(b"longer than two")
        capture.close()

        assert capture.spill == ""
        assert capture.trouble.startswith("The whole output could not be kept")
    assert victim.read_text() == "mine"


@given(st.text(max_size=100), st.integers(1, 5))
def test_live_text_adds_up(text: str, step: int) -> None:
    data = text.encode("utf-8", "replace")
    live = LiveText(10_000)
    heard = [live.feed(data[start : start + step]) for start in range(0, len(data), step)]

    assert "".join(heard) + live.end() == data.decode()


def test_live_text_ends_at_its_limit() -> None:
    live = LiveText(5)

    assert live.feed(b"abc") + live.feed(b"defgh") + live.feed(b"i") == "abcde"
