"""Guests of a conversation's own that fail when they serve are put back to what served before, by themselves.

The gate cannot know everything. A revision that has not served well yet goes back at its first failure: whoever made it
is waiting for it. One that has proved itself goes back after `FAILURES` within `WINDOW_S`. What failed is not gone back to.
If what serves then fails with the very call that failed before, it is the call: what went back comes forward again.
A tool is called with what the model thinks of, so it has no such first call: it goes back after `FAILURES` hard ones alone, and
only if what served before does better with the very call that failed (`toolwatch`).
The shipped guests are not watched: behind them there is nothing to go back to.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from thetis_kernel.errors import StoreError, ThetisError
from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.log import Log
from thetis_kernel.protocol.events import SHIPPED, Incident, Modification

FAILURES = 3
WINDOW_S = 120.0
"""DESIGN 5: three traps, timeouts or memory limits in 120 s."""
KINDS = frozenset({"error", "trap", "timeout", "memory", "type", "exit"})
"""Failures a guest is answerable for (`GuestError.kind`); "abort" is somebody else's doing."""
HARD = frozenset({"trap", "timeout", "memory", "exit"})
"""Failures of a tool that are no answer: an exception is one, and the model mends it."""
SHORT = 8


class Watchdog:
    """`clock`: monotonic seconds. `resting`: no guest that was changed serves, so there is nothing to put back."""

    def __init__(self, bodies: Bodies, log: Log, clock: Callable[[], float] = time.monotonic, *, resting: bool = False) -> None:
        self._resting = resting
        self._bodies = bodies
        self._log = log
        self._clock = clock
        self._proven: set[tuple[str, str, str]] = set()
        self._failed: dict[tuple[str, str], set[str]] = {}
        self._recent: dict[tuple[str, str, str], deque[float]] = {}
        self._gone_back: dict[tuple[str, str], tuple[str, float]] = {}
        """(conversation, aspect) -> what served before a failure that nothing has served well since, and when it went back."""

    async def well(self, session: str, aspect: str) -> None:
        """The guest served as it should."""
        revision = await self._serving(session, aspect)
        self._recent.pop((session, aspect, revision), None)
        self._gone_back.pop((session, aspect), None)
        if revision != SHIPPED:
            self._proven.add((session, aspect, revision))

    async def failed(self, session: str, aspect: str, kind: str, detail: str) -> bool:
        """The guest failed; whether another revision serves now, so that the work can be tried again. Raises StoreError."""
        revision = await self._serving(session, aspect)
        if kind in KINDS and self._is_the_call(session, aspect, revision):
            await self._bring_forward(session, aspect, kind, detail)
            return False
        if revision == SHIPPED or kind not in KINDS:
            return False
        key = (session, aspect, revision)
        now = self._clock()
        recent = self._recent.setdefault(key, deque(maxlen=FAILURES))
        recent.append(now)
        if key in self._proven and (len(recent) < FAILURES or now - recent[0] > WINDOW_S):
            return False
        return await self._put_back(session, aspect, revision, kind, detail)

    async def tripped(self, session: str, aspect: str, kind: str) -> Modification | None:
        """A tool failed; the revision that served before when that makes `FAILURES` hard ones within `WINDOW_S`, else None."""
        revision = await self._serving(session, aspect)
        if revision == SHIPPED or kind not in HARD:
            return None
        recent = self._recent.setdefault((session, aspect, revision), deque(maxlen=FAILURES))
        recent.append(self._clock())
        if len(recent) < FAILURES or recent[-1] - recent[0] > WINDOW_S:
            return None
        state = await self._log.state(session)
        target = await self._before(session, aspect, {revision, *self._failed.get((session, aspect), ())})
        return next((change for _, change in reversed(state.modifications)
                     if change.target == aspect and change.revision == target != SHIPPED), None)

    async def put_back(self, session: str, aspect: str, kind: str, detail: str) -> bool:
        """Go back from the revision that serves, whose failing call another one has answered; whether that was possible."""
        return await self._put_back(session, aspect, await self._serving(session, aspect), kind, detail)

    async def blame_input(self, session: str, aspect: str, kind: str, detail: str) -> None:
        """What served before fails with the same call, too: the guest stays, and its failures are forgotten."""
        revision = await self._serving(session, aspect)
        self._recent.pop((session, aspect, revision), None)
        await self._log.append(session, Incident(
            code="guest-input", data={"aspect": aspect, "kind": kind, "detail": detail[:2000]},
            message=f"{aspect} failed {FAILURES} times ({kind}), and so does its earlier revision with the same call: it is what "
                    "it was called with. It stays."))  # fmt: skip

    def _is_the_call(self, session: str, aspect: str, revision: str) -> bool:
        """Whether a revision that can be trusted has just failed with what another one failed with before it."""
        _, since = self._gone_back.get((session, aspect), ("", 0.0))
        trusted = revision == SHIPPED or (session, aspect, revision) in self._proven
        return trusted and since > 0 and self._clock() - since <= WINDOW_S

    async def _bring_forward(self, session: str, aspect: str, kind: str, detail: str) -> None:
        """Serve again what was put back for a call that was to blame itself; from now on it goes back like one that is proven."""
        revision, _ = self._gone_back.pop((session, aspect))
        self._failed.get((session, aspect), set()).discard(revision)
        self._recent.pop((session, aspect, revision), None)
        self._proven.add((session, aspect, revision))
        words = f"and so does what served before {revision[:SHORT]} with the same call: it is what it was called with."
        try:
            answer = await self._bodies.roll_back(session, aspect, revision, "kernel", f"{revision[:SHORT]} was not to blame")
        except StoreError:
            raise
        except ThetisError as error:
            answer, words = {"ok": False}, f"{words} It could not be served again: {error}"
        await self._log.append(session, Incident(
            code="guest-input", data={"aspect": aspect, "revision": revision, "kind": kind, "detail": detail[:2000]},
            message=f"{aspect} failed ({kind}), {words}{' It serves again.' if answer['ok'] else ''}"))

    async def _put_back(self, session: str, aspect: str, revision: str, kind: str, detail: str) -> bool:
        failed = self._failed.setdefault((session, aspect), set())
        failed.add(revision)
        target = await self._before(session, aspect, failed)
        why = f"Put back: {revision[:SHORT]} failed ({kind})"
        data = {"aspect": aspect, "revision": revision, "kind": kind, "detail": detail[:2000]}
        try:
            answer = await self._bodies.roll_back(session, aspect, target, "kernel", why)
        except StoreError:
            raise
        except ThetisError as error:
            await self._log.append(session, Incident(
                code="guest-not-put-back", message=f"{aspect} failed and could not be put back: {error}", data=data))
            return False
        if not answer["ok"]:
            await self._bodies.roll_back(session, aspect, SHIPPED, "kernel", why)
            target = SHIPPED
        self._gone_back[session, aspect] = self._gone_back.get((session, aspect), (revision, 0.0))[0], self._clock()
        await self._log.append(session, Incident(
            code="guest-put-back", data={**data, "target": target},
            message=f"{aspect} failed ({kind}) at revision {revision[:SHORT]}; {target[:SHORT]} serves again."))
        return True

    async def _serving(self, session: str, aspect: str) -> str:
        change = None if self._resting else (await self._log.state(session)).guests.get(aspect)
        return change.revision if change is not None else SHIPPED

    async def _before(self, session: str, aspect: str, failed: set[str]) -> str:
        """The newest revision that has served and has not failed."""
        state = await self._log.state(session)
        for _, change in reversed(state.modifications):
            if change.target == aspect and change.revision not in failed:
                return change.revision
        return SHIPPED
