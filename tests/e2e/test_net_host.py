"""The net host as the process it is: nothing of the person's own network is reached, and its environment holds nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol.net import Fetch, Wanted
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

from tests.support.raw_server import raw_server, reply


@asynccontextmanager
async def running() -> AsyncIterator[Child]:
    child = await spawn(Plan("net"))
    try:
        yield child
    finally:
        await child.terminate()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "[::ffff:127.0.0.1]"])
async def test_loopback_is_not_reached_even_when_listed(host: str) -> None:
    with raw_server({"/": reply(body=b"inside")}) as server:
        origin = f"http://{host}:{server.port}"
        async with running() as child:
            with pytest.raises(RemoteError) as caught:
                await child.peer.call(Fetch(wanted=Wanted(url=f"{origin}/"), hosts=[origin]))
    assert caught.value.code in ("refused", "net-resolve", "bad-arguments")
    assert server.requests == []


async def test_it_has_no_keys_and_no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "ALL_PROXY", "MY_TOKEN", "THETIS_SECRET"):
        monkeypatch.setenv(name, "canary-of-the-environment")
    async with running() as child:
        with pytest.raises(RemoteError):
            await child.peer.call(Fetch(wanted=Wanted(url="https://a.example/"), hosts=[]))
        assert b"canary" not in Path(f"/proc/{child.pid}/environ").read_bytes()
