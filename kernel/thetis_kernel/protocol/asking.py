"""What an agent asks a person and how it is answered; and a person's wish that a conversation be made smaller.

Requests of clients, like those in `protocol.client`; data alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.protocol.events import Question
from thetis_kernel.protocol.wire import Ask

MAX_ANSWER = 20_000
"""Characters of one answer."""


class Given(msgspec.Struct, frozen=True):
    """A person's answer to one of the questions, by its `id`: the options they `chose`, and what they wrote."""

    id: str
    chose: list[str] = []
    wrote: str = ""


class ListQuestions(Ask[list[Question]], frozen=True, tag="asking.list"):
    """What is asked in a conversation and not answered yet, oldest first. The person's next words end it, too."""

    session: str


class AnswerQuestion(Ask[int], frozen=True, tag="asking.answer"):
    """Answer all of one question event and go on with a turn; the answer's seq, once it is durable. The same `event_id` twice is
    one answer."""

    session: str
    id: str
    answers: list[Given]
    event_id: str


class Compact(Ask[str], frozen=True, tag="asking.compact"):
    """Sum up the conversation's middle: in the running turn before its next request, else in a turn of its own; its id.

    `hint`: what the summary shall keep.
    """

    session: str
    hint: str = ""


ASKING_ASKS = (ListQuestions, AnswerQuestion, Compact)


def options(question: dict[str, Any]) -> list[str]:
    """The labels of a question's options; empty for an open one."""
    found = question.get("options")
    labels: list[str] = []
    for option in found if isinstance(found, list) else []:
        label = option.get("label") if isinstance(option, dict) else option
        if isinstance(label, str) and label:
            labels.append(label)
    return labels
