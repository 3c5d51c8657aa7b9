"""Packages of guests: what the model is told of the three tools, and how their results read.

The texts never vary, so that the provider's cache of the tool list holds. Must not know where packages come from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import selfwork
from catalog import Tool
from schemas import string, takes
from thetis_guest.lenient import flag, number, objects, text

_GUEST = string(hint="agent, gateway/tui or tool/NAME")

PACKAGES: tuple[Tool, ...] = (
    Tool(
        "add_dependency",
        "Take a pure-Python package into a guest; judged as write_code. What the project needs belongs into its own "
        "environment.",
        takes(
            "aspect requirement",
            aspect=_GUEST,
            requirement=string("such as idna>=3,<4", minLength=1, maxLength=160),
        ),
        "devkit.add-dependency",
        mutating=True,
    ),
    Tool(
        "remove_dependency",
        "Take a package out of a guest; judged as write_code.",
        takes("aspect name", aspect=_GUEST, name=string(hint="the package", maxLength=64)),
        "devkit.remove-dependency",
        mutating=True,
    ),
    Tool(
        "list_dependencies",
        "The guests' packages: version, licence, hash.",
        takes(aspect=string(hint="default: all")),
        "devkit.list-dependencies",
        mutating=False,
    ),
)


def changed(value: Any, args: dict[str, Any]) -> str:
    """The verdict over a guest whose packages changed, and which did."""
    verdict = selfwork.verdict(value, args)
    if not flag(value, "ok"):
        return verdict.replace(selfwork.KEPT, "Its packages are as they were before.")
    named = ", ".join(
        f"{text(one, 'name')} {text(one, 'version')} ({text(one, 'licence')})" for one in objects(value, "packages")
    )
    return f"{verdict}\nPackages: {named}." if named else verdict


def listing(value: Any, args: dict[str, Any]) -> str:
    """Which packages there are."""
    lines = []
    for one in objects(value, "packages"):
        why = "" if flag(one, "wanted") else ", needed by another"
        lines.append(f"{text(one, 'aspect')}: {text(one, 'name')} {text(one, 'version')}, {number(one, 'modules')} modules, "
                     f"{text(one, 'licence')}, sha256 {text(one, 'sha256')[:12]}{why}")  # fmt: skip
    return "\n".join(lines) or "No guest has taken in a package."


READERS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "devkit.add-dependency": changed,
    "devkit.remove-dependency": changed,
    "devkit.list-dependencies": listing,
}
