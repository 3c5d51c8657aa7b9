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
from thetis_kernel.protocol.events import REFUSED

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


def _asks(name: str, *named: str) -> Callable[[GatewayClient, str, argparse.Namespace], Awaitable[Answer]]:
    """An operation of the dev kit with the arguments of these names; "guest" is the aspect there."""
    async def ask(client: GatewayClient, session: str, arguments: argparse.Namespace) -> Answer:
        given = {{"guest": "aspect"}.get(one, one): getattr(arguments, one) for one in named}
        return await client.devkit(session, name, **given)

    return ask


def _print_update(answer: Answer) -> str:
    words = {"current": "nothing new", "merged": "merged, and it serves", "red": "merged, but it does not pass the gate",
             "conflicts": "both changed the same lines"}
    lines = []
    for one in answer["guests"]:
        lines.append(f"{one['aspect']:<22} {words[one['how']]}\n")
        lines += [f"  {path}\n" for path in one["conflicts"]]
        lines += [f"  {found['path']}:{found['line']}: {found['message']}\n" for found in one["diagnostics"]]
    if any(one["how"] in ("conflicts", "red") for one in answer["guests"]):
        lines.append("The files wait in the conversation's checkout (`thetis self path`) to be mended, by you or by its agent.\n"
                     "What ran before goes on running.\n")
    return "".join(lines) or "This conversation has no guests of its own.\n"


def _print_merge(answer: Answer) -> str:
    if not answer["ok"]:
        return "Nothing was merged:\n" + _print_update(answer)
    if not answer["merged"]:
        return "The common guests are the same already.\n"
    return f"{', '.join(answer['merged'])}: later conversations of this project begin with this.\n"


def _print_ls(answer: Answer) -> str:
    lines = []
    for guest in answer["guests"]:
        revision = guest["revision"][:SHORT] if guest["origin"] == "own" else "shipped"
        pinned = "pinned, " if guest["pinned"] else ""
        lines.append(f"{guest['aspect']:<22} {revision:<9} {guest['version']:<8} {pinned}{guest['description']}\n")
    return "".join(lines)


def _print_log(answer: Answer) -> str:
    if not answer["revisions"] and not answer["incidents"]:
        return "Nothing was changed here: every guest is the shipped one.\n"
    lines = [(entry["seq"], _line(entry)) for entry in answer["revisions"]]
    lines += [(entry["seq"], f"! {'':<9} {_when(entry)}  {entry['aspect']:<20} {'':<7} {entry['message']}\n")
              for entry in answer["incidents"]]  # fmt: skip
    return "".join(line for _, line in sorted(lines, reverse=True))


def _line(entry: Answer) -> str:
    mark = "*" if entry["serving"] else "x" if entry["verdict"] == REFUSED else " "
    return f"{mark} {entry['revision'][:SHORT]:<9} {_when(entry)}  {entry['aspect']:<20} {entry['by']:<7} {entry['summary']}\n"


def _when(entry: Answer) -> str:
    return datetime.fromtimestamp(entry["ts_ms"] / 1000).strftime("%Y-%m-%d %H:%M")


def _print_show(answer: Answer) -> str:
    when = datetime.fromtimestamp(answer["ts_ms"] / 1000).strftime("%Y-%m-%d %H:%M:%S")
    serves = "it serves" if answer["serving"] else "refused by the gate" if answer["verdict"] == REFUSED else "it served"
    lines = [f"{answer['aspect']} {answer['revision'][:16]}  ({serves})", f"by      {answer['by']}, {when}",
             f"why     {answer['summary']}", f"before  {answer['previous'][:16]}"]
    lines += [f"commit  {answer['commit'][:16]}"] if answer["commit"] else []
    return "\n".join(lines) + f"\n\n{answer['patch']}"


def _print_pin(answer: Answer) -> str:
    if not answer["ok"]:
        return _print_rollback(answer)
    if not answer["pinned"]:
        return f"{answer['aspect']} may be changed by the agent again.\n"
    return f"{answer['aspect']} is pinned at {answer['pinned'][:SHORT]}: the agent cannot change it in this conversation.\n"


def _print_packages(answer: Answer) -> str:
    lines = [f"{one['aspect']:<20} {one['name']:<20} {one['version']:<10} {one['licence'][:30]:<30} sha256 {one['sha256'][:12]}"
             f"{'' if one['wanted'] else '  (needed by another)'}\n" for one in answer["packages"]]  # fmt: skip
    return "".join(lines) or "No guest has taken in a package.\n"


def _print_taken(answer: Answer) -> str:
    if not answer["ok"]:
        return _print_rollback(answer)
    changed = ", ".join(f"{one['name']} {one['version']}" for one in answer["packages"]) or "nothing"
    return f"{answer['aspect']} serves at {answer['revision'][:SHORT]} now; changed: {changed}.\n"


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
    "ls": (_asks("list-code"), _print_ls),
    "log": (_asks("history", "guest"), _print_log),
    "show": (_asks("show", "guest", "revision"), _print_show),
    "diff": (_asks("diff", "guest", "revision"), _print_diff),
    "rollback": (_asks("roll-back", "guest", "revision"), _print_rollback),
    "update": (_asks("update-code", "guest"), _print_update),
    "merge": (_asks("merge", "guest"), _print_merge),
    "pin": (_asks("pin", "guest", "revision"), _print_pin),
    "path": (_asks("path", "guest"), lambda answer: f"{answer['path']}\n"),
    "packages": (_asks("list-dependencies", "guest"), _print_packages),
    "take": (_asks("add-dependency", "guest", "requirement"), _print_taken),
    "drop": (_asks("remove-dependency", "guest", "name"), _print_taken),
}
"""What is asked, and how the answer reads."""
