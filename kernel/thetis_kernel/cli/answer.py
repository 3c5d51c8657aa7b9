"""`thetis answer`: what the agent asked, shown and answered; and the turn that goes on with it, followed to its end.

Must not know how a turn is followed; `run` does that.
"""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from thetis_kernel.cli.printing import plain, say
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import UsageError
from thetis_kernel.protocol.asking import Given, options
from thetis_kernel.protocol.events import Question
from thetis_kernel.protocol.ids import short

LETTERS = "abcdefghijklmnopqrstuvwx"


def answer(arguments: argparse.Namespace) -> int:
    """Without answers, show what is open; with one for each question, give them and follow the turn."""
    from thetis_kernel.cli.run import follow_answer

    paths, loaded = locate(arguments)

    async def look() -> tuple[str, list[Question]]:
        async with reached(paths, loaded, warm=False) as client:
            session = (await client.conversation(arguments.conversation)).id
            return session, await client.questions(session)

    session, asked = asyncio.run(look())
    if not arguments.answers:
        if arguments.json:
            print(msgspec.json.encode(asked).decode())
        else:
            print("\n\n".join(told(session, question) for question in asked) or "Nothing is asked in this conversation.")
        return 0
    question = _chosen(asked, arguments.question)
    return follow_answer(arguments, question.id, given(question, arguments.answers))


def told(session: str, question: Question) -> str:
    """A question for people: its parts numbered, its options lettered, and how to answer."""
    lines = [plain(question.intro)] if question.intro else []
    for number, part in enumerate(question.questions, 1):
        several = " (several are possible)" if part.get("allow_multiple") is True else ""
        lines.append(plain(f"{number}. {part.get('question', '')}{several}"))
        lines += [plain(f"   {letter}) {label}") for letter, label in zip(LETTERS, options(part), strict=False)]
    count = len(question.questions)
    places = '"ANSWER"' if count == 1 else " ".join(f'"ANSWER {n}"' for n in range(1, count + 1))
    lines.append(f"Answer with: thetis answer {short(session)} {places}")
    return "\n".join(lines)


def given(question: Question, answers: list[str]) -> list[Given]:
    """One answer a question: a letter, an option, several of either with commas where they are allowed, or words."""
    if len(answers) != len(question.questions):
        raise UsageError(f"There are {len(question.questions)} questions and {len(answers)} answers.",
                         hint="Give one answer each, in order; quote those of several words.")
    found: list[Given] = []
    for part, words in zip(question.questions, answers, strict=True):
        labels = options(part)
        by_letter = dict(zip(LETTERS, labels, strict=False))
        names = {label.casefold(): label for label in labels}
        pieces = words.split(",") if part.get("allow_multiple") is True else [words]
        chosen = [by_letter.get(piece.strip().casefold(), names.get(piece.strip().casefold(), "")) for piece in pieces]
        identifier = str(part.get("id", ""))
        found.append(Given(identifier, chose=chosen) if labels and all(chosen) else Given(identifier, wrote=words))
    return found


def _chosen(asked: list[Question], wanted: str) -> Question:
    if not asked:
        raise UsageError("Nothing is asked in this conversation.", hint="It was answered, or the conversation went on.")
    if not wanted:
        return asked[-1]
    found = next((question for question in asked if question.id == wanted), None)
    if found is None:
        raise UsageError(f"There is no open question {wanted[:40]!r}.", hint="Open: " + ", ".join(one.id for one in asked))
    return found


async def tell_open(client: GatewayClient, session: str) -> None:
    """Print what a turn has just asked, on standard error."""
    for question in await client.questions(session):
        say("\n" + told(session, question))
