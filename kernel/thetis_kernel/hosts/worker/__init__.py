"""The worker: one live conversation's process. Runs its agent and tool guests, its file operations and commands.

It holds no database handle and no key; everything durable goes through the gateway's channel, and which conversation it
serves is a property of that channel. It must not import pygit2, apsw or a model SDK.
"""

from __future__ import annotations

from thetis_kernel.hosts.worker.service import serve

__all__ = ["serve"]
