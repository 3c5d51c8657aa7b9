"""What agents ask their person: what is open, and how an answer reaches the agent.

A question ended its turn; the answer is an event and begins another. Nothing is held here: open questions are a fold of the
log, so they survive every process. Must not know who asks or on what they are shown.
"""

from __future__ import annotations

import asyncio
from typing import Any

from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.turns import Turns
from thetis_kernel.protocol.asking import MAX_ANSWER, Given, options
from thetis_kernel.protocol.events import Answer, Question
from thetis_kernel.protocol.worker import Deliver


class Questions:
    """The open questions of all conversations."""

    def __init__(self, log: Log, turns: Turns) -> None:
        self._log = log
        self._turns = turns
        self._line: dict[str, asyncio.Lock] = {}

    async def open(self, session: str) -> list[Question]:
        """What is asked and not answered, oldest first."""
        return list((await self._log.state(session)).questions.values())

    async def answer(self, session: str, identifier: str, given: list[Given], event_id: str, *, attended: bool) -> int:
        """Keep the answer and let a turn go on with it. Raises UsageError for an answer that does not fit the question."""
        known = await asyncio.to_thread(self._log.store.find_event, event_id)
        if known is not None:
            return known.seq
        async with self._line.setdefault(session, asyncio.Lock()):  # of two at once, the first counts
            question = (await self._log.state(session)).questions.get(identifier)
            if question is None:
                raise UsageError(f"There is no open question {identifier[:40]!r} here.",
                                 hint="It was answered, or the conversation went on without an answer.")
            answers = _fitting(question, given)
            event = await self._log.append(session, Answer(id=identifier, answers=answers), event_id=event_id)
        turn = self._turns.running(session)
        if not await self._turns.go_on(session, attended=attended) and turn is not None and turn.deliver is not None:
            turn.deliver(Deliver(turn=turn.id, seq=event.seq, text="The person answered."))
        return event.seq


def _fitting(question: Question, given: list[Given]) -> list[dict[str, Any]]:
    """The answers as the log keeps them: to each question its own words beside the answer."""
    by_id = {one.id: one for one in given}
    answers: list[dict[str, Any]] = []
    for asked in question.questions:
        words, offered, one = str(asked.get("question", "")), options(asked), by_id.pop(str(asked.get("id", "")), None)
        if one is None or not (one.chose or one.wrote.strip()):
            raise UsageError(f"{words[:200]!r} has no answer.", hint="Answer every question, or say something else instead.")
        unknown = [choice for choice in one.chose if choice not in offered]
        if unknown:
            raise UsageError(f"{unknown[0][:80]!r} is not among the options of {words[:120]!r}.",
                             hint="Options: " + ", ".join(offered) + ". One may also write something else.")
        if len(one.chose) > 1 and asked.get("allow_multiple") is not True:
            raise UsageError(f"{words[:200]!r} takes one option.")
        if len(one.wrote) > MAX_ANSWER:
            raise UsageError(f"An answer has at most {MAX_ANSWER:,} characters.")
        said = ", ".join([*one.chose, *filter(None, [one.wrote.strip()])])
        answers.append({"id": str(asked.get("id", "")), "question": words, "answer": said})
    if by_id:
        raise UsageError(f"There is no question {next(iter(by_id))[:40]!r} in {question.id}.")
    return answers
