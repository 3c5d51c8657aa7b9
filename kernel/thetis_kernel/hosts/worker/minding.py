"""Calls of tool guests, minded: a tool that keeps failing is tried on the revision that served before, and goes back if it helps.

Only failures that are no answer count (traps, time, memory); the gateway counts them and decides. A call that may have
changed something is not repeated. Must not know revisions: what to try, the gateway hands over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from thetis_kernel.errors import GuestError, ThetisError
from thetis_kernel.protocol.worker import DevKitAnswer, GuestBundle
from thetis_kernel.toolhost.context import TurnContext

HARD = frozenset({"trap", "timeout", "memory", "exit"})


class MindedTools:
    """`invoke(guest, call id, arguments)` calls a tool; `ask(name, arguments)` asks the gateway."""

    def __init__(self, context: TurnContext, invoke: Callable[[GuestBundle, str, dict[str, Any]], str],
                 ask: Callable[[str, dict[str, Any]], DevKitAnswer]) -> None:
        self._context = context
        self._invoke = invoke
        self._ask = ask
        self._shaky: set[str] = set()

    def call(self, name: str, call: str, arguments: dict[str, Any]) -> str:
        """The tool's text. Raises GuestError as the tool that was called did, unless the one before it answers."""
        guest = self._context.guests[name]
        try:
            text = self._invoke(guest, call, arguments)
        except GuestError as error:
            if error.kind not in HARD or self._context.cancelled.is_set():
                raise
            return self._again(name, call, arguments, error)
        if name in self._shaky:
            self._shaky.discard(name)
            self._tell("guest-well", name, "", "")
        return text

    def _again(self, name: str, call: str, arguments: dict[str, Any], error: GuestError) -> str:
        self._shaky.add(name)
        told = self._tell("guest-failed", name, error.kind, error.message)
        if told is None or told.tool is None or call not in self._context.harmless:
            raise error
        try:
            text = self._invoke(told.tool, call, arguments)
        except GuestError:
            self._tell("guest-replayed", name, error.kind, error.message, better=False)
            raise error from None
        back = self._tell("guest-replayed", name, error.kind, error.message, better=True)
        if back is not None and back.tool is not None:
            self._context.guests[name] = back.tool
        return f"{text}\n[{name} failed again ({error.kind}) and was put back: this is the answer of its earlier revision.]"

    def _tell(self, what: str, name: str, kind: str, detail: str, *, better: bool = False) -> DevKitAnswer | None:
        """None when the gateway has other worries: the call's own failure is what counts."""
        with contextlib.suppress(ThetisError):
            return self._ask(what, {"tool": name, "kind": kind, "detail": detail, "better": better})
        return None
