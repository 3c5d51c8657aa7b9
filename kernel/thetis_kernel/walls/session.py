"""A long-lived shell on a terminal of its own, behind a wall: its descriptors and the orders to its helper.

Owns the pty, the helper process (`attend`), the private directory and the `.git` file's restoring. The shell runs
`program`, which the caller gives; it reads commands from one private pipe and reports on another, so that nothing on
the terminal has to be recognised as a prompt. Blocking only in `open` and `close`; everything else hands descriptors and
parsed lines to the caller, whose thread waits on them.
Must not know: what a command is, how it reads, who asked. When the calling process dies, however it dies, the control pipe
ends, and the helper ends everything.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import termios
import time
from pathlib import Path
from typing import Any

import msgspec

from thetis_kernel.errors import WallError
from thetis_kernel.walls import helper, policy, roots, scratch
from thetis_kernel.walls.command import Command
from thetis_kernel.walls.gitfile import GitFiles
from thetis_kernel.walls.tier import Tier

_START_WITHIN_S = 20.0  # a loaded machine; bubblewrap and a shell take 30 ms
_TIOCSIG = 0x40045436  # asm-generic/ioctls.h: a signal to the terminal's foreground, as its keys send them
_IUTF8 = 0o40000  # asm-generic/termbits.h; erasing takes whole characters
_MOST_SAID = 1 << 20  # of status without an end of line: the helper's lines are short


class Session:
    """One shell. Made by `open_session`; `close` ends it and everything below it, and may be called twice."""

    def __init__(self) -> None:
        self._said = b""
        self.ended = False
        """Whether the helper has said that the shell is gone."""
        self.master = self.commands = self.reports = self.status = self._control = -1
        self._guard = GitFiles(())
        self._helper: helper.Helper | None = None
        self._slave = ""
        self.note = ""
        """What `cwd` had to become, or ""."""
        self.farewell = ""
        """It ends with its shell or its terminal, and for no other reason."""

    def start(
        self, tier: Tier, command: Command, program: list[str], size: tuple[int, int], helpers: helper.Helpers
    ) -> None:
        """Start the helper and wait until it has a shell. Raises WallError when there is none."""
        place = _prepared(command.scratch)
        boundary = roots.resolve(command, place)
        self.note = boundary.note
        self._guard = GitFiles(() if tier.name == "bubblewrap" else boundary.git)
        whole = GitFiles.directories(boundary.git) if tier.name == "landlock" else []
        if whole:
            raise WallError(
                f"Landlock cannot keep {whole[0]} from being written.", hint=tier.hint, code="walls-boundary"
            )
        orders = policy.build(tier, command, boundary, place, program)
        orders = msgspec.structs.replace(orders, remove=str(place))  # by the helper, if this process dies
        self.master, slave = os.openpty()
        self._slave = os.ttyname(slave)
        termios.tcsetattr(slave, termios.TCSANOW, _plain_modes())
        self.resize(*size)
        control_end, self._control = os.pipe()
        self.status, status_end = os.pipe()
        commands_end, self.commands = os.pipe()
        self.reports, reports_end = os.pipe()
        self._helper = helpers.spawn((control_end, status_end, slave, commands_end, reports_end))
        helper.send(self._control, orders.line())
        for fd in (self.master, self.commands, self.reports, self.status):
            os.set_blocking(fd, False)
        said = self._await_said(time.monotonic() + _START_WITHIN_S)
        if not any(line.get("started") for line in said):
            reason = next((line["error"] for line in said if "error" in line), "its helper did not answer")
            raise WallError(f"No terminal was opened: {reason}.", code="walls-setup")
        why = next((line["unlimited"] for line in said if line.get("unlimited")), "")
        if why:
            self.note = f"{self.note} {policy.UNLIMITED.format(why)}".strip()

    def resize(self, columns: int, rows: int) -> None:
        """Set the window's size; programs on it are told."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def restore_modes(self) -> None:
        """Give the terminal the modes of a fresh one, whatever a program left behind, output held back included."""
        try:
            slave = os.open(self._slave, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return  # the last holder has closed it: the shell is gone, and with it the modes
        try:
            termios.tcsetattr(slave, termios.TCSANOW, _plain_modes())
            termios.tcflow(slave, termios.TCOON)
        except termios.error:
            return  # hung up meanwhile
        finally:
            os.close(slave)

    def order(self, line: str) -> None:
        """Send one of `attend`'s orders; its answer comes on `status`."""
        helper.send(self._control, line.encode("ascii") + b"\n")

    def press(self, number: int) -> None:
        """Send INT, QUIT or TSTP to the terminal's foreground, as its keys would in any mode. Raises OSError for others."""
        fcntl.ioctl(self.master, _TIOCSIG, number)

    def foreground(self) -> int:
        """The process group that has the terminal, 0 when none has; the shell's own while no command runs."""
        try:
            return os.tcgetpgrp(self.master)
        except OSError:
            return 0

    def is_started(self, idle: int) -> bool:
        """Whether a command's own program has the terminal: not `idle`, the shell, nor its copy that is about to be one."""
        group = self.foreground()
        if group in (0, idle):
            return False
        return _words(group) != _words(idle)

    def said(self) -> list[dict[str, Any]]:
        """What the helper has said since the last call; sets `ended`. Never blocks."""
        while not self.ended:
            try:
                data = os.read(self.status, 65536)
            except BlockingIOError:
                break
            self.ended = not data
            self._said = (self._said + data)[-_MOST_SAID:]
        *lines, self._said = self._said.split(b"\n")
        heard: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
        self.ended = self.ended or any("reason" in line or "error" in line for line in heard)
        return heard

    def put_back(self) -> list[str]:
        """Restore `.git` files a command changed; a sentence for each."""
        return self._guard.put_back()

    def close(self) -> None:
        """End everything on the terminal and wait until it is gone. The private directory stays."""
        mine, self._helper = self._helper, None
        self.commands, self.master, self.reports, self._control = map(
            _closed, (self.commands, self.master, self.reports, self._control)
        )
        if mine is not None:
            mine.see_off()
        self.status = _closed(self.status)  # last: to the helper its end means that this process is gone
        self._guard.put_back()

    def _await_said(self, deadline: float) -> list[dict[str, Any]]:
        poll = select.poll()
        poll.register(self.status, select.POLLIN)
        while not (said := self.said()) and not self.ended:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not poll.poll(remaining * 1000):
                return []
        return said


def open_session(
    tier: Tier, command: Command, program: list[str], size: tuple[int, int], helpers: helper.Helpers
) -> Session:
    """A shell running `program` within the boundary of `command` (its text and times do not count). `size`: columns, rows.

    `command.scratch` is the private directory and has to be given: the shell keeps its state there, and a second session on
    it goes on where the first ended. The caller removes it; the helper does if the caller dies.
    Raises WallError when there is no wall and no consent, when the boundary is not one, or when it could not be set up.
    """
    if tier.name == "none" and not command.unwalled:
        raise WallError(f"No terminal was opened: {tier.sentence}", hint=tier.hint, code="walls-missing")
    session = Session()
    try:
        session.start(tier, command, program, size, helpers)
    except BaseException:
        session.close()
        raise
    return session


def _prepared(place: Path | None) -> Path:
    if place is None:
        raise WallError("A terminal needs a private directory.", code="walls-boundary")
    try:
        real = place.resolve()
        scratch.prepare(real)
    except OSError as error:
        raise WallError(
            f"There is no place for a terminal's private files: {error.strerror}.", code="walls-setup"
        ) from error
    return real


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""  # gone, or its leader is; or no /proc


def _closed(fd: int) -> int:
    if fd >= 0:
        os.close(fd)
    return -1


def _plain_modes() -> list[Any]:
    """A terminal's modes after `stty sane`, 8 bits, without flow control: a stray Ctrl-S must not hold output back."""
    characters: list[bytes | int] = [b"\0"] * 32
    for place, key in {
        termios.VINTR: b"\x03", termios.VQUIT: b"\x1c", termios.VERASE: b"\x7f", termios.VKILL: b"\x15",
        termios.VEOF: b"\x04", termios.VSUSP: b"\x1a", termios.VSTART: b"\x11", termios.VSTOP: b"\x13",
        termios.VREPRINT: b"\x12", termios.VWERASE: b"\x17", termios.VLNEXT: b"\x16",
    }.items():  # fmt: skip
        characters[place] = key
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    return [
        termios.ICRNL | termios.IXANY | _IUTF8,
        termios.OPOST | termios.ONLCR,
        termios.CREAD | termios.CS8 | termios.HUPCL,
        termios.ISIG | termios.ICANON | termios.ECHO | termios.ECHOE | termios.ECHOK | termios.ECHOCTL | termios.ECHOKE
        | termios.IEXTEN,
        termios.B38400,
        termios.B38400,
        characters,
    ]  # fmt: skip
