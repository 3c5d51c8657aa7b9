"""Complaints about a candidate: collected, bounded, made harmless, raised as one GateError.

A diagnostic is the only thing a rejected candidate sends back, and parts of it are the candidate's own words, so
this is where they are cut and cleaned. It knows nothing of steps or runtimes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from thetis_kernel.errors import GateError, GuestError
from thetis_kernel.protocol.gate import Diagnostic
from thetis_kernel.protocol.plaintext import clean_line, clean_text

MAX_DIAGNOSTICS = 50
"""More than this many complaints help nobody; the last one then says how many were left out."""
MAX_MESSAGE = 2000
"""Characters of one complaint: room for a traceback's end."""
_FRAME = re.compile(r'File "([^"\n]{1,300})", line (\d{1,7})')


class Complaints:
    """Collects diagnostics of one check."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def add(self, message: str, path: str = "", line: int = 0) -> None:
        """Note a complaint about `path` (relative to the guest's directory) at `line` (1-based, 0 = the whole)."""
        self.found.append(Diagnostic(path, line, message))

    def raise_if_any(self, step: str, what: str) -> None:
        """Raise GateError of `step` about `what` when there is any complaint."""
        if self.found:
            raise gate_error(step, what, self.found)


def gate_error(step: str, what: str, found: Sequence[Diagnostic]) -> GateError:
    """A GateError whose sentence holds the first of `found` and whose diagnostics are all of them, bounded."""
    found = bounded_diagnostics(found)
    first = found[0]
    place = f"{first.path}:{first.line}: " if first.path and first.line else f"{first.path}: " if first.path else ""
    return GateError(f"{what}: {place}{first.message}", step=step, diagnostics=[msgspec.to_builtins(d) for d in found])


def bounded_diagnostics(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """At most `MAX_DIAGNOSTICS`, each with clean text of at most `MAX_MESSAGE` characters (a long one keeps its end)."""
    everything = list(found)
    kept = [_bounded(d) for d in everything[:MAX_DIAGNOSTICS]]
    if len(everything) > MAX_DIAGNOSTICS:
        kept.append(Diagnostic("", 0, f"{len(everything) - MAX_DIAGNOSTICS} more complaints are not shown"))
    return kept


def _bounded(diagnostic: Diagnostic) -> Diagnostic:
    message = clean_text(diagnostic.message[-4 * MAX_MESSAGE :])
    if len(message) > MAX_MESSAGE:
        message = "..." + message[-MAX_MESSAGE + 3 :]
    return Diagnostic(clean_line(diagnostic.path[:300]), max(0, diagnostic.line), message)


def diagnostics_of(error: GateError) -> list[Diagnostic]:
    """The typed diagnostics of a GateError; its sentence when it carries none that fit."""
    found: list[Diagnostic] = []
    for item in error.diagnostics:
        found.append(as_diagnostic(item))
    return found or [Diagnostic("", 0, error.message)]


def as_diagnostic(item: dict[str, Any]) -> Diagnostic:
    """A Diagnostic from {"path", "line", "message"}, whatever the values are (they may come from a guest's JSON)."""
    path, line, message = item.get("path", ""), item.get("line", 0), item.get("message", "")
    number = line if isinstance(line, int) and 0 <= line < 10_000_000 else 0
    return Diagnostic(path if isinstance(path, str) else "", number, str(message))


def diagnostic_of_guest(error: GuestError, files: Iterable[str], doing: str) -> Diagnostic:
    """What a failed guest call says: `doing` names the call ("health()"), the place is the traceback's last own frame.

    `files` are the candidate's paths; frames elsewhere (the shim, the standard library) are passed over.
    """
    own = set(files)
    path, line = "", 0
    for frame in _FRAME.finditer(error.traceback[-64 * 1024 :]):
        if frame[1] in own:
            path, line = frame[1], int(frame[2])
    how = {
        "timeout": f"{doing} did not end in time",
        "abort": f"{doing} did not end in time",
        "memory": f"{doing} used more memory than it may",
        "error": f"{doing} failed: {error.message}",
    }.get(error.kind, f"{doing} failed ({error.kind}): {error.message}")
    details = error.traceback.strip()
    return Diagnostic(path, line, f"{how}\n{details}" if details and details not in how else how)
