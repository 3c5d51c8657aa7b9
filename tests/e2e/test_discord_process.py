"""`thetis connect discord` as a person runs it: beside another kernel, with the rules of keys, ended by what cannot be mended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.discord_bots import ADMIN, STRANGER, program
from tests.support.discord_server import TOKEN, Discord
from tests.support.thetis import World

pytestmark = pytest.mark.runtimes


@contextlib.contextmanager
def fake() -> Any:
    server = Discord()
    try:
        yield server
    finally:
        server.close()


def as_person(tmp_path: Path, server: Discord, more: str = "") -> World:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n"})
    config = tmp_path / "config.toml"
    config.write_text(f"[discord]\nadmin_users = [{ADMIN}]\n{more}")
    world.environ.update(THETIS_CONFIG=str(config), THETIS_TEST_DISCORD=f"127.0.0.1:{server.port}",
                         DISCORD_BOT_TOKEN=TOKEN, PYTHONPATH=os.getcwd())
    return world


def connect(world: World) -> subprocess.Popen[str]:
    return subprocess.Popen([*program(), "connect", "discord", "--root", str(world.repository)], cwd=os.getcwd(), text=True,
                            env=world.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_as_a_person_runs_it_and_the_token_is_nowhere(tmp_path: Path) -> None:
    """Beside another kernel; its token in no argument list, environment, output, file or answer."""
    with fake() as server:
        world = as_person(tmp_path, server)
        alone = connect(world)
        _, told = alone.communicate(timeout=60)
        assert alone.returncode == 2 and "daemon start" in told
        with world.started("run", "nap 600") as kernel:
            server.until(lambda: subprocess.run([world.thetis, "ls"], cwd=world.repository, env=world.environ,
                                                capture_output=True, text=True).stdout.count("nap 600"), 60)
            child = connect(world)
            try:
                server.until(lambda: server.identified, 60)
                server.say(ADMIN, "remember owner: Ada")
                server.until(lambda: "Ada" in "".join(server.shown()), 60)
                second = connect(world)
                assert "already" in second.communicate(timeout=60)[1] and second.returncode == 2
                for pid in (child.pid, kernel.pid):
                    assert TOKEN.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
                assert TOKEN.encode() not in Path(f"/proc/{child.pid}/environ").read_bytes()
                server.cut(4014)
                out, err = child.communicate(timeout=60)
                assert child.returncode == 1 and "message content intent" in err
                assert TOKEN not in out + err + "".join(str(call) for call in server.calls)
                files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
                assert files and not [path for path in files if TOKEN.encode() in path.read_bytes()]
            finally:
                child.kill()
                kernel.send_signal(signal.SIGINT)


@pytest.mark.slow
def test_a_wrong_token_is_said_and_not_tried_again(tmp_path: Path) -> None:
    with fake() as server:
        world = as_person(tmp_path, server)
        world.environ["DISCORD_BOT_TOKEN"] = "another-token-altogether"
        with world.started("run", "nap 600"):
            server.until(lambda: subprocess.run([world.thetis, "ls"], cwd=world.repository, env=world.environ,
                                                capture_output=True, text=True).stdout.count("nap 600"), 60)
            child = connect(world)
            _, told = child.communicate(timeout=60)
            assert child.returncode == 1 and "does not know the bot's token" in told
            assert len(server.calls) == 1 and "another-token" not in told


@pytest.mark.parametrize(("more", "words"), [
    ('token = "env:NOT_THERE"\n', "NOT_THERE is not set"), ('token = "literal-token-in-a-file"\n', "Mend the setting"),
    ('token = "file:{open}"\n', "open to other users")])
def test_tokens_follow_the_rules_of_keys(tmp_path: Path, more: str, words: str) -> None:
    with fake() as server:
        shared = tmp_path / "token"
        shared.write_text(TOKEN)
        shared.chmod(0o644)
        world = as_person(tmp_path, server, more.format(open=shared))
        child = connect(world)
        _, told = child.communicate(timeout=60)
        assert child.returncode == 1 and words in told and TOKEN not in told and "literal-token" not in told


def test_without_the_library_there_is_the_line_that_installs_it(tmp_path: Path) -> None:
    with fake() as server:
        world = as_person(tmp_path, server)
        (tmp_path / "stub" / "discord").mkdir(parents=True)
        (tmp_path / "stub" / "discord" / "__init__.py").write_text("raise ImportError('not here')\n")
        world.environ["PYTHONPATH"] = str(tmp_path / "stub")
        done = world.run("connect", "discord", check=False)
        assert done.returncode == 2 and "pip install 'thetis-tui[discord]'" in done.stderr


def test_nobody_named_nobody_let_in(tmp_path: Path) -> None:
    with fake() as server:
        world = as_person(tmp_path, server)
        (tmp_path / "config.toml").write_text("")
        (world.repository / "thetis.toml").write_text(f"[discord]\nallow_all_users = true\nadmin_users = [{STRANGER}]\n")
        done = world.run("connect", "discord", check=False)
        assert done.returncode == 2 and "Nobody may talk" in done.stderr
