"""What the gateway takes for secret, and how a setting is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from thetis_kernel.config.settings import Settings
from thetis_kernel.gateway.log import scrubbed
from thetis_kernel.gateway.secrets import gathered, is_secret_name, of_env_file, shown
from thetis_kernel.protocol.events import Assistant, Incident, ToolInvocation, ToolResult, User
from thetis_kernel.scrub.scrubber import REMOVED, Scrubber


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY",
        "GITHUB_TOKEN",
        "MY_SECRET",
        "DB_PASSWORD",
        "PGPASSWD",
        "AWS_SECRET_ACCESS_KEY",
        "api_key",
        "SENTRY_DSN",
        "SLACK_WEBHOOK",
        "GH_PAT",
        "BASIC_AUTH",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "SSH_AUTH_SOCK",
        "KEY_FILE",
        "TOKEN_URL",
        "AWS_ACCESS_KEY_ID",
        "EDITOR",
        "COMPATIBLE",
        "AUTHOR",
        "GPG_KEY",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


def test_where_they_come_from(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# c\nexport DB_PASSWORD='canary-of-the-env-file'\nNAME=an-ordinary-word-x\nSHORT_TOKEN=abc\n"
        'X="aB3dE5gH7jK9mN1pQ"\n'
    )
    settings = Settings(
        tools={
            "a": {"token": "canary-of-the-settings", "other": "env:PLAIN", "deep": {"api_key": "canary-deep-inside"}}
        }
    )
    scrubber = gathered(
        settings,
        tmp_path,
        {"MY_TOKEN": "canary-of-the-variable", "PLAIN": "canary-by-reference", "HOME": "/home/someone-x"},
    )
    for value in (
        "canary-of-the-env-file",
        "canary-of-the-settings",
        "canary-of-the-variable",
        "canary-by-reference",
        "canary-deep-inside",
        "aB3dE5gH7jK9mN1pQ",
    ):
        assert scrubber.text(f"x {value} y") == f"x {REMOVED} y"
    for value in ("an-ordinary-word-x", "abc", "/home/someone-x"):
        assert scrubber.text(f"x {value} y") == f"x {value} y"


def test_an_odd_env_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("A_TOKEN=canary-behind-a-link")
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", ".", "nothing"):
        assert of_env_file(tmp_path / name) == []
    (tmp_path / "huge").write_text("A_TOKEN=xxxxxxxxxxxxxxxxxxxx\n" * 10_000)
    assert len(of_env_file(tmp_path / "huge")) == 200


def test_settings_are_shown_by_reference() -> None:
    block = {
        "token": "canary",
        "key": "env:MY_KEY",
        "api_key": "file:/a/b",
        "hosts": ["a"],
        "deep": {"password": "canary"},
        "secret": "",
    }
    assert shown("tools", block) == {
        "token": "(set, not shown)",
        "key": "env:MY_KEY",
        "api_key": "file:/a/b",
        "hosts": ["a"],
        "deep": {"password": "(set, not shown)"},
        "secret": "",
    }


KEY = "canary-0123456789-abcdef"


@pytest.mark.parametrize(
    "body",
    [
        User(text=f"use {KEY}"),
        ToolResult(call="c", outcome="ok", content=f"out {KEY}", data={"deep": [KEY]}),
        ToolInvocation(call="c", name="run", args={"command": f"curl -H {KEY}"}, op="terminal.run", mutating=True),
        Assistant(blocks=[{"type": "text", "text": KEY}], model="m", end="stop"),
        Incident(code="x", message=f"it said {KEY}"),
        User(text=f"odd \ud800 {KEY}"),
    ],
)
def test_no_body_keeps_one(body: object) -> None:
    scrubber = Scrubber()
    scrubber.learn(KEY)
    clean = scrubbed(body, scrubber)  # type: ignore[arg-type]
    assert type(clean) is type(body) and KEY not in repr(clean) and REMOVED in repr(clean)
    assert scrubbed(clean, scrubber) == clean


def test_a_body_without_one_is_the_same_object() -> None:
    body = User(text="nothing here")
    assert scrubbed(body, Scrubber()) is body
