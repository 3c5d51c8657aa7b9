"""`thetis run`: one turn without a screen. Standard output carries the answer (or JSON events) and nothing else."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence

from thetis_kernel.cli.attach import Reached, attach, attach_again, place
from thetis_kernel.cli.follow import Followed, FollowedAnswer
from thetis_kernel.cli.printing import Answer, say
from thetis_kernel.errors import DeadlineExceeded, PeerGone, RemoteError, ThetisError, UsageError
from thetis_kernel.paths import RootPaths
from thetis_kernel.protocol.asking import Given
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.spending import spent_words

CLOSING_S = 0.2
"""Between two tries while the kernel we are attached to ends."""
ASKED = 3
"""The exit status of a turn that ended with a question: neither done nor failed."""
EXITS = {"stop": 0, "asked": ASKED}
"""Exit statuses by the end of the turn; of all others it is 1."""


def run(arguments: argparse.Namespace) -> int:
    """Run one turn; 0 finished, 1 the turn failed, 2 usage or configuration, 3 it asks you something, 130 interrupted,
    129 left to the daemon when the terminal went away."""
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    if not prompt.strip():
        raise UsageError("There is nothing to say.", hint="Give a prompt, or - to read it from standard input.")
    if arguments.conversation and (arguments.mode or arguments.model):
        raise UsageError("--mode and --model are for new conversations.", hint="Leave them out, or leave out --conversation.")
    answer = Answer(json=arguments.json)
    followed = Followed(
        prompt, answer, conversation=arguments.conversation, mode=arguments.mode, model=arguments.model,
        with_changes=arguments.with_changes, files=[os.path.abspath(file) for file in arguments.attach])
    return _run(arguments, answer, followed)


def follow_answer(arguments: argparse.Namespace, question: str, given: Sequence[Given]) -> int:
    """Answer what an agent asked and follow the turn that goes on with it; as `run`."""
    answer = Answer(json=arguments.json)
    return _run(arguments, answer, FollowedAnswer(question, given, answer, conversation=arguments.conversation))


def _run(arguments: argparse.Namespace, answer: Answer, followed: Followed) -> int:
    return asyncio.run(_Run(arguments, answer, followed).go(place(arguments)))


class _Run:
    """The turn, whoever holds the root: this process, or another kernel that may leave while we are attached to it."""

    def __init__(self, arguments: argparse.Namespace, answer: Answer, followed: Followed) -> None:
        self._arguments = arguments
        self._answer = answer
        self._followed = followed
        self._interrupts = 0
        self._daemon = False
        self._left = False
        self._task: asyncio.Task[str] | None = None

    async def go(self, paths: RootPaths) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup's wish
                loop.add_signal_handler(number, self._interrupt, number)
        self._task = asyncio.create_task(self._until_over(paths))
        try:
            stopped_by = await self._task
        except asyncio.CancelledError:
            stopped_by = "cancelled"
        finally:
            self._farewell()
        if self._interrupts:
            return 129 if self._left else 130
        if stopped_by not in EXITS and not self._arguments.json:
            say(f"The turn ended by {stopped_by}: {self._followed.detail}")
        return EXITS.get(stopped_by, 1)

    async def _until_over(self, paths: RootPaths) -> str:
        while True:
            found = await self._reached(paths)
            try:
                return await self._with(found)
            except (PeerGone, RemoteError) as error:
                left = isinstance(error, PeerGone) or error.code == "closing"
                if found.gateway is not None or not left:
                    raise
                await asyncio.sleep(CLOSING_S)
                # The kernel we were attached to has gone; the log has everything, so go on with the next one, or our own.

    async def _reached(self, paths: RootPaths) -> Reached:
        """Whoever has the root open, a daemon on its way back too, or a gateway of our own."""
        with contextlib.suppress(PeerGone, DeadlineExceeded):
            found = await (attach_again if self._daemon else attach)(paths, safe=self._arguments.safe)
            self._daemon = found.daemon
            if self._arguments.unwalled and not self._arguments.json:
                say("note: --unwalled counts for the kernel it is started with, and this one runs already.")
            return found
        from thetis_kernel.cli.reach import locate, reach  # all of this is for one that has to open the root
        from thetis_kernel.cli.setup import ensure_built

        paths, loaded = locate(self._arguments)
        ensure_built(quiet=self._arguments.json)
        found = await reach(paths, loaded, unwalled=self._arguments.unwalled, safe=self._arguments.safe, turn=True)
        self._daemon = found.daemon
        return found

    async def _with(self, found: Reached) -> str:
        found.client.listen(self._answer.heard)
        notices = asyncio.create_task(self._tell_notices(found))  # beside the turn: counting changes takes its time
        try:
            stopped_by = await self._followed.follow(found.client)
            if stopped_by == "asked" and not self._arguments.json:
                from thetis_kernel.cli.answer import tell_open

                await tell_open(found.client, self._followed.session)
            await self._tell_spending(found)
            return stopped_by
        except asyncio.CancelledError:
            if self._left:  # the terminal went away: a turn that does not need this process goes on
                raise
            with contextlib.suppress(ThetisError):
                await self._followed.stop(found.client)
                await self._tell_spending(found)
            raise
        finally:
            if self._interrupts:
                notices.cancel()
            await asyncio.gather(notices, return_exceptions=True)
            await self._leave(found)

    async def _leave(self, found: Reached) -> None:
        """Give the root back, but not while conversations of others, attached to this process, have a running turn."""
        if found.gateway is None:
            return
        others = sum(turn.session != self._followed.session for turn in found.gateway.turns.all_running())
        if others and not self._arguments.json:
            say(f"Waiting for {others} other conversation(s) of this root that run in this process; Ctrl-C stops them.")
        with contextlib.suppress(ThetisError):
            try:
                await found.gateway.turns.drained()
            finally:
                await found.close()

    async def _tell_notices(self, found: Reached) -> None:
        if self._arguments.json:
            return
        status = await found.client.status(walls=False)
        for notice in status.notices:
            self._answer.remark(f"note: {notice}")
        if status.uncommitted > 0 and not self._arguments.conversation and not self._arguments.with_changes:
            say(f"note: {status.uncommitted} changed files are not included; --with-changes brings them.")

    async def _tell_spending(self, found: Reached) -> None:
        """What the turn used and cost, and the conversation when that is more."""
        if self._arguments.json or not self._followed.session:
            return
        line = await found.client.conversation(self._followed.session)
        if turn := spent_words(line.turn_spent):
            more = "" if line.spent == line.turn_spent else f" (this conversation: {spent_words(line.spent)})"
            say(f"spent: {turn}{more}")

    def _interrupt(self, number: int) -> None:
        self._interrupts += 1
        self._left = number == signal.SIGHUP and self._daemon
        if self._task is not None:
            self._task.cancel()

    def _farewell(self) -> None:
        if self._followed.session:
            name = short(self._followed.session)
            say(f'conversation {name}; go on with: thetis run --conversation {name} "..."')
