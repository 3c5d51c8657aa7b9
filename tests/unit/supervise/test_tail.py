"""What is kept of a child's standard error: its end, and nothing of it that is a secret or moves a cursor."""

from __future__ import annotations

import asyncio
import os

import pytest
from thetis_kernel.supervise.tail import KEEP, Tail, harmless


async def told(*parts: bytes) -> Tail:
    read, write = os.pipe()
    tail = Tail(read)
    for part in parts:
        await asyncio.to_thread(os.write, write, part)
        while tail.text()[-1:].encode() != part[-1:]:
            await asyncio.sleep(0)
    os.close(write)
    tail.close()
    return tail


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("anthropic.AuthenticationError: invalid x-api-key: sk-ant-api03-AbC_dEf-0123456789", "sk-ant"),
        ("headers={'Authorization': 'Bearer abc.def.ghi', 'Accept': '*/*'}", "abc.def"),
        ("headers={'x-api-key': 'zzz-0123456789'}", "zzz"),
        ("Endpoint(secret='hunter2hunter2', name='a')", "hunter2"),
        ("ANTHROPIC_API_KEY=0123456789abcdef", "012345"),
        ("password: abc", "abc"),
        ("GET https://me:letmein@proxy.example/", "letmein"),
        ("git push https://ghp_0123456789abcdefABCD@github.com/x", "ghp_"),
        ("\x1b[1mapi_key\x1b[0m = \x1b[31m0123456789\x1b[0m", "0123"),
    ],
)
def test_what_looks_like_a_secret_is_left_out(text: str, secret: str) -> None:
    assert secret not in harmless(text)
    assert "[left out]" in harmless(text)


def test_a_traceback_stays_readable() -> None:
    text = """Traceback (most recent call last):
  File "/x/thetis_kernel/hosts/model/role.py", line 71, in serve
    events = sorted(found, key=lambda event: event.seq)
KeyError: 'tokens'
max_tokens=64000 tokenizer=None
"""
    assert harmless(text) == text


def test_nothing_in_it_moves_a_cursor() -> None:
    assert harmless("a\x1b[2Jb\x1b]0;title\x07c\rd\x9b1me\tf\ng\x7f") == "ab]0;titlecd1me\tf\ng"


async def test_the_end_is_kept_and_a_line_without_its_beginning_is_not() -> None:
    tail = await told(b"sk-ant-" + b"a" * KEEP, b"a" * 100 + b"\nlast \xff words\n")
    assert tail.text() == "last \ufffd words\n"
    assert tail.text(7) == " words\n"
