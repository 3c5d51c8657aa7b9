"""The net host: the one process that speaks with hosts on behalf of tools.

It holds no key, no log and no file, so a hostile answer finds nothing in it; the gateway says with each request which hosts
the tool may reach. It may be killed at any moment.
"""

from __future__ import annotations

from thetis_kernel.hosts.net.role import serve

__all__ = ["serve"]
