"""How long a key takes to the screen, and how long a conversation takes to open, however long it is.

On a real pty, with the real gateway. `key_to_screen_*`: from the write to the pty until the read that brings the glyph, with a
conversation of 5,000 messages open; `key_to_screen_streaming_*`: the same while a provider streams 500 tokens a second.
`open_100k_vs_100_events`: from Enter on a conversation in the list until its end stands there.
"""

from __future__ import annotations

import os
import statistics
import string
import tempfile
import time
from pathlib import Path

from bench.report import emit
from bench.seeded import Pty, cpu_s, seed, thetis
from tests.support.messages_server import MessagesServer, reply, spaced, text
from tests.support.thetis import World

FIGURES = [
    "key_to_screen_p50_ms", "key_to_screen_p95_ms", "key_to_screen_streaming_p50_ms", "key_to_screen_streaming_p95_ms",
    "open_100k_vs_100_events",
]
KEYS = 200
OPENINGS = 9
MESSAGES = 5_000
EVENTS = 100_000
TOKEN = "stream "
"""About one token."""
TOKENS_A_PIECE, PIECES_A_SECOND = 10, 50
SECONDS = 240


def world_at(base: Path, **environ: str) -> World:
    world = World(base)
    world.make_repository({"README.md": "# Bench\n", "src/parser.py": "x = 1\n"})
    world.environ.update(environ)
    world.run("ls")
    return world


def keys(screen: Pty, count: int) -> list[float]:
    """Milliseconds from key to glyph, one key at a time, in a line that is emptied now and then."""
    took: list[float] = []
    typed = ""
    for n in range(count):
        if len(typed) >= 40:
            screen.type(b"\x7f" * len(typed))
            screen.until(lambda: not screen.shows("│ zq")(), "an empty prompt")
            typed = ""
        for letter in ("zq" if not typed else string.ascii_lowercase[n % 26]):
            typed += letter
            at = screen.type(letter.encode())
            there = screen.until(screen.shows(f"│ {typed} "), typed)
        took.append((there - at) * 1000)
        time.sleep(0.03 + (n % 7) * 0.005)  # as a fast typist: no key waits for the drawing of the one before
        screen.rest(0)
    screen.type(b"\x7f" * len(typed))
    return took


def say(name: str, took: list[float], what: str, cpu: float) -> None:
    ordered = sorted(took)
    what = f"{what}; {cpu * 1000 / len(took):.1f} ms of processor time a key"
    p95 = ordered[int(len(ordered) * 0.95)]
    emit(f"{name}_p50_ms", statistics.median(ordered), "ms", len(ordered), p95=p95, against=f"<= 20; {what}")
    emit(f"{name}_p95_ms", p95, "ms", len(ordered), against=f"<= 50; {what}")


def key_to_screen(base: Path) -> None:
    world = world_at(base)
    session = seed(world, rounds=MESSAGES // 2, title="the long one")
    screen = Pty([thetis(), "--conversation", session], world.repository, world.environ)
    try:
        screen.until(screen.shows("That was the long one."), "the conversation")
        screen.rest(3)
        before = cpu_s([screen.pid])
        took = keys(screen, KEYS)
        say("key_to_screen", took, f"{MESSAGES} messages open", cpu_s([screen.pid]) - before)
    finally:
        screen.close()


def while_streaming(base: Path) -> None:
    with MessagesServer() as server:
        config = base / "config.toml"
        base.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[[providers]]\nname = "anthropic"\nbase_url = "{server.url}"\nkey = "env:BENCH_KEY"\n')
        world = world_at(base, THETIS_CONFIG=str(config), BENCH_KEY="sk-bench")
        session = seed(world, rounds=MESSAGES // 2, title="the long one", model="claude-haiku-4-5")
        words = "".join(TOKEN * TOKENS_A_PIECE + ("" if n % 9 else "\n\n") for n in range(PIECES_A_SECOND * SECONDS))
        answer = reply(text(words), size=len(TOKEN) * TOKENS_A_PIECE)
        server.say(spaced(answer, 1 / PIECES_A_SECOND))
        screen = Pty([thetis(), "--conversation", session], world.repository, world.environ)
        try:
            screen.until(screen.shows("That was the long one."), "the conversation")
            screen.rest(2)
            screen.type(b"go on\r")
            screen.until(screen.shows("writing"), "the stream")
            screen.rest(1)
            before = cpu_s([screen.pid])
            took = keys(screen, KEYS // 2)
            spent = cpu_s([screen.pid]) - before
            if not screen.shows("writing")():
                shown = "\n".join(line.rstrip() for line in screen.screen.display if line.strip())
                raise SystemExit(f"the stream ended before the keys did:\n{shown}")
            say("key_to_screen_streaming", took, f"{MESSAGES} messages open, {TOKENS_A_PIECE * PIECES_A_SECOND} tokens/s", spent)
            screen.type(b"\x1b")
        finally:
            screen.close()


def opening(base: Path) -> None:
    world = world_at(base)
    names = {"small": 100, "large": EVENTS}
    took: dict[str, list[float]] = {name: [] for name in names}
    ids = {name: seed(world, rounds=events // 4, title=f"the {name} one") for name, events in names.items()}
    for nth in range(OPENINGS):
        for name in sorted(ids, reverse=bool(nth % 2)):
            screen = Pty([thetis()], world.repository, world.environ)
            try:
                screen.until(screen.shows("the large one"), "the list")
                screen.rest(1)
                place = [name for name in ("large", "small") if screen.shows(f"the {name} one")()].index(name) + 1
                at = screen.type(f"\x1b{place}".encode())
                took[name].append(screen.until(screen.shows(f"That was the {name} one."), name) - at)
            finally:
                screen.close()
    small, large = statistics.median(took["small"]), statistics.median(took["large"])
    beside = f"<= 2; {large * 1000:.0f} ms and {small * 1000:.0f} ms"
    emit("open_100k_vs_100_events", large / small, "x", OPENINGS, against=beside)


def main() -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    os.environ.setdefault("THETIS_RUNTIMES", str(Path(cache, "thetis", "runtimes")))
    for bench in (key_to_screen, while_streaming, opening):
        with tempfile.TemporaryDirectory(prefix="bk-") as base:
            bench(Path(base))


if __name__ == "__main__":
    main()
