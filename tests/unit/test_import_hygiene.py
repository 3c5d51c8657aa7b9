"""What a running interpreter really loads: the static contracts cannot see a deferred import that happens anyway."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys; {first}; print(' '.join(sorted(sys.modules)))"
SDKS = {"pygit2", "wasmtime", "anthropic", "httpx", "discord", "asyncssh", "textual", "rich"}


def loaded(first: str) -> set[str]:
    done = subprocess.run([sys.executable, "-I", "-c", LOADED.format(first=first)], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()} | set(done.stdout.split())


@pytest.mark.parametrize(("module", "allowed"), [
    ("thetis_kernel.gateway.gateway", {"apsw"}),
    ("thetis_kernel.gateway.door", {"apsw"}),
    ("thetis_kernel.hosts.worker", {"wasmtime"}),
    ("thetis_kernel.hosts.git", {"pygit2"}),
    ("thetis_kernel.hosts.model", set()),
    ("thetis_kernel.models.anthropic.backend", set()),
    ("thetis_kernel.hosts.face", set()),
    ("thetis_kernel.hosts.net", set()),
    ("thetis_kernel.supervise.child", set()),
    ("thetis_kernel.toolhost.dispatch", set()),
    ("thetis_kernel.client", set()),
    ("thetis_kernel.connectors.discord.service", set()),
    ("thetis_kernel.cli.connect", set()),
])
def test_each_process_loads_only_its_own_sdk(module: str, allowed: set[str]) -> None:
    assert loaded(f"import {module}") & (SDKS | {"apsw"}) <= allowed


@pytest.mark.parametrize("module", [
    "thetis_kernel.hosts.worker", "thetis_kernel.hosts.git", "thetis_kernel.hosts.model", "thetis_kernel.hosts.face",
    "thetis_kernel.hosts.gate", "thetis_kernel.hosts.net",
])
def test_children_do_without_asyncio(module: str) -> None:
    assert "asyncio" not in loaded(f"import {module}")


def test_the_version_loads_next_to_nothing() -> None:
    names = loaded("from thetis_kernel.cli import main; main(['--version'])")
    assert not names & (SDKS | {"apsw", "msgspec", "asyncio", "argparse"})


def test_a_run_that_attaches_loads_no_gateway_and_no_settings() -> None:
    """What `thetis run` pays for before its daemon hears of it (`warm_turn_s`)."""
    names = loaded("import thetis_kernel.cli.run")
    assert not {name for name in names if name.startswith(("thetis_kernel.gateway", "thetis_kernel.config", "thetis_kernel.store",
                                                           "thetis_kernel.wasm", "thetis_kernel.supervise"))}
    assert not names & (SDKS | {"apsw", "tomlkit"})


def test_a_screen_is_forked_before_anything_is_imported() -> None:
    names = loaded("import thetis_kernel.cli.dispatch, thetis_kernel.cli.launcher")
    assert not names & (SDKS | {"apsw", "msgspec", "asyncio"})


def test_guests_cannot_be_reached_by_import() -> None:
    """The native path of guests is for tests alone: neither the SDK nor a guest is importable in the kernel."""
    code = "import importlib.util as u; print([n for n in ('thetis_guest', 'main', 'agent_core') if u.find_spec(n)])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
