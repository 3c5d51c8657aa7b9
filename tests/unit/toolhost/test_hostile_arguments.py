"""Reliability S5: what a call says is text; no field of it is policy, and whose conversation it is no field says at all.

CVE-2026-42074 (a parameter that switches the sandbox off), CVE-2026-28466, CVE-2026-53821 (authority taken from fields).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.worker import FROM_WORKER_ASKS, FROM_WORKER_TELLS
from thetis_kernel.toolhost.operations import OPERATIONS, REQUIRED, BadArguments, perform
from thetis_kernel.toolhost.sandbox import sandbox_imports

from tests.support.turns import turn_context

POLICY = [
    "sandbox",
    "unwalled",
    "network",
    "read_only",
    "mode",
    "approve",
    "approved",
    "session",
    "session_id",
    "writable",
    "readable",
    "dangerously_disable_sandbox",
    "env",
    "user",
    "host",
    "timeout",
    "__class__",
    "Path",
    "CWD",
]
NOT_POLICY = {
    ("files.search-files", "mode"), ("terminals.open", "env"), ("agents.spawn", "mode"), ("terminals.open", "host"),
}
"""The form of the answer; a shell's own variables, inside the walls; a sub-agent's mode, which only ever takes away; the
name of a machine a person vouched for."""
PLAUSIBLE: dict[type, Any] = {str: "a.txt", int: 1, bool: False, list: [], dict: {}}


def plausible(name: str) -> dict[str, Any]:
    return {key: PLAUSIBLE[kind] for key, (kind, default) in OPERATIONS[name].parameters.items() if default is REQUIRED}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_operation_takes_a_field_of_policy(tmp_path: Path, name: str) -> None:
    context = turn_context(tmp_path)
    for field in POLICY:
        if (name, field) in NOT_POLICY:
            continue
        assert field not in OPERATIONS[name].parameters
        with pytest.raises(BadArguments, match="no argument"):
            perform(context, name, "c", {**plausible(name), field: True})
    assert context.commands.asked == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("field", POLICY)
def test_nor_does_a_tools_import(tmp_path: Path, field: str) -> None:
    imports = sandbox_imports(turn_context(tmp_path), "c", "t")
    for call in (
        ("sandbox.exec", "true"),
        ("sandbox.read-file", "a"),
        ("sandbox.list-files", "."),
        ("sandbox.search", "x"),
    ):
        with pytest.raises(BadArguments, match="no option"):
            imports[call[0]](call[1], f'{{"{field}": true}}')


def test_the_channel_says_whose_it_is() -> None:
    for kind in (*FROM_WORKER_ASKS, *FROM_WORKER_TELLS):
        fields = {field.name for field in msgspec.structs.fields(kind)}
        assert not fields & {"session", "session_id", "conversation", "mode", "epoch", "origin", "user", "read_only"}, (
            kind
        )


@pytest.mark.parametrize(
    "text",
    [
        "$(touch pwned)",
        "`touch pwned`",
        "; touch pwned",
        "| touch pwned",
        "&& touch pwned",
        "\n touch pwned",
        "--output=pwned",
        "-rf",
        "%s%n",
        "{{7*7}}",
        "../x; touch pwned",
    ],
)
def test_text_in_a_path_or_pattern_starts_nothing(tmp_path: Path, text: str) -> None:
    context = turn_context(tmp_path)
    (tmp_path / "wt" / "a.txt").write_text("needle")
    for name, arguments in (
        ("files.read-file", {"path": text}),
        ("files.list-dir", {"path": text}),
        ("files.write-file", {"path": text, "contents": "x"}),
        ("files.search-files", {"pattern": text}),
        ("files.search-files", {"pattern": "needle", "glob": text}),
        ("files.search-files", {"pattern": "needle", "path": text}),
        ("files.find-files", {"glob": text}),
    ):
        try:
            perform(context, name, "c", arguments)
        except ThetisError:
            continue
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("value", ["a\0b", "x" * 10_000_000, 7, None, ["a"], {"path": "a"}, True])
def test_odd_values_are_refused_by_name(tmp_path: Path, value: Any) -> None:
    context = turn_context(tmp_path)
    for name in ("files.read-file", "files.list-dir", "files.search-files", "terminal.run"):
        key = {"files.search-files": "pattern", "terminal.run": "command"}.get(name, "path")
        if name == "files.list-dir" and value is None:
            continue  # its own default
        with pytest.raises(ThetisError):
            perform(context, name, "c", {key: value})
    assert context.commands.asked == []  # type: ignore[attr-defined]
