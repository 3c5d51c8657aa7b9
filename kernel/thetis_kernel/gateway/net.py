"""Requests of tools to the network, relayed to the net host with the list of hosts of that tool and of no other.

The list is read here from the person's settings, whatever the worker believes; so is the mode. The connection belongs to a
conversation, so whose request it is never comes from a field.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import Refused
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.log import Log
from thetis_kernel.net.allow import check, listed, target
from thetis_kernel.protocol.net import Fetch, Fetched
from thetis_kernel.protocol.worker import FetchHttp
from thetis_kernel.scrub.scrubber import Scrubber

SECONDS = 75.0
"""A little more than the net host gives itself."""


class Net:
    """The gateway's side of the net host. `tools`: the [tools.<name>] blocks."""

    def __init__(self, fleet: Fleet, log: Log, tools: dict[str, dict[str, Any]], modes: Modes,
                 scrubber: Scrubber) -> None:
        self._fleet = fleet
        self._log = log
        self._tools = tools
        self._modes = modes
        self._scrubber = scrubber

    async def fetch(self, session: str, ask: FetchHttp) -> Fetched:
        """Carry out a tool's request. Raises Refused for a read-only mode, a host that is not on the tool's list,
        or a request that holds a secret."""
        if self._modes.get((await self._log.state(session)).mode).read_only:
            raise Refused("This conversation is in a read-only mode: http is not possible by any route.", capability="http",
                          hint="A person can switch the mode.")
        hosts = hosts_of(self._tools.get(ask.tool, {}), ask.tool)
        check(target(ask.wanted.url).origin, listed(hosts))
        if self._scrubber.knows(msgspec.json.encode(ask.wanted)):
            raise Refused("The request holds a secret of this machine.", capability="http", hint="Send it without.")
        host = await self._fleet.net()
        return await host.peer.call(Fetch(wanted=ask.wanted, hosts=hosts), timeout=SECONDS)


def hosts_of(block: dict[str, Any], tool: str) -> list[str]:
    """`hosts` of a tool's block; empty when there is none. Raises Refused when it is no list of texts."""
    hosts = block.get("hosts", [])
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        raise Refused(f"[tools.{tool}] hosts is not a list of host names.", capability="http",
                      hint='Write hosts = ["example.org"].')
    return hosts
