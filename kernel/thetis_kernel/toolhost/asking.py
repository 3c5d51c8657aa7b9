"""`session.ask`: the agent asks the person, as an event the screens and the command line answer from.

Owns what a question may be. The turn's end is the agent's business. Must not know how it is answered.
"""

from __future__ import annotations

from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.asking import options
from thetis_kernel.protocol.events import Question
from thetis_kernel.protocol.ids import new_call_id
from thetis_kernel.toolhost.context import Journal

MAX_QUESTIONS, MAX_OPTIONS, MAX_WORDS, MAX_LABEL = 5, 24, 2_000, 200


class QuestionError(ThetisError):
    """A question nobody could answer."""

    code = "bad-arguments"


def ask(journal: Journal, intro: str, questions: list[Any]) -> dict[str, Any]:
    """Log the question; {"id", "questions"} as it is asked. Raises QuestionError."""
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise QuestionError(f"One asks 1 to {MAX_QUESTIONS} questions at a time, not {len(questions)}.")
    asked: list[dict[str, Any]] = []
    for number, question in enumerate(questions, 1):
        asked.append(_checked(question, number, {one["id"] for one in asked}))
    identifier = "q" + new_call_id()[-8:]
    journal.append(Question(id=identifier, questions=asked, intro=intro[:MAX_WORDS]))
    return {"id": identifier, "questions": asked}


def _checked(question: Any, number: int, taken: set[str]) -> dict[str, Any]:
    if not isinstance(question, dict) or not isinstance(question.get("question"), str) or not question["question"].strip():
        raise QuestionError(f"Question {number} has no text.", hint='Each is {"question": "...", "options": [...]}.')
    words = question["question"].strip()
    if len(words) > MAX_WORDS:
        raise QuestionError(f"Question {number} has {len(words)} characters; {MAX_WORDS} are allowed.")
    labels = options(question)
    if len(labels) > MAX_OPTIONS or any(len(label) > MAX_LABEL for label in labels) or len(set(labels)) < len(labels):
        raise QuestionError(f"Question {number} takes up to {MAX_OPTIONS} different options of {MAX_LABEL} characters.")
    if len(labels) == 1:
        raise QuestionError(f"Question {number} offers one option, which is no choice.", hint="Leave options out to ask openly.")
    identifier = question.get("id")
    identifier = identifier[:40] if isinstance(identifier, str) and identifier.strip() else str(number)
    if identifier in taken:
        raise QuestionError(f"Two questions have the id {identifier!r}.")
    several = question.get("allow_multiple") is True and bool(labels)
    return {"id": identifier, "question": words, **({"options": labels} if labels else {}),
            **({"allow_multiple": True} if several else {})}
