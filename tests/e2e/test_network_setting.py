"""The network of commands: off unless a person switches it on, for one conversation, by a client of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol.events import SessionStarted, ToolResult
from thetis_kernel.walls.probe import find_bubblewrap

from tests.support.gateways import bodies, gateway
from tests.support.raw_server import raw_server, reply

pytestmark = [
    pytest.mark.runtimes,
    pytest.mark.skipif(find_bubblewrap()[0] is None, reason="this machine has no bubblewrap"),
]


def asking(port: int) -> str:
    return (
        f"run python3 -c \"import urllib.request as u; print(u.urlopen('http://localhost:{port}/', timeout=5).read())\""
    )


async def test_off_then_on_by_a_person_for_that_conversation_alone(tmp_path: Path) -> None:
    with raw_server({"/": reply(body=b"reached-the-outside")}) as server:
        async with gateway(tmp_path) as g:
            session = await g.start(asking(server.port))
            await g.client.wait_idle(session)
            assert server.requests == []
            assert "reached-the-outside" not in bodies(g.heard, ToolResult)[-1].content

            await g.client.set(session, "network", "true")
            assert (await g.client.conversation(session)).network
            await g.client.submit(session, asking(server.port))
            await g.client.wait_idle(session)
            assert "reached-the-outside" in bodies(g.heard, ToolResult)[-1].content

            other = await g.start(asking(server.port))
            await g.client.wait_idle(other)
            assert len(server.requests) == 1 and not (await g.client.conversation(other)).network

            await g.client.set(session, "network", "false")
            await g.client.submit(session, asking(server.port))
            await g.client.wait_idle(session)
            assert len(server.requests) == 1


async def test_the_agent_is_told_why_and_what_is_no_value_is_refused(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = await g.start("run sh -c 'echo could not resolve host; exit 6'")
        await g.client.wait_idle(session)
        assert "/network" in bodies(g.heard, ToolResult)[-1].content
        with pytest.raises(RemoteError, match="true or false"):
            await g.client.set(session, "network", "always")


async def test_a_conversation_of_a_bridge_stays_without(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        session = "d15c0d" + "0" * 10
        g.gateway.log.store.create(
            session, SessionStarted(root=str(tmp_path), origin="discord", mode="plan", model="rehearsal", branch="")
        )
        with pytest.raises(RemoteError, match="stays off"):
            await g.client.set(session, "network", "true")
