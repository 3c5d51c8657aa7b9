"""`thetis run`: one turn without a screen. Standard output carries the answer (or JSON events) and nothing else."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys

from thetis_kernel.cli.printing import event_line, plain, say
from thetis_kernel.cli.reach import Reached, locate, reach
from thetis_kernel.cli.setup import ensure_built
from thetis_kernel.client import GatewayClient
from thetis_kernel.config.loading import Loaded
from thetis_kernel.errors import ThetisError, UsageError
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol.events import Assistant, Event, Incident, ToolInvocation, TurnFinished
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.wire import Tell

FINISHED = frozenset({"stop", "asked"})
"""Ends of a turn that exit with status 0."""


def run(arguments: argparse.Namespace) -> int:
    """Run one turn; 0 finished, 1 the turn failed, 2 usage or configuration, 130 interrupted."""
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    if not prompt.strip():
        raise UsageError("There is nothing to say.", hint="Give a prompt, or - to read it from standard input.")
    if arguments.conversation and (arguments.mode or arguments.model):
        raise UsageError("--mode and --model are for new conversations.", hint="Leave them out, or leave out --conversation.")
    paths, loaded = locate(arguments)
    ensure_built(quiet=arguments.json)
    return asyncio.run(_Run(arguments, prompt).go(paths, loaded))


class _Run:
    def __init__(self, arguments: argparse.Namespace, prompt: str) -> None:
        self._arguments = arguments
        self._prompt = prompt
        self._session = ""
        self._interrupts = 0
        self._streamed = ""
        self._waiting_for = ""
        self._task: asyncio.Task[str] | None = None

    async def go(self, paths: RootPaths, loaded: Loaded) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._interrupt)
        found: Reached | None = None
        try:
            found = await reach(paths, loaded, unwalled=self._arguments.unwalled)
            self._task = asyncio.create_task(self._turn(found.client))
            stopped_by = await self._task
        except asyncio.CancelledError:
            stopped_by = "cancelled"
        finally:
            if found is not None:
                with contextlib.suppress(ThetisError):
                    await found.close()
            self._farewell()
        if self._interrupts:
            return 130
        return 0 if stopped_by in FINISHED else 1

    async def _turn(self, client: GatewayClient) -> str:
        client.listen(self._heard)
        notices = asyncio.create_task(self._tell_notices(client))  # beside the turn: counting changes takes its time
        try:
            return await self._follow(client)
        finally:
            if self._interrupts:
                notices.cancel()
            await asyncio.gather(notices, return_exceptions=True)

    async def _follow(self, client: GatewayClient) -> str:
        if self._arguments.conversation:
            conversation = await client.conversation(self._arguments.conversation)
        else:
            conversation = await client.create(origin="headless", mode=self._arguments.mode, model=self._arguments.model)
        self._session = conversation.id
        after = conversation.last_seq
        if self._interrupts:
            return "cancelled"
        events = client.events(conversation.id, after if self._arguments.conversation else 0)
        submitted = await client.submit(conversation.id, self._prompt, with_changes=self._arguments.with_changes)
        turn = submitted.turn
        async with contextlib.aclosing(events):
            async for stored in events:
                self._print(stored.event)
                body = stored.event.body
                if isinstance(body, TurnFinished) and (not turn or body.turn == turn):
                    if body.stopped_by not in FINISHED and not self._arguments.json:
                        say(f"The turn ended by {body.stopped_by}: {plain(body.detail)}")
                    return body.stopped_by
        return "error"

    async def _tell_notices(self, client: GatewayClient) -> None:
        if self._arguments.json:
            return
        status = await client.status()
        for notice in status.notices:
            say(f"note: {plain(notice)}")
        if status.uncommitted > 0 and not self._arguments.conversation and not self._arguments.with_changes:
            say(f"note: {status.uncommitted} changed files are not included; --with-changes brings them.")

    def _heard(self, tell: Tell) -> None:
        if self._arguments.json:
            return
        if isinstance(tell, c.Delta) and tell.session == self._session and tell.kind == "text":
            self._streamed += tell.text
            sys.stdout.write(plain(tell.text))
            sys.stdout.flush()
        elif isinstance(tell, c.Delta) and tell.session == self._session and tell.kind == "waiting":
            reason = tell.text.partition(" (")[0]
            if reason != self._waiting_for:  # told once, not each second of the countdown
                self._waiting_for = reason
                say(plain(tell.text))
        elif isinstance(tell, c.Notice) and tell.level != "info":
            say(plain(f"{tell.level}: {tell.message} {tell.hint}").rstrip())

    def _print(self, event: Event) -> None:
        if self._arguments.json:
            sys.stdout.write(event_line(event) + "\n")
            sys.stdout.flush()
            return
        match event.body:
            case Assistant(blocks=blocks):
                text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
                rest = text[len(self._streamed):] if text.startswith(self._streamed) else ""
                sys.stdout.write(plain(rest) + ("\n" if text else ""))
                sys.stdout.flush()
                self._streamed = ""
            case ToolInvocation(name=name, args=args):
                shown = " ".join(str(value).replace("\n", " ") for value in args.values())
                say(plain(f"· {name} {shown}"[:160]))
            case Incident(message=message):
                say(plain(f"incident: {message}"))
            case _:
                pass

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._task is not None:
            # Leaving the turn closes the gateway, which stops it and waits for its one turn-finished.
            self._task.cancel()

    def _farewell(self) -> None:
        if self._session:
            name = short(self._session)
            say(f'conversation {name}; go on with: thetis run --conversation {name} "..."')
