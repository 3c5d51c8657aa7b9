"""What the screen costs on a real terminal: a pty of ours, drawn into a pyte screen, watched until words stand there.

`tui_first_paint_s`: from starting the console script in a repository to the first screen's prompt, warm; `tui_ready_s`: until the
gateway has answered. Each beside a Textual hello-world started the same way in the same run, and as a ratio to it.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte

from bench.report import emit

FIGURES = ["tui_first_paint_s", "tui_ready_s", "tui_first_paint_ratio", "tui_ready_ratio"]
ROUNDS = 9
DEADLINE = 60.0
SIZE = (120, 40)
HELLO = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    def compose(self):
        yield Static("Hello, world")
Hello().run()
"""


class Terminal:
    """A child on a pty of `SIZE`, its output drawn into `screen`."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        self.screen = pyte.Screen(*SIZE)
        self._stream = pyte.ByteStream(self.screen)
        self._started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(command[0], command, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))

    def seconds_until(self, words: str) -> float:
        """Seconds from the start until `words` stand on the screen."""
        while time.perf_counter() - self._started < DEADLINE:
            ready, _, _ = select.select([self.fd], [], [], 0.5)
            if ready:
                try:
                    self._stream.feed(os.read(self.fd, 1 << 16))
                except OSError:
                    break
                if any(words in line for line in self.screen.display):
                    return time.perf_counter() - self._started
        shown = "\n".join(line.rstrip() for line in self.screen.display if line.strip())
        raise SystemExit(f"never saw {words!r}; the screen shows:\n{shown}")

    def close(self) -> None:
        """End the child and its group."""
        os.kill(self.pid, signal.SIGTERM)
        end = time.perf_counter() + 5
        while time.perf_counter() < end:
            done, _ = os.waitpid(self.pid, os.WNOHANG)
            if done:
                break
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if ready:
                try:
                    os.read(self.fd, 1 << 16)
                except OSError:
                    time.sleep(0.02)
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def repository(path: Path) -> Path:
    """A small repository with one commit."""
    path.mkdir()
    (path / "README.md").write_text("A small project.\n")
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *arguments], cwd=path, check=True)
    return path


def first_paint() -> None:
    """Both programs in turn, so that a busy machine is busy for both."""
    with tempfile.TemporaryDirectory() as scratch:
        root = repository(Path(scratch) / "repo")
        env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "THETIS_STATE": f"{scratch}/state"}
        hello = Path(scratch) / "hello.py"
        hello.write_text(HELLO)
        ours: list[float] = []
        theirs: list[float] = []
        readies: list[float] = []
        for nth in range(ROUNDS + 1):
            for command, words, into in (
                ([sys.executable, str(hello)], "Hello, world", theirs),
                ([str(Path(sys.executable).with_name("thetis"))], "Ask for something", ours),
            ):
                terminal = Terminal(command, root, env)
                try:
                    seconds = terminal.seconds_until(words)
                    if into is ours and nth:
                        readies.append(terminal.seconds_until("rehearsal: no language model"))
                finally:
                    terminal.close()
                if nth:  # the first round warms the caches
                    into.append(seconds)
        hello = statistics.median(theirs)
        for name, took, goal, ratio in (("tui_first_paint", ours, 0.8, 1.8), ("tui_ready", readies, 1.2, 2.6)):
            median = statistics.median(took)
            emit(f"{name}_s", median, "s", len(took), max(took), f"<= {goal}; {hello:.3f} s of a Textual hello-world")
            emit(f"{name}_ratio", median / hello, "x", len(took), None, f"<= {ratio} of a Textual hello-world in the same run")


if __name__ == "__main__":
    first_paint()
