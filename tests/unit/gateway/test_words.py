"""Words no model could take are refused before they are in the log, from where nothing removes them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.words import MAX_WORDS, sendable

from tests.support.gateways import gateway


@pytest.mark.parametrize("sign", ["x", "\\", "\x00", "☃"])
def test_the_limit_is_of_what_is_sent(sign: str) -> None:
    each = len(msgspec.json.encode(sign)) - 2
    fits = sign * ((MAX_WORDS - 2) // each)
    assert sendable(fits) is fits
    with pytest.raises(UsageError) as refused:
        sendable(fits + sign)
    assert refused.value.code == "words-too-long" and "file" in refused.value.hint


async def test_the_door_refuses_them_and_nothing_is_logged(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as opened:
        made = await opened.client.create(origin="headless")
        with pytest.raises(Exception, match="a message may have"):
            await opened.client.submit(made.id, "x" * (MAX_WORDS + 1))
        assert [event.kind for event in (await opened.client.read(made.id)).events] == ["session-started"]
