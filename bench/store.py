"""The event log's figures: what durability costs beside the bare system call, grouping, and reading a long log back.

Every figure is a ratio of two things measured turn by turn in the same run, because a virtual disk's speed moves by ten.
"""

from __future__ import annotations

import asyncio
import os
import queue
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import apsw
from thetis_kernel.protocol.events import Assistant, Body, SessionStarted, ToolInvocation, ToolResult, User
from thetis_kernel.protocol.ids import new_session_id
from thetis_kernel.store.store import Store

from bench.report import emit

FIGURES = [
    "commit_vs_raw_fdatasync", "commit_vs_floor", "commit_us", "group_commit_16_vs_1", "group_commit_16_worst_ack_ms",
    "replay_100k_vs_read", "replay_100k_s", "fold_100k_s", "read_last_500_ms",
]
COMMITS = 1500
CLIENTS = 16
PER_CLIENT = 100
REPLAYED = 100_000
RAW_BYTES = 1024
FLOOR_BYTES = 5 * 4096
"""What one event adds to the write-ahead log: 4.7 pages on average (the row, its index, the head, the index of words)."""
_random = random.Random(7)
_WORDS = ["".join(_random.choices("abcdefghijklmnopqrstuvwxyz", k=_random.randint(3, 9))) for _ in range(4000)]


def main() -> None:
    """Every figure, on the disk that holds the temporary directory (TMPDIR)."""
    for figure in (commit_vs_raw, group_commit, replay):
        directory = Path(tempfile.mkdtemp(prefix="bench-store-"))
        try:
            figure(directory)
        finally:
            shutil.rmtree(directory)


def commit_vs_raw(directory: Path) -> None:
    """One client, one event of about 1 KB at a time, beside a bare append of 1 KiB and fdatasync.

    And beside the floor of any database here: as many bytes as the write-ahead log grows by, handed to another thread.
    """
    store, session = opened(directory)
    raw, floor = (os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for name in ("raw", "floor"))
    block, pages = os.urandom(RAW_BYTES), os.urandom(FLOOR_BYTES)
    times: dict[str, list[float]] = {"raw": [], "floor": [], "ours": []}
    bodies = [body(i) for i in range(COMMITS)]
    handed: queue.SimpleQueue[Future[None] | None] = queue.SimpleQueue()

    def write_pages() -> None:
        while (future := handed.get()) is not None:
            os.write(floor, pages)
            os.fdatasync(floor)
            future.set_result(None)

    thread = threading.Thread(target=write_pages)
    thread.start()
    for item in bodies:
        began = time.perf_counter()
        os.write(raw, block)
        os.fdatasync(raw)
        times["raw"].append(time.perf_counter() - began)
        began = time.perf_counter()
        future: Future[None] = Future()
        handed.put(future)
        future.result()
        times["floor"].append(time.perf_counter() - began)
        began = time.perf_counter()
        store.append(session, item).result()
        times["ours"].append(time.perf_counter() - began)
    handed.put(None)
    thread.join()
    store.close()
    os.close(raw)
    os.close(floor)
    half = {name: quantile(samples, 0.5) for name, samples in times.items()}
    late = {name: quantile(samples, 0.95) for name, samples in times.items()}
    against = f"append of 1 KiB and fdatasync, p50 {half['raw'] * 1e6:.0f} us, p95 {late['raw'] * 1e6:.0f} us"
    emit(
        "commit_vs_raw_fdatasync",
        half["ours"] / half["raw"],
        "ratio of p50",
        COMMITS,
        late["ours"] / late["raw"],
        "goal 1.3",
    )
    emit("commit_vs_floor", half["ours"] / half["floor"], "ratio of p50", COMMITS, late["ours"] / late["floor"],
         f"20 KiB and fdatasync on another thread, p50 {half['floor'] * 1e6:.0f} us; ADR 12")  # fmt: skip
    emit("commit_us", half["ours"] * 1e6, "us", COMMITS, late["ours"] * 1e6, against)


def group_commit(directory: Path) -> None:
    """Events a second of 16 clients that each wait for their own, beside one client; rounds taken in turn.

    Clients are asyncio tasks, as in the gateway.
    """
    store, _ = opened(directory)
    bodies = [body(i) for i in range(PER_CLIENT)]
    rates: dict[int, list[float]] = {1: [], CLIENTS: []}
    waits: dict[int, list[float]] = {1: [], CLIENTS: []}
    for _round in range(5):
        for clients in (1, CLIENTS):
            sessions = [start(store) for _ in range(clients)]
            rates[clients].append(asyncio.run(together(store, sessions, bodies, waits[clients])))
    store.close()
    one, many = quantile(rates[1], 0.5), quantile(rates[CLIENTS], 0.5)
    total = 5 * CLIENTS * PER_CLIENT
    emit("group_commit_16_vs_1", many / one, "ratio of events/s", total, against=f"one client {one:.0f}/s, goal 3")
    emit("group_commit_16_worst_ack_ms", max(waits[CLIENTS]) * 1e3, "ms", total,
         quantile(waits[CLIENTS], 0.95) * 1e3, "goal 100")  # fmt: skip


async def together(store: Store, sessions: list[str], bodies: list[Body], waits: list[float]) -> float:
    """All clients at once; events a second."""
    began = time.perf_counter()
    await asyncio.gather(*(client(store, session, bodies, waits) for session in sessions))
    return len(sessions) * len(bodies) / (time.perf_counter() - began)


async def client(store: Store, session: str, bodies: list[Body], waits: list[float]) -> None:
    """Append one event after another, noting how long each acknowledgement took."""
    for item in bodies:
        began = time.perf_counter()
        await asyncio.wrap_future(store.append(session, item))
        waits.append(time.perf_counter() - began)


def replay(directory: Path) -> None:
    """Reading 100,000 events through the store, each checked against the chain, beside the bare SELECT of their rows."""
    store, session = opened(directory)
    for first in range(0, REPLAYED, 500):
        store.append_many(session, [body(i) for i in range(first, first + 500)]).result()
    store.close()
    store = Store.open(directory / "data")
    bare = apsw.Connection(str(directory / "data" / "thetis.db"), flags=apsw.SQLITE_OPEN_READONLY)
    reads: list[float] = []
    bares: list[float] = []
    folds: list[float] = []
    for _round in range(5):
        began = time.perf_counter()
        assert select_all(bare) == REPLAYED + 1
        bares.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert read_all(store, session) == REPLAYED + 1
        reads.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert store.state(session).seq == REPLAYED + 1
        folds.append(time.perf_counter() - began)
    tails: list[float] = []
    for _round in range(50):
        began = time.perf_counter()
        store.read(session, after=REPLAYED - 500)
        tails.append(time.perf_counter() - began)
    bare.close()
    store.close()
    base = quantile(bares, 0.5)
    bare_rows = f"the rows alone {base:.3f} s"
    emit("replay_100k_vs_read", quantile(reads, 0.5) / base, "ratio of p50", 5, against="goal 2")
    emit("replay_100k_s", quantile(reads, 0.5), "s", 5, max(reads), against=bare_rows)
    emit("fold_100k_s", quantile(folds, 0.5), "s", 5, max(folds), against=bare_rows)
    emit("read_last_500_ms", quantile(tails, 0.5) * 1e3, "ms", 50, quantile(tails, 0.95) * 1e3, "goal 5")


def read_all(store: Store, session: str) -> int:
    """Every event, page by page."""
    after = 0
    while page := store.read(session, after=after):
        after = page[-1].seq
    return after


def select_all(connection: apsw.Connection) -> int:
    """The same rows in the same pages, as Python values and nothing more."""
    after = 0
    while rows := connection.execute(
        "SELECT seq, event_id, kind, v, ts_ms, form, body, hash FROM events"
        " WHERE session = 1 AND seq > ? ORDER BY seq LIMIT 1000", (after,)
    ).fetchall():  # fmt: skip
        after = int(rows[-1][0])  # type: ignore[arg-type]
    return after


def body(number: int) -> Body:
    """One event of a plausible conversation: words, a reply with a call, the call, its result; 0.2 to 1.6 KB."""
    text = " ".join(_random.choices(_WORDS, k=_random.randint(20, 220)))
    call = f"call_{number // 4:020x}"
    match number % 4:
        case 0:
            return User(text=text)
        case 1:
            use = {"type": "tool_use", "id": call, "name": "read", "input": {"path": "kernel/store.py"}}
            return Assistant(blocks=[{"type": "text", "text": text}, use], model="m", turn="0123456789ab")
        case 2:
            return ToolInvocation(call, "read", {"path": text[:200]}, "files.read-file", False, "0123456789ab")
        case _:
            return ToolResult(call, "ok", text, turn="0123456789ab")


def opened(directory: Path) -> tuple[Store, str]:
    """A new log with one conversation."""
    store = Store.open(directory / "data")
    return store, start(store)


def quantile(samples: Sequence[float], fraction: float) -> float:
    """The sample below which `fraction` of them lie, by nearest rank."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


def start(store: Store) -> str:
    """A new conversation."""
    session = new_session_id()
    store.create(session, SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/x"))
    return session


if __name__ == "__main__":
    main()
