"""How files of a guest's directory and module names correspond, and which names are possible.

A module is a package exactly when another module lies below it. Knows names only, no contents.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable

MANIFEST = "guest.toml"
ENTRY = "main"
"""The module the runtime imports."""
RESERVED = frozenset(
    {
        "thetis_guest", "wit_world", "loader", "stdlib", "tool_shim", "agent_shim", "gateway_shim", "compiler_shim",
        "componentize_py_types", "componentize_py_runtime", "componentize_py_async_support", "poll_loop",
    }
)  # fmt: skip
"""Top-level names already taken inside the runtimes: importing one would find the runtime's, never the guest's."""


def world_of(aspect: str) -> str:
    """The world of an aspect name: `agent`, `gateway/<name>`, `tool/<name>`. Raises ValueError for any other."""
    kind, slash, name = aspect.partition("/")
    if (kind == "agent" and not slash) or (kind in ("gateway", "tool") and name):
        return kind
    raise ValueError(f"{aspect!r} is not an aspect")


def module_of(path: str) -> str:
    """The module name of a relative path with forward slashes: `pkg/part.py` -> `pkg.part`, `pkg/__init__.py` -> `pkg`.

    Raises ValueError with a sentence when no module can be named so.
    """
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    for part in parts:
        if not part.isascii() or not part.isidentifier() or keyword.iskeyword(part):
            raise ValueError(f"{part!r} cannot be a module name: use ASCII letters, digits and underscores")
    return ".".join(parts)


def paths_of(modules: Iterable[str]) -> dict[str, str]:
    """The file of each module name: `{"pkg": "pkg/__init__.py", "pkg.part": "pkg/part.py"}`."""
    names = set(modules)
    packages = {name.rpartition(".")[0] for name in names}
    return {
        name: name.replace(".", "/") + ("/__init__.py" if name in packages else ".py")
        for name in sorted(names)
    }
