"""`thetis doctor`: what this machine, this root and its log look like, each with the way out when something is wrong.

With `--conversation` one conversation instead: whether its log verifies, and whether a model would take its history.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

import msgspec

from thetis_kernel import __version__
from thetis_kernel.cli.daemon import Seen, look
from thetis_kernel.cli.findings import Finding
from thetis_kernel.cli.machine import machine
from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.care import StoreReport
from thetis_kernel.protocol.client import Examination, Status
from thetis_kernel.protocol.ids import short


def doctor(arguments: argparse.Namespace) -> int:
    """Print the findings; 0 when none is an error."""
    findings = _conversation(arguments) if arguments.conversation else [*machine(), *_root(arguments)]
    if arguments.json:
        print(msgspec.json.encode({"version": __version__, "findings": findings}).decode())
    else:
        for finding in findings:
            print(plain(f"{finding.level:<5}  {finding.name:<10}  {finding.message}"))
            if finding.hint and finding.level != "ok":
                print(plain(f"{'':19}{finding.hint}"))
    return 1 if any(finding.level == "error" for finding in findings) else 0


def _root(arguments: argparse.Namespace) -> Iterator[Finding]:
    try:
        paths, loaded = locate(arguments)
        holder = look(paths)

        async def ask() -> tuple[Status, StoreReport | None]:
            async with reached(paths, loaded, warm=False) as client:
                return await client.status(), None if arguments.quick else await client.check_store()

        status, store = asyncio.run(ask())
    except ThetisError as error:
        yield Finding("root", "error", error.message, error.hint)
        return
    yield Finding("root", "ok", f"{status.root} ({status.root_kind}), trunk {status.trunk or '(none)'}")
    yield Finding("state", "ok", str(paths.base))
    yield _daemon(holder)
    if store is not None:
        yield from _store(store)
    yield from (Finding("notice", "warn", notice) for notice in status.notices)


def _daemon(seen: Seen) -> Finding:
    if seen.holder == "":
        return Finding("daemon", "ok", "none runs")
    if seen.holder == "unknown":
        return Finding("daemon", "error", f"process {seen.pid} has this root open and does not answer: {' '.join(seen.notices)}",
                       "`thetis daemon stop --now` ends it.")
    if seen.version != __version__:
        return Finding("daemon", "warn", f"what has this root open is version {seen.version}, this is {__version__}",
                       "`thetis daemon restart` brings this one, or end the screen that has it.")
    return Finding("daemon", "ok", f"a {seen.holder} has this root open (process {seen.pid})")


def _store(store: StoreReport) -> Iterator[Finding]:
    if not store.damaged:
        yield Finding("store", "ok", f"SQLite {store.sqlite}; each of {store.events} events in {store.conversations} "
                                     f"conversation{'s' * (store.conversations != 1)} verifies")
    hint = "The others are not affected. `thetis doctor --conversation` says more."
    yield from (Finding("store", "error", sentence, hint) for sentence in store.damaged)
    yield from (Finding("orphan", "warn", sentence, "Nobody needs it; `thetis worktrees --prune` removes worktrees.")
                for sentence in store.orphans)


def _conversation(arguments: argparse.Namespace) -> list[Finding]:
    """Raises UsageError for an id nobody knows, and what keeps the root from being opened."""
    paths, loaded = locate(arguments)

    async def ask() -> Examination:
        async with reached(paths, loaded, warm=False) as client:
            return await client.examine((await client.conversation(arguments.conversation)).id)

    seen = asyncio.run(ask())
    line = seen.conversation
    name = short(line.id)
    found = [Finding("found", "ok", f"{name}, {line.state}: {line.title or line.preview or '(nothing was said yet)'}")]
    if line.state == "interrupted":
        found.append(Finding("turn", "warn", "Its last turn was cut.", f"Go on: thetis run --conversation {name} \"go on\""))
    if not seen.chain:
        found.append(Finding("log", "ok", f"Each of its {line.last_seq} events verifies."))
    cut = f"`thetis log {name}` prints what is good. Other conversations are not affected; begin a new one."
    found += [Finding("log", "error", words, cut) for words in seen.chain]
    refused = "A model may refuse the next turn. Begin a new conversation, and report this."
    found += [Finding("history", "error", words, refused) for words in seen.history]
    if seen.unseen:
        level = "warn" if seen.chain else "error"
        found.append(Finding("history", level, f"It was not looked at. {seen.unseen}"))
    elif not seen.history:
        said = {0: "nobody has said anything yet", 1: "the one message of a person is in it word for word"}.get(
            seen.said, f"all {seen.said} messages of a person are in it word for word")
        sizes = f"{seen.messages} message{'s' * (seen.messages != 1)}, {seen.size / 1024:.1f} KiB"
        found.append(Finding("history", "ok", f"The next request is one a model takes ({sizes}); {said}."))
    return found
