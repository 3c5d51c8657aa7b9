"""`thetis export`: one conversation as Markdown, JSON or a page of HTML, to be shown to others.

What is written comes from the gateway clean: without secrets, without anything of the registry of machines. Must not know
what those are.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TextIO

from thetis_kernel.cli.exporting import FORMS
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.client import GatewayClient
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.events import Event


def export(arguments: argparse.Namespace) -> int:
    """Write it to standard output, or to `--output`, which must not exist."""
    paths, loaded = locate(arguments)
    form = FORMS[arguments.form]()

    async def work() -> None:
        async with reached(paths, loaded, warm=False) as client:
            session = (await client.conversation(arguments.conversation)).id
            target = _open(arguments.output) if arguments.output else None
            out = target or sys.stdout
            try:
                out.write(form.head())
                async with aclosing(_clean(client, session)) as events:
                    async for event in events:
                        out.write(form.event(event))
                out.write(form.foot())
            finally:
                if target is not None:
                    target.close()

    asyncio.run(work())
    return 0


async def _clean(client: GatewayClient, session: str) -> AsyncGenerator[Event, None]:
    after = 0
    while events := await client.read_clean(session, after):
        for event in events:
            yield event
            after = event.seq


def _open(name: str) -> TextIO:
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ThetisError(f"{name} is there already.", code="exists", hint="Name another file, or remove it.") from None
    except OSError as error:
        raise ThetisError(f"{Path(name)} cannot be written: {error.strerror}.", code="os") from error
    return open(descriptor, "w", encoding="utf-8", errors="replace")
