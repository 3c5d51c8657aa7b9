"""A systemd user unit for the daemon of one root. It is written down where systemd looks only when that is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from thetis_kernel.errors import UsageError
from thetis_kernel.paths import RootPaths

PASSED_ON = ("THETIS_STATE", "THETIS_RUNTIMES", "THETIS_CONFIG", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
"""Where things are. Keys are no part of a unit: every process of the person may read those."""


def unit_name(paths: RootPaths) -> str:
    """thetis-NAME-HASH.service, of the root's state directory."""
    return f"thetis-{paths.base.name}.service"


def unit_text(paths: RootPaths, environ: Mapping[str, str] = os.environ) -> str:
    """The unit. Raises UsageError for a root whose path no unit can hold."""
    root = str(paths.root)
    if any(ord(character) < 32 for character in root):
        raise UsageError("The path of this root holds a control character, which no unit can.", hint="Rename the directory.")
    command = " ".join(_quoted(word).replace("$", "$$") for word in (
        sys.executable, "-I", "-m", "thetis_kernel", "daemon", "serve", "--root", root))
    settings = "".join(f"Environment={_quoted(f'{name}={environ[name]}')}\n" for name in PASSED_ON if environ.get(name))
    return (
        "[Unit]\n"
        f"Description=Thetis in {_escaped(root)}\n"
        "StartLimitIntervalSec=60\n"
        "StartLimitBurst=3\n\n"
        "[Service]\n"
        "Type=simple\n"
        f"ExecStart={command}\n"
        f"{settings}"
        "# Keys of models: a file of NAME=value lines, mode 0600.\n"
        "EnvironmentFile=-%h/.config/thetis/environment\n"
        "UMask=0077\n"
        "KillMode=mixed\n"
        "TimeoutStopSec=60\n"
        "Restart=on-failure\n\n"
        "[Install]\n"
        "WantedBy=default.target\n")


def install(paths: RootPaths, environ: Mapping[str, str] = os.environ) -> Path:
    """Write the unit where systemd looks for the person's own; where that is. Nothing is started."""
    config = environ.get("XDG_CONFIG_HOME", "")
    home = Path(config) if config and Path(config).is_absolute() else Path(environ.get("HOME") or Path.home()) / ".config"
    place = home / "systemd" / "user" / unit_name(paths)
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_suffix(".new")
    beside.write_text(unit_text(paths, environ), encoding="utf-8")
    os.replace(beside, place)
    return place


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """A word of a command line or an assignment, as systemd.syntax(7) and systemd.service(5) read it."""
    word = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_escaped(word)}"'
