"""The role: requests on threads of their own, each with its list of hosts."""

from __future__ import annotations

from thetis_kernel.ipc.threads import Serving
from thetis_kernel.net.fetch import Fetcher
from thetis_kernel.protocol.net import Fetch, Fetched
from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    """Answer until asked to stop."""
    fetcher = Fetcher()

    def fetch(ask: Fetch, serving: Serving) -> Fetched:
        return fetcher.fetch(ask.wanted, ask.hosts)

    context.connect(asks={Fetch: fetch})
    context.run()
