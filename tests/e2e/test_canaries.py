"""Complaint 130, reliability S6: canary secrets in twelve places, and none of them in anything that is kept, shown or sent on.

Looked at: the database with its log and index, the state directory, git objects, environment and command line of every child,
what a client hears, what `thetis log` prints.
"""

from __future__ import annotations

import json
import os
import subprocess
import zlib
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.config.loading import load
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.paths import root_paths
from thetis_kernel.protocol.client import Notice
from thetis_kernel.protocol.events import Incident, ToolResult

from tests.support.gateways import Opened, bodies
from tests.support.thetis import World

pytestmark = pytest.mark.runtimes

ENVIRONMENT, PROVIDER, FILE_KEY = (
    "canary-01-environment-9f3a",
    "sk-canary-02-provider-key-77aa",
    "sk-canary-03-key-in-a-file-55bb",
)
SETTING, ENV_FILE, REMOTE = (
    "canary-04-setting-of-a-tool-31",
    "canary-05-dot-env-of-the-root-8",
    "canary-06-in-a-remote-url-4c",
)
TOOL_OUTPUT, MESSAGE, WRITTEN = (
    "ghp_canary07aB3dE5gH7jK9mN1pQ3sT5vX7zAa1",
    "ghp_canary08aB3dE5gH7jK9mN1pQ3sT5vX7zAa1",
    "canary-05-dot-env-of-the-root-8",
)
RULES, ARGUMENT, EXCEPTION = (
    "ghp_canary10aB3dE5gH7jK9mN1pQ3sT5vX7zAa1",
    "ghp_canary11aB3dE5gH7jK9mN1pQ3sT5vX7zAa1",
    "canary-01-environment-9f3a",
)
ALL = sorted(
    {
        ENVIRONMENT,
        PROVIDER,
        FILE_KEY,
        SETTING,
        ENV_FILE,
        REMOTE,
        TOOL_OUTPUT,
        MESSAGE,
        WRITTEN,
        RULES,
        ARGUMENT,
        EXCEPTION,
    }
)


def prepared(base: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(base)
    world.make_repository(
        {
            "README.md": "# Test\n",
            ".gitignore": ".env\n",
            "AGENTS.md": f"Use the token {RULES} for the tests.\n",
            "leak.sh": f"echo out {TOOL_OUTPUT}; printf %s canary-01-enviro; printf %s\\\\n nment-9f3a\n",
        }
    )
    world.write({".env": f"DB_PASSWORD={ENV_FILE}\n"})
    world.git("remote", "add", "origin", f"https://bob:{REMOTE}@git.example/x.git")
    key = base / "key"
    key.write_text(FILE_KEY + "\n")
    key.chmod(0o600)
    (base / "config.toml").write_text(
        f'[[providers]]\nname = "house"\nbase_url = "http://127.0.0.1:1"\nkey = "file:{key}"\n'
        f'[tools.outline]\napi_token = "{SETTING}"\n'
    )
    for name in ("THETIS_STATE", "THETIS_REHEARSAL_DELAY_MS", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, world.environ[name])
    monkeypatch.setenv("MY_SERVICE_TOKEN", ENVIRONMENT)
    monkeypatch.setenv("ANTHROPIC_API_KEY", PROVIDER)
    monkeypatch.setenv("THETIS_MODEL", "rehearsal")
    return world


def of_processes(pids: list[int]) -> dict[str, bytes]:
    return {
        f"{pid}/{name}": Path(f"/proc/{pid}/{name}").read_bytes() for pid in pids for name in ("environ", "cmdline")
    }


def of_git(world: World) -> dict[str, bytes]:
    """Every loose object of the repository, unpacked."""
    objects = (world.repository / ".git" / "objects").glob("??/*")
    return {str(path): zlib.decompress(path.read_bytes()) for path in objects}


def of_state(world: World) -> dict[str, bytes]:
    """Every file of the state directory but the worktrees, which are the repository's files."""
    files = [path for path in (world.base / "state").rglob("*") if path.is_file() and "worktrees" not in path.parts]
    return {str(path): path.read_bytes() for path in files}


def hits(found: dict[str, bytes], canaries: list[str]) -> list[tuple[str, str]]:
    return [(where, canary) for where, data in found.items() for canary in canaries if canary.encode() in data]


async def test_no_canary_is_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = prepared(tmp_path, monkeypatch)
    before = of_git(world)
    loaded = load(world.repository, tmp_path / "config.toml", environ={"THETIS_MODEL": "rehearsal"})
    gateway = await Gateway.open(root_paths(world.repository), loaded)
    g = Opened(gateway, await gateway.connect(), world)
    try:
        await gateway.models.warm()
        session = await g.start(f"write note.txt with {WRITTEN}")
        await g.client.wait_idle(session)
        for words in (
            "run sh leak.sh",
            f"my key is {MESSAGE}, keep it",
            f"search {ARGUMENT} in .",
            "run cat /proc/self/environ",
            f"run echo {FILE_KEY} {PROVIDER} {SETTING}",
            "run git remote -v",
            "run sh leak.sh > kept.txt",
            "run sh leak.sh; seq 1 20000",
            "write plain.txt with nothing-special",
        ):
            await g.client.submit(session, words)
            await g.client.wait_idle(session)
        await gateway.log.append(session, Incident(code="x", message=f"ValueError: {EXCEPTION}"))
        gateway._incident("x", f"a child said {EXCEPTION}", {})
        await g.until(lambda heard: any("a child said" in tell.message for tell in heard if isinstance(tell, Notice)))
        children = [
            child.pid
            for child in map(gateway.fleet.supervisor.get, ("model", "git", "face", f"worker:{session}"))
            if child
        ]
        assert len(children) >= 3
        assert hits(of_processes(children), ALL) == []
        heard = {f"{n}: {type(tell).__name__}": msgspec.json.encode(tell) for n, tell in enumerate(g.heard)}
        assert hits(heard, ALL) == []
        assert any("out [secret removed]" in body.content for body in bodies(g.heard, ToolResult))
    finally:
        await gateway.close()
    assert hits(of_state(world), ALL) == []
    made = {path: data for path, data in of_git(world).items() if path not in before}
    assert made and hits(made, ALL) == []
    assert any(b"nothing-special" in data for data in made.values())
    log = subprocess.run(
        [world.thetis, "log", session, "--json"],
        cwd=world.repository,
        env={**world.environ, "MY": "x"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert hits({"export": log.stdout.encode(), "errors": log.stderr.encode()}, ALL) == []
    assert json.loads(log.stdout.splitlines()[0]) and log.returncode == 0
    assert os.environ.get("ANTHROPIC_API_KEY") is None


async def test_the_harness_sees_one_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same look, with a word nobody knows to be secret: it is in the log and the commits."""
    world = prepared(tmp_path, monkeypatch)
    loaded = load(world.repository, tmp_path / "config.toml", environ={"THETIS_MODEL": "rehearsal"})
    gateway = await Gateway.open(root_paths(world.repository), loaded)
    g = Opened(gateway, await gateway.connect(), world)
    try:
        session = await g.start("write note.txt with an-open-word-5c1d")
        await g.client.wait_idle(session)
    finally:
        await gateway.close()
    assert hits(of_state(world), ["an-open-word-5c1d"]) and hits(of_git(world), ["an-open-word-5c1d"])
