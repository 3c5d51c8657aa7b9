"""The gate host: judges one guest in a process that is thrown away afterwards.

The gateway spawns it with the sealed runtimes the candidate needs as descriptors ("runtime-tool", "runtime-compiler",
...), asks `JudgeGuest` and kills it whatever the answer. It holds no store, key or path of the person's; what it
reads are the shipped lists of modules.
"""

from __future__ import annotations

from thetis_kernel.hosts.gate.role import serve

__all__ = ["serve"]
