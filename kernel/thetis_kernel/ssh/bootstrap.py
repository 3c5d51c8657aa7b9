"""What runs on the other machine besides a session's own program: a private directory with two pipes, and signals.

Any POSIX system will do: sh, mktemp, mkfifo, dd, cat, rm, ps. Each command is one line without backslashes and single quotes,
so that login shells of every kind hand it to sh unchanged. Must not know what the program does.
"""

from __future__ import annotations

import re
import signal

PLACE = re.compile(rb"thetis-place (/[A-Za-z0-9/._+@-]{1,1000})\r?")
MAX_NOISE = 64 * 1024
"""Bytes a login shell may say before: some print a greeting whoever asks."""

_OPEN = (
    'umask 077; d=$(mktemp -d "${TMPDIR:-/tmp}/thetis.XXXXXXXX") || exit 97; k=0; '
    'gone() { [ $k = 0 ] || kill $k 2>/dev/null; rm -rf "$d"; }; trap gone EXIT; trap "exit 0" HUP INT TERM PIPE; '
    'dd bs=1 count=SIZE of="$d/driver" 2>/dev/null && mkfifo "$d/c" "$d/r" || exit 98; '
    'echo "thetis-place $d"; cat "$d/r" & k=$!; cat >"$d/c"'
)
_SIGNAL = (
    'd="PLACE"; p=$(cat "$d/pid") || exit 0; g=$(ps -o tpgid= -p $p); g=${g##* }; '
    'case $g in ""|*[!0-9]*|0|1) exit 0;; esac; [ $g = $p ] || kill -s NAME -- -$g'
)
_END = (
    'd="PLACE"; p=$(cat "$d/pid") || exit 0; t=$(ps -o tty= -p $p); t=${t##* }; case $t in ""|"?"|-) exit 0;; esac; '
    'ps -A -o pid= -o tty= | while read q u; do [ "$u" = "$t" ] && [ "$q" != "$p" ] && kill -s KILL "$q"; done'
)


def opening(program: bytes) -> str:
    """The command that takes `program` on its input, says where it put it, and passes on lines to and from it."""
    return _sh(_OPEN.replace("SIZE", str(len(program))))


def running(place: str) -> str:
    """The command that runs the program."""
    return f"exec /bin/sh {place}/driver"


def signalling(place: str, number: int) -> str:
    """The command that signals what is in the terminal's foreground."""
    name = signal.Signals(number).name.removeprefix("SIG")
    return _sh(_SIGNAL.replace("PLACE", place).replace("NAME", name))


def ending(place: str) -> str:
    """The command that kills everything on the terminal but the program."""
    return _sh(_END.replace("PLACE", place))


def _sh(line: str) -> str:
    return f"exec /bin/sh -c '{line}'"
