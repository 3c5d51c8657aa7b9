"""What a tool did by itself while it ran, as fields of its result: one for each effect, in a person's words.

Must not fail on any data: it is as the kernel wrote it, or as an older log has it.
"""

from __future__ import annotations

from typing import Any

from thetis_guest.lenient import mapping, objects, text

MOST = 8
"""Effects that are shown; the event log holds the rest."""
_DID = {"write": "wrote", "exec": "ran", "http": "fetched"}
_TRIED = {"write": "write", "exec": "run", "http": "fetch"}


def fields(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Of a result's `data`: ("wrote", "out.txt"), ("ran", "make · exit 2"), ("refused", "write out.txt"), ("and", "3 more")."""
    found: list[tuple[str, str]] = []
    effects = objects(data, "effects")
    for effect in effects[:MOST]:
        does, what, how = text(effect, "does"), text(effect, "what"), text(effect, "how")
        if how in ("refused", "failed"):
            found.append((how, f"{_TRIED.get(does, does)} {what}"))
        else:
            found.append((_DID.get(does, does or "did"), " · ".join(filter(None, [what, how]))))
    counts = [count for count in mapping(data, "effects_left_out").values() if isinstance(count, int)]
    more = len(effects[MOST:]) + sum(counts)
    return [*found, ("and", f"{more} more")] if more else found
