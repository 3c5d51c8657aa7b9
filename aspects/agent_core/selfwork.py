"""Results of the dev kit as text for the model: verdicts with their places, listings, histories.

A pure function of the log, like every result. Must not know how a guest is judged.
"""

from __future__ import annotations

from typing import Any

from thetis_guest.lenient import flag, number, objects, text

SHORT = 8
"""Characters of a revision that are shown; as many tell it from others."""
KEPT = "Your file is kept: mend it with patch_code or write_code."
_NEXT = {"agent": "It is you from the next turn on.", "gateway/tui": "It draws this conversation from now on."}


def verdict(value: Any, args: dict[str, Any]) -> str:
    """What the gate said of a changed guest."""
    aspect = text(value, "aspect")
    if not flag(value, "ok"):
        return _refused(value, aspect)
    if value.get("changed") is False:
        return f"{aspect} is the same as before; nothing changed."
    revision = text(value, "revision")
    if revision == "shipped":
        return f"{aspect}: the shipped one serves again, if there is one."
    took = sum(step["ms"] for step in objects(value, "steps") if isinstance(step.get("ms"), int | float))
    after = _NEXT.get(aspect, f"Call {aspect.partition('/')[2]} in your next reply.")
    return f"{aspect} passes the gate: revision {revision[:SHORT]}, checked in {took:.0f} ms. {after}"


def _refused(value: Any, aspect: str) -> str:
    failed = [step for step in objects(value, "steps") if not flag(step, "ok")]
    step = text(failed[-1], "step") if failed else "gate"
    lines = [f"{aspect} does not pass the gate, at the step {step}:"]
    for found in objects(value, "diagnostics"):
        line = number(found, "line")
        lines.append(f"{text(found, 'path')}{f':{line}' if line else ''}: {text(found, 'message')}")
    lines.append(f"Nothing that runs was changed. {KEPT}")
    return "\n".join(lines)


def listing(value: Any, args: dict[str, Any]) -> str:
    """The guests, or the files of one."""
    if objects(value, "files"):
        return "\n".join(f"{text(file, 'path')}  {number(file, 'bytes')} B" for file in objects(value, "files"))
    lines = []
    for guest in objects(value, "guests"):
        revision = text(guest, "revision")
        origin = f"own, revision {revision[:SHORT]}" if text(guest, "origin") == "own" else "shipped"
        lines.append(f"{text(guest, 'directory')}/  {text(guest, 'aspect')}, {origin}: {text(guest, 'description')}")
    return "\n".join(lines) or "(none)"


def revisions(value: Any, args: dict[str, Any]) -> str:
    """A guest's past, newest first."""
    lines = []
    for entry in objects(value, "revisions"):
        mark = "*" if flag(entry, "serving") else " "
        lines.append(f"{mark} {text(entry, 'revision')[:SHORT]}  by {text(entry, 'by')}: {text(entry, 'summary')}")
    return "\n".join(lines) or f"{text(args, 'aspect')} was not changed in this conversation."
