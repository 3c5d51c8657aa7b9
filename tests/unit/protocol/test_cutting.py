"""No cut splits what a reader sees as one character, wherever a text is cut."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thetis_kernel.gateway import plain_kinds
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.blocks import Block, RenderedEvent, bounded
from thetis_kernel.protocol.cutting import LONGEST, head, head_of, shortened, tail, tail_of
from thetis_kernel.store import summary
from thetis_kernel.toolhost import bounds, files
from thetis_kernel.walls.capture import Capture

from thetis_tui.text import cut, cut_left

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
CLUSTERS = (
    "a", "z", "0", " ", "\r\n", "é", "e\u0301", "e\u0301\u0323\u0302", "ß", "漢", "한", "\u1112\u1161\u11ab", "🙂",
    "👍\U0001f3fd", FAMILY, "❤\ufe0f", "🇩🇪", "🇫🇷", "1\ufe0f\u20e3",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\u0915\u094d\u200d\u0937", "\u0e01\u0e34\u0e48",
)  # fmt: skip
texts = st.lists(st.sampled_from(CLUSTERS), max_size=40)


def starts(parts: list[str], text: str) -> bool:
    """Whether `text` is some of the first clusters, whole."""
    return text in {"".join(parts[:n]) for n in range(len(parts) + 1)}


def ends(parts: list[str], text: str) -> bool:
    return text in {"".join(parts[n:]) for n in range(len(parts) + 1)}


@given(texts, st.integers(0, 120))
@example(["🇩🇪"] * 40, 3)
@example([FAMILY] * 6, 8)
def test_what_is_kept_are_whole_characters_and_not_more(parts: list[str], limit: int) -> None:
    text = "".join(parts)
    kept = head(text, limit)
    assert starts(parts, kept) and len(kept) <= limit
    assert ends(parts, tail(text, limit)) and len(tail(text, limit)) <= limit
    data = text.encode()
    assert starts(parts, head_of(data, limit)) and len(head_of(data, limit).encode()) <= limit
    assert ends(parts, tail_of(data, limit)) and len(tail_of(data, limit).encode()) <= limit
    longest = max(map(len, parts), default=0)
    assert len(kept) > limit - longest or len(kept) == len(text), "no more is lost than the character that is cut"
    if len(text) > limit > 1:
        assert shortened(text, limit) == head(text, limit - 1).rstrip() + "…"


@given(st.binary(max_size=300), st.integers(0, 200))
def test_bytes_that_are_no_text_are_cut_as_well(data: bytes, limit: int) -> None:
    assert len(head_of(data, limit)) <= limit
    assert data.decode("utf-8", "replace").startswith(head_of(data, limit))
    assert data.decode("utf-8", "replace").endswith(tail_of(data, limit))


def test_a_text_that_joins_for_ever_is_cut_anyway() -> None:
    zalgo = "e" + "\u0301" * 10_000
    assert len(head(zalgo, 5_000)) == 5_000
    assert len(tail(zalgo, 5_000)) >= 5_000 - LONGEST


def blocks(text: str) -> str:
    return bounded(RenderedEvent(1, [Block("note", body=text)])).blocks[0].body


def captured(limit: int) -> Callable[[str], str]:
    def run(text: str) -> str:
        capture = Capture(limit)
        data = text.encode()
        for at in range(0, len(data), 7):
            capture.feed(data[at : at + 7])
        return capture.text()

    return run


SITES: dict[str, tuple[Callable[[str], str], str]] = {
    "a result": (lambda text: bounds.cut(text, 4_000)[0], "\n[... "),
    "a line of a file": (files._cut_line, " [... "),
    "a command's output": (captured(4_000), "\n[... "),
    "a command's output, one byte more": (captured(3_001), "\n[... "),
    "a title": (summary.title, "…"),
    "a value of the plain renderer": (plain_kinds._short, " ..."),
    "a row of a pane": (lambda text: cut(text, 37), "…"),
}


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("shift", range(8))
@pytest.mark.parametrize("cluster", [FAMILY, "e\u0301\u0323", "🇩🇪", "👍\U0001f3fd", "漢"])
def test_every_place_that_cuts(site: str, shift: int, cluster: str) -> None:
    """A text of one character over and over, moved by a few letters: what is left of it is that character, whole.

    A space behind each: nobody can tell the flags of an endless row apart without its beginning.
    """
    run, mark = SITES[site]
    text = "x" * shift + f"{cluster} " * 4_000
    out = run(text)
    first = out.partition(mark)[0]
    assert first != out, "it was cut"
    assert first.lstrip("x").replace(cluster, "").strip() == ""
    if mark == "\n[... ":
        rest = out.partition(" bytes left out ...]\n")[2]
        assert rest and rest.replace(cluster, "").strip() == ""
        left_out = int(out.partition(mark)[2].split(" ")[0])
        assert left_out == len(text.encode()) - len(first.encode()) - len(rest.encode())


def test_a_path_cut_from_the_left_keeps_characters() -> None:
    assert cut_left("docs/" + FAMILY * 30, 9)[1:].replace(FAMILY, "") == ""


def test_what_a_guest_renders_is_bounded_at_a_character() -> None:
    assert blocks("x" + FAMILY * 30_000)[1:].replace(FAMILY, "") == ""


@given(texts, st.integers(0, 120))
def test_the_agent_cuts_as_the_kernel_does(parts: list[str], limit: int) -> None:
    assert agents.head("".join(parts), limit) == head("".join(parts), limit)


_FILE = Path(__file__).parents[3] / "aspects/agent_core/cutting.py"
_SPEC = importlib.util.spec_from_file_location("agents_cutting", _FILE)
assert _SPEC is not None and _SPEC.loader is not None
agents = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(agents)
assert cutting.LONGEST == agents.LONGEST
