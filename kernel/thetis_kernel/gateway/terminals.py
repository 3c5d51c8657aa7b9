"""What a person asks about the terminals of a conversation, carried to its worker; never over a bridge.

Owns that looking starts no worker, and that known secrets do not reach a screen. Must not know what a terminal is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.fleet import worker_name
from thetis_kernel.protocol.terminals import (
    MAX_WAIT_MS,
    AtTerminals,
    Cells,
    CloseTerminal,
    OpenTerminal,
    Shown,
    TerminalLine,
    TypeKeys,
    Watched,
    WatchTerminal,
)

if TYPE_CHECKING:
    from thetis_kernel.gateway.gateway import Gateway

_ANSWER_S = 30.0
"""On top of the wait: a shell in its walls starts within 20 s on a loaded machine."""


def handlers(
    gateway: Gateway, only_a_person: Callable[[str], None]
) -> dict[type[Any], Callable[[Any], Awaitable[Any]]]:
    """`only_a_person(what)` raises where a bridge asks."""
    scrubbed = gateway.scrubber.text

    async def carried(session: str, wanted: Any) -> bytes | None:
        """The worker's answer; None when there is no worker, and with it no terminal."""
        worker = gateway.fleet.supervisor.get(worker_name(session))
        if worker is None:
            return None
        asked = AtTerminals(wanted=msgspec.json.encode(wanted))
        answer: bytes = await worker.peer.call(asked, timeout=_ANSWER_S + MAX_WAIT_MS / 1000)
        return answer

    async def watch(ask: WatchTerminal) -> Watched:
        answer = await carried(await gateway.conversations.find(ask.session), ask)
        if answer is None:
            return Watched(terminals=[])
        found = msgspec.json.decode(answer, type=Watched)
        lines = [msgspec.structs.replace(line, command=scrubbed(line.command)) for line in found.terminals]
        return Watched(terminals=lines, shown=None if found.shown is None else _clean(found.shown, scrubbed))

    async def open_one(ask: OpenTerminal) -> TerminalLine:
        only_a_person("A terminal")
        session = await gateway.conversations.find(ask.session)
        state = await gateway.log.state(session)
        if state.materialised is None:
            raise ThetisError(
                "This conversation has no checkout yet.", code="no-checkout",
                hint="A terminal works in its own files, which are made with your first words. Say something first.",
            )
        if state.started is not None and state.started.relation == "child":
            raise ThetisError("A sub-agent has no terminals of a person.", code="busy", hint="Open it in its conversation.")
        place = await gateway.repository.ensure_worktree(session)
        worker = await gateway.workers.ensure(session)
        answer: bytes = await worker.peer.call(
            AtTerminals(wanted=msgspec.json.encode(ask), place=place), timeout=_ANSWER_S)
        return msgspec.json.decode(answer, type=TerminalLine)

    async def act(ask: TypeKeys | CloseTerminal) -> None:
        only_a_person("A terminal")
        if await carried(await gateway.conversations.find(ask.session), ask) is None:
            raise ThetisError("This terminal is gone: its process has ended.", code="not-found", hint="Open another one.")

    return {WatchTerminal: watch, OpenTerminal: open_one, TypeKeys: act, CloseTerminal: act}


def _clean(shown: Shown, scrubbed: Callable[[str], str]) -> Shown:
    """The screen without secrets; a line that held one loses its colours."""
    rows = []
    for row in shown.rows:
        text = "".join(cells.text for cells in row)
        clean = scrubbed(text) if text.strip() else text
        rows.append(row if clean == text else [Cells(clean)])
    return msgspec.structs.replace(shown, rows=rows)
