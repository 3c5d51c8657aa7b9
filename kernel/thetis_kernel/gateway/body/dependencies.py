"""What the packages of a guest become when one is asked for or taken out; how they are told.

Pure but for reading a guest's package files. Where packages come from is the resolver's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thetis_kernel.errors import UsageError
from thetis_kernel.forge import packages
from thetis_kernel.gateway.body import files
from thetis_kernel.protocol.gate import Package

if TYPE_CHECKING:
    from thetis_kernel.gateway.body.resolver import Resolver

Resolve = Callable[[list[str]], Awaitable[list[Package]]]


class Packages:
    """Finds packages; the resolver behind it is made, and its modules are loaded, when the first one is asked for."""

    def __init__(self, scratch: Path, index: str, allowed: Callable[[], Awaitable[bool]]) -> None:
        self._arguments = (scratch, index, allowed)
        self._resolver: Resolver | None = None

    async def __call__(self, requirements: list[str]) -> list[Package]:
        """See `Resolver.resolve`."""
        from thetis_kernel.gateway.body.resolver import Resolver

        self._resolver = self._resolver or Resolver(*self._arguments)
        return await self._resolver.resolve(requirements)


def present(guest: Path) -> list[Package]:
    """The packages in a guest's directory; a file that is none is left to the gate to complain of."""
    found = []
    for path in files.code_files(guest):
        if packages.FILE.fullmatch(path):
            try:
                found.append(packages.parse((guest / path).read_text("utf-8", "replace"), path))
            except ValueError:
                continue
    return found


def as_files(found: list[Package]) -> dict[str, str]:
    """The packages as files of a guest, relative path -> text."""
    return {packages.path_of(package): packages.text_of(package) for package in found}


def asked(there: list[Package], requirement: str, name: str) -> list[str]:
    """What to resolve when `requirement` (about `name`) comes to what was asked for before, at the versions it has."""
    kept = [f"{package.name}=={package.version}" for package in there if package.wanted and package.name != name]
    return [*kept, requirement.strip()]


def without(there: list[Package], name: str) -> list[Package]:
    """What is left when `name` goes with all that only it needed. Raises UsageError when it was not asked for."""
    by_name = {package.name: package for package in there}
    gone = by_name.get(name)
    if gone is None or not gone.wanted:
        needing = ", ".join(package.name for package in there if name in package.requires)
        wanted = ", ".join(package.name for package in there if package.wanted) or "none"
        raise UsageError(f"{name[:80]} is needed by {needing}." if gone else f"There is no package {name[:80]} in this guest.",
                         hint=f"Asked for were: {wanted}.", code="not-found")
    kept: set[str] = set()
    waiting = [package.name for package in there if package.wanted and package.name != name]
    while waiting:
        one = waiting.pop()
        if one in by_name and one not in kept:
            kept.add(one)
            waiting += by_name[one].requires
    return [package for package in there if package.name in kept]


def told(found: list[Package], aspect: str = "") -> list[dict[str, Any]]:
    """Packages as the dev kit answers them."""
    about = {"aspect": aspect} if aspect else {}
    return [{**about, "name": one.name, "version": one.version, "sha256": one.sha256, "licence": one.licence,
             "modules": len(one.modules), "wanted": one.wanted} for one in found]  # fmt: skip


def summary(before: list[Package], after: list[Package], aspect: str) -> str:
    """The change in a line."""
    was, now = ({(package.name, package.version) for package in each} for each in (before, after))
    came = [f"{name} {version}" for name, version in sorted(now - was)]
    went = [f"{name} {version}" for name, version in sorted(was - now)]
    words = [f"take in {', '.join(came)}"] if came else []
    words += [f"take out {', '.join(went)}"] if went else []
    return f"{aspect}: {'; '.join(words) or 'packages as before'}"
