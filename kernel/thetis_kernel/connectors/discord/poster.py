"""The messages that show one turn: made to match what is wanted, one change at a time and not faster than agreed.

Nothing is given up for a reason that passes: a message that could not be sent is sent again, with the mark that keeps Discord
from showing it twice. Must not know what the messages say.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from thetis_kernel.connectors.discord.pause import Pause

_logger = logging.getLogger(__name__)
GONE = 0
"""In the place of a message somebody deleted: it is not shown again."""


class Unsent(Exception):
    """Discord did not take it. `lasting`: it never will; `gone`: the message, not the channel, is not there any more."""

    def __init__(self, why: str, *, lasting: bool, gone: bool = False) -> None:
        super().__init__(why)
        self.lasting = lasting
        self.gone = gone


class Post(Protocol):
    """How messages are sent; every method raises Unsent."""

    async def send(self, channel: int, content: str, *, reply_to: int = 0, nonce: str = "",
                   components: Sequence[dict[str, Any]] = ()) -> int: ...

    async def edit(self, channel: int, message: int, content: str, *,
                   components: Sequence[dict[str, Any]] | None = None) -> None: ...

    async def delete(self, channel: int, message: int) -> None: ...


class Poster:
    """One turn's messages in a channel. `posts`: those of an earlier run; `kept(posts)` is told of each that is new."""

    def __init__(self, post: Post, channel: int, name: str, *, reply_to: int, interval_s: float, posts: Sequence[int] = (),
                 kept: Callable[[list[int]], None]) -> None:
        self._post = post
        self._channel = channel
        self._name = name
        self._reply_to = reply_to
        self._interval_s = interval_s
        self._kept = kept
        self._posts = list(posts)
        self._shown: list[str | None] = [None] * len(self._posts)
        self._wanted: Callable[[], Sequence[str]] = lambda: ()
        self._ring = asyncio.Event()
        self._ending = asyncio.Event()
        self._pause = Pause()
        self._last = 0.0
        self._dropped = 0

    def want(self, pages: Callable[[], Sequence[str]]) -> None:
        """From now on the messages shall be what `pages()` says; it is asked when something can be sent."""
        self._wanted = pages
        self._ring.set()

    async def run(self) -> None:
        """Follow what is wanted, at the agreed pace, until `end`."""
        while not self._ending.is_set():
            await self._ring.wait()
            self._ring.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._last + self._interval_s):
                    await self._ending.wait()
            await self.settle(once=True)

    def end(self) -> None:
        """Let `run` return after what it is at."""
        self._ending.set()
        self._ring.set()

    async def settle(self, *, once: bool = False) -> None:
        """Make the messages what is wanted; with `once`, as it is wanted now and not what is added meanwhile."""
        while (step := self._next()) is not None:
            if await self._do(*step):
                self._pause.reset()
            else:
                await asyncio.sleep(self._pause.next_s())
            self._last = asyncio.get_running_loop().time()
            if once and self._ring.is_set():
                return

    def _next(self) -> tuple[int, str | None] | None:
        """The first page that is not shown as it should be: its number and text, None for one too many."""
        wanted = self._wanted()
        for number, page in enumerate(wanted):
            if number >= len(self._posts) or (self._posts[number] != GONE and self._shown[number] != page):
                return number, page
        return (len(self._posts) - 1, None) if len(self._posts) > len(wanted) else None

    async def _do(self, number: int, page: str | None) -> bool:
        """One change; whether it is done with. What lasts is written down and not tried again."""
        try:
            if page is None:
                if self._posts[number] != GONE:
                    await self._post.delete(self._channel, self._posts[number])
                self._drop(number)
            elif number < len(self._posts):
                await self._post.edit(self._channel, self._posts[number], page)
                self._shown[number] = page
            else:
                made = await self._post.send(self._channel, page, reply_to=0 if number else self._reply_to,
                                             nonce=self._nonce(number))
                self._add(made, page)
        except Unsent as error:
            if not error.lasting and not error.gone:
                return False
            _logger.warning("A message in channel %d was not taken: %s", self._channel, error)
            if page is None:
                self._drop(number)
            elif number < len(self._posts):
                self._posts[number] = GONE if error.gone else self._posts[number]
                self._shown[number] = page
            else:
                self._add(GONE, page)
        return True

    def _add(self, message: int, page: str) -> None:
        self._posts.append(message)
        self._shown.append(page)
        self._kept(list(self._posts))

    def _drop(self, number: int) -> None:
        del self._posts[number], self._shown[number]
        self._dropped += 1
        self._kept(list(self._posts))

    def _nonce(self, number: int) -> str:
        """The same for the same page of the same turn, in any process; another one for a page that was taken away before."""
        return hashlib.sha256(f"{self._channel}:{self._name}:{number}:{self._dropped}".encode()).hexdigest()[:24]
