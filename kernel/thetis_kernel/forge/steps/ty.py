"""Step: ty finds the types in order, against the SDK's own and those of the guests' Python.

The configuration is the kernel's: written beside the candidate, named on the command line, and the environment it describes
has the packages of the guest alone, so that nothing installed on this machine can answer an import. Comments that would silence a
complaint are blanked in the copy that is checked, `no_type_check` is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thetis_kernel.forge import checkers
from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.layout import paths_of
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.gate import Diagnostic

PYTHON = "3.14"
"""What guests run."""
_ERRORS = frozenset({"major", "critical", "blocker"})
"""The format's words for what ty calls an error; warnings and notes are no reason to refuse."""
_SILENCED = re.compile(r"(#[^\n]*?\b(?:ty|type)\s*:\s*)ignore")
_UNCHECKED = re.compile(r"\bno_type_check(?:_decorator)?\b")


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Complaints with file and line. Raises GateError when ty gives no verdict."""
    paths = candidate.paths
    if unchecked := _unchecked(candidate):
        return unchecked
    modules = {name: spoken(text) for name, text in candidate.source.modules.items()}
    warm = candidate.prepared.no_type_errors
    if warm is not None and not candidate.brought and warm(modules):
        return []
    with checkers.written(modules, paths) as directory:
        settings = str(configuration(directory, candidate.brought))
        words = ["check", "--project", ".", "--config-file", settings, "--output-format", "gitlab", "--no-progress",
                 "--no-respect-ignore-files", "--color", "never", "--", *paths.values()]  # fmt: skip
        answer = checkers.check("ty", words, directory)
    found = [_diagnostic(item) for item in checkers.findings("ty", answer, lines=False) if item.get("severity") in _ERRORS]
    return checkers.judged("ty", candidate, answer, found)


def _unchecked(candidate: Candidate) -> list[Diagnostic]:
    """Where the candidate asks for functions not to be looked at."""
    words = "no_type_check is not for guests: types are always checked"
    return [
        Diagnostic(candidate.paths[name], text.count("\n", 0, found.start()) + 1, words)
        for name, text in sorted(candidate.source.modules.items())
        if (found := _UNCHECKED.search(text))
    ]


def spoken(text: str) -> str:
    """The text with the word that silences a line blanked, at its old length: lines and columns stay."""
    while (blanked := _SILENCED.sub(r"\1------", text)) != text:
        text = blanked
    return text


def configuration(directory: Path, brought: Mapping[str, str]) -> Path:
    """Write the configuration and the Python environment it names beside the candidate; the configuration's path.

    In that environment lie the modules of the packages the guest brings along, and nothing else: imports of them are
    understood, they themselves are not judged.
    """
    base = directory.parent
    packages = base / "python" / "lib" / f"python{PYTHON}" / "site-packages"
    packages.mkdir(parents=True)
    checkers.lay_out(brought, paths_of(brought), packages)
    (base / "python" / "pyvenv.cfg").write_text(f"home = {base}\nversion = {PYTHON}.0\n")
    lines = [
        "[environment]",
        f'python-version = "{PYTHON}"',
        'python-platform = "all"',
        f"python = {json.dumps(str(base / 'python'))}",
        f"root = [{json.dumps(str(directory))}]",
        f"extra-paths = [{json.dumps(str(builtin_root() / 'guest'))}]",
        "[analysis]",
        "respect-type-ignore-comments = false",
        "[terminal]",
        "error-on-warning = false",
    ]
    path = base / "ty.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _diagnostic(item: dict[str, Any]) -> Diagnostic:
    place = item.get("location")
    place = place if isinstance(place, dict) else {}
    positions = place.get("positions")
    begin = positions.get("begin") if isinstance(positions, dict) else None
    line = begin.get("line", 0) if isinstance(begin, dict) else 0
    check = str(item.get("check_name", ""))
    words = str(item.get("description", "")).removeprefix(f"{check}: ")
    return Diagnostic(str(place.get("path", "")), line if isinstance(line, int) else 0, f"{words} ({check})" if check else words)
