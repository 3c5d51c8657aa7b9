"""May this session do that, now? The one function every effect passes, and the table of what counts as an effect.

What a guest's manifest declares is a request; what decides is here, at the import, whatever the guest filtered before.
"""

from __future__ import annotations

from typing import Literal

from thetis_kernel.errors import Refused
from thetis_kernel.protocol.worker import Place

Capability = Literal["none", "read", "state", "model", "write", "exec", "http"]
"""What an import needs. none: pure or local; read: files and the log; state: the conversation's own notes and keys;
model: a completion; write: files; exec: commands; http: the network."""

EFFECTS: frozenset[Capability] = frozenset({"write", "exec", "http"})
"""Capabilities that reach outside the conversation: absent in every read-only mode."""

IMPORTS: dict[str, Capability] = {
    "sys.log": "none",
    "sys.now-ms": "none",
    "sys.sleep": "none",
    "sys.kv-get": "state",
    "sys.kv-put": "state",
    "sys.code": "none",
    "sandbox.available": "none",
    "sandbox.read-file": "read",
    "sandbox.list-files": "read",
    "sandbox.search": "read",
    "sandbox.write-file": "write",
    "sandbox.exec": "exec",
    "sandbox.http": "http",
    "view.events": "read",
    "view.sessions": "read",
    "view.skills": "read",
    "session.read": "read",
    "session.append": "state",
    "session.poll-inbox": "none",
    "llm.complete": "model",
    "tooling.registry": "none",
    "tooling.invoke-many": "none",
    "files.read-file": "read",
    "files.write-file": "write",
    "files.edit-file": "write",
    "files.list-dir": "read",
    "files.search-files": "read",
    "files.find-files": "read",
    "terminal.run": "exec",
    "notes.remember": "state",
    "notes.recall": "state",
}
"""Every import of every world; a test walks the contract and fails on one that is missing here.

`tooling.invoke-many` itself is nothing: each operation it runs is permitted by its own name.
"""


def permit(place: Place, capability: Capability) -> None:
    """Return when the session may use `capability` now; raise Refused with the reason when not."""
    if capability in EFFECTS and place.read_only:
        raise Refused(
            f"This conversation is in a read-only mode: {capability} is not possible by any route.",
            capability=capability,
            hint="A person can switch the mode.",
        )
    if capability == "http":
        raise Refused("No host is allowed for this tool.", capability="http",
                      hint="A person can allow hosts in the tool's own configuration block.")
