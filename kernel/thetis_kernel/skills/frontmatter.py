"""The head of a skill's file, and everything that can be wrong with it, each with its line.

Two forms are read: TOML between lines of `+++`, and between lines of `---` the part of YAML that other agents' skills use
(`key: value`, lists in brackets or one item a line). Nothing in it is executed, and no value is more than text.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from thetis_kernel.protocol.approvals import hidden
from thetis_kernel.protocol.skills import Card, Problem

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
MAX_TEXT = 32 * 1024
"""Bytes of a SKILL.md: it is read whole by the agent, and stays in its context."""
MAX_BRIEF, MAX_WHEN, MAX_TAG, MAX_TAGS = 200, 1024, 40, 16
KEYS = ("name", "brief", "description", "when_to_use", "tags", "universal", "version", "status", "license")
"""What a head may say. `description` is what others call `brief`."""
_ITEM = re.compile(r"\s*-\s+(.*)")
_PAIR = re.compile(r"([A-Za-z_][\w-]*)\s*:\s*(.*)")
_TOML_LINE = re.compile(r"\(at line (\d+)")
_LINK = re.compile(r"\]\(([^)\s#:]+)\)")


class Parsed(msgspec.Struct, frozen=True):
    """A skill's file: its card (None when the head cannot be used), the text below the head, and what is wrong."""

    card: Card | None
    text: str
    problems: list[Problem]


def parse(raw: bytes, name: str, path: str, files: tuple[str, ...] = ()) -> Parsed:
    """Read a SKILL.md that belongs to the skill `name`. `path` is how problems name the file, `files` what lies beside it."""
    found = _Reader(path)
    if len(raw) > MAX_TEXT:
        found.wrong(0, f"It holds {len(raw)} bytes; a skill has at most {MAX_TEXT}. Move parts of it into files beside it.")
        return Parsed(None, "", found.problems)
    try:
        whole = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        found.wrong(raw[: error.start].count(b"\n") + 1, "It is not UTF-8 here.")
        return Parsed(None, "", found.problems)
    lines = whole.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if any(hidden(sign) for sign in line):
            found.wrong(number, "It holds characters that cannot be seen.")
    head, body = found.split(lines)
    if not NAME.fullmatch(name):
        found.wrong(0, f"{name[:60]!r} cannot be a skill's name: up to 48 of a-z, 0-9 and dashes.")
    card = found.card(head, name, files)
    text = "\n".join(body).strip("\n")
    if not text.strip():
        found.wrong(len(lines), "There is no text below the head.")
    for target in _LINK.findall(text):
        if "/" not in target.lstrip("./") and not target.startswith("/") and target.removeprefix("./") not in files:
            found.wrong(0, f"It links to {target[:80]}, which is not beside it.", fatal=False)
    usable = card is not None and not any(problem.fatal for problem in found.problems)
    return Parsed(card if usable else None, text, found.problems)


class _Reader:
    def __init__(self, path: str) -> None:
        self._path = path
        self._lines: dict[str, int] = {}
        self.problems: list[Problem] = []

    def wrong(self, line: int, message: str, *, fatal: bool = True) -> None:
        self.problems.append(Problem(self._path, line, message, fatal))

    def split(self, lines: list[str]) -> tuple[dict[str, Any], list[str]]:
        """The head as a table, and the lines below it."""
        fence = lines[0].strip() if lines else ""
        if fence not in ("+++", "---"):
            self.wrong(1, "It does not begin with a head: a line +++, then name and brief, then +++.")
            return {}, lines
        end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == fence), 0)
        if not end:
            self.wrong(1, f"The head that begins here is not ended by {fence}.")
            return {}, []
        return (self._toml if fence == "+++" else self._yaml)(lines[1:end]), lines[end + 1:]

    def _toml(self, lines: list[str]) -> dict[str, Any]:
        for number, line in enumerate(lines, 2):
            self._lines.setdefault(line.partition("=")[0].strip(), number)
        try:
            return tomllib.loads("\n".join(lines))
        except (ValueError, RecursionError) as error:
            at = _TOML_LINE.search(str(error))
            self.wrong(int(at[1]) + 1 if at else len(lines) + 1, f"The head is no TOML: {str(error).partition(' (at')[0]}.")
            return {}

    def _yaml(self, lines: list[str]) -> dict[str, Any]:
        table: dict[str, Any] = {}
        key = ""
        for number, line in enumerate(lines, 2):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            item = _ITEM.fullmatch(line)
            if item and key and (table[key] == "" or isinstance(table[key], list)):
                table[key] = [*(table[key] or []), _scalar(item[1])]
                continue
            pair = _PAIR.fullmatch(line)
            if pair is None:
                self.wrong(number, "This line is neither `key: value` nor an item of a list.")
                continue
            key = pair[1].replace("-", "_")
            self._lines.setdefault(key, number)
            value = pair[2].strip()
            if value in ("|", ">", "|-", ">-"):
                self.wrong(number, "A text over several lines is not read; write it on one line.")
            inside = value[1:-1] if value.startswith("[") and value.endswith("]") else None
            table[key] = _scalar(value) if inside is None else [_scalar(one) for one in inside.split(",") if one.strip()]
        return table

    def card(self, head: dict[str, Any], name: str, files: tuple[str, ...]) -> Card | None:
        """The card the head describes; None when it lacks what a card needs."""
        if not head:
            return None
        for key in head:
            if key not in KEYS:
                self.wrong(self._lines.get(key, 0), f"{key[:40]!r} means nothing here.", fatal=False)
        if head.get("name") != name:
            self.wrong(self._lines.get("name", 1), f"name must be {name!r}, as its directory is called.")
        brief = self._text(head, "brief" if "brief" in head else "description", MAX_BRIEF if "brief" in head else MAX_WHEN)
        if not brief:
            self.wrong(1, "brief is missing: what the skill is for, in one sentence.")
        tags = head.get("tags", [])
        words = isinstance(tags, list) and all(isinstance(tag, str) and 0 < len(tag) <= MAX_TAG for tag in tags)
        if not words or len(tags) > MAX_TAGS:
            self.wrong(self._lines.get("tags", 1), f"tags is a list of at most {MAX_TAGS} short words.")
            tags = []
        if head.get("universal", False) not in (True, False, "true", "false"):
            self.wrong(self._lines.get("universal", 1), "universal is true or false.")
        if head.get("status", "active") not in ("active", "retired"):
            self.wrong(self._lines.get("status", 1), "status is active or retired.")
        if head.get("status") == "retired":
            self.wrong(self._lines.get("status", 1), "It is retired.")
        return Card(name=name, brief=one_line(brief)[:MAX_BRIEF], when_to_use=one_line(self._text(head, "when_to_use", MAX_WHEN)),
                    tags=[one_line(tag) for tag in tags], universal=head.get("universal") in (True, "true"), files=list(files))

    def _text(self, head: dict[str, Any], key: str, most: int) -> str:
        value = head.get(key, "")
        if not isinstance(value, str) or len(value) > most:
            self.wrong(self._lines.get(key, 1), f"{key} is a text of at most {most} characters.")
            return ""
        return value


def one_line(text: str) -> str:
    """`text` on one line, without anything invisible."""
    return " ".join("".join(sign for sign in text if not hidden(sign) or sign.isspace()).split())


def _scalar(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
