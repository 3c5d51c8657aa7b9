"""Step: ruff finds no error in the text, and every function says what it takes and returns.

A text that is no Python is told in this interpreter's words, which say more ("'(' was never closed") than a linter's.
Errors only: names that are not there, code that cannot mean what it says, missing annotations. Taste is nobody's reason to
refuse a rewrite. The rules are in the command line, alone: no file, no comment and no setting of the candidate changes them.
"""

from __future__ import annotations

import ast
from typing import Any

from thetis_kernel.forge import checkers
from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.protocol.gate import Diagnostic

RULES = "E9,F,ANN,B006,B023,PLE"
NOT_THESE = "ANN401,F401,F403,F405,F841"
"""Any has its place where JSON comes in; what is unused does no harm; names of star imports are ty's to find."""
_SYNTAX = "invalid syntax: "
WORDS = [
    "check", "--isolated", "--no-cache", "--no-fix", "--quiet", "--ignore-noqa", "--no-respect-gitignore", "--no-preview",
    "--config", "exclude=[]", "--config", "extend-exclude=[]", "--target-version", "py314", "--output-format", "json-lines",
    "--select", RULES, "--ignore", NOT_THESE, "--per-file-ignores", "test_*.py:ANN",
]  # fmt: skip


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Complaints with file and line. Raises GateError when ruff gives no verdict."""
    paths = candidate.paths
    with checkers.written(candidate.source.modules, paths) as directory:
        answer = checkers.check("ruff", [*WORDS, "--", *paths.values()], directory)
        found = [_diagnostic(item, f"{directory}/") for item in checkers.findings("ruff", answer, lines=True)]
    judged = checkers.judged("ruff", candidate, answer, found)
    return list(dict.fromkeys(_plainer(each, candidate) for each in judged))


def _diagnostic(item: dict[str, Any], prefix: str) -> Diagnostic:
    place = item.get("location")
    line = place.get("row", 0) if isinstance(place, dict) else 0
    code, message = str(item.get("code") or ""), str(item.get("message", ""))
    words = f"{_SYNTAX}{message}" if not code or code == "invalid-syntax" else f"{message} ({code})"
    return Diagnostic(str(item.get("filename", "")).removeprefix(prefix), line if isinstance(line, int) else 0, words)


def _plainer(found: Diagnostic, candidate: Candidate) -> Diagnostic:
    """A syntax error as this interpreter sees it, when it sees one."""
    if not found.message.startswith(_SYNTAX):
        return found
    name = next(name for name, path in candidate.paths.items() if path == found.path)
    try:
        ast.parse(candidate.source.modules[name])
    except SyntaxError as exc:
        return Diagnostic(found.path, exc.lineno or found.line, exc.msg)
    except (RecursionError, MemoryError, ValueError):
        pass  # too deep for it to say more
    return found
