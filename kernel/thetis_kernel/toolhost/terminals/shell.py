"""What runs inside a terminal's walls: a driver, and around each command a shell that keeps its variables and directory.

The driver reads commands from one private descriptor and reports on another. Each command runs in a fresh shell, in the
foreground of the terminal and in a process group of its own; at its end that shell writes its directory, variables,
functions, aliases and options into the private directory, and the next one starts with them. So `exit`, `exec`, `set -e`, a
killed or endless command cost that command alone: the driver waits, and what was kept before it still holds. What a shell
forgets between commands: its own jobs (`fg`, `wait`), open descriptors, TERM and PAGER.

A command has no input (/dev/null) unless it is interactive, when its input is the terminal. Not interactive also means
TERM=dumb and PAGER=cat: a pager nobody can talk to would wait for ever.

Owns the two scripts and the lines both sides exchange. Must not know processes or descriptors but by number.
"""

from __future__ import annotations

import re
import string
from pathlib import Path

import msgspec

from thetis_kernel.walls import system
from thetis_kernel.walls.enter import COMMANDS_FD, REPORTS_FD

MARK = "7770"
"""The number of the escape sequence (OSC) that marks a command's end; nobody's by the lists of xterm and its kin."""
READY = b"ready"
_REPORT = re.compile(rb"(\d{1,18}) (\d{1,3}) ([01]) (.*)", re.DOTALL)
_MOST_CWD = 4096  # PATH_MAX

# The loop is outside of functions and commands run inside one on purpose: an interactive bash whose foreground job dies of
# SIGINT leaves the loops it is in, and a function is in none. Interactive it is for the sake of job control: only so does each
# command get the terminal's foreground, and Ctrl-C reaches it alone. A handled signal, unlike an ignored one, is not inherited.
_DRIVER = f"""
trap : HUP INT QUIT TERM TSTP ALRM USR1 USR2
state=$1 wrap=$2 root=$3 dir=$4 sh=$5 options=$6 most=$7
exec 7>&1 >/dev/null 2>&1 </dev/null
cd /
command -p mkdir -p -- "$state"
where() {{
  if [ -f "$state/cwd" ]; then IFS= read -r $most dir <"$state/cwd"; fi
  gone=0
  if ! [ -d "$dir" ]; then gone=1; dir=$root; fi
}}
interactive() {{ "$sh" $options -c "$wrap" shell "$text" "$state" i "$dir" <&7 >&7 2>&7 {COMMANDS_FD}<&- {REPORTS_FD}>&- 7>&-; }}
plain() {{ "$sh" $options -c "$wrap" shell "$text" "$state" p "$dir" </dev/null >&7 2>&7 {COMMANDS_FD}<&- {REPORTS_FD}>&- 7>&-; }}
where
printf '{READY.decode()}\\n' >&{REPORTS_FD}
while IFS=' ' read -r number nonce mode lines <&{COMMANDS_FD}; do
  text=
  while [ "$lines" -gt 0 ]; do
    IFS= read -r line <&{COMMANDS_FD} || exit
    text="$text$line
"
    lines=$((lines - 1))
  done
  where
  $mode
  code=$?
  where
  printf '%s %s %s %s\\n' "$number" "$code" "$gone" "$dir" >&{REPORTS_FD}
  printf '\\033]{MARK};%s\\007' "$nonce" >&7
done
"""

# All names without a process of its own to list them: that one fails at a limit or is killed alone, and then a list without
# variables would take the place of what was kept before.
_NAMES = " ".join(f'"${{!{first}@}}"' for first in f"{string.ascii_letters}_")
# Only the shell itself keeps its state, and only whole. Its copies run the same trap when a signal meets them before they have
# become the command: members of a stopped group that loses its parent get SIGHUP from the kernel, and two of them emptied the
# file of the other. What could not be written to the end (a full disk) is not moved either.
_PAGERS = "export PAGER=cat GIT_PAGER=cat MANPAGER=cat"
_BASH = f"""
__thetis_text=$1 __thetis_state=$2 __thetis_mode=$3 __thetis_dir=$4
set --
if [[ -f $__thetis_state/state ]]; then
  for __thetis_v in $(compgen -e); do unset -v "$__thetis_v"; done 2>/dev/null
  . "$__thetis_state/state" >/dev/null 2>&1
fi
builtin cd -- "$__thetis_dir" 2>/dev/null || builtin cd / || builtin :
shopt -s expand_aliases
if [[ $__thetis_mode == i ]]; then export TERM=xterm-256color; else export TERM=dumb; {_PAGERS}; fi
__thetis_keep() {{
  [[ ${{__thetis_kept-}} || ${{BASHPID-$$}} != "$$" ]] && builtin return
  __thetis_kept=1
  {{
    for __thetis_v in {_NAMES}; do
      case $__thetis_v in
        BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTERR|OPTIND|PIPESTATUS|PPID|RANDOM|SECONDS) ;;
        SHELLOPTS|SHLVL|SRANDOM|UID|_|__thetis*|TERM|PAGER|GIT_PAGER|MANPAGER|PWD|LINES|COLUMNS) ;;
        *) builtin declare -p "$__thetis_v" ;;
      esac
    done
    builtin declare -f && builtin alias -p && builtin shopt -p && builtin umask -p && builtin set +o
  }} 2>/dev/null >"$__thetis_state/new" && builtin command -p mv -f -- "$__thetis_state/new" "$__thetis_state/state"
  builtin printf '%s\\n' "$PWD" >"$__thetis_state/cwd"
}} 2>/dev/null
trap __thetis_keep EXIT
builtin eval "$__thetis_text"
__thetis_code=$?
__thetis_keep
builtin exit "$__thetis_code"
"""

_SH = f"""
__thetis_text=$1 __thetis_state=$2 __thetis_mode=$3 __thetis_dir=$4
set --
if [ -f "$__thetis_state/state" ]; then . "$__thetis_state/state" >/dev/null 2>&1; fi
cd -- "$__thetis_dir" 2>/dev/null || cd /
if [ "$__thetis_mode" = i ]; then export TERM=xterm-256color; else export TERM=dumb; {_PAGERS}; fi
__thetis_keep() {{
  {{ export -p; alias; umask; }} >/dev/null 2>&1
  export -p >"$__thetis_state/new" && command -p mv -f -- "$__thetis_state/new" "$__thetis_state/state"
  pwd >"$__thetis_state/cwd"
}}
trap __thetis_keep EXIT
eval "$__thetis_text"
"""


class Report(msgspec.Struct, frozen=True):
    """A command ended: its number, its exit code as a shell has it, the directory now; `gone`: the one it was in is no more."""

    number: int
    code: int
    gone: bool
    cwd: str


def program(place: Path, root: Path, cwd: Path) -> list[str]:
    """The command line of a driver that keeps its state below the private directory `place`.

    `root`: where commands run when their directory is gone; `cwd`: where the first one runs.
    """
    shell = system.shell()
    bash = shell.endswith("bash")
    options = "--norc --noprofile" if bash else ""
    wrap = _BASH if bash else _SH
    words = [shell, *options.split(), "-i", "-c", _DRIVER, "terminal"]
    most = f"-n {_MOST_CWD}" if bash else ""  # of a file that a command may have made endless
    return [*words, str(place / "shell"), wrap, str(root), str(cwd), shell, options, most]


_REMOTE = f"""
place=${{0%/*}}
exec {COMMANDS_FD}<"$place/c" {REPORTS_FD}>"$place/r" || exit
home=${{HOME:-/}}
case $want in "") want=$home ;; "~") want=$home ;; "~/"*) want=$home/${{want#??}} ;; esac
cd -- "$want" 2>/dev/null || {{ printf 'no-directory\\n' >&{REPORTS_FD}; exit 1; }}
want=$(pwd)
if command -v bash >/dev/null 2>&1; then
  sh=$(command -v bash) options="--norc --noprofile" most="-n {_MOST_CWD}" wrap=$bash
else
  sh=/bin/sh options= most= wrap=$plain
fi
printf '%s\\n' "$$" >"$place/pid"
exec "$sh" $options -i -c "$driver" terminal "$place/shell" "$wrap" "$home" "$want" "$sh" "$options" "$most"
"""
# Programs over there may leave the terminal in any mode, and nobody else is near enough to mend it.
_REMOTE_DRIVER = _DRIVER.replace("  $mode\n", "  command -p stty sane <&7\n  $mode\n")


def remote_program(cwd: str) -> bytes:
    """A POSIX script that becomes a driver on another machine: it has pipes `c` and `r` beside it, and keeps its state there.

    `cwd`: where the first command runs; "" and `~` are the home directory. It reports `no-directory` when that is not there.
    """
    words = {"want": cwd, "driver": _REMOTE_DRIVER, "bash": _BASH, "plain": _SH}
    return ("".join(f"{name}={_quoted(text)}\n" for name, text in words.items()) + _REMOTE).encode()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def line(number: int, nonce: str, text: str, interactive: bool) -> bytes:
    """A command for the driver. `text` has no NUL and is valid Unicode; `nonce` is one word."""
    mode = "interactive" if interactive else "plain"
    return f"{number} {nonce} {mode} {text.count(chr(10)) + 1}\n{text}\n".encode()


def report(data: bytes) -> Report | None:
    """One line of the driver; None for anything else. The directory is text of a stranger: only ever shown."""
    match = _REPORT.fullmatch(data)
    if match is None:
        return None
    number, code, gone, cwd = match.groups()
    return Report(int(number), int(code), gone == b"1", cwd[:_MOST_CWD].decode("utf-8", "replace"))
