"""The one thread that writes: group commit, checkpoints, and what happens when the device says no.

It takes whatever waits, up to `GROUP_EVENTS` events or `GROUP_BYTES`, commits it with a single sync, and answers; it
never waits for more to come. Checkpoints run after the answers. Any failure answers the requests it hit and leaves the
thread running: a full disk is over when there is space again, without a restart.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import StoreError, StoreFull, ThetisError
from thetis_kernel.protocol.events import Event
from thetis_kernel.store.admission import LiveFiles
from thetis_kernel.store.connection import failure
from thetis_kernel.store.ledger import Ledger, Request
from thetis_kernel.store.search import NOT_THE_INDEX, SearchIndex
from thetis_kernel.store.space import Space

GROUP_EVENTS = 64
GROUP_BYTES = 1024 * 1024
CHECKPOINT_PAGES = 1000
"""Pages in the write-ahead log after which it is copied back. A log that keeps growing made commits 1.5 times slower."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Call(msgspec.Struct):
    """Work other than appending, in a transaction of its own."""

    work: Callable[[], Any]
    future: Future[Any]


class Writer:
    """Owns the writing connection from `start` to `close`."""

    def __init__(
        self,
        connection: apsw.Connection,
        ledger: Ledger,
        index: SearchIndex,
        space: Space,
        live: LiveFiles,
        damage_mark: Path,
    ) -> None:
        """`damage_mark` is a file to leave when the database turns out to be damaged as a whole."""
        self._connection = connection
        self._ledger = ledger
        self._index = index
        self._space = space
        self._live = live
        self._damage_mark = damage_mark
        self._queue: queue.SimpleQueue[Request | Call | None] = queue.SimpleQueue()
        self._wal_pages = 0
        self._copied_pages = 0
        self._broken: StoreError | None = None
        self._gate = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="thetis-store-writer", daemon=True)
        connection.set_wal_hook(self._note_wal)

    def start(self) -> None:
        """Begin to take work."""
        self._thread.start()

    def append(self, request: Request) -> None:
        """Hand over events; their future is answered once they are durable. They are written even if nobody waits."""
        request.future.set_running_or_notify_cancel()
        self._put(request)

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Run `work` on the writing connection, after what waits already and in one transaction."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        self._put(Call(work, future))
        return future

    def close(self) -> None:
        """Finish what was handed over and stop. Further work is refused. The connection stays open."""
        with self._gate:
            closing, self._closing = self._closing, True
            if not closing:
                self._queue.put(None)
        self._thread.join()

    def _put(self, item: Request | Call) -> None:
        with self._gate:
            if not self._closing:
                self._queue.put(item)
                return
        item.future.set_exception(StoreError("the event log is closed", code="store-closed"))

    def _run(self) -> None:
        item = self._queue.get()
        while item is not None:
            following: Request | Call | None = None
            if isinstance(item, Call):
                self._perform(item)
            else:
                group, following = self._gather(item)
                self._commit(group)
                del group  # or the last futures would live until the next append
            self._checkpoint()
            self._begin_early()
            item = following or self._queue.get()
        self._roll_back()

    def _gather(self, first: Request) -> tuple[list[Request], Request | Call | None]:
        """`first` and the appends that wait behind it, and the item that did not fit (None: nothing waits).

        The end of the queue is put back, so that it ends the loop only after this group.
        """
        group, events, size = [first], len(first.entries), first.size()
        while events < GROUP_EVENTS and size < GROUP_BYTES:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return group, None
            if item is None:
                self._queue.put(None)
                return group, None
            if isinstance(item, Call):
                return group, item
            group.append(item)
            events += len(item.entries)
            size += item.size()
        return group, None

    def _commit(self, group: list[Request]) -> None:
        """One transaction and one sync for the whole group, then the answers."""
        try:
            outcomes = self._attempt(lambda: self._append_all(group))
        except StoreError as error:
            if error.code == "store-constraint" and len(group) > 1:
                for request in group:  # one of them is impossible; the others are not to suffer for it
                    self._commit([request])
            else:
                _fail(group, error)
        else:
            for request, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, ThetisError):
                    request.future.set_exception(outcome)
                else:
                    request.future.set_result(outcome[0] if request.single else outcome)

    def _make_room(self) -> bool:
        """The device is full: free the reserve, and let the write-ahead log start over inside the file it has."""
        freed = self._space.release()
        return self._copy_back() or freed

    def _append_all(self, group: list[Request]) -> list[list[Event] | ThetisError]:
        outcomes: list[list[Event] | ThetisError] = []
        for request in group:
            try:
                outcomes.append(self._ledger.append(request))
            except ThetisError as refusal:
                outcomes.append(refusal)
        return outcomes

    def _perform(self, call: Call) -> None:
        try:
            result = self._attempt(call.work)
        except ThetisError as error:
            call.future.set_exception(error)
        else:
            call.future.set_result(result)

    def _attempt(self, work: Callable[[], T]) -> T:
        """`work` in a transaction; on a full device once more if some room can be made."""
        try:
            result = self._transaction(work)
        except StoreFull:
            if not self._make_room():
                raise
            result = self._transaction(work)
        self._space.wrote()
        return result

    def _transaction(self, work: Callable[[], T]) -> T:
        """Run `work` between BEGIN and a synced COMMIT. Raises its ThetisError, or a StoreError for anything else."""
        if self._broken is not None:
            raise self._broken
        connection = self._connection
        crash.point("append.before-begin")
        try:
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            result = work()
            indexed = self._catch_up()
            self._ledger.flush()
            crash.point("append.after-insert")
            connection.execute("COMMIT")
        except ThetisError:
            self._roll_back()
            raise
        except apsw.ConstraintError as error:
            self._roll_back()
            raise StoreError(f"the event log refused a change: {error}", code="store-constraint") from error
        except (apsw.Error, OSError) as error:
            translated = failure(error, "append", connection)
            self._roll_back()
            if translated.code == "store-corrupt":
                self._damage_mark.touch(mode=0o600)
            raise translated from error
        except Exception as error:
            # A bug in here must not end the thread every conversation depends on; whoever asked learns of it.
            _log.exception("the event log's writer met an unexpected error")
            self._roll_back()
            raise StoreError(f"the event log failed in an unexpected way: {type(error).__name__}") from error
        self._ledger.commit()
        self._index.indexed_gid = indexed
        if not self._live.still_ours():
            self._broken = StoreError(
                "the database was replaced or removed under the running kernel; nothing more is written to it",
                hint="Stop Thetis, put the right files back, and start it again.",
                code="store-replaced",
            )
            raise self._broken
        crash.point("append.after-commit")
        return result

    def _begin_early(self) -> None:
        """Open the next transaction while nobody waits: its locks are 25 us of a commit, and nobody else wants them."""
        if self._broken is None and self._queue.empty():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except apsw.Error as error:
                _log.warning("a transaction could not begin early: %s", type(error).__name__)  # the next one will say why

    def _catch_up(self) -> int:
        """Bring the index forward; a broken one is begun anew rather than allowed to stop the log."""
        if not self._index.behind(self._ledger.last_gid):
            return self._index.indexed_gid
        self._connection.execute("SAVEPOINT search")
        try:
            reached = self._index.catch_up(self._ledger.last_gid)
            self._connection.execute("RELEASE search")
        except NOT_THE_INDEX:
            raise
        except apsw.Error as error:
            _log.warning("the search index is damaged and is built again: %s", type(error).__name__)
            self._connection.execute("ROLLBACK TO search")
            self._index.rebuild()
            self._connection.execute("RELEASE search")
            return self._index.indexed_gid
        return reached

    def _roll_back(self) -> None:
        """Undo the transaction; SQLite has already done so after some errors."""
        self._ledger.rollback()
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error as error:
            _log.warning("a rollback reported %s", type(error).__name__)

    def _note_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._wal_pages:
            self._copied_pages = 0  # it started over
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        """Copy the write-ahead log back when it is long. A failure is no loss: the log keeps everything until it works."""
        if self._wal_pages - self._copied_pages < CHECKPOINT_PAGES:
            return
        # A reader can keep the log from starting over; then it is tried again after as many pages more.
        self._copied_pages = self._wal_pages
        self._copy_back()

    def _copy_back(self) -> bool:
        """Copy the write-ahead log into the main file; whether all of it is there now."""
        try:
            pages, copied = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            _log.warning("a checkpoint could not finish: %s", type(error).__name__)
            return False
        return pages == copied


def _fail(group: list[Request], error: StoreError) -> None:
    for request in group:
        request.future.set_exception(error)
