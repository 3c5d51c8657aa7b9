"""Every test runs in a world of its own: no home, no configuration, no keys, no network of the developer's machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Keep the developer's built runtimes (they cost a minute to make) but nothing else of the machine.
_RUNTIMES = os.environ.get("THETIS_RUNTIMES") or str(
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thetis" / "runtimes"
)
_KEPT = {"PATH", "LANG", "LC_ALL", "TERM", "TZ", "CI", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "VIRTUAL_ENV",
         "THETIS_SSHD", "THETIS_REQUIRE_SSHD"}


def pytest_configure(config: pytest.Config) -> None:
    """Before anything is imported that reads HOME (libgit2 does at import)."""
    home = Path(config.rootpath) / ".pytest_cache" / "home"
    home.mkdir(parents=True, exist_ok=True)
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith(("PYTEST_", "HYPOTHESIS_", "COV_", "TEXTUAL_SNAPSHOT_")):
            del os.environ[name]
    os.environ.update(
        HOME=str(home),
        THETIS_RUNTIMES=_RUNTIMES,
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_AUTHOR_NAME="Test",
        GIT_AUTHOR_EMAIL="test@localhost",
        GIT_COMMITTER_NAME="Test",
        GIT_COMMITTER_EMAIL="test@localhost",
        # A stray call to a model or registry fails at once and is seen.
        http_proxy="http://127.0.0.1:9",
        https_proxy="http://127.0.0.1:9",
        no_proxy="",
    )


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home and state directory a test, and no key that another test gave, so that none sees another's."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("THETIS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield
    if providers := sys.modules.get("thetis_kernel.gateway.providers"):  # what it took out of an environment it keeps
        providers._taken.clear()
