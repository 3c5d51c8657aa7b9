"""`thetis skills`: which there are, what is wrong with those that cannot be used, and the text of one."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.protocol.skills import Problem, SkillList, SkillText
from thetis_kernel.skills.reading import read_directory

WHOSE = {"shipped": "shipped", "person": "yours", "checkout": "checkout", "conversation": "conversation"}


def skills(arguments: argparse.Namespace) -> int:
    """List, show or check; 1 when a skill cannot be used. Raises UsageError for a skill nobody has."""
    if arguments.action == "lint":
        return _lint(Path(arguments.directory), json=arguments.json)
    paths, loaded = locate(arguments)

    async def work() -> SkillList | SkillText:
        async with reached(paths, loaded, warm=False) as client:
            if arguments.action == "show":
                return await client.skill(arguments.name, arguments.conversation)
            return await client.skills(arguments.conversation)

    found = asyncio.run(work())
    if arguments.json:
        print(msgspec.json.encode(found).decode())
    elif isinstance(found, SkillText):
        print(plain(found.text))
    else:
        width = max((len(card.name) for card in found.cards), default=0)
        for card in found.cards:
            print(f"{card.name:<{width}}  {WHOSE[card.source]:<12}  {clean_line(card.brief)}")
        _tell(found.problems)
    return 1 if isinstance(found, SkillList) and any(problem.fatal for problem in found.problems) else 0


def _lint(directory: Path, *, json: bool) -> int:
    found = read_directory(directory, "person")
    if json:
        print(msgspec.json.encode(found.problems).decode())
    else:
        _tell(found.problems)
        print("1 skill can be used." if len(found.skills) == 1 else f"{len(found.skills)} skills can be used.")
    return 1 if any(problem.fatal for problem in found.problems) else 0


def _tell(problems: list[Problem]) -> None:
    for problem in problems:
        place = clean_line(problem.path or "skills") + (f":{problem.line}" if problem.line else "")
        print(f"{place}: {'' if problem.fatal else 'warning: '}{clean_line(problem.message)}")
