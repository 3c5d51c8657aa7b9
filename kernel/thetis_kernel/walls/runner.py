"""Running one command behind a wall, start to finish, in the calling thread.

Owns the helper process of a command: its descriptors, the reading of its output, cancelling, and what becomes of its
answer. Blocking by design: a worker calls it from a daemon thread, one per command, as many at once as it likes.
Must not know: who asked, or whether they may. The boundary in the `Command` is taken as given and checked only
for being one.

When the calling process dies, however it dies, the control pipe ends, and the helper ends the command.
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from thetis_kernel.errors import WallError
from thetis_kernel.stopsign import StopSign
from thetis_kernel.walls import helper, policy, roots, scratch
from thetis_kernel.walls.capture import Capture, LiveText
from thetis_kernel.walls.command import (
    MAX_OUTPUT_BYTES,
    MAX_TEXT_BYTES,
    MAX_TIMEOUT_MS,
    Command,
    CommandResult,
)
from thetis_kernel.walls.gitfile import GitFiles
from thetis_kernel.walls.tier import Tier

_CHUNK = 65536  # a pipe's usual capacity
_LOST = 137  # as after SIGKILL
_MOST_IN_PIPE = 1024 * 1024  # /proc/sys/fs/pipe-max-size
_TICK_MS = 50  # how soon a cancel is noticed that tells nobody of itself


class Cancel(Protocol):
    """What a threading.Event is. A StopSign is noticed at once."""

    def is_set(self) -> bool:
        """Whether the command should end now."""
        ...


class Runner:
    """Runs commands in one tier. Holds no state of a command: one runner serves any number of threads."""

    def __init__(self, tier: Tier, helpers: helper.Helpers) -> None:
        """`helpers` start the helper process of each command."""
        self._tier = tier
        self._helpers = helpers

    def run(
        self,
        command: Command,
        on_output: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
    ) -> CommandResult:
        """Run `command` until it ends, its time is up, or `cancel` is set; then everything it started is gone.

        `on_output` gets the first `output_bytes` as text while they come, in this thread; it must not block, and
        what it raises ends the command and passes through. Raises WallError (nothing has run) when there is no wall
        and no consent, when the boundary is not one, or when the wall could not be set up.
        """
        if self._tier.name == "none" and not command.unwalled:
            raise WallError(
                f"This command was not run: {self._tier.sentence}", hint=self._tier.hint, code="walls-missing"
            )
        _check(command)
        with _private_directory(command) as place:
            boundary = roots.resolve(command, place)
            if command.spill is not None:
                roots.check_spill(command.spill, (*boundary.writable, place))
            guard = GitFiles(() if self._tier.name == "bubblewrap" else boundary.git)
            whole = GitFiles.directories(boundary.git) if self._tier.name == "landlock" else []
            if whole:
                raise WallError(
                    f"Landlock cannot keep {whole[0]} from being written.",
                    hint=self._tier.hint,
                    code="walls-boundary",
                )
            orders = policy.build(self._tier, command, boundary, place)
            try:
                return _Run(command, orders, boundary.note).result(self._helpers, on_output, cancel, guard)
            finally:
                guard.put_back()  # also when the run raised


class _Run:
    """One command: the helper, its pipes, and what was heard so far."""

    def __init__(self, command: Command, orders: policy.Policy, note: str) -> None:
        self._command = command
        self._orders = orders
        self._notes = [note] if note else []
        limits = command.limits
        self._capture = Capture(_kept(command), command.spill, limits.spill_bytes)
        self._live = LiveText(_kept(command))
        self._answer = b""
        self._cancelled = False

    def result(
        self,
        helpers: helper.Helpers,
        on_output: Callable[[str], None] | None,
        cancel: Cancel | None,
        guard: GitFiles,
    ) -> CommandResult:
        started = time.monotonic()
        try:
            with helper.start(helpers) as (control, status, output):
                helper.send(control, self._orders.line())
                self._listen(control, status, output, on_output, cancel)
                self._drain(output, on_output)
        finally:
            self._capture.close()
        duration_ms = round((time.monotonic() - started) * 1000)
        answer = self._understood()
        self._add_notes(answer, guard)
        code = int(answer["code"])
        return CommandResult(
            exit_code=code,
            signal=code - 128 if 128 < code <= 128 + 64 else 0,
            timed_out=answer["reason"] == "timeout",
            cancelled=self._cancelled and answer["reason"] == "asked",
            output=self._capture.text(),
            truncated=self._capture.truncated,
            total_bytes=self._capture.total,
            spill=self._capture.spill,
            duration_ms=duration_ms,
            leftover=int(answer["leftover"]),
            notes=tuple(self._notes),
        )

    def _listen(
        self,
        control: int,
        status: int,
        output: int,
        on_output: Callable[[str], None] | None,
        cancel: Cancel | None,
    ) -> None:
        """Read until the helper has answered. Whoever still holds the output pipe then does not matter."""
        with _woken_by(cancel) as woken:
            self._listen_until_answered(control, status, output, woken, on_output, cancel)

    def _listen_until_answered(
        self,
        control: int,
        status: int,
        output: int,
        woken: int,
        on_output: Callable[[str], None] | None,
        cancel: Cancel | None,
    ) -> None:
        poll = select.poll()
        for fd in (status, output, woken):
            poll.register(fd, select.POLLIN)
        give_up = time.monotonic() + self._orders.timeout_ms / 1000 + helper.GRACE_S
        while time.monotonic() < give_up:
            if cancel is not None and cancel.is_set() and not self._cancelled:
                self._cancelled = True
                helper.send(control, b"k")
            for fd, _ in poll.poll(_TICK_MS):
                data = os.read(fd, _CHUNK)
                if fd == woken:
                    continue
                if fd == output:
                    self._heard(data, on_output)
                    if not data:
                        poll.unregister(output)
                elif data:
                    self._answer += data
                else:
                    return
        # the helper itself is stuck; leaving closes its control pipe and kills it

    def _drain(self, output: int, on_output: Callable[[str], None] | None) -> None:
        """What is still in the pipe; at most its capacity, in case somebody is left who goes on writing."""
        os.set_blocking(output, False)
        for _ in range(_MOST_IN_PIPE // _CHUNK):
            try:
                data = os.read(output, _CHUNK)
            except BlockingIOError:
                break
            if not data:
                break
            self._heard(data, on_output)
        rest = self._live.end()
        if rest and on_output is not None:
            on_output(rest)

    def _heard(self, data: bytes, on_output: Callable[[str], None] | None) -> None:
        if data:
            self._capture.feed(data)
            text = self._live.feed(data) if on_output is not None else ""
            if text and on_output is not None:
                on_output(text)

    def _understood(self) -> dict[str, Any]:
        if not self._answer:
            return {
                "code": _LOST,
                "reason": "lost",
                "trouble": "it was killed",
                "leftover": 0,
                "survivors": 0,
                "starved": 0,
                "unlimited": "",
            }
        answer: dict[str, Any] = json.loads(self._answer)
        if "error" in answer:
            said = self._capture.text().strip()[-500:]
            raise WallError(
                f"This command was not run: {answer['error']}{': ' + said if said else ''}.", code="walls-setup"
            )
        return answer

    def _add_notes(self, answer: dict[str, Any], guard: GitFiles) -> None:
        if answer["reason"] == "lost":
            self._notes.append(f"The command's supervisor failed ({answer['trouble']}); what it did is unknown.")
        if answer["reason"] == "threads":
            self._notes.append(f"Ended: more than {self._command.limits.threads} threads at once.")
        if answer["leftover"] and answer["reason"] == "exit":
            self._notes.append(f"{answer['leftover']} background process(es) were ended with the command.")
        if answer["starved"]:
            self._notes.append(
                f"{answer['starved']} process(es) were ended for want of memory: the command has a limit."
            )
        if answer["unlimited"]:
            self._notes.append(policy.UNLIMITED.format(answer["unlimited"]))
        if answer["survivors"]:
            self._notes.append(f"{answer['survivors']} process(es) could not be ended.")
        self._notes += guard.put_back()
        if self._capture.trouble:
            self._notes.append(self._capture.trouble)
        if self._command.timeout_ms > MAX_TIMEOUT_MS:
            self._notes.append(f"The time limit was lowered to {MAX_TIMEOUT_MS // 1000} s.")


@contextmanager
def _woken_by(cancel: Cancel | None) -> Iterator[int]:
    """A descriptor that can be read once `cancel` is set."""
    reading, writing = os.pipe()
    ends, closing = [writing], threading.Lock()

    def ring() -> None:
        with closing:  # never on a descriptor that is somebody else's by now
            for fd in ends:
                os.write(fd, b"!")

    forget = cancel.on_set(ring) if isinstance(cancel, StopSign) else lambda: None
    try:
        yield reading
    finally:
        forget()
        with closing:
            ends.clear()
            os.close(writing)
        os.close(reading)


def _check(command: Command) -> None:
    try:
        size = len(command.text.encode())
    except UnicodeEncodeError:
        raise WallError("The command is not valid Unicode text.", code="walls-boundary") from None
    if "\0" in command.text or size > MAX_TEXT_BYTES:
        raise WallError(
            f"The command has a NUL or more than {MAX_TEXT_BYTES} bytes.",
            hint="Write it into a file and run that.",
            code="walls-boundary",
        )


def _kept(command: Command) -> int:
    return max(0, min(command.output_bytes, MAX_OUTPUT_BYTES))


@contextmanager
def _private_directory(command: Command) -> Iterator[Path]:
    try:
        place = scratch.create() if command.scratch is None else command.scratch.resolve()
        scratch.prepare(place)
    except OSError as error:
        raise WallError(
            f"There is no place for the command's private files: {error.strerror}.", code="walls-setup"
        ) from error
    try:
        yield place
    finally:
        if command.scratch is None:
            scratch.remove(place)
