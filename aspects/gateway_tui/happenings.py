"""What happens to a conversation: turns, its branch, settings, changes of guests, incidents, sub-agents.

Owns the blocks of those kinds: one quiet line when all is well, a coloured one with its reason when not.
"""

from __future__ import annotations

import json
from typing import Any

import steering
from calls import Block, shown
from results import duration
from thetis_guest.lenient import flag, mapping, number, parsed, strings, text

_ENDS = {
    "stop": ("Done", "muted"),
    "asked": ("Waiting for your answer", "normal"),
    "cancelled": ("Stopped", "warn"),
    "restarted": ("Interrupted by a restart", "warn"),
    "limit": ("Stopped at a limit", "warn"),
    "repeated-failure": ("Stopped: the same call kept failing", "warn"),
    "model-error": ("The model failed", "bad"),
    "error": ("The turn failed", "bad"),
}


def session_started(body: dict[str, Any]) -> list[Block]:
    """A conversation begins."""
    relation, parent = text(body, "relation"), text(body, "parent")
    begun = {"fork": f"Forked from {parent[:8]}", "child": f"Sub-agent of {parent[:8]}"}.get(relation, "Conversation")
    branch, trunk = text(body, "branch"), text(body, "trunk")
    title = begun + (f" on {branch}" if branch else "") + (f", from {trunk}" if trunk else "")
    mode = f"{text(body, 'mode')} mode" if text(body, "mode") else ""
    return [_state(" · ".join(filter(None, [title, text(body, "model"), mode])))]


def turn_started(body: dict[str, Any]) -> list[Block]:
    """A turn begins: worth a line only when it is resumed."""
    attempt = number(body, "attempt")
    again = "" if attempt <= 1 else f" for the {_ordinal(attempt)} time"
    return [{"kind": "turn", "title": f"Resumed{again}", "tone": "muted"}] if attempt else []


def _ordinal(number_: int) -> str:
    return {2: "second", 3: "third"}.get(number_, f"{number_}th")


def turn_finished(body: dict[str, Any]) -> list[Block]:
    """A turn ends: what it took and, unless all is well, why it ended."""
    why = text(body, "stopped_by", "stop")
    words, tone = _ENDS.get(why, (f"Ended: {why}", "warn"))
    usage = mapping(body, "usage")
    steps, calls, took = number(body, "iterations"), number(body, "tool_calls"), number(body, "duration_ms")
    read = number(usage, "input") + number(usage, "cache_read") + number(usage, "cache_write")
    written = number(usage, "output")
    fields = []
    if steps > 1:
        fields.append(("steps", str(steps)))
    if calls:
        fields.append(("call" if calls == 1 else "calls", str(calls)))
    if read or written:
        about = "~" if flag(usage, "estimated") else ""
        fields.append(("", f"{about}{_tokens(read)} tokens in, {_tokens(written)} out"))
    if price := _price(mapping(body, "spent")):
        fields.append(("", price))
    if took:
        fields.append(("time", duration(took)))
    return [{"kind": "turn", "title": words, "body": text(body, "detail"), "tone": tone, "fields": fields}]


def _price(spent: dict[str, Any]) -> str:
    """What the turn cost; "" when the log does not say or nothing was used. Decimal text in, no arithmetic on it here."""
    used = sum(number(spent, part) for part in ("input", "output", "cache_read", "cache_write"))
    unpriced, cost = number(spent, "unpriced"), text(spent, "cost", "0")
    if not used:
        return ""
    if unpriced >= used:
        return "price unknown"
    if not unpriced and not cost.strip("0."):
        return ""  # what is free needs no word
    about = "~" if flag(spent, "estimated") else ""
    more = f" + {_tokens(unpriced)} tokens of unknown price" if unpriced else ""
    return f"{about}{_dollars(cost)}{more}"


def _dollars(cost: str) -> str:
    """Decimal text as an amount for people, rounded as the kernel rounds it: $1.20, $0.042, $0.0007."""
    whole, _, part = cost.partition(".")
    if not (whole.isdigit() and (not part or part.isdigit())):
        return "<$0.0001"  # an exponent: too small for anything else
    places = 2 if int(whole) else 3 if part[:2] > "00" else 4
    units = (int(whole + part.ljust(places + 1, "0")[: places + 1]) + 5) // 10
    if not units:
        return "<$0.0001" if part.strip("0") else "$0"
    digits = str(units).rjust(places + 1, "0")
    return f"${digits[:-places]}.{digits[-places:]}"


def _tokens(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 100_000 else f"{count / 1000:,.0f}k"


def branch_op(body: dict[str, Any]) -> list[Block]:
    """Something happened to the branch."""
    op, ok, after = text(body, "op"), body.get("ok") is not False, text(body, "after")[:8]
    if op == "restored" and ok and not mapping(body, "data").get("left"):
        return []  # the line of going back says it
    known = {"materialised": "Checked out a worktree", "commit": "Committed", "update": "Updated from trunk", "merge": "Merged",
             "reset": "Went back", "restored": "Files put back", "merge-open": "A merge is open",
             "abort": "Gave a merge up", "merge-guests": "Guests merged"}  # fmt: skip
    words = known.get(op, f"Branch: {op}") if ok else f"Branch: {op} failed"
    title = f"{words} at {after}" if op == "materialised" and after else f"{words} {after}".rstrip()
    detail = text(body, "detail")
    if ok and detail and "\n" not in detail:
        title, detail = f"{title}: {detail}", ""
    return [{"kind": "state", "title": title, "body": detail, "tone": "muted" if ok else "bad"}]


def setting_changed(body: dict[str, Any]) -> list[Block]:
    """A setting of the conversation changed."""
    name, value = text(body, "name"), text(body, "value")
    if name == "title":
        return [_state(f"Titled “{shown(value, 120)}”")]
    if name == "archived":
        return [_state("Archived" if value == "true" else "Taken out of the archive")]
    if name == "network":
        return [_state("Commands may use the network" if value == "true" else "Commands have no network")]
    if name == "compact":
        return [_state("You asked to sum up the conversation" + (f": {shown(value, 300)}" if value else ""))]
    return [_state(f"{name[:1].upper()}{name[1:]} is now {value}")]


def state_changed(body: dict[str, Any]) -> list[Block]:
    """A note, plan or list changed. What comes with the call that made it is not shown, nor are a guest's own keys."""
    scope, key, value = text(body, "scope"), text(body, "key"), text(body, "value")
    if scope in ("notes", "terminals", "plan", "todos") or scope.startswith("kv:"):
        return []
    if scope == "groups":
        why = text(parsed(value), "why")
        return [] if why == "always on" else [_state(steering.loaded(key, why))]
    if scope == "skills":
        return _skills(value) if key == "offered" else []
    if scope == "rules":
        return [_rules(value)]
    words = f"{scope[:1].upper()}{scope[1:]} {key}".strip() + ("" if value else " removed")
    return [{**_state(words), "body": _readable(value), "folded": True}]


def _skills(value: str) -> list[Block]:
    """Which skills were named to the agent; that it reads one, its call says."""
    try:
        cards = [card for card in json.loads(value) if isinstance(card, dict)] if value else []
    except (ValueError, TypeError, RecursionError):
        return []
    names = ", ".join(shown(text(card, "name"), 60) for card in cards)
    lines = [f"{shown(text(card, 'name'), 60)}: {shown(text(card, 'brief'), 300)}" for card in cards]
    return [{**_state(f"Skills at hand: {names}"), "body": "\n".join(lines), "folded": True}] if names else []


def _rules(value: str) -> Block:
    """The project's own rules, as the agent is told them from here on."""
    if not value:
        return _state("The project has no rules for agents any more")
    try:
        told = json.loads(value)
    except (ValueError, RecursionError):
        told = {}
    words = text(told, "text")
    lines = len(words.splitlines())
    size = f"{lines} line{'' if lines == 1 else 's'}" + (", cut" if flag(told, "cut") else "")
    return {**_state(f"Rules of the project: {shown(text(told, 'file'), 60)} ({size})"), "body": words, "folded": True}


def _readable(value: str) -> str:
    try:
        found = json.loads(value) if value else ""
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=1)


def modification(body: dict[str, Any]) -> list[Block]:
    """A guest or a skill was changed: what serves now, and who did it unless it was the agent, whose call says so."""
    verdict, revision, by = text(body, "verdict"), text(body, "revision"), text(body, "by")
    good = verdict in ("", "pass", "ok", "green")
    serving = "the shipped one" if revision == "shipped" else revision[:8]
    target = text(body, "target") or "A guest"
    title = f"Thetis put {target} back to {serving}" if by == "kernel" else f"{target} is now {serving}".strip()
    if not good:
        title = f"{target}: {verdict}"
    fields = [("revision", revision[:12]), ("before", text(body, "previous")[:12]), ("by", by)]
    return [{**_state(title, fields), "body": text(body, "summary"), "tone": "good" if good else "warn"}]


def incident(body: dict[str, Any]) -> list[Block]:
    """Something went wrong that a person should know."""
    fields = [("code", text(body, "code"))]
    fields += [(str(key)[:80], shown(value, 500)) for key, value in list(mapping(body, "data").items())[:12]]
    message = text(body, "message") or text(body, "code") or "Something went wrong"
    return [{"kind": "incident", "title": message, "tone": "bad", "fields": [field for field in fields if field[1]]}]


def approval(body: dict[str, Any]) -> list[Block]:
    """A request for consent, or its answer."""
    capability, decision = text(body, "capability"), text(body, "decision")
    if not decision:
        what, first = text(body, "what"), text(body, "detail").partition("\n")[0][:300]
        asked = f"{what}: {first}" if first and capability != "write" else what
        return [{"kind": "note", "title": f"Asks for your consent: {capability}", "body": asked, "tone": "warn"}]
    words = {"allow-once": "allowed once", "allow-session": "allowed in this conversation", "allow-rule": "allowed by a rule",
             "deny": "denied", "used": "done, as allowed before"}.get(decision, decision)  # fmt: skip
    return [{**_state(f"{capability}: {words}"), "tone": "warn" if decision == "deny" else "muted"}]


def child_started(body: dict[str, Any]) -> list[Block]:
    """A sub-agent began: what it is for, on one line; the whole brief is folded."""
    task = text(body, "task")
    first = task.partition("\n")[0].removeprefix("Objective:").strip()[:120]
    title = f"Sub-agent {text(body, 'label')} started" + (f": {first}" if first else "")
    fields = [("mode", text(body, "mode")), ("id", text(body, "child")[:8])]
    return [{**_state(title, [field for field in fields if field[1]]), "body": task, "folded": True}]


def child_settled(body: dict[str, Any]) -> list[Block]:
    """A sub-agent ended: how, and what it took; its words are folded."""
    state, detail = text(body, "state"), text(body, "detail")
    tone = {"done": "good", "failed": "bad"}.get(state, "muted")
    name = text(body, "label") or text(body, "child")[:8]
    ms, steps = number(body, "duration_ms"), number(body, "steps")
    took = f" after {ms / 1000:.0f} s, {steps} steps" if ms else ""
    title = f"Sub-agent {name} {state}".rstrip() + took + (f": {detail[:160]}" if detail else "")
    files = ", ".join(strings(body, "files"))
    words = "\n\n".join(filter(None, [f"It wrote {files}." if files else "", text(body, "result")]))
    return [{"kind": "state", "title": title, "body": words, "format": "markdown", "tone": tone, "folded": True}]


def rewind(body: dict[str, Any]) -> list[Block]:
    """The conversation went back."""
    files = ", the files too" if text(body, "tree") else ""
    return [{"kind": "turn", "title": f"Went to another point in time{files}", "tone": "warn"}]


def spending(body: dict[str, Any]) -> list[Block]:
    """Tokens of an abandoned try: the end of the turn counts them."""
    return []


def queue(body: dict[str, Any]) -> list[Block]:
    """Words for later: they are shown where one types, and once they are said they are a message."""
    return []


def _state(title: str, fields: list[tuple[str, str]] | None = None) -> Block:
    return {"kind": "state", "title": title, "tone": "muted", "fields": [field for field in fields or [] if field[1]]}
