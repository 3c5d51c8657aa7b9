"""The files of one guest in a body's worktree: copy, write, replace, remove, and read them as a candidate.

Works on one guest's directory, which only the gateway and the person write to. Knows neither gate nor git.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from thetis_kernel.errors import ThetisError
from thetis_kernel.forge import packages
from thetis_kernel.forge.layout import MANIFEST, module_of
from thetis_kernel.forge.source import MAX_FILE
from thetis_kernel.protocol.gate import GuestSource, World

_LEFT_OUT = frozenset({"__pycache__", "node_modules"})


class CodeError(ThetisError):
    """A guest's file that cannot be read or changed as asked."""

    code = "code"


def copy_guest(source: Path, target: Path) -> None:
    """Copy a guest's plain files (`*.py`, the manifest) to a directory that does not exist yet."""
    staged = Path(tempfile.mkdtemp(dir=_made(target.parent), prefix=".new-"))
    try:
        for path in code_files(source):
            there = staged / path
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes((source / path).read_bytes())
        staged.chmod(0o755)
        staged.rename(target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def replace_guest(target: Path, files: dict[str, str]) -> None:
    """Make `target` hold exactly `files` (relative path -> text)."""
    remove_guest(target)
    for path, text in files.items():
        write(target, path, text)


def remove_guest(target: Path) -> None:
    """Remove a guest's directory, if it is there."""
    if target.is_symlink():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)


def replace_packages(target: Path, wanted: dict[str, str]) -> None:
    """Make `target` hold exactly these packages (relative path -> text) and leave the rest of it as it is."""
    for path in code_files(target):
        if packages.FILE.fullmatch(path) and path not in wanted:
            (target / path).unlink()
    for path, text in wanted.items():
        write(target, path, text)


def code_files(directory: Path) -> list[str]:
    """The guest's files, relative, in name order, packages it took in among them; links and hidden files are no part of it."""
    found: list[str] = []
    for here, names, files in os.walk(directory):
        names[:] = sorted(name for name in names if name not in _LEFT_OUT and not name.startswith("."))
        inside = Path(here).relative_to(directory)
        found += [(inside / name).as_posix() for name in sorted(files)
                  if (name.endswith(".py") or (name == MANIFEST and not inside.parts)
                      or packages.FILE.fullmatch((inside / name).as_posix())) and not name.startswith(".")
                  and not (Path(here) / name).is_symlink()]
    return found


def texts(directory: Path) -> dict[str, str]:
    """The guest's files, relative path -> text."""
    return {path: (directory / path).read_text("utf-8", "replace") for path in code_files(directory)}


def read(directory: Path, inside: str, shown: str) -> str:
    """The text of a file. Raises CodeError `not-found`, with what there is."""
    path = directory / inside
    if path.is_symlink() or not path.is_file():
        there = ", ".join(code_files(directory)[:40]) if directory.is_dir() else ""
        raise CodeError(f"There is no file {shown}.", code="not-found",
                        hint=f"There are: {there}." if there else "List the guests with list_code.")
    return path.read_text("utf-8", "replace")


def write(directory: Path, inside: str, text: str) -> None:
    """Replace or create a file, whole or not at all."""
    data = text.encode("utf-8", "replace")
    if len(data) > (packages.MAX_FILE if packages.FILE.fullmatch(inside) else MAX_FILE):
        raise CodeError(f"{len(data)} bytes are more than the {MAX_FILE} a guest's file may hold.", hint="Split the module.",
                        code="too-large")
    parent = _made((directory / inside).parent)
    if not parent.resolve().is_relative_to(directory.parent.resolve()):
        raise CodeError(f"{inside} leads out of the guest's directory.", code="bad-path")
    handle, name = tempfile.mkstemp(dir=parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, directory / inside)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def patch(directory: Path, inside: str, shown: str, old: str, new: str) -> None:
    """Replace `old`, which must stand in the file exactly once."""
    text = read(directory, inside, shown)
    count = text.count(old) if old else 0
    if count != 1:
        how, way_out = f"occurs {count} times", "Add neighbouring lines until it is unique."
        if count == 0:
            how, way_out = "does not occur", "Read the file again."
        raise CodeError(f"old_text {how} in {shown}; it must stand there exactly once.", hint=way_out,
                        code="ambiguous" if count else "no-match")
    write(directory, inside, text.replace(old, new))


def remove(directory: Path, inside: str, shown: str) -> None:
    """Remove a file that is there."""
    read(directory, inside, shown)
    (directory / inside).unlink()


def source_of(files: dict[str, str], aspect: str, world: World) -> GuestSource:
    """Files of a guest (relative path -> text) as the candidate `forge.source.read_guest` would have read."""
    modules = {module_of(path): text for path, text in files.items() if path.endswith(".py")}
    brought = [packages.parse(text, path) for path, text in files.items() if packages.FILE.fullmatch(path)]
    return GuestSource(aspect, world, files.get(MANIFEST, ""), dict(sorted(modules.items())),
                       sorted(brought, key=lambda package: package.name))


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory
