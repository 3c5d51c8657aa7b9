"""`thetis disk`: what Thetis keeps for this root, and with `--older-than` what old conversations may give back.

Must not know which conversations are open: the gateway does.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from datetime import datetime

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.care.checking import size_of
from thetis_kernel.paths import RootPaths, runtimes_dir
from thetis_kernel.protocol.care import OldLine
from thetis_kernel.protocol.ids import short


class Place(msgspec.Struct, frozen=True):
    """A directory and what is in it."""

    what: str
    path: str
    bytes: int


def disk(arguments: argparse.Namespace) -> int:
    """Print what is kept, or what is old; with `--prune` what went."""
    paths, loaded = locate(arguments)
    days = _days(arguments.older_than) if arguments.older_than else 0
    if (arguments.prune or arguments.logs) and not days:
        raise UsageError("--prune and --logs need an age.", hint="Name one: thetis disk --older-than 90d --prune")

    async def work() -> list[OldLine]:
        async with reached(paths, loaded, warm=False) as client:
            return await (client.prune_old(days, logs=arguments.logs) if arguments.prune else client.old(days))

    if not days:
        return _print_places(arguments, kept(paths))
    lines = asyncio.run(work())
    if arguments.json:
        print(msgspec.json.encode(lines).decode())
        return 0
    said = "gave back" if arguments.prune else "may give back"
    for line in lines:
        when = datetime.fromtimestamp(line.updated_ms / 1000).strftime("%Y-%m-%d")
        parts = [f"{size(line.spill)} of long outputs"] if line.spill else []
        parts += [f"{size(line.worktree)} of worktree"] if line.worktree else []
        parts += ["its whole log (archived)"] if line.log and (arguments.logs or not arguments.prune) else []
        what = f"stays whole: {line.why}" if line.why else f"{said} {', '.join(parts) or 'nothing'}"
        sys.stdout.write(plain(f"{short(line.session)}  {when}  {what}  {line.title[:60]}") + "\n")
    total = sum(line.spill + line.worktree for line in lines if not line.why)
    what = f"{size(total)} {'given back' if arguments.prune else 'in all'}." if lines else "Nothing went." if arguments.prune \
        else "Nothing is that old."
    sys.stdout.write(f"{what}\n")
    if lines and not arguments.prune:
        print("--prune removes long outputs and worktrees; --prune --logs archived conversations too. Branches stay.")
    return 0


def kept(paths: RootPaths) -> list[Place]:
    """The directories of a root, the runtimes all roots share last."""
    places = [("log and blobs", paths.data), ("worktrees", paths.worktrees), ("long outputs", paths.spill),
              ("workspace", paths.workspace), ("artifacts", paths.artifacts), ("guests", paths.body),
              ("guests' checkouts", paths.bodies), ("packages", paths.base / "packages"),
              ("kernels", paths.base / "kernels")]
    found = [Place(what, str(path), size_of(path)) for what, path in places if path.exists()]
    logs = sum(path.stat().st_size for path in paths.base.glob("daemon.log*"))
    return [*found, Place("daemon's log", str(paths.daemon_log), logs),
            Place("runtimes (shared)", str(runtimes_dir()), size_of(runtimes_dir()))]


def size(count: int) -> str:
    """Bytes for people."""
    amount, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"


def _days(text: str) -> int:
    number = text[:-1] if text.endswith("d") else text
    if not number.isascii() or not number.isdigit() or not 0 < int(number) < 100_000:
        raise UsageError(f"{text[:40]!r} is no number of days.", hint="For example --older-than 90d.")
    return int(number)


def _print_places(arguments: argparse.Namespace, found: list[Place]) -> int:
    if arguments.json:
        print(msgspec.json.encode(found).decode())
        return 0
    for each in found:
        sys.stdout.write(plain(f"{size(each.bytes):>10}  {each.what:<18} {each.path}") + "\n")
    sys.stdout.write(f"{size(sum(each.bytes for each in found)):>10}  in all\n")
    return 0
