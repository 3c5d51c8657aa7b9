"""Packages a guest brings along: one file each below `packages/`, with where it came from and every module of it.

    packages/idna-3.10.json    {"name", "version", "sha256", "licence", "requires", "wanted", "modules", "digest"}

`digest` covers all the rest, so that a file that was changed by hand is no package any more: what a package is, its index
says. Knows files' texts, not where they come from.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from thetis_kernel.forge.layout import RESERVED, module_of, paths_of
from thetis_kernel.forge.snapshot import stdlib_modules
from thetis_kernel.protocol.gate import Package

DIRECTORY = "packages"
FILE = re.compile(r"packages/[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?-[0-9A-Za-z.+!_]{1,40}\.json")
"""The path of one, relative to the guest's directory."""
MAX_FILE = 3 * 1024 * 1024
MAX_PACKAGES = 40
MAX_MODULES = 1500
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z.+!_]{1,40}")
_HASH = re.compile(r"[0-9a-f]{64}")


class _Filed(Package, frozen=True):
    digest: str = ""


def path_of(package: Package) -> str:
    """Where the package lies in its guest's directory."""
    return f"{DIRECTORY}/{package.name}-{package.version}.json"


def text_of(package: Package) -> str:
    """The file's text: a key a line, a module a line, so that a repository keeps the difference of two versions small."""
    filed = _Filed(**{name: getattr(package, name) for name in Package.__struct_fields__}, digest=_digest(package))
    return msgspec.json.format(msgspec.json.encode(filed), indent=1).decode() + "\n"


def parse(text: str, path: str) -> Package:
    """The package in a file at `path`. Raises ValueError with a sentence when it is none, or not the one that was taken in."""
    try:
        filed = msgspec.json.decode(text, type=_Filed)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"is no package: {str(error)[:200]}") from error
    package = Package(**{name: getattr(filed, name) for name in Package.__struct_fields__})
    if problem := problem_of(package):
        raise ValueError(problem)
    if path != path_of(package):
        raise ValueError(f"holds {package.name} {package.version}, which belongs into {path_of(package)}")
    if filed.digest != _digest(package):
        raise ValueError("is not what was taken in: take the package out and in again instead of changing it")
    return package


def problem_of(package: Package) -> str:
    """What makes a package unfit for any guest, "" when nothing does."""
    if not _NAME.fullmatch(package.name) or not _VERSION.fullmatch(package.version) or not _HASH.fullmatch(package.sha256):
        return "has no usable name, version or hash"
    if not all(_NAME.fullmatch(name) for name in package.requires) or len(package.licence) > 200:
        return "has an unusable licence or list of needs"
    if not package.modules:
        return "has no modules"
    if len(package.modules) > MAX_MODULES:
        return f"has more than {MAX_MODULES} modules"
    taken = RESERVED | {name.partition(".")[0] for name in stdlib_modules()} | {"main"}
    paths = paths_of(package.modules)
    for name in package.modules:
        if name.partition(".")[0] in taken:
            return f"brings a module {name[:80]}, a name that is taken in the guests' runtime"
        try:
            if module_of(paths[name]) != name:
                return f"has a module {name[:80]!r} that cannot be named so"
        except ValueError as error:
            return f"has a module {name[:80]!r}: {error}"
    return ""


def modules_of(packages: list[Package]) -> dict[str, str]:
    """Every module of the packages. A namespace two of them share is both's; a module of two is the first's."""
    found: dict[str, str] = {}
    for package in packages:
        for name, text in package.modules.items():
            found.setdefault(name, text)
    return found


def clashes(packages: list[Package], own: dict[str, str]) -> list[tuple[str, str]]:
    """(package, module): modules that the guest itself or an earlier package has already."""
    taken, found = {name.partition(".")[0] for name in own}, []
    seen: set[str] = set()
    for package in packages:
        for name in sorted(package.modules):
            if name.partition(".")[0] in taken or name in seen:
                found.append((package.name, name))
        seen |= set(package.modules)
    return found


def _digest(package: Package) -> str:
    return hashlib.sha256(b"thetis-package-1" + msgspec.json.encode(package, order="sorted")).hexdigest()
