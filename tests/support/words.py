"""A small vocabulary to exercise channels with, and the far end that answers it, for loops and for threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from thetis_kernel.errors import Refused, RemoteError
from thetis_kernel.protocol.wire import Ask, Tell


class Echo(Ask[bytes], frozen=True, tag="t.echo"):
    data: bytes


class Add(Ask[int], frozen=True, tag="t.add"):
    a: int
    b: int = 1


class Nothing(Ask[None], frozen=True, tag="t.nothing"):
    pass


class Fail(Ask[str], frozen=True, tag="t.fail"):
    how: str


class Hold(Ask[str], frozen=True, tag="t.hold"):
    """Answered only once `Release` comes or the request is withdrawn."""


class Release(Tell, frozen=True, tag="t.release"):
    pass


class Withdrawals(Ask[int], frozen=True, tag="t.withdrawals"):
    """How many `Hold` requests were withdrawn."""


class CallBack(Ask[str], frozen=True, tag="t.call-back"):
    """The far end asks us `Shout(text)` and answers with our answer, or with the error's code and message."""

    text: str


class Shout(Ask[str], frozen=True, tag="t.shout"):
    text: str


class Burst(Ask[int], frozen=True, tag="t.burst"):
    """The far end tells `n` notes, then answers n."""

    n: int


class Note(Tell, frozen=True, tag="t.note"):
    n: int


class Heard(Ask[list[int]], frozen=True, tag="t.heard"):
    """The notes we told the far end."""


class Unknown(Ask[int], frozen=True, tag="t.unknown"):
    """No far end takes this."""


class UnknownNote(Tell, frozen=True, tag="t.unknown-note"):
    """No far end takes this."""


class AddMore(Ask[int], frozen=True, tag="t.add"):
    """`Add` with a field more, as somebody would send who claims another session."""

    a: int
    session: str


def failing(how: str) -> Any:
    """What a handler does for `Fail(how)`."""
    if how == "refused":
        raise Refused("writing is refused here", capability="files.write", hint="Switch the mode.", path="a/b")
    if how == "unexpected":
        raise ZeroDivisionError("the secret is 42")
    if how == "odd-data":
        raise Refused("odd", capability="x", thing={1, 2}, hint="\udc80")
    if how == "own-hint":
        error = Refused("odd", capability="x")
        error.data = {"hint": "h", "message": "m", "code": "c", "self": "s"}
        raise error
    if how == "wrong-type":
        return 17
    if how == "surrogate":
        return "\udc80"
    if how == "too-large":
        return "x" * (9 * 1024 * 1024)
    return how


class LoopEnd:
    """The far end on an event loop."""

    def __init__(self) -> None:
        self.peer: Any = None
        self.heard: list[int] = []
        self.withdrawals = 0
        self.release = asyncio.Event()

    def asks(self) -> dict[type[Ask[Any]], Any]:
        return {
            Echo: self.echo, Add: self.add, Nothing: self.nothing, Fail: self.fail, Hold: self.hold,
            Withdrawals: self.count, CallBack: self.call_back, Burst: self.burst, Heard: self.notes,
        }  # fmt: skip

    def tells(self) -> dict[type[Tell], Any]:
        return {Note: lambda note: self.heard.append(note.n), Release: lambda _: self.release.set()}

    async def echo(self, ask: Echo) -> bytes:
        return ask.data

    async def add(self, ask: Add) -> int:
        return ask.a + ask.b

    async def nothing(self, ask: Nothing) -> None:
        return None

    async def fail(self, ask: Fail) -> Any:
        return failing(ask.how)

    async def hold(self, ask: Hold) -> str:
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.withdrawals += 1
            raise
        return "released"

    async def count(self, ask: Withdrawals) -> int:
        return self.withdrawals

    async def call_back(self, ask: CallBack) -> str:
        try:
            return str(await self.peer.call(Shout(ask.text)))
        except RemoteError as error:
            return f"{error.code}: {error.message}"

    async def burst(self, ask: Burst) -> int:
        for n in range(ask.n):
            self.peer.tell(Note(n))
        return ask.n

    async def notes(self, ask: Heard) -> list[int]:
        return self.heard


class ThreadEnd:
    """The far end on threads."""

    QUICK = (Echo, Heard, Withdrawals)

    def __init__(self) -> None:
        self.peer: Any = None
        self.heard: list[int] = []
        self.withdrawals = 0
        self.release = threading.Event()

    def asks(self) -> dict[type[Ask[Any]], Any]:
        return {
            Echo: lambda ask, _: ask.data,
            Add: lambda ask, _: ask.a + ask.b,
            Nothing: lambda ask, _: None,
            Fail: lambda ask, _: failing(ask.how),
            Hold: self.hold,
            Withdrawals: lambda ask, _: self.withdrawals,
            CallBack: self.call_back,
            Burst: self.burst,
            Heard: lambda ask, _: self.heard,
        }

    def tells(self) -> dict[type[Tell], Any]:
        return {Note: lambda note: self.heard.append(note.n), Release: lambda _: self.release.set()}

    def hold(self, ask: Hold, serving: Any) -> str:
        while not self.release.wait(0.005):
            if serving.withdrawn.is_set():
                self.withdrawals += 1
                serving.check()
        return "released"

    def call_back(self, ask: CallBack, serving: Any) -> str:
        try:
            return str(self.peer.call(Shout(ask.text), timeout=serving.remaining()))
        except RemoteError as error:
            return f"{error.code}: {error.message}"

    def burst(self, ask: Burst, serving: Any) -> int:
        for n in range(ask.n):
            self.peer.tell(Note(n))
        return ask.n
