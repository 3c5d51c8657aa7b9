"""The event log as a few dictionaries: the model the real store is compared with, and a fast fake for other parts' tests.

Written for obviousness, not speed: every answer is worked out anew from lists of events.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

import msgspec
from thetis_kernel.clock import SYSTEM, Clock
from thetis_kernel.errors import LeaseLost, Refused, StoreError, ThetisError, UsageError
from thetis_kernel.protocol import ids
from thetis_kernel.protocol.events import (
    BODY_VERSION,
    BlobRef,
    Body,
    Compaction,
    Event,
    Rewind,
    SessionStarted,
    SettingChanged,
    Unknown,
    kind_of,
)
from thetis_kernel.store import chain, folds, ledger, names, recovery, scrub, search, summary
from thetis_kernel.store.rows import Hit, SessionRow, Tombstone, Verdict


class MemoryStore:
    """Answers what `Store` answers, except blobs, backup and everything about files."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._events: dict[str, list[Event]] = {}
        self._bodies: dict[str, SessionStarted] = {}
        self._epochs: dict[str, int] = {}
        self._tombstones: dict[str, Tombstone] = {}
        self._titles: dict[str, tuple[str, str]] = {}
        self._order: list[Event] = []
        self._kv: dict[tuple[str, str], bytes] = {}
        self.notices: list[str] = []

    def close(self) -> None:
        """Nothing to close."""

    def accepts_turns(self) -> bool:
        """Memory never fills up."""
        return True

    def create(self, session: str, body: SessionStarted, *, event_id: str = "") -> Event:
        names.check_session_id(session)
        event_id = event_id or f"{session}:start"
        known = self._known(session, event_id)
        if known is not None:
            return known
        if session in self._tombstones:
            raise UsageError("deleted", code="deleted")
        if any(other[: ids.SHORT_LENGTH] == ids.short(session) for other in self._events):
            raise UsageError("taken", code="id-taken")
        if body.relation:
            parent = self.session(body.parent) if body.parent in self._events else None
            if parent is None:
                raise UsageError(f"there is no conversation {body.parent}", code="no-session")
            if body.relation == "fork":
                if body.parent_seq and not any(e.seq == body.parent_seq for e in self.iterate(body.parent)):
                    raise UsageError(f"no event {body.parent_seq}")
                own = folds.fold(self._events[body.parent])
                self._titles[session] = self._title(body.parent, own)
        self._events[session] = []
        self._bodies[session] = body
        return self._write(session, body, event_id)

    def append(
        self,
        session: str,
        body: Body | Unknown,
        *,
        event_id: str = "",
        lease: int | None = None,
        expected_seq: int | None = None,
    ) -> Future[Event]:
        many = self.append_many(session, [(body, event_id)], lease=lease, expected_seq=expected_seq)
        future: Future[Event] = Future()
        error = many.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(many.result()[0])
        return future

    def append_many(
        self,
        session: str,
        bodies: Sequence[Body | Unknown | tuple[Body | Unknown, str]],
        *,
        lease: int | None = None,
        expected_seq: int | None = None,
    ) -> Future[list[Event]]:
        pairs = [item if isinstance(item, tuple) else (item, "") for item in bodies]
        future: Future[list[Event]] = Future()
        try:
            future.set_result(self._append_all(session, pairs, lease, expected_seq))
        except ThetisError as error:
            future.set_exception(error)
        return future

    def take_lease(self, session: str) -> int:
        self._own(session)
        self._epochs[session] = self._epochs.get(session, 0) + 1
        return self._epochs[session]

    def lease_epoch(self, session: str) -> int:
        self._own(session)
        return self._epochs.get(session, 0)

    def delete(self, session: str) -> Tombstone:
        self._own(session)
        doomed = [session]
        for one in doomed:
            doomed += [c for c, b in self._bodies.items() if b.parent == one and b.relation == "child"]
        for one in doomed:
            if any(b.parent == one and b.relation == "fork" for b in self._bodies.values()):
                raise UsageError("has forks", code="has-forks")
        for one in doomed:
            events = self._events.pop(one)
            del self._bodies[one]
            self._epochs.pop(one, None)
            self._order = [event for event in self._order if event.session != one]
            self._kv = {key: value for key, value in self._kv.items() if key[0] != one}
            self._tombstones[one] = Tombstone(one, events[-1].seq, events[-1].hash, self._clock.now_ms())
        return self._tombstones[session]

    def tombstone(self, session: str) -> Tombstone | None:
        return self._tombstones.get(session)

    def kv_put(self, scope: str, key: str, value: bytes | None) -> None:
        if value is None:
            self._kv.pop((scope, key), None)
        else:
            self._kv[scope, key] = value

    def kv_get(self, scope: str, key: str) -> bytes | None:
        return self._kv.get((scope, key))

    def read(
        self, session: str, after: int = 0, limit: int = 1000, max_bytes: int = 1 << 20, *, salvage: bool = False
    ) -> list[Event]:
        return self._cut([e for e in self._own(session) if e.seq > after], limit, max_bytes)

    def read_projected(
        self, session: str, after: int = 0, max_bytes: int = 1 << 20, limit: int = 1000
    ) -> tuple[list[Event], bool]:
        left = [event for event in self._projected(session) if event.seq > after]
        page = self._cut(left, limit, max_bytes)
        return page, len(page) == len(left)

    def iterate(self, session: str, *, live: bool = False, after: int = 0) -> Iterator[Event]:
        line = self._line(session)
        if live:
            kept = self._ancestry(line)
            line = [event for event in line if event.seq in kept]
        yield from (event for event in line if event.seq > after)

    def state(self, session: str) -> folds.SessionState:
        return folds.fold(self.iterate(session))

    def repairs(self, session: str, *, after: int = 0) -> list[Body]:
        return recovery.repairs(self.iterate(session, live=True, after=after))

    def find_event(self, event_id: str) -> Event | None:
        return next((event for event in self._order if event.event_id == event_id), None)

    def last_seq(self, session: str) -> int:
        return self._own(session)[-1].seq

    def sessions(self) -> list[SessionRow]:
        rows = [self._row(session) for session in reversed(self._events)]
        return sorted(rows, key=lambda row: row.updated_ms, reverse=True)

    def session(self, id_or_prefix: str) -> SessionRow:
        prefix = names.check_prefix(id_or_prefix)
        found = [session for session in self._events if session.startswith(prefix)]
        if len(found) != 1:
            raise UsageError(prefix, code="ambiguous" if found else "no-session")
        return self._row(found[0])

    def search(self, query: str, limit: int = 50, session: str = "") -> list[Hit]:
        words = search.words_of(query)
        hits: list[Hit] = []
        for event in reversed(self._order):
            text = search.text_of(event.kind, event.raw)
            if words and (not session or event.session == session) and _matches(words, text) and len(hits) < limit:
                hits.append(Hit(event.session, event.seq, event.kind, search.snippet(text, words)))
        return hits

    def verify(self, session: str) -> Verdict:
        last = self.last_seq(session)
        return Verdict(session, last, last)

    def verify_all(self) -> list[Verdict]:
        return [self.verify(row.id) for row in self.sessions()]

    def _append_all(
        self, session: str, pairs: Sequence[tuple[Body | Unknown, str]], lease: int | None, expected_seq: int | None
    ) -> list[Event]:
        for body, event_id in pairs:
            scrub.safe(body)
            names.check_event_id(event_id)
            names.check_kind(kind_of(body))
        last = self._own(session)[-1].seq
        if lease is not None and lease != self._epochs.get(session, 0):
            raise LeaseLost("old lease")
        known = [self._known(session, event_id) for _, event_id in pairs]
        if None in known:
            if expected_seq is not None and expected_seq != last + 1:
                raise StoreError("seq", code="seq-conflict")
            for body, _ in pairs:
                if isinstance(body, SessionStarted):
                    raise UsageError("starts once")
                fixed = self._bodies[session].origin == "discord"
                if fixed and isinstance(body, SettingChanged) and body.name == "mode":
                    raise Refused("fixed", capability="mode")
        return [
            old or self._known(session, event_id) or self._write(session, body, event_id)
            for (body, event_id), old in zip(pairs, known, strict=True)
        ]

    def _write(self, session: str, body: Body | Unknown, event_id: str) -> Event:
        events = self._events[session]
        started = self._bodies[session]
        if events:
            previous, seq = bytes.fromhex(events[-1].hash), events[-1].seq + 1
        elif started.relation == "fork" and started.parent_seq:
            at = next(e for e in self.iterate(started.parent) if e.seq == started.parent_seq)
            previous, seq = bytes.fromhex(at.hash), started.parent_seq + 1
        else:
            previous, seq = chain.ZERO, 1
        event_id = event_id or ids.new_event_id()
        kind, now, raw = kind_of(body), self._clock.now_ms(), scrub.safe(body)[1]
        form, stored = 0, raw
        if len(raw) > ledger.INLINE_LIMIT:
            blob = BlobRef(hashlib.sha256(raw).hexdigest(), len(raw), "application/json")
            form, stored = 1, msgspec.json.encode(blob)
        digest = chain.link(previous, session, (seq, event_id, kind, BODY_VERSION, now, form, stored))
        event = Event(session, seq, event_id, now, kind, BODY_VERSION, raw, digest.hex())
        events.append(event)
        self._order.append(event)
        return event

    def _known(self, session: str, event_id: str) -> Event | None:
        event = self.find_event(event_id) if event_id else None
        if event is not None and event.session != session:
            raise StoreError("reused", code="event-id-reused")
        return event

    def _own(self, session: str) -> list[Event]:
        if session not in self._events:
            raise UsageError(f"there is no conversation {session}", code="no-session")
        return self._events[session]

    def _line(self, session: str) -> list[Event]:
        own = self._own(session)
        started = self._bodies[session]
        if started.relation != "fork":
            return list(own)
        return [event for event in self._line(started.parent) if event.seq <= started.parent_seq] + own

    def _ancestry(self, line: list[Event]) -> set[int]:
        """The numbers on the way back from the newest event, each event's predecessor taken one at a time."""
        before = {event.seq: event.seq - 1 for event in line}
        for event in line:
            body = event.body
            if isinstance(body, Rewind) and 0 <= body.to_seq < event.seq:
                before[event.seq] = body.to_seq
        kept: set[int] = set()
        at = line[-1].seq
        while at in before:
            kept.add(at)
            at = before[at]
        return kept

    def _projected(self, session: str) -> list[Event]:
        """Every number is asked by itself: is it live, and does any compaction on the branch stand for it?"""
        live = list(self.iterate(session, live=True))
        compactions: list[tuple[int, list[tuple[int, int]]]] = []
        for event in live:
            body = event.body
            if isinstance(body, Compaction):
                spans = sorted((a, b) for a, b in body.spans if 1 <= a <= b < event.seq)
                if spans:
                    compactions.append((event.seq, spans))
        gone: set[int] = set()
        stays: set[int] = set()
        for index, (seq, spans) in enumerate(compactions):
            later = [span for _, others in compactions[index + 1 :] for span in others]
            gone |= {number for a, b in spans for number in range(a, b + 1)}
            (gone if any(a <= spans[0][0] <= b for a, b in later) else stays).add(seq)
        return [event for event in live if event.seq in stays or event.seq not in gone]

    def _title(self, session: str, own: folds.SessionState) -> tuple[str, str]:
        title, preview = self._titles.get(session, ("", ""))
        named = [e.body for e in self._events[session] if e.kind == "setting-changed"]
        if not any(isinstance(body, SettingChanged) and body.name == "title" for body in named) and title:
            return title, own.preview or preview
        return own.title or title, own.preview or preview

    def _row(self, session: str) -> SessionRow:
        events, body = self._events[session], self._bodies[session]
        own = folds.fold(events)
        title, preview = self._title(session, own)
        return SessionRow(
            session, ids.short(session), body.root, body.origin, body.relation, body.parent, body.parent_seq,
            body.branch, events[0].ts_ms, events[0].seq, events[-1].seq, events[-1].hash, events[-1].ts_ms,
            title or summary.UNTITLED, preview, own.mode, own.model, own.archived, own.turn.turn if own.turn else "",
            own.interrupted or own.waiting > 0, own.turns, 0,
        )  # fmt: skip

    def _cut(self, events: list[Event], limit: int, max_bytes: int) -> list[Event]:
        page: list[Event] = []
        size = 0
        for event in events[:limit]:
            size += len(event.raw)
            if page and size > max_bytes:
                break
            page.append(event)
        return page


def _matches(words: list[str], text: str) -> bool:
    tokens = [_plain(token) for token in re.findall(r"[^\W_]+", text)]
    *whole, last = [_plain(word) for word in words]
    return all(word in tokens for word in whole) and any(token.startswith(last) for token in tokens)


def _plain(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
