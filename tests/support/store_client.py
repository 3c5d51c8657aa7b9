"""A process that owns a log, for tests that kill it: `python -m tests.support.store_client DIR COMMAND [ARG]`.

    hold           open, say "open PID", wait until the input ends
    child          the same, with a child that lives on and inherits what can be inherited
    append N       append N events with ids e0.., say "ack SEQ EVENT_ID HASH" after each, close, say "closed"
    group N        append N groups of five at once, acknowledged as a group
    fill BYTES     append until the log says it is full (the process's files may not grow beyond BYTES), then say so
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from thetis_kernel.errors import StoreFull, StoreLocked, ThetisError
from thetis_kernel.protocol.events import Event, SessionStarted, User
from thetis_kernel.store.store import Store

SESSION = "0123456789abcdef"


def main(directory: Path, command: str, argument: int) -> int:
    """Run a command; exit status 3 when another process has the log."""
    if command == "fill":
        resource.setrlimit(resource.RLIMIT_FSIZE, (argument, argument))
    try:
        store = Store.open(directory, free=lambda: 0)
    except StoreLocked as error:
        say(f"locked {error.pid} {error}")
        return 3
    if command in ("hold", "child"):
        if command == "child":
            child = subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL)
            say(f"child {child.pid}")


        say(f"open {os.getpid()}")
        sys.stdin.read()
    else:
        store.create(SESSION, SessionStarted(root="/r", origin="tui", mode="agent", model="m", branch="conv/x"))
        {"append": append, "group": group, "fill": fill}[command](store, argument)
    store.close()
    say("closed")
    return 0


def append(store: Store, count: int) -> None:
    """One at a time."""
    for i in range(count):
        acknowledge(store.append(SESSION, User(text=f"event {i} " + "x" * (i % 5) * 300), event_id=f"e{i}").result())


def group(store: Store, count: int) -> None:
    """Five at a time, five such groups in flight."""
    futures = [
        store.append_many(SESSION, [(User(text=f"event {i}"), f"e{i}") for i in range(at * 5, at * 5 + 5)])
        for at in range(count)
    ]
    for future in futures:
        for event in future.result():
            acknowledge(event)


def fill(store: Store, _limit: int) -> None:
    """Until there is no room; then once more, to show that the process lives."""
    for i in range(100_000):
        try:
            acknowledge(store.append(SESSION, User(text="x" * 2000), event_id=f"e{i}").result())
        except StoreFull as error:
            say(f"full {error.code}")
            break
        except ThetisError as error:
            say(f"other {error}")
            break
    say(f"readable {len(store.read(SESSION, limit=10**6, max_bytes=1 << 30))}")


def acknowledge(event: Event) -> None:
    """Tell the parent that this event is durable."""
    say(f"ack {event.seq} {event.event_id} {event.hash}")


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0))
