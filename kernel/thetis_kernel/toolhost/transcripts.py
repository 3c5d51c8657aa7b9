"""The agent's look at earlier conversations of this root: each operation is asked of the gateway, which has the log."""

from __future__ import annotations

from typing import Any

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.transcripts import ListTranscripts, ReadTranscript, SearchTranscripts
from thetis_kernel.protocol.wire import Ask
from thetis_kernel.toolhost.context import TurnContext


def listing(context: TurnContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """{"conversations": [{"id", "title", "created_ms", "updated_ms", "last", "preview", "own"}], "more"}."""
    return _ask(context, ListTranscripts(limit=arguments["limit"] or 20, archived=arguments["archived"]))


def search(context: TurnContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """{"hits": [{"id", "title", "seq", "kind", "line"}], "more"}."""
    return _ask(context, SearchTranscripts(query=arguments["query"], conversation=arguments["conversation"],
                                           limit=arguments["limit"] or 20, tools=arguments["tools"]))


def read(context: TurnContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """{"id", "title", "entries": [{"seq", "kind", "text", "more"}], "next"}."""
    return _ask(context, ReadTranscript(conversation=arguments["conversation"], from_seq=arguments["from_seq"],
                                        limit=arguments["limit"] or 40, chars=arguments["chars"] or 600))


def _ask(context: TurnContext, ask: Ask[Any]) -> dict[str, Any]:
    if context.gateway is None:
        raise ThetisError("There is no log of other conversations in this place.", code="unavailable")
    told: dict[str, Any] = msgspec.to_builtins(context.gateway(ask))
    return told
