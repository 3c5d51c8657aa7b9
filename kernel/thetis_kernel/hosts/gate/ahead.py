"""What a gate host does while it waits: it reads, compiles and has checked the guest that ships, module by module.

An edit of a large guest then costs what it changed. The text is Thetis's own, read by this process itself; nothing of an
earlier candidate is ever here. Stops as soon as the candidate comes: a gate that was not started ahead loses nothing.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from thetis_kernel.errors import GateError, ThetisError
from thetis_kernel.forge import checkers, tyserver
from thetis_kernel.forge.builtin import ASPECTS
from thetis_kernel.forge.layout import paths_of, world_of
from thetis_kernel.forge.prepared import Prepared
from thetis_kernel.forge.source import read_guest
from thetis_kernel.forge.steps import ty
from thetis_kernel.forge.steps.imports import imported
from thetis_kernel.forge.wasmbench import WasmBench
from thetis_kernel.paths import builtin_root

CHUNK = 24_000
"""Characters compiled in one call: about 25 ms, which is how late the end of the waiting is noticed."""


def in_background(worlds: Iterable[str], prepared: Prepared, bench: WasmBench, wanted: Callable[[], bool]) -> None:
    """Fill `prepared` until all is known or `wanted` says that the candidate has come, on threads of their own.

    What fails here fails again where it is told, in its step.
    """
    for modules in [] if wanted() else shipped(worlds):
        threading.Thread(target=_types, args=(modules, prepared, wanted), name="ahead types", daemon=True).start()
        threading.Thread(target=_alone, args=(modules, prepared, bench, wanted), name="ahead codes", daemon=True).start()


def shipped(worlds: Iterable[str]) -> list[dict[str, str]]:
    """The modules of the guests that ship for these worlds; tools are small, and any name may be theirs."""
    found, wanted = [], set(worlds)
    for aspect, directory in ASPECTS.items():
        if world_of(aspect) in wanted:
            with contextlib.suppress(GateError):
                found.append(read_guest(builtin_root() / "aspects" / directory, aspect).modules)
    return found


def _alone(modules: dict[str, str], prepared: Prepared, bench: WasmBench, wanted: Callable[[], bool]) -> None:
    """What follows from each module alone: what it imports, its code."""
    for text in modules.values():
        if wanted():
            return
        with contextlib.suppress(SyntaxError, RecursionError, MemoryError):  # what ships may be under somebody's hands
            prepared.imports[text] = imported(text)
    for chunk in _chunks(modules):
        if wanted():
            return
        with contextlib.suppress(ThetisError):
            bench.compile(chunk)


def _types(modules: dict[str, str], prepared: Prepared, wanted: Callable[[], bool]) -> None:
    """A server of ty's that has seen all of them."""
    if wanted():
        return
    modules = {name: ty.spoken(text) for name, text in modules.items()}
    try:
        directory = Path(tempfile.mkdtemp(prefix="ahead-")).resolve() / "guest"
        directory.mkdir()
        checkers.lay_out(modules, paths_of(modules), directory)
        ty.configuration(directory, {}).rename(directory / "ty.toml")  # where the server looks for it
    except OSError:
        return
    server = tyserver.warmed(modules, paths_of(modules), directory, wanted)
    if server is not None:
        prepared.no_type_errors = server.clean


def _chunks(modules: dict[str, str]) -> Iterator[dict[str, str]]:
    """The modules, a few at a time."""
    chunk: dict[str, str] = {}
    for name, text in modules.items():
        chunk[name] = text
        if sum(map(len, chunk.values())) >= CHUNK:
            yield chunk
            chunk = {}
    if chunk:
        yield chunk
