"""What a client may ask that speaks for other people's chats: a closed list, about conversations of a bridge alone.

Everything else is refused, whatever is added to the door later. Must not know what the requests do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from thetis_kernel.errors import Refused
from thetis_kernel.protocol import asking as a
from thetis_kernel.protocol import client as c

if TYPE_CHECKING:
    from thetis_kernel.gateway.log import Log

BRIDGES = frozenset({"discord"})
"""Origins of conversations other people write into: their mode is what they were begun with, for ever."""
SETTABLE = frozenset({"model"})
"""Settings a bridge may change; a mode is none of them."""
OPEN: tuple[type[Any], ...] = (c.GetStatus, c.Attend)
NAMED: tuple[type[Any], ...] = (
    c.Submit,
    c.Stop,
    c.Resume,
    c.WaitIdle,
    c.ReadEvents,
    a.ListQuestions,
    a.AnswerQuestion,
    c.Subscribe,
)
"""Requests about one conversation, which has to be a bridge's own."""


async def is_bridged(log: Log, session: str) -> bool:
    """Whether other people write into a conversation, or into the one it is a sub-agent's of."""
    state = await log.state(session)
    while state.started is not None and state.started.relation == "child":  # whose work a sub-agent does
        state = await log.state(state.started.parent)
    return state.started is not None and state.started.origin in BRIDGES


Handlers = dict[type[Any], Callable[[Any], Awaitable[Any]]]


def guarded(
    handlers: Mapping[type[Any], Callable[[Any], Awaitable[Any]]],
    is_bridge: Callable[[], bool],
    origin: Callable[[str], Awaitable[str]],
) -> Handlers:
    """The same handlers, of which a bridge reaches what is listed here.

    `is_bridge()`: whether this channel's client is one; `origin(id or prefix)`: where a conversation was begun.
    """

    def kept(kind: type[Any], handler: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def asked(ask: Any) -> Any:
            if is_bridge():
                await _check(ask, origin)
            return await handler(ask)

        return handler if kind in OPEN else asked

    return {kind: kept(kind, handler) for kind, handler in handlers.items()}


async def _check(ask: Any, origin: Callable[[str], Awaitable[str]]) -> None:
    if isinstance(ask, c.CreateConversation):
        if ask.origin not in BRIDGES:
            raise _refused("A conversation of a person is not begun over a bridge.")
        return
    if isinstance(ask, c.ChangeSetting) and ask.name not in SETTABLE:
        raise _refused(f"The setting {ask.name[:40]!r} is not changed over a bridge.")
    if not isinstance(ask, (*NAMED, c.ChangeSetting, c.GetConversation)):
        raise _refused("This is not asked over a bridge.")
    if isinstance(ask, c.Submit) and (ask.with_changes or ask.attachments):
        raise _refused("Files of this machine are not taken over a bridge.")
    session: str = ask.id if isinstance(ask, c.GetConversation) else getattr(ask, "session", "")
    if not session or await origin(session) not in BRIDGES:
        raise _refused("A conversation of a person is not reached over a bridge.")


def _refused(message: str) -> Refused:
    return Refused(message, capability="config", hint="Do it on a screen of this machine.")
