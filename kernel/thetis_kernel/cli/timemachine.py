"""`thetis rewind`, `undo` and `fork`: going back in a conversation, and going on from a moment of it in another."""

from __future__ import annotations

import argparse
from datetime import datetime

from thetis_kernel.cli.one import asked, say
from thetis_kernel.client import GatewayClient
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.protocol.timemachine import Forked, Moment, Rewound

WORDS = 90
"""Characters of a message that a list shows."""


def rewind(arguments: argparse.Namespace) -> int:
    """Go back to right before a message; without its number, list those one can go back to."""

    async def work(client: GatewayClient, session: str) -> Rewound | list[Moment]:
        if not arguments.message:
            return await client.moments(session)
        return await client.rewind(session, arguments.message, arguments.only or "both")

    found = asked(arguments, work)
    say(arguments, found, _listed(found) if isinstance(found, list) else _rewound(found))
    return 0


def undo(arguments: argparse.Namespace) -> int:
    """Take the last rewind back."""

    async def work(client: GatewayClient, session: str) -> Rewound:
        return await client.undo_rewind(session)

    found = asked(arguments, work)
    say(arguments, found, _rewound(found))
    return 0


def fork(arguments: argparse.Namespace) -> int:
    """A new conversation with this one's beginning and files; its id."""

    async def work(client: GatewayClient, session: str) -> Forked:
        return await client.fork(session, arguments.message)

    found = asked(arguments, work)
    before = f", right before: {clean_line(found.text)[:WORDS]}" if found.text else ""
    say(arguments, found, f"{short(found.session)} is the fork{before}\n")
    return 0


def _listed(moments: list[Moment]) -> str:
    lines = [f"{moment.seq:>7}  {datetime.fromtimestamp(moment.ts_ms / 1000):%Y-%m-%d %H:%M}  "
             f"{clean_line(' '.join(moment.text.split()))[:WORDS]}\n" for moment in moments]
    return "".join(lines) + "Go back to right before one: thetis rewind ID NUMBER\n" if lines else "Nothing was said yet.\n"


def _rewound(done: Rewound) -> str:
    files = f"{done.written} paths written, {done.removed} removed" if done.files else "no file had to change"
    head = f"Went back to right before: {clean_line(done.text)[:WORDS]}\n" if done.text else ""
    return head + f"Files: {files}.\n" + "".join(f"Left as it is: {clean_line(sentence)}\n" for sentence in done.kept)
