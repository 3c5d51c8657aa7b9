"""Step: every import names the guest's own modules, the SDK, or a standard-library module of the runtime.

This is help, not a wall: what is not in the runtime cannot be imported there anyway, however it is spelled. Said
here, the mistake has a file and a line instead of a failed call.
"""

from __future__ import annotations

import ast
import difflib
import time
from collections.abc import Iterator

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.diagnostics import Complaints
from thetis_kernel.forge.prepared import Imported
from thetis_kernel.forge.snapshot import sdk_modules, stdlib_modules
from thetis_kernel.protocol.gate import Diagnostic

SDK = "thetis_guest"
_WHAT_THERE_IS = "a guest has its own modules, thetis_guest, pure library modules and the packages it took in"
CPU_S = 6.0
"""Processor time for all modules. An agent of 4,000 lines takes 0.1 s; 4 MiB of the densest text would take a minute."""


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """A module this interpreter cannot parse is left to the compile step, whose Python is the guests' own."""
    complaints = Complaints()
    scan, started = _Scan(candidate, complaints), time.thread_time()
    for name, text in sorted(candidate.source.modules.items()):
        if time.thread_time() - started > CPU_S:
            complaints.add("the guest takes too long to read; make it smaller or less dense", candidate.paths[name])
            break
        try:
            found = candidate.prepared.imports.get(text)
            scan.module(name, imported(text) if found is None else found)
        except SyntaxError:
            continue
        except (RecursionError, MemoryError):
            complaints.add("is too deeply nested", candidate.paths[name])
    return sorted(complaints.found, key=lambda d: (d.path, d.line))


def imported(text: str) -> list[Imported]:
    """What a module imports, wherever in it. Raises SyntaxError, and RecursionError or MemoryError for what is too deep."""
    if "import" not in text:
        return []
    found: list[Imported] = []
    for node in _statements(ast.parse(text).body):
        if isinstance(node, ast.Import):
            found += [Imported(alias.name, 0, (), node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(Imported(node.module or "", node.level, tuple(alias.name for alias in node.names), node.lineno))
    return found


class _Scan:
    def __init__(self, candidate: Candidate, complaints: Complaints) -> None:
        self._own = {*candidate.source.modules, *candidate.brought}
        self._own.update(name.rpartition(".")[0] for name in list(self._own) if "." in name)
        self._paths = candidate.paths
        self._complaints = complaints

    def module(self, name: str, found: list[Imported]) -> None:
        path = self._paths[name]
        for one in found:
            if one.level:
                self._relative(one, name, path)
                continue
            self._check(one.target, path, one.line)
            for taken in one.names if one.target == SDK else ():
                if taken.startswith("_"):
                    self._complaints.add(f"{SDK}.{taken} is not part of the SDK", path, one.line)

    def _relative(self, one: Imported, name: str, path: str) -> None:
        package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
        parts = package.split(".") if package else []
        if one.level > len(parts):
            self._complaints.add("a relative import beyond the guest's top: import the module by its name", path, one.line)
            return
        base = parts[: len(parts) - one.level + 1]
        target = ".".join([*base, *([one.target] if one.target else [])])
        if target not in self._own:
            self._complaints.add(f"{target} is not a module of this guest", path, one.line)

    def _check(self, target: str, path: str, line: int) -> None:
        known = stdlib_modules()
        top = target.partition(".")[0]
        if top == SDK:
            if target not in sdk_modules():
                self._complaints.add(f"{target} is not part of the SDK", path, line)
        elif target in self._own or target in known:
            return
        elif any(name.partition(".")[0] == top for name in self._own):
            self._complaints.add(f"{target} is not a module of this guest", path, line)
        else:
            close = difflib.get_close_matches(target, [*self._own, *known], 1, 0.75)
            hint = f"did you mean {close[0]}?" if close else _WHAT_THERE_IS
            self._complaints.add(f"{target} is not in the guests' runtime; {hint}", path, line)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, however deep; expressions hold no imports and are most of a tree."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting.extend(getattr(node, field, ()))
