"""Whether this root's commands may run without walls where there are none: a person's answer, kept for the root.

Asked once, on a screen; a headless run answers by `--unwalled` or its configuration, else the answer is no.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.protocol.client import WallsQuestion


class Consent:
    """The answer "", "allow" or "deny"; `standing` comes from configuration or the command line and is not kept."""

    def __init__(self, data: Path, broadcast: Broadcast, *, standing: bool, can_ask: bool) -> None:
        self._file = data / "unwalled-consent"
        self._broadcast = broadcast
        self._standing = standing
        self._can_ask = can_ask
        self._answered = asyncio.Event()
        self.hint = ""

    @property
    def answer_so_far(self) -> str:
        """"", "allow" or "deny"."""
        if self._standing:
            return "allow"
        try:
            text = self._file.read_text("utf-8").strip()
        except FileNotFoundError:
            return ""
        return text if text in ("allow", "deny") else ""

    async def answer(self, allow: bool) -> None:
        """A person's answer, for this root from now on."""
        await asyncio.to_thread(self._file.write_text, "allow\n" if allow else "deny\n", "utf-8")
        self._answered.set()

    async def allowed(self) -> bool:
        """Wait for the answer when somebody can give one."""
        if not self.answer_so_far:
            if not self._can_ask or not self._broadcast.listeners:
                return False
            self._broadcast.publish(WallsQuestion(hint=self.hint))
            await self._answered.wait()
        return self.answer_so_far == "allow"
