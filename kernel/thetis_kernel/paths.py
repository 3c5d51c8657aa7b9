"""Where things are: shipped data, the person's directories, and the state of one root.

Nothing here creates anything except `RootPaths.make`. Sources: the XDG base directories; THETIS_STATE, THETIS_RUNTIMES and
THETIS_CONFIG override (tests and packagers).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

import thetis_kernel


@cache
def builtin_root() -> Path:
    """The directory holding `wit/`, `guest/`, `aspects/`, `tools/` and `skills/`: in a wheel beside the package, in a
    checkout its top."""
    package = Path(thetis_kernel.__file__).resolve().parent
    shipped = package / "builtin"
    return shipped if shipped.is_dir() else package.parent.parent


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    value = environ.get(variable, "")
    if value and Path(value).is_absolute():  # the XDG specification: relative values are ignored
        return Path(value)
    return Path(environ.get("HOME") or Path.home()) / fallback


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Directory of everything Thetis must not lose."""
    override = environ.get("THETIS_STATE", "")
    return Path(override) if override else _xdg(environ, "XDG_STATE_HOME", ".local/state") / "thetis"


def cache_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Directory of what can be made again."""
    return _xdg(environ, "XDG_CACHE_HOME", ".cache") / "thetis"


def runtimes_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Directory of the built guest runtimes."""
    override = environ.get("THETIS_RUNTIMES", "")
    return Path(override) if override else cache_home(environ) / "runtimes"


def shipped_artifacts(environ: Mapping[str, str] = os.environ) -> Path:
    """Directory of the shipped guests' bundles and verdicts: the same for every root, so beside the runtimes."""
    return runtimes_dir(environ) / "artifacts"


def user_config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The person's own settings file (it need not exist)."""
    override = environ.get("THETIS_CONFIG", "")
    return Path(override) if override else _xdg(environ, "XDG_CONFIG_HOME", ".config") / "thetis" / "config.toml"


class RootPaths(msgspec.Struct, frozen=True):
    """The state of one root. Two roots never share a directory: it is keyed by a hash of the real path.

    `elsewhere`: places a person gave some of it by [paths] (gateway/placing.py), by the name of the property.
    """

    root: Path
    base: Path
    elsewhere: dict[str, Path] = {}

    @property
    def data(self) -> Path:
        """The database, its lock and blobs."""
        return self._place("data")

    @property
    def artifacts(self) -> Path:
        """Bundles of guests with their verdicts."""
        return self._place("artifacts")

    @property
    def worktrees(self) -> Path:
        """One checkout a conversation."""
        return self._place("worktrees")

    @property
    def workspace(self) -> Path:
        """The one directory that outlives a conversation."""
        return self._place("workspace")

    def _place(self, name: str) -> Path:
        return self.elsewhere.get(name) or self.base / name

    @property
    def spill(self) -> Path:
        """Whole outputs that were too long for the log, a directory a conversation."""
        return self.base / "spill"

    @property
    def body(self) -> Path:
        """Thetis's own repository of guests that were changed here; never part of the person's."""
        return self.base / "body"

    @property
    def bodies(self) -> Path:
        """One checkout of it a conversation that changed a guest."""
        return self.base / "bodies"

    @property
    def screen(self) -> Path:
        """What the screen keeps for its next start: drafts, and how far each conversation was looked at."""
        return self.base / "screen.json"

    @property
    def socket(self) -> Path:
        """The control socket, under a short name in the runtime directory, or below /tmp where that one is too long.

        AF_UNIX paths end at 107 bytes on Linux and 103 on macOS; 99 leave room (ipc/unix.py refuses longer ones).
        """
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        below = Path("thetis") / f"{self.base.name.rsplit('-', 1)[-1]}.sock"
        if runtime and Path(runtime).is_dir() and len(os.fsencode(runtime / below)) < 100:
            return runtime / below
        return Path(f"/tmp/thetis-{os.getuid()}") / below

    @property
    def socket_note(self) -> Path:
        """Where the kernel that serves this root writes down its control socket, for clients with another runtime directory."""
        return self.base / "socket"

    @property
    def root_note(self) -> Path:
        """Which root this is the state of: its directory's name does not say."""
        return self.base / "root"

    @property
    def daemon_log(self) -> Path:
        """What a gateway without a screen logs."""
        return self.base / "daemon.log"

    def make(self) -> None:
        """Create the directories, private to the person (0700)."""
        self.base.mkdir(parents=True, exist_ok=True, mode=0o700)
        for directory in (self.data, self.artifacts, self.worktrees, self.workspace, self.spill):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.root_note.exists():
            self.root_note.write_text(f"{self.root}\n", encoding="utf-8", errors="surrogateescape")


def root_paths(root: Path, environ: Mapping[str, str] = os.environ) -> RootPaths:
    """The state paths of `root` (made real first, so that symlinked ways to it meet)."""
    real = root.resolve()
    digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:12]
    name = re.sub(r"[^a-z0-9]+", "-", real.name.lower()).strip("-")[:32] or "root"
    return RootPaths(root=real, base=state_home(environ).absolute() / "roots" / f"{name}-{digest}")
