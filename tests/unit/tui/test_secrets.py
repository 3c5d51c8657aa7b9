"""A person's words with a secret in them: what stays on the screen is what the log holds."""

from __future__ import annotations

import msgspec
from thetis_kernel.protocol import client as c

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen


class Scrubbing(FakeGateway):
    def _submit(self, ask: c.Submit) -> c.Submitted:
        return super()._submit(msgspec.structs.replace(ask, text=ask.text.replace("canary-77", "[secret removed]")))


async def test_the_secret_goes_when_the_words_are_stored() -> None:
    async with screen(Scrubbing()) as s:
        await s.send("use canary-77 please")
        await s.until(lambda: "use [secret removed] please" in s.transcript())
        await s.until(lambda: "canary-77" not in s.transcript())
        assert s.transcript().count("please") == 1


async def test_other_words_keep_their_row() -> None:
    async with screen(Scrubbing()) as s:
        await s.send("use nothing please")
        await s.until(lambda: "use nothing please" in s.transcript() and bool(s.gateway.turns))
        assert s.transcript().count("please") == 1
