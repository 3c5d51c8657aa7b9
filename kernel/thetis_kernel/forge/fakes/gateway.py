"""The gateway world's stand-in: `view` over the specimens of the log."""

from __future__ import annotations

from thetis_kernel.forge.fakes.host import FakeHost, dumps, lately_ms
from thetis_kernel.forge.fakes.log import Log, specimens


class GatewayHost(FakeHost):
    """Imports of one call of a gateway guest; `log` holds one event of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.log: Log = specimens()
        title = {"session": self.session, "title": "Rename total", "mode": "agent", "updated_ms": lately_ms()}
        self.imports.update(
            {
                "view.events": lambda session, after, max_bytes: dumps(self.log.page(after, max_bytes)),
                "view.sessions": lambda: dumps([title]),
                "view.skills": lambda: dumps([]),
            }
        )
