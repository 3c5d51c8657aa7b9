"""What an agent asks, as a message with components; and what was chosen or written there, as answers.

A component carries a mark that is worked out from the question, so nothing has to be remembered for it: whose question it is,
is looked up in the conversation of whoever pressed it. Must not know the library.
"""

from __future__ import annotations

import hashlib
from typing import Any

from thetis_kernel.connectors.discord.heard import Pressed
from thetis_kernel.connectors.discord.pages import LIMIT
from thetis_kernel.protocol import cutting
from thetis_kernel.protocol.asking import Given, options
from thetis_kernel.protocol.events import Question
from thetis_kernel.protocol.plaintext import clean_line, clean_text

PREFIX = "thetis"
MAX_ROWS = 4
"""Questions with a list of their own; the fifth of Discord's five rows holds the button."""
MAX_INPUTS = 5
"""Fields of a form of Discord's."""
MAX_OPTIONS, MAX_LABEL = 25, 100
"""Options of a list, characters of one (Discord's limits)."""
ROW, BUTTON, SELECT, INPUT = 1, 2, 3, 4
"""Types of components."""
PARAGRAPH = 2
SECONDARY = 2


def mark(session: str, question: Question) -> str:
    """What the components of a question carry."""
    return hashlib.sha256(f"{session}:{question.id}".encode()).hexdigest()[:16]


def message(session: str, question: Question) -> tuple[str, list[dict[str, Any]]]:
    """The text that asks (at most one message), and its components."""
    lines = [clean_text(question.intro)] if question.intro.strip() else []
    rows: list[dict[str, Any]] = []
    known = mark(session, question)
    for number, part in enumerate(question.questions):
        words = clean_line(str(part.get("question", "")))
        lines.append(f"**{number + 1}.** {words}" if len(question.questions) > 1 else words)
        labels = [clean_line(label) for label in options(part)]
        if labels and len(rows) < MAX_ROWS:
            rows.append(_row([_select(f"{PREFIX}:{known}:{number}", words, labels, part.get("allow_multiple") is True)]))
        if len(labels) > MAX_OPTIONS or any(len(label) > MAX_LABEL for label in labels):
            lines += [f"- {label}" for label in labels]
    count = min(len(question.questions), MAX_INPUTS)
    if count == len(question.questions):
        rows.append(_row([{"type": BUTTON, "style": SECONDARY, "label": "Answer in words",
                           "custom_id": f"{PREFIX}:{known}:w{count}"}]))
    return cutting.shortened("\n".join(lines), LIMIT), rows


def modal(known: str, count: int) -> dict[str, Any]:
    """The form for answers in words. It needs nothing but the mark, as Discord waits three seconds for it."""
    inputs = [_row([{"type": INPUT, "style": PARAGRAPH, "custom_id": str(number), "max_length": 4000, "required": True,
                     "label": "Your answer" if count == 1 else f"Answer {number + 1}"}]) for number in range(count)]
    return {"custom_id": f"{PREFIX}:{known}:m", "title": "Answer", "components": inputs}


def parsed(custom_id: str) -> tuple[str, str] | None:
    """The mark and what was pressed: the number of a question, `w` and a count, or `m`; None for what is not ours."""
    parts = custom_id.split(":")
    if len(parts) != 3 or parts[0] != PREFIX or len(parts[1]) != 16 or not parts[1].isalnum():
        return None
    pressed = parts[2]
    known = pressed == "m" or (pressed.removeprefix("w").isdecimal() and pressed.isascii() and len(pressed) <= 3)
    return (parts[1], pressed) if known else None


def count_of(pressed: str) -> int:
    """How many fields the button asks for, within what a form can hold."""
    return min(max(int(pressed.removeprefix("w")), 1), MAX_INPUTS)


def given(question: Question, pressed: Pressed) -> dict[int, Given]:
    """The answers a press gives, by the number of the question; those that are none are left out."""
    found: dict[int, Given] = {}
    for number, values in pressed.values.items():
        if not 0 <= number < len(question.questions):
            continue
        part = question.questions[number]
        identifier = str(part.get("id", ""))
        if pressed.written:
            words = "\n".join(values).strip()
            if words:
                found[number] = Given(identifier, wrote=words)
            continue
        labels = options(part)
        chosen = [labels[int(value)] for value in values
                  if value.isascii() and value.isdecimal() and len(value) < 4 and int(value) < len(labels)]
        if chosen:
            found[number] = Given(identifier, chose=chosen)
    return found


def _row(components: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": ROW, "components": components}


def _select(custom_id: str, words: str, labels: list[str], several: bool) -> dict[str, Any]:
    shown = [{"label": cutting.shortened(label, MAX_LABEL) or "…", "value": str(number)}
             for number, label in enumerate(labels[:MAX_OPTIONS])]
    return {"type": SELECT, "custom_id": custom_id, "options": shown,
            "placeholder": cutting.shortened(words, MAX_LABEL) or "Choose", "min_values": 1,
            "max_values": len(shown) if several else 1}
