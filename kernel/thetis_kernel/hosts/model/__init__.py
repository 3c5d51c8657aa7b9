"""The model host: the one process that speaks with models and the only holder of their keys.

It streams what a model says to the gateway while it comes, several replies at once, and answers each request with how
the stream ended. It knows nothing of conversations, and may be killed at any moment: the gateway keeps what has come.
"""

from __future__ import annotations

from thetis_kernel.hosts.model.role import serve

__all__ = ["serve"]
