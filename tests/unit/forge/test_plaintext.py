from __future__ import annotations

import re
import time
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol.blocks import FORMATS, KINDS, MAX_BODY, TONES, Block, RenderedEvent, bounded
from thetis_kernel.protocol.plaintext import clean_line, clean_text

HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]52;c;cm0gLXJm\x1b\\text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1;2q...\x1b\\text", "text"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1b(Btext", "text"),
        ("\x1bctext", "text"),
        ("\x1b", ""),
        ("\x1b[", ""),
        ("\x1b]0;never ended", "0;never ended"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\x0bb\u2028c", "a\nb\nc"),
        ("rm \u202egnp.exe", "rm gnp.exe"),
        ("\u2066x\u2069", "x"),
        ("a\x00b\x7fc\x85d", "abcd"),
        ("\ud83d alone", "\ufffd alone"),
        ("\U0001f469\u200d\U0001f52c naïve 日本", "\U0001f469\u200d\U0001f52c naïve 日本"),
        ("\x1b\x1b[31m[31mx", "[31mx"),
    ],
)
def test_examples(text, clean):
    assert clean_text(text) == clean


def test_a_line_is_one_line():
    assert clean_line(" a\n\n b\tc \x1b[1m") == "a  b c"


SPECIAL = "\x1b\x07\x9b\x9d\x9c\x90\r\n\t[]PX^_;0mq\\ \u202e\u2066\u2028\ud800"
pieces = st.text(st.one_of(st.sampled_from(SPECIAL), st.characters()), max_size=60)


@given(pieces)
def test_nothing_hostile_survives_and_twice_is_once(text):
    clean = clean_text(text)
    assert not HOSTILE.search(clean)
    assert clean_text(clean) == clean
    clean.encode()
    assert not any(unicodedata.category(c) == "Cc" for c in clean if c not in "\t\n")


@pytest.mark.parametrize("piece", ["\x1b]", "\x90", "\x9b", "\x1b[", "\x1b ", "\x9d\x1b", "\r", "\ud800", "\x1b[0;"])
def test_cleaning_is_linear(piece):
    started = time.process_time()
    clean_text(piece * (200_000 // len(piece)))
    assert time.process_time() - started < 1.0


def words(n=20):
    return st.one_of(pieces, st.sampled_from(sorted(KINDS | TONES | FORMATS)), st.text(max_size=n))


blocks = st.builds(
    Block, kind=words(), seq=st.integers(), title=words(), body=words(), format=words(), language=words(), tone=words(),
    folded=st.booleans(), call=words(), fields=st.lists(st.tuples(words(), words()), max_size=40),
)  # fmt: skip


@given(st.integers(0, 2**40), st.lists(blocks, max_size=20))
def test_bounded_blocks_are_of_known_words_clean_and_stay_so(seq, found):
    done = bounded(RenderedEvent(seq, found))
    assert done.seq == seq and len(done.blocks) == min(len(found), 16)
    for block in done.blocks:
        assert block.seq == seq
        assert block.kind in KINDS and block.tone in TONES and block.format in FORMATS
        texts = [block.title, block.body, block.language, block.call, *(t for field in block.fields for t in field)]
        assert not any(HOSTILE.search(text) for text in texts)
        assert "\n" not in block.title + block.call + "".join(label for label, _ in block.fields)
        assert len(block.fields) <= 32
    assert bounded(done) == done
    msgspec.msgpack.encode(done)


def test_sizes_are_cut():
    big = "x" * (MAX_BODY + 7)
    block = bounded(RenderedEvent(1, [Block("note", title=big, body=big, call=big, language=big, fields=[(big, big)])])).blocks[0]
    assert (len(block.title), len(block.body), len(block.call), block.language) == (500, MAX_BODY, 200, "")
    assert [len(text) for text in block.fields[0]] == [80, 2000]
