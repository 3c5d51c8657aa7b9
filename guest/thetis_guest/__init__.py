"""The guest SDK: what a guest imports to speak with its host. It stands inside every runtime's snapshot.

One module an interface of the contract (`thetis_guest.files`, `.llm`, ...): Python values in, parsed answers out, and
`HostError` when the host says no. A module whose interface the guest's world does not import is there and answers
`unavailable`. Nothing here has authority, and nothing here is trusted by the host.
"""

from __future__ import annotations

from thetis_guest import lenient
from thetis_guest._errors import HostError
from thetis_guest._record import Record

INTERFACES = (
    "agents", "branch", "devkit", "files", "llm", "notes", "sandbox", "session", "sys", "terminal", "tooling", "view", "wait",
)  # fmt: skip


class ToolManifest(Record):
    """What a tool says of itself; `describe()` returns one.

    `input_schema`: JSON Schema object, as a dict or as text. `group`: the tool group it is listed under.
    `mutating`: whether a call changes anything; a read-only mode offers only tools that do not.
    """

    name: str
    description: str
    input_schema: dict[str, object] | str
    group: str = "extra"
    mutating: bool = False


__all__ = ["INTERFACES", "HostError", "Record", "ToolManifest", "lenient"]
