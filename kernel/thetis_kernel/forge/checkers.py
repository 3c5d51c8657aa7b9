"""Running ruff and ty over a candidate: found, bounded, in a directory that holds the candidate and nothing else.

They are programs of ours that read a stranger's text, so they get an empty environment, limits of their own and a
private directory; that they reach no network and write nowhere else is the gate host's confinement, which they inherit.
Only modules are written out: a configuration a candidate brings along is never there to be found. Knows neither
program's options nor its words; a program that is missing, dies or hangs is a failure with a sentence.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import resource
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from thetis_kernel.errors import GateError
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.protocol.gate import Diagnostic

CPU_S = 10
"""Processor time of one check. The shipped agent takes ruff 0.01 s and ty 0.06 s."""
WALL_S = 25.0
"""For a check that neither computes nor ends; half of what the gate has for a candidate."""
MAX_OUTPUT = 8 * 1024 * 1024
PROGRAMS = ("ruff", "ty")


class Answer(NamedTuple):
    """How a program ended (its exit status), what it wrote to its standard output, and whether that was cut off."""

    status: int
    text: str
    cut: bool = False


@functools.cache
def program(name: str) -> str:
    """The path of a program that was installed with Thetis, whatever PATH holds. Raises GateError when it is not there."""
    for path in _places(name):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.realpath(path)
    raise GateError(f"{name} is not installed beside Thetis.", step=name, diagnostics=[], hint="Install Thetis again.")


def _places(name: str) -> Iterator[str]:
    """Beside this Python's other scripts; else where its package says it lies, which takes ten times as long to find out."""
    yield os.path.join(sysconfig.get_path("scripts"), name)
    from importlib.metadata import PackageNotFoundError, distribution

    with contextlib.suppress(PackageNotFoundError):
        package = distribution(name)
        yield from (str(package.locate_file(file)) for file in package.files or () if file.name == name)


@functools.cache
def versions() -> str:
    """The versions of both, for the artifact key: another version may judge otherwise."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in PROGRAMS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} -")
    return ", ".join(found)


@contextlib.contextmanager
def written(modules: Mapping[str, str], paths: Mapping[str, str]) -> Iterator[Path]:
    """A private directory with the modules as files, for as long as the context lasts. Raises GateError when it cannot be
    written."""
    try:
        with tempfile.TemporaryDirectory(prefix="candidate-") as directory:
            root = Path(directory).resolve() / "guest"
            root.mkdir()
            lay_out(modules, paths, root)
            yield root
    except OSError as exc:
        raise GateError(f"The candidate could not be laid out for checking: {exc.strerror}.", step="", diagnostics=[]) from exc


def lay_out(modules: Mapping[str, str], paths: Mapping[str, str], root: Path) -> None:
    """Write modules as files below `root`."""
    for name, text in modules.items():
        path = root / paths[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace", newline="")


def check(name: str, words: list[str], directory: Path) -> Answer:
    """Run `name` with `words` in `directory`. Raises GateError when it is missing, dies or hangs."""
    command = [program(name), *words]
    home = directory.parent
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "TMPDIR": str(home), "NO_COLOR": "1"}
    with tempfile.TemporaryFile(dir=home) as out:
        try:
            child = subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.DEVNULL)  # fmt: skip
        except OSError as exc:
            raise failure(name, f"could not be started: {exc.strerror}") from exc
        with child:
            bound(child.pid)
            try:
                status = child.wait(WALL_S)
            except subprocess.TimeoutExpired:
                child.kill()
                raise failure(name, f"did not end within {WALL_S:g} s") from None
        if status < 0:
            late = -status in (signal.SIGXCPU, signal.SIGKILL)
            raise failure(name, f"used more than {CPU_S} s of processor time" if late else f"died of signal {-status}")
        out.seek(0)
        return Answer(status, out.read(MAX_OUTPUT).decode("utf-8", "replace"), out.read(1) != b"")


def failure(name: str, why: str) -> GateError:
    """What a program that gave no verdict is to a candidate: no pass."""
    return GateError(f"{name} {why}; without its verdict nothing passes. Make the guest simpler, or look at `thetis doctor`.",
                     step=name, diagnostics=[])


def judged(name: str, candidate: Candidate, answer: Answer, found: list[Diagnostic]) -> list[Diagnostic]:
    """The complaints of a program that says 0 for none and 1 for some, in the order of the text.

    Raises GateError when status and complaints do not fit together, or one is about a file the candidate does not have.
    """
    if answer.status not in (0, 1):
        raise failure(name, f"gave up (exit status {answer.status})")
    own = set(candidate.paths.values())
    if (answer.status == 0) != (not found) or not all(d.path in own for d in found):
        raise failure(name, "contradicted itself")
    return sorted(found, key=lambda d: (d.path, d.line))


def findings(name: str, answer: Answer, *, lines: bool) -> list[dict[str, Any]]:
    """What a program found, from a list of JSON objects or an object a line (`lines`, which may be cut); none when it says by
    its status that it gave up. Raises GateError for anything else."""
    if answer.status not in (0, 1):
        return []
    if answer.cut and not lines:
        raise failure(name, "had more to say than fits")
    try:
        if lines:
            whole = answer.text.split("\n")[:-1] if answer.cut else answer.text.split("\n")
            found = [json.loads(line) for line in whole if line]
        else:
            found = json.loads(answer.text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise failure(name, "answered something else than its findings")
    return found


def bound(pid: int) -> None:
    """Give a checker's process less processor time than this one has itself, where the system can set it for another."""
    prlimit: Callable[..., object] | None = getattr(resource, "prlimit", None)
    if prlimit is not None:
        with contextlib.suppress(ProcessLookupError):
            prlimit(pid, resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
