"""`thetis self`: the guests a conversation runs on, what became of them, and the way back."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import UsageError

Answer = dict[str, Any]
SHORT = 8


def selfwork(arguments: argparse.Namespace) -> int:
    """Ask, and print the answer as text or JSON. Exit status 1 when a roll-back was refused by the gate."""
    asked, printed = ACTIONS[arguments.action]
    paths, loaded = locate(arguments)

    async def work() -> Answer:
        async with reached(paths, loaded, warm=False) as client:
            session = (await client.conversation(arguments.conversation)).id if arguments.conversation else await _latest(client)
            return await asked(client, session, arguments)

    answer = asyncio.run(work())
    if arguments.json:
        print(msgspec.json.encode(answer).decode())
    else:
        sys.stdout.write(plain(printed(answer)))
    return 1 if answer.get("ok") is False else 0


async def _latest(client: GatewayClient) -> str:
    """The conversation used last. Raises UsageError when there is none."""
    found = await client.conversations()
    if not found:
        raise UsageError("There are no conversations yet.", hint='Start one with: thetis run "make yourself a tool"')
    return max(found, key=lambda line: line.updated_ms).id


async def _ls(client: GatewayClient, session: str, arguments: argparse.Namespace) -> Answer:
    return await client.devkit(session, "list-code")


async def _log(client: GatewayClient, session: str, arguments: argparse.Namespace) -> Answer:
    return await client.devkit(session, "history", aspect=arguments.guest)


async def _diff(client: GatewayClient, session: str, arguments: argparse.Namespace) -> Answer:
    return await client.devkit(session, "diff", aspect=arguments.guest, revision=arguments.revision)


async def _rollback(client: GatewayClient, session: str, arguments: argparse.Namespace) -> Answer:
    return await client.devkit(session, "roll-back", aspect=arguments.guest, revision=arguments.revision)


def _print_ls(answer: Answer) -> str:
    lines = []
    for guest in answer["guests"]:
        revision = guest["revision"][:SHORT] if guest["origin"] == "own" else "shipped"
        lines.append(f"{guest['aspect']:<22} {revision:<9} {guest['version']:<8} {guest['description']}\n")
    return "".join(lines)


def _print_log(answer: Answer) -> str:
    if not answer["revisions"]:
        return "Nothing was changed here: every guest is the shipped one.\n"
    lines = []
    for entry in answer["revisions"]:
        when = datetime.fromtimestamp(entry["ts_ms"] / 1000).strftime("%Y-%m-%d %H:%M")
        mark = "*" if entry["serving"] else " "
        lines.append(f"{mark} {entry['revision'][:SHORT]:<9} {when}  {entry['aspect']:<20} {entry['by']:<7} {entry['summary']}\n")
    return "".join(lines)


def _print_diff(answer: Answer) -> str:
    return str(answer["patch"]) or f"{answer['aspect']} is the same in both.\n"


def _print_rollback(answer: Answer) -> str:
    aspect = answer["aspect"]
    if not answer["ok"]:
        places = "".join(f"  {found['path']}:{found['line']}: {found['message']}\n" for found in answer["diagnostics"])
        return f"{aspect} does not pass the gate any more; nothing was changed.\n{places}"
    if answer["gone"]:
        return f"{aspect} is removed; it was {answer['previous'][:SHORT]}, and can be had again by that name.\n"
    if not answer["changed"]:
        return f"{aspect} serves at {answer['revision'][:SHORT]} already.\n"
    return f"{aspect} serves at {answer['revision'][:SHORT]} now; it was {answer['previous'][:SHORT]}.\n"


ACTIONS: dict[str, tuple[Callable[[GatewayClient, str, argparse.Namespace], Awaitable[Answer]], Callable[[Answer], str]]] = {
    "ls": (_ls, _print_ls),
    "log": (_log, _print_log),
    "diff": (_diff, _print_diff),
    "rollback": (_rollback, _print_rollback),
}
"""What is asked, and how the answer reads."""
