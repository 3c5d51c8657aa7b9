"""What the smoke checks of the three worlds share: call an export, take its JSON, say what is wrong with it."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from thetis_kernel.errors import GuestError
from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.diagnostics import diagnostic_of_guest
from thetis_kernel.forge.fakes.host import FakeHost
from thetis_kernel.forge.layout import ENTRY
from thetis_kernel.forge.schema import load_json
from thetis_kernel.protocol.gate import Diagnostic

MAX_DESCRIBES = 128 * 1024
_BROKEN = re.compile(r"^(NameError|UnboundLocalError|ImportError|ModuleNotFoundError|SyntaxError)\b", re.MULTILINE)
"""Exceptions no input can excuse: the code names what is not there."""


class Failed(Exception):
    """The smoke check's complaint. Never leaves the step."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Smoke:
    """Calls exports of one candidate. `doing` words a call for its complaint; "" = the function's name."""

    def __init__(self, candidate: Candidate, bench: Bench) -> None:
        self.candidate = candidate
        self._bench = bench

    def text(self, host: FakeHost, export: str, *args: str, doing: str = "") -> str:
        """What the export answers; raises Failed with the guest's file and line when it does not."""
        try:
            return self._bench.call(self.candidate, host, export, *args)
        except GuestError as exc:
            raise self._failed(exc, doing or _function(export)) from exc

    def answer(self, host: FakeHost, export: str, *args: str, doing: str = "") -> str | None:
        """As `text`, but saying no is an answer too (None): an exception the runtime turned into a typed error.

        Not so one that names what the code does not have, and no trap, timeout, memory limit or wrong type.
        """
        try:
            return self._bench.call(self.candidate, host, export, *args)
        except GuestError as exc:
            if exc.kind != "error" or _BROKEN.search(exc.traceback or exc.message):
                raise self._failed(exc, doing or _function(export)) from exc
            return None

    def json(self, host: FakeHost, export: str, *args: str, doing: str = "") -> Any:
        """The JSON the export answers."""
        doing = doing or _function(export)
        return self.parsed(self.text(host, export, *args, doing=doing), doing)

    def parsed(self, text: str, doing: str) -> Any:
        """The value of JSON an export answered; a complaint when it is none."""
        value, problem = load_json(text, f"what {doing} returned")
        if problem:
            self.fail(problem)
        return value

    def described(self, value: Any) -> None:
        """Keep describe()'s answer, re-encoded: it becomes part of the artifact."""
        try:
            text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            text.encode()
        except UnicodeEncodeError:
            self.fail("describe() returned text that is not valid Unicode")
        if len(text) > MAX_DESCRIBES:
            self.fail(f"describe() returned more than {MAX_DESCRIBES // 1024} KiB")
        self.candidate.describes = text

    def named(self) -> None:
        """describe() of a guest that is no tool: an object with name and version, kept."""
        value = self.json(FakeHost(), "describe")
        if not isinstance(value, dict) or not all(isinstance(value.get(k), str) and value[k] for k in ("name", "version")):
            self.fail('describe() must return {"name": ..., "version": ...}, both texts')
        self.described(value)

    def fail(self, message: str) -> NoReturn:
        """Raise Failed about the entry module."""
        raise Failed(Diagnostic(self.candidate.paths[ENTRY], 0, message))

    def _failed(self, exc: GuestError, doing: str) -> Failed:
        return Failed(diagnostic_of_guest(exc, self.candidate.paths.values(), doing))


def _function(export: str) -> str:
    return export.replace("-", "_") + "()"
