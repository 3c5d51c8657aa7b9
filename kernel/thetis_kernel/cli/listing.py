"""`thetis ls`, `log` and `show`: looking at conversations without changing anything."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import datetime

import msgspec

from thetis_kernel.cli.printing import event_line, plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.blocks import Block
from thetis_kernel.protocol.client import Conversation
from thetis_kernel.protocol.events import Event
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.spending import price_words, spent_words

PAGE = 500


def ls(arguments: argparse.Namespace) -> int:
    """Print the list of conversations."""
    paths, loaded = locate(arguments)

    async def work() -> list[Conversation]:
        async with reached(paths, loaded, warm=False) as client:
            found = await client.conversations(children=arguments.children)
            return _with_children([c for c in found if arguments.all or not c.archived])

    found = asyncio.run(work())
    if arguments.json:
        print(msgspec.json.encode(found).decode())
        return 0
    if not found:
        print('No conversations yet. Start one with: thetis run "what is in this repository?"')
    for line in found:
        when = datetime.fromtimestamp(line.updated_ms / 1000).strftime("%Y-%m-%d %H:%M")
        what = line.title or line.preview or "(empty)"
        what = f"  ↳ {what}" if line.parent else f"{what}{_at_work(line)}"
        print(plain(f"{short(line.id)}  {line.state:<11}  {when}  {line.mode:<6}  {price_words(line.spent):>8}  {what}"))
    return 0


def _with_children(found: list[Conversation]) -> list[Conversation]:
    """Each conversation with its sub-agents right behind it; those of a conversation that is not shown at the end."""
    own: dict[str, list[Conversation]] = {}
    for line in reversed(found):
        if line.parent:
            own.setdefault(line.parent, []).append(line)
    ordered = [each for line in found if not line.parent for each in (line, *own.pop(line.id, []))]
    return ordered + [line for lines in own.values() for line in lines]


def _at_work(line: Conversation) -> str:
    count = len(line.children)
    return f"  [{count} sub-agent{'s' if count > 1 else ''} at work]" if count else ""


def log(arguments: argparse.Namespace) -> int:
    """Print the event log, one line an event."""
    paths, loaded = locate(arguments)

    async def work() -> None:
        async with reached(paths, loaded, warm=False) as client:
            session = (await client.conversation(arguments.conversation)).id
            async for event in _all(client, session, arguments.after):
                if arguments.json:
                    sys.stdout.write(event_line(event) + "\n")
                else:
                    when = datetime.fromtimestamp(event.ts_ms / 1000).strftime("%H:%M:%S")
                    body = event.raw.decode("utf-8", "replace")
                    sys.stdout.write(plain(f"{event.seq:>5}  {when}  {event.kind:<16} {body[:200]}") + "\n")

    asyncio.run(work())
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Print the conversation as text, or its patch."""
    paths, loaded = locate(arguments)

    async def work() -> None:
        async with reached(paths, loaded, warm=False) as client:
            session = (await client.conversation(arguments.conversation)).id
            if arguments.diff:
                diff = await client.diff(session)
                print(msgspec.json.encode(diff).decode() if arguments.json else plain(diff.patch), end="")
                return
            last = 0
            while rendered := await client.render(session, last, last + PAGE):
                for event in rendered:
                    for block in event.blocks:
                        print(msgspec.json.encode(block).decode() if arguments.json else _text(block))
                last = rendered[-1].seq
            if not arguments.json:
                for model, spent in (await client.spending(session)).items():
                    print(plain(f"[spent] {model}: {plural(spent.calls)}, {spent_words(spent)}"))

    asyncio.run(work())
    return 0


async def _all(client: GatewayClient, session: str, after: int) -> AsyncIterator[Event]:
    while True:
        page = await client.read(session, after, PAGE)
        for event in page.events:
            yield event
            after = event.seq
        if not page.events:
            return


def plural(calls: int) -> str:
    """1 call, 2 calls."""
    return "1 call" if calls == 1 else f"{calls} calls"


def _text(block: Block) -> str:
    head = plain(f"[{block.kind}] {block.title}".rstrip())
    return f"{head}\n{plain(block.body)}\n" if block.body else head
