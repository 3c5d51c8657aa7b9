"""The operations `terminals.*`: arguments checked, a terminal found, an answer a log can hold.

Owns what each answers (below) and the bounds of times, sizes and names. Must not know how a terminal works, nor whether
the call is permitted: both were settled before.

    open    {"terminal", "name", "cwd", "host", "notes"}
    run     as terminal.run, with {"terminal", "cwd", "running", "notes"}; "exit" is null while it runs
    read    {"terminal", "running", "command", "output" | "screen", "cursor", "cwd", "ended", "since_ms"}
    send, signal   as read, a moment later
    close   {"terminal", "closed"}
    list    {"terminals": [{"terminal", "name", "cwd", "running", "command", "since_ms" | "exit_code", "left"}]}
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.toolhost.terminals.pool import BACKGROUND_S, Pool
from thetis_kernel.toolhost.terminals.terminal import Opener, Terminal, TerminalError
from thetis_kernel.toolhost.tree import spill_name

if TYPE_CHECKING:
    from thetis_kernel.toolhost.context import TurnContext
    from thetis_kernel.toolhost.machines import Reaching

MAX_COMMAND = 32 * 1024
MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 100, 600_000
MAX_WAIT_MS = 600_000
MAX_TYPED = 16 * 1024
MAX_VARIABLES = 16 * 1024
SETTLE_S, QUIET_S = 1.5, 0.2
"""After something was started or typed: how long its first answer is awaited, and what silence ends the wait."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
SIGNALS = {
    name: getattr(signal, f"SIG{name}")
    for name in ("INT", "QUIT", "TSTP", "TERM", "HUP", "KILL", "CONT", "USR1", "USR2")
}
KEYS = {
    "enter": b"\r", "tab": b"\t", "escape": b"\x1b", "backspace": b"\x7f", "delete": b"\x1b[3~", "up": b"\x1b[A",
    "down": b"\x1b[B", "right": b"\x1b[C", "left": b"\x1b[D", "home": b"\x1b[H", "end": b"\x1b[F", "page-up": b"\x1b[5~",
    "page-down": b"\x1b[6~", "space": b" ",
    **{f"ctrl-{chr(96 + number)}": bytes([number]) for number in range(1, 27)},
}  # fmt: skip
"""Keys by name, as an xterm sends them."""


class Terminals:
    """The terminals a turn may use: the worker's pool, how one is opened in this turn's place, and on other machines."""

    def __init__(self, pool: Pool, opener: Callable[[Path], Opener], reaching: Reaching | None = None) -> None:
        self.pool = pool
        self.opener = opener
        self.reaching = reaching


def open_terminal(context: TurnContext, cwd: str, name: str, env: dict[str, Any], host: str = "") -> dict[str, Any]:
    """terminals.open; `host` names another machine, which says itself where its shells begin."""
    if name and _NAME.fullmatch(name) is None:
        raise _bad(
            f"{name[:60]!r} cannot be a terminal's name.", "Use up to 40 letters, digits, dots, dashes or spaces."
        )
    variables = _variables(env)
    if host:
        return _open_on(context, host, cwd, name, variables)
    where = context.tree.real(cwd or ".")
    if not where.is_dir():
        raise _bad(f"{cwd} is not a directory.", "Give a directory of the checkout.")
    terminals = _terminals(context)
    terminal, notes = terminals.pool.open(name, terminals.opener(where), variables, context.journal)
    return {
        "terminal": terminal.id,
        "name": name,
        "cwd": _shown(context, str(where), ""),
        **({"notes": notes} if notes else {}),
    }


def _open_on(context: TurnContext, host: str, cwd: str, name: str, variables: dict[str, str]) -> dict[str, Any]:
    terminals = _terminals(context)
    if terminals.reaching is None:
        raise TerminalError("There are no other machines here.", hint="Leave host out.")
    shown = context.seen.pop(host, None)
    if shown is not None:  # the call was permitted, so a person has accepted it
        terminals.reaching.accept(host, shown)
    terminal, notes = terminals.pool.open(name, terminals.reaching.opener(host), variables, context.journal, host=host)
    if cwd not in ("", "."):
        notes.append(f"cwd was ignored: a shell on {host} begins where its entry says.")
    return {"terminal": terminal.id, "name": name, "cwd": terminal.cwd, "host": host, **({"notes": notes} if notes else {})}


def run(
    context: TurnContext, call: str, identifier: str, command: str, timeout_ms: int, background: bool
) -> dict[str, Any]:
    """terminals.run"""
    _check_command(command)
    terminal = _terminals(context).pool.get(identifier)
    wanted = timeout_ms or (int(BACKGROUND_S * 1000) if background else context.place.command_timeout_ms)
    longest = int(BACKGROUND_S * 1000) if background else MAX_TIMEOUT_MS
    spill = Path(context.place.spill) / spill_name(call)
    spill.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with terminal.watched():
        done = terminal.run(
            command,
            background=background,
            timeout_s=min(max(wanted, MIN_TIMEOUT_MS), longest) / 1000,
            spill=spill,
            watch=lambda text: context.output(call, text),
            stop=context.cancelled,
        )
        if background:
            looked = _settled(context, terminal)
            if looked["running"]:
                return {**looked, "exit": None}
    answer = {
        "terminal": terminal.id,
        **done.result(0.0),
        **done.output(),
        "running": False,
        "cwd": _shown(context, terminal.cwd, terminal.host),
    }
    if answer["spill"]:
        answer["spill"] = f"/spill/{spill.name}"
    if notes := done.trouble():
        answer["notes"] = notes
    return answer


def read(context: TurnContext, identifier: str, wait_ms: int) -> dict[str, Any]:
    """terminals.read"""
    terminal = _terminals(context).pool.get(identifier)
    with terminal.watched():
        if wait_ms > 0:
            terminal.wait(min(wait_ms, MAX_WAIT_MS) / 1000, context.cancelled)
        return _looked(context, terminal)


def send(context: TurnContext, identifier: str, text: str, key: str, submit: bool) -> dict[str, Any]:
    """terminals.send"""
    terminal = _terminals(context).pool.get(identifier)
    pressed = KEYS.get(key.strip().lower()) if key else b"\r" if submit else b""
    if pressed is None:
        named = ", ".join(name for name in KEYS if not name.startswith("ctrl-"))
        raise _bad(f"There is no key {key[:40]!r}.", f"Keys are: {named}, ctrl-a to ctrl-z.")
    data = text.replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "replace") + pressed
    if not data or len(data) > MAX_TYPED:
        raise _bad(f"There is nothing to type, or more than {MAX_TYPED} bytes.", "Write long input into a file.")
    with terminal.watched():
        terminal.type(data)
        return _settled(context, terminal)


def send_signal(context: TurnContext, identifier: str, name: str) -> dict[str, Any]:
    """terminals.signal"""
    number = SIGNALS.get(name.upper().removeprefix("SIG"))
    if number is None:
        raise _bad(f"There is no signal {name[:20]!r} here.", "Signals are: " + ", ".join(SIGNALS) + ".")
    terminal = _terminals(context).pool.get(identifier)
    with terminal.watched():
        terminal.signal(number)
        terminal.wait(SETTLE_S, context.cancelled)
        return _looked(context, terminal)


def close(context: TurnContext, identifier: str) -> dict[str, Any]:
    """terminals.close"""
    return {"terminal": _terminals(context).pool.close(identifier, context.journal), "closed": True}


def list_terminals(context: TurnContext) -> dict[str, Any]:
    """terminals.list"""
    found = _terminals(context).pool.list()
    return {"terminals": [{**one, "cwd": _shown(context, one["cwd"], one.get("host", ""))} for one in found]}


def _terminals(context: TurnContext) -> Terminals:
    if context.terminals is None:
        raise TerminalError("There are no terminals here.", hint="Use run.")
    return context.terminals


def _settled(context: TurnContext, terminal: Terminal) -> dict[str, Any]:
    """A look a moment after something was begun or typed."""
    terminal.wait(SETTLE_S, context.cancelled, quiet_s=QUIET_S)
    return _looked(context, terminal)


def _looked(context: TurnContext, terminal: Terminal) -> dict[str, Any]:
    """A look as it is answered: the screen where there is one, else what was written; never both."""
    found = terminal.look()
    output = found.pop("new_output", "")
    answer = {"terminal": terminal.id, **found, "cwd": _shown(context, found["cwd"], terminal.host)}
    if "screen" not in answer:
        answer["output"] = output
    return answer


def _shown(context: TurnContext, cwd: str, host: str) -> str:
    """A directory as the agent names it: relative to the checkout, or under /workspace; on another machine with its name."""
    if host:
        return f"{host}:{cwd}"
    for base, name in ((context.place.worktree, ""), (context.place.workspace, "/workspace")):
        real = str(Path(base).resolve())
        if cwd == real:
            return name or "."
        if cwd.startswith(f"{real}/"):
            below = cwd[len(real) + 1 :]
            return f"{name}/{below}" if name else below
    return cwd or "."


def _variables(env: dict[str, Any]) -> dict[str, str]:
    for name, value in env.items():
        if _VARIABLE.fullmatch(name) is None:
            raise _bad(f"{name[:60]!r} cannot be a variable's name.", "Use letters, digits and underscores.")
        if not isinstance(value, str) or "\0" in value or not _valid(value):
            raise _bad(f"The value of {name} is not a text without NUL.", "Give every value as a text.")
    if sum(len(name) + len(value.encode()) for name, value in env.items()) > MAX_VARIABLES:
        raise _bad(f"The variables have more than {MAX_VARIABLES} bytes.", "Write them into a file and source that.")
    return dict(env)


def _check_command(command: str) -> None:
    if not command.strip() or "\0" in command or not _valid(command):
        raise _bad("The command is empty, holds a NUL byte or is not valid Unicode.", "")
    if len(command.encode()) > MAX_COMMAND:
        raise _bad(f"The command is longer than {MAX_COMMAND} bytes.", "Write a script file and run that.")


def _valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bad(message: str, hint: str) -> ThetisError:
    return ThetisError(message, code="bad-arguments", hint=hint)
