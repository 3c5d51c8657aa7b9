"""The gateway's look at a tool's request: its own list from the person's settings, and the mode as the log says it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import Refused
from thetis_kernel.gateway.net import Net
from thetis_kernel.protocol.net import Fetch, Fetched, Wanted
from thetis_kernel.protocol.worker import FetchHttp
from thetis_kernel.scrub.scrubber import Scrubber

SCRUBBER = Scrubber()
SCRUBBER.learn("canary-of-a-known-key-77")
TOOLS: dict[str, dict[str, Any]] = {"one": {"hosts": ["one.example"]}, "two": {"hosts": ["two.example"]}, "odd": {"hosts": "x"}}


class Host:
    """A net host that answers everything; `asked` is what reached it."""

    def __init__(self) -> None:
        self.asked: list[Fetch] = []
        self.peer = self

    async def call(self, ask: Fetch, timeout: float) -> Fetched:
        self.asked.append(ask)
        return Fetched(status=200, url=ask.wanted.url, headers={}, body=b"")

    async def net(self) -> Host:
        return self


def relay(host: Host, mode: str) -> Net:
    async def state(session: str) -> Any:
        return SimpleNamespace(mode=mode)

    return Net(host, SimpleNamespace(state=state), TOOLS, Modes(), SCRUBBER)  # type: ignore[arg-type]


async def test_the_list_is_the_tools_own() -> None:
    host = Host()
    await relay(host, "agent").fetch("s", FetchHttp(tool="one", wanted=Wanted(url="https://one.example/x")))
    assert [ask.hosts for ask in host.asked] == [["one.example"]]


@pytest.mark.parametrize(("tool", "mode"), [("two", "agent"), ("none", "agent"), ("odd", "agent"), ("", "agent"), ("one", "plan"),
                                            ("one", "chat"), ("one", "unheard-of")])
async def test_whatever_the_worker_believes(tool: str, mode: str) -> None:
    host = Host()
    with pytest.raises(Refused):
        await relay(host, mode).fetch("s", FetchHttp(tool=tool, wanted=Wanted(url="https://one.example/x")))
    assert host.asked == []


@pytest.mark.parametrize("wanted", [
    Wanted(url="https://one.example/?k=canary-of-a-known-key-77"),
    Wanted(url="https://one.example/", body="x canary-of-a-known-key-77"),
    Wanted(url="https://one.example/", headers={"Authorization": "Basic Y2FuYXJ5LW9mLWEta25vd24ta2V5LTc3"}),
])
async def test_a_secret_does_not_leave(wanted: Wanted) -> None:
    host = Host()
    with pytest.raises(Refused, match="holds a secret"):
        await relay(host, "agent").fetch("s", FetchHttp(tool="one", wanted=wanted))
    assert host.asked == []
