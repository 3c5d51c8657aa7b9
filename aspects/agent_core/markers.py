"""The words that mark what in a user-role message is not the person's own message.

Owns the markers and the few fixed sentences the projection needs. Must not know events or messages.
The system prompt explains the markers to the model, so the words stand here once.
"""

from __future__ import annotations

NOTE = "[system note]"
"""Begins a text written by Thetis itself."""
NUDGE = "[said while you were working]"
"""Begins what the person said during a running turn."""
BEGINNING = f"{NOTE} The conversation's beginning is not shown."
CONTINUE = f"{NOTE} Go on from here."
EMPTY_MESSAGE = "(an empty message)"
NO_OUTPUT = "(no output)"
NOT_RUN = "Not run: the turn was interrupted before this call began. Nothing happened."
UNKNOWN_OUTCOME = (
    "Interrupted: this call had begun, its outcome is unknown. Check the state of things before you repeat it."
)


def note(text: str) -> str:
    """A system note as user-role text."""
    return f"{NOTE} {text.strip()}"


def nudge(text: str) -> str:
    """A person's words during a turn, verbatim under their marker."""
    return f"{NUDGE}\n{text}"


def fenced(text: str, language: str = "") -> str:
    """`text` inside a code fence that no line of it can close."""
    longest = 0
    run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
