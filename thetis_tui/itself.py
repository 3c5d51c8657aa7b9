"""What a conversation runs on, as rows: each guest with every revision and incident of it, newest first.

Pure: the dev kit's answers come in, rows and lines go out. Must not know about widgets. Texts of guests are a stranger's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual.content import Content

from thetis_tui import diffs
from thetis_tui.difflines import diff_lines
from thetis_tui.lines import Line, prefixed, wrapped
from thetis_tui.sanitise import one_line
from thetis_tui.text import age, cut, plural

SHORT = 8
REFUSED = "refused"
_LABEL = 9
_GONE = {"origin": "gone", "revision": "", "pinned": "", "description": "", "version": ""}
_WHO = {"user": "you", "agent": "agent", "kernel": "Thetis"}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the list. `kind`: guest, revision, incident. `facts` is the dev kit's answer about it."""

    kind: str
    aspect: str
    revision: str
    facts: dict[str, Any]

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from every other row, also after the list was read again."""
        return self.aspect, self.revision, int(self.facts.get("seq", 0))


def rows_of(guests: list[dict[str, Any]], history: dict[str, Any]) -> list[Row]:
    """Guests that were changed first, each with its past below it; then the shipped ones. Tools that are gone keep their past."""
    past: dict[str, list[Row]] = {}
    for entry in history.get("revisions", []):
        past.setdefault(str(entry["aspect"]), []).append(Row("revision", str(entry["aspect"]), str(entry["revision"]), entry))
    for entry in history.get("incidents", []):
        past.setdefault(str(entry["aspect"]), []).append(Row("incident", str(entry["aspect"]), str(entry["revision"]), entry))
    named = {str(guest["aspect"]): guest for guest in guests}
    for aspect, own in past.items():  # skills, and tools that are gone: the dev kit lists neither
        serving = next((row for row in own if row.facts.get("serving")), None)
        there = serving is not None and serving.revision != "shipped"
        named.setdefault(aspect, {**_GONE, "aspect": aspect, "origin": "own" if there else "gone",
                                  "revision": serving.revision if serving and there else ""})  # fmt: skip
    rows: list[Row] = []
    for aspect in sorted(named, key=lambda one: (one not in past, _order(one))):
        rows.append(Row("guest", aspect, str(named[aspect]["revision"]), named[aspect]))
        rows += sorted(past.get(aspect, []), key=lambda row: -int(row.facts["seq"]))
    return rows


def label(row: Row, width: int, now_ms: int) -> Content:
    """The row on one line of `width` cells."""
    facts = row.facts
    if row.kind == "guest":
        changed = facts["origin"] != "shipped"
        right = "removed" if facts["origin"] == "gone" else facts["revision"][:SHORT]
        pinned = Content.styled(" pinned", "$text-warning") if facts["pinned"] else Content()
        room = width - len(right) - pinned.cell_length - 1
        name = Content.styled(cut(one_line(row.aspect), room), "bold" if changed else "$text-muted") + pinned
        gap = " " * max(1, width - name.cell_length - len(right))
        return name + gap + Content.styled(right, "$text-accent" if changed else "$text-disabled")
    if row.kind == "incident":
        mark, words, style = "!", str(facts["message"]), "$text-error"
    else:
        mark, style = ("●", "$text-success") if facts["serving"] else ("✗", "$text-error") if facts["verdict"] == REFUSED \
            else ("↩", "$text-muted") if row.revision == "shipped" else ("○", "$text-muted")  # fmt: skip
        words = str(facts["summary"])
    when = age(int(facts["ts_ms"]), now_ms).rjust(4)
    lead = Content.assemble("  ", (mark, style), f" {when}  ", (f"{row.revision[:SHORT]:<{_LABEL}}", "$text-accent"))
    room = width - lead.cell_length
    return lead + Content.styled(cut(one_line(words), room), "$text-error" if row.kind == "incident" else "$text")


def story(row: Row, patch: str, width: int) -> list[Line]:
    """Everything about a row: who, when, why, the verdict, and the change."""
    facts = row.facts
    if row.kind == "guest":
        serving = {"own": "its own revision", "gone": "nothing: it was removed"}.get(facts["origin"], "the shipped one")
        told = [("what", facts["description"]), ("version", facts["version"]),
                ("serves", f"{serving} {facts['revision'][:SHORT] if facts['origin'] == 'own' else ''}"),
                ("pinned", f"at {facts['pinned'][:SHORT]}: the agent cannot change it" if facts["pinned"] else "")]  # fmt: skip
        what = "Against the shipped one" if facts["origin"] == "own" else ""
    elif row.kind == "incident":
        told = [("what", facts["message"]), ("code", facts["code"]), ("revision", facts["revision"][:SHORT])]
        what = ""
    else:
        verdict = "refused by the gate; nothing that runs was changed" if facts["verdict"] == REFUSED else "passed the gate"
        verdict += ", serves now" if facts["serving"] else ""
        told = [("why", facts["summary"]), ("by", _WHO.get(facts["by"], facts["by"])),
                ("verdict", verdict), ("before", facts["previous"][:SHORT])]  # fmt: skip
        what = "What it changed"
    out: list[Line] = []
    for name, words in told:
        if str(words).strip():
            body = wrapped(Content(one_line(str(words))), max(12, width - _LABEL))
            out += prefixed(body, Content.styled(name.ljust(_LABEL), "$text-muted"), Content(" " * _LABEL))
    if what and patch:
        parsed = diffs.parse(patch)
        added, removed = (sum(line.kind == kind for line in parsed) for kind in ("added", "removed"))
        files = plural(sum(line.kind == "file" for line in parsed), "file")
        head = Content.assemble((what, "bold"), (f"  {files}", "$text-muted"), (f"  +{added}", "$text-success"),
                                (f" -{removed}", "$text-error"))  # fmt: skip
        out += [Line(), Line(head), Line(), *diff_lines(parsed, width)]
    elif what:
        out += [Line(), Line(Content.styled("The text is the same as before.", "$text-muted"))]
    return out


def _order(aspect: str) -> tuple[bool, bool, str]:
    return aspect != "agent", not aspect.startswith("gateway/"), aspect
