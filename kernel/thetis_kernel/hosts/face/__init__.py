"""The face host: draws events with a gateway guest, in batches, for the screen and every other client.

It is lazy and may be ended whenever it is idle; what it draws is kept by the gateway. Whatever a guest does wrong ends
as an event left out of the answer, or as an error of the request: both mean that the plain renderer draws it.
"""

from __future__ import annotations

from thetis_kernel.hosts.face.role import serve

__all__ = ["serve"]
