"""Is the agent well? Its `health`, called beside whatever runs, with imports that read nothing and do nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from thetis_kernel.errors import GuestError
from thetis_kernel.protocol.worker import ProbeAgent, Probed
from thetis_kernel.wasm.call import GuestCall, Imports
from thetis_kernel.wasm.limits import AGENT_LIMITS, PROBE_LIMITS

if TYPE_CHECKING:
    from thetis_kernel.hosts.worker.runtimes import Runtimes

LIMITS = msgspec.structs.replace(PROBE_LIMITS, memory_mib=AGENT_LIMITS.memory_mib)
_NOTHING: Imports = {"sys.kv-get": lambda key: "null", "sys.kv-put": lambda key, value: "null"}


def probe(ask: ProbeAgent, runtimes: Runtimes) -> Probed:
    """What `health` answers; an answer that says nothing is a failure of kind "type", as it is in the gate."""
    call = GuestCall(runtimes.agent(), ask.agent.bundle, _NOTHING, LIMITS)
    try:
        answer = json.loads(call.run("health"))
    except GuestError as error:
        return Probed(error.kind, error.message)
    except (ValueError, RecursionError):
        return Probed("type", "health() answered something else than JSON.")
    return Probed() if answer else Probed("type", "health() returned nothing.")
