"""A shell command's parts, as far as they are surely understood: what a person allowed before is compared with these.

Not a shell: a strict reader of the part of the language whose meaning does not depend on files, variables or options.
Lists, pipelines, subshells, quoting and plain redirections are read; expansions, globs, substitutions, here-documents,
assignments, comments, functions and compound commands are not, and then the whole command is `None`: a person is asked
each time. It never decides that a command is harmless; the walls confine every command whatever was allowed (ADR 14).
tests/unit/toolhost/test_shell.py compares it with bash.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from thetis_kernel.protocol.approvals import hidden
from thetis_kernel.toolhost.authority.intended import Subject

MAX_COMMAND = 4000
"""Characters; a longer command is never compared, always asked (complaint 129)."""
MAX_PARTS = 32
MAX_DEPTH = 8
"""Subshells in each other."""
RESERVED = frozenset({
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function", "in",
    "time", "coproc", "[[", "]]", "{", "}", "!",
})  # fmt: skip
SHELL_STATE = frozenset({
    ".", "alias", "bind", "builtin", "command", "declare", "disown", "doas", "enable", "eval", "exec", "export", "hash",
    "let", "local", "mapfile", "popd", "printf", "pushd", "read", "readarray", "readonly", "set", "shopt", "source", "su",
    "sudo", "trap", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
})  # fmt: skip
"""Programs that change what later words mean, or run their arguments with other rights: asked each time."""
PLAIN = frozenset({
    "basename", "cat", "cd", "cmp", "cut", "df", "diff", "dirname", "du", "echo", "false", "grep", "head", "ls", "mkdir",
    "mypy", "pwd", "pytest", "ruff", "stat", "tail", "touch", "true", "wc", "which",
})  # fmt: skip
"""Programs that are offered with any arguments."""
WITH_SUBCOMMAND: dict[str, frozenset[str]] = {
    "cargo": frozenset({"bench", "build", "check", "clippy", "doc", "fmt", "test", "tree"}),
    "git": frozenset({"add", "blame", "diff", "grep", "log", "ls-files", "rev-parse", "shortlog", "show", "status"}),
    "go": frozenset({"build", "doc", "fmt", "list", "test", "vet"}),
    "make": frozenset({"build", "check", "format", "lint", "test"}),
    "npm": frozenset({"ls", "test"}),
    "pip": frozenset({"check", "freeze", "list", "show"}),
}
"""Programs that are offered with any arguments behind one of these words."""
_PLAIN_CHARACTERS = frozenset("_./:@%+,=^-")
_DIGITS = frozenset("0123456789")


class _Unclear(Exception):
    """Something whose meaning is not sure."""


@dataclass
class _Command:
    """One simple command while it is read: its words, and its redirections to files as text."""

    words: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def parts(command: str) -> tuple[Subject, ...] | None:
    """The command's simple commands in order, as subjects; None when any of it is not surely understood."""
    if len(command) > MAX_COMMAND or any(map(hidden, command)):
        return None
    try:
        found = _Reader(command).read()
    except _Unclear:
        return None
    return tuple(_subject(part) for part in found) if 0 < len(found) <= MAX_PARTS else None


def _subject(part: _Command) -> Subject:
    text = shlex.join(part.words) + "".join(f" {file}" for file in part.files)
    if part.words[0] in SHELL_STATE:
        return Subject(text, wide=False)
    pattern = text if part.files else _wider(part.words) or text
    return Subject(text, rule=pattern, session=pattern, wide=not part.files)


def _wider(words: list[str]) -> str:
    """The pattern that covers other arguments too, "" when only this very command should be remembered."""
    if words[0] in PLAIN:
        return f"{words[0]} *"
    if len(words) > 1 and words[1] in WITH_SUBCOMMAND.get(words[0], ()):
        return f"{words[0]} {words[1]} *"
    return ""


class _Reader:
    """Reads one command text from left to right. `at` is the next character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._found: list[_Command] = []

    def read(self) -> list[_Command]:
        self._list(closing=False)
        if self._at != len(self._text):
            raise _Unclear
        return self._found

    def _next(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _blanks(self, *, lines: bool = False) -> None:
        while self._next() and self._next() in (" \t\n" if lines else " \t"):
            self._at += 1

    def _list(self, *, closing: bool) -> None:
        """Commands between operators, up to the end or the parenthesis that closes a subshell."""
        self._blanks(lines=True)
        while True:
            self._command()
            self._blanks()
            operator = next((one for one in ("&&", "||", "|", ";", "&", "\n") if self._text.startswith(one, self._at)), "")
            if not operator:
                return
            self._at += len(operator)
            self._blanks(lines=True)
            ended = not self._next() or (closing and self._next() == ")")
            if ended and operator in (";", "&", "\n"):
                return

    def _command(self) -> None:
        if self._next() == "(":
            self._at += 1
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise _Unclear
            self._list(closing=True)
            if self._next() != ")":
                raise _Unclear
            self._at += 1
            self._depth -= 1
            self._blanks()
            if self._next() and self._next() not in "&|;\n)":
                raise _Unclear  # redirections of a whole subshell
            return
        command = _Command()
        while True:
            self._blanks()
            if not self._next() or (self._next() in "|;\n)") or (self._next() == "&" and self._next(2) != "&>"):
                break
            if not self._redirection(command):
                command.words.append(self._word(first=not command.words))
        if not command.words:
            raise _Unclear
        self._found.append(command)

    def _redirection(self, command: _Command) -> bool:
        """Take a redirection, if one begins here."""
        start = self._at
        while self._next() in _DIGITS:
            self._at += 1
        number = self._text[start : self._at]
        if self._next() not in ("<", ">") and (number or self._next(2) != "&>"):
            self._at = start
            return False
        operator = next((one for one in ("&>>", "&>", ">>", ">&", "<&", ">", "<") if self._text.startswith(one, self._at)), "")
        self._at += len(operator)
        if self._next() and self._next() in "<>&|(":
            raise _Unclear
        if operator in (">&", "<&"):
            if self._next() not in _DIGITS:
                raise _Unclear
            self._at += 1
            if self._next() and self._next() not in " \t\n;|&)":
                raise _Unclear
            return True
        self._blanks()
        target = self._word(first=False)
        if target != "/dev/null":
            command.files.append(f"{number}{operator} {shlex.quote(target)}")
        return True

    def _word(self, *, first: bool) -> str:
        """One word, quotes taken off. `first`: where a program stands."""
        start, out = self._at, ""
        while (char := self._next()) and char not in " \t\n;|&<>()":
            self._at += 1
            if char == "'":
                out += self._until_quote()
            elif char == '"':
                out += self._double_quoted()
            elif char == "\\":
                out += self._escaped()
            elif char.isalnum() or char in _PLAIN_CHARACTERS or (char in "~#" and self._inside_word(start)):
                out += char
            else:
                raise _Unclear
        if self._at == start or (self._next() in ("(", "<", ">") and first):
            raise _Unclear
        plain = self._text[start : self._at]
        if first and (plain in RESERVED or "=" in plain or not out):
            raise _Unclear
        return out

    def _inside_word(self, start: int) -> bool:
        """Whether the tilde or hash just taken is a plain character: no home directory is put in there, no comment begins."""
        return self._at - 1 > start and self._text[self._at - 2] not in ":="

    def _until_quote(self) -> str:
        end = self._text.find("'", self._at)
        if end < 0:
            raise _Unclear
        inside = self._text[self._at : end]
        self._at = end + 1
        return inside

    def _double_quoted(self) -> str:
        out = ""
        while (char := self._next()) != '"':
            self._at += 1
            if not char or char in "$`!":
                raise _Unclear
            if char == "\\":
                char = self._next()
                if not char or char not in '$`"\\':
                    raise _Unclear
                self._at += 1
            out += char
        self._at += 1
        return out

    def _escaped(self) -> str:
        char = self._next()
        if not char or char == "\n":
            raise _Unclear
        self._at += 1
        return char
