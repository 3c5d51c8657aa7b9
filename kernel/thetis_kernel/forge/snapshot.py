"""Which standard-library modules a guest can import: read from the runtimes' own list, never kept twice.

The list is a Python file of literals that the shims preload; it is read as data, not imported.
"""

from __future__ import annotations

import ast
import functools

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.paths import builtin_root

_LIST = ("guest", "shims", "stdlib.py")
_ALWAYS = frozenset({"__future__", "builtins", "encodings", "sys"})
"""In every interpreter before anything is imported."""


@functools.cache
def stdlib_modules() -> frozenset[str]:
    """Dotted names of the modules in the snapshot, parents included. Raises RuntimeBuildError when the list is not there."""
    path = builtin_root().joinpath(*_LIST)
    names = set(_ALWAYS)
    try:
        tree = ast.parse(path.read_text())
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and target.id in ("MODULES", "LAZY"):
                names.update(ast.literal_eval(node.value))
    except (OSError, SyntaxError, ValueError) as exc:
        raise RuntimeBuildError(f"The list of the runtimes' modules {path} cannot be read.") from exc
    for name in list(names):
        parts = name.split(".")
        names.update(".".join(parts[:count]) for count in range(1, len(parts)))
    return frozenset(names)


@functools.cache
def sdk_modules() -> frozenset[str]:
    """Dotted names of the guests' SDK and its public modules."""
    package = builtin_root() / "guest" / "thetis_guest"
    public = {f"{package.name}.{path.stem}" for path in package.glob("*.py") if not path.stem.startswith("_")}
    return frozenset({package.name, *public})
