"""A fake gateway with terminals: real screens, nothing behind them; what is typed is kept, and echoed."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import terminals as t
from thetis_kernel.toolhost.terminals.live import Live

from tests.support.fake_gateway import FakeGateway


class TerminalGateway(FakeGateway):
    """`lives` are the screens by terminal, `standing` the lines of the list; the test feeds and changes them."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.lives: dict[str, Live] = {}
        self.standing: dict[str, t.TerminalLine] = {}
        self.sizes: dict[str, tuple[int, int]] = {}

    def terminal(self, identifier: str, output: bytes = b"", **fields: Any) -> Live:
        """Another terminal."""
        self.standing[identifier] = t.TerminalLine(id=identifier, **fields)
        live = self.lives[identifier] = Live(100, 30)
        live.feed(output)
        return live

    def changes(self, identifier: str, **fields: Any) -> None:
        """It stands otherwise now."""
        self.standing[identifier] = msgspec.structs.replace(self.standing[identifier], **fields)
        self.lives[identifier].touch()

    @property
    def typed(self) -> bytes:
        """Everything that was typed."""
        return b"".join(ask.data for ask in self.asked(t.TypeKeys))

    async def call(self, ask: Any, *, timeout: float | None = 60.0) -> Any:
        if isinstance(ask, t.WatchTerminal):
            self.asks.append(ask)
            await asyncio.sleep(0)
            error = self.errors.get(t.WatchTerminal)
            if error is not None:
                raise error
            return await self._watch(ask)
        return await super().call(ask, timeout=timeout)

    async def _watch(self, ask: t.WatchTerminal) -> t.Watched:
        live = self.lives.get(ask.terminal)
        if live is None:
            return t.Watched(terminals=[*self.standing.values()])
        if ask.columns and self.sizes.get(ask.terminal) != (ask.columns, ask.rows):
            self.sizes[ask.terminal] = (ask.columns, ask.rows)
            live.resize(ask.columns, ask.rows)
        until = asyncio.get_running_loop().time() + ask.wait_ms / 1000
        while live.version == ask.version and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.005)
        shown = live.shown(ask.back) if live.version != ask.version else None
        return t.Watched(terminals=[*self.standing.values()], shown=shown)

    def _answer(self, ask: Any) -> Any:
        match ask:
            case t.TypeKeys(terminal=terminal, data=data):
                if terminal not in self.lives:
                    raise RemoteError("This terminal is gone: its process has ended.")
                self.lives[terminal].feed(data.replace(b"\r", b"\r\n"))
            case t.OpenTerminal(terminal=terminal):
                identifier = terminal or f"p{len(self.standing) + 1}"
                if identifier not in self.lives:
                    self.terminal(identifier, b"$ ", own=True)
                self.changes(identifier, running=True, typeable=True, exit_code=None)
                return self.standing[identifier]
            case t.CloseTerminal(terminal=terminal):
                self.standing.pop(terminal)
                self.lives.pop(terminal)
            case _:
                return super()._answer(ask)
        return None
