"""What the user's PATH needs to work inside a wall: the installs behind it, never the home around them.

Owns the walk from PATH entries to install prefixes: a virtual environment and the interpreter it was made from, a
prefix with bin and lib, pyenv's shims, the one file a link in ~/.local/bin points to, rustup's toolchains. A
directory `private` objects to is never returned. Entries that are not absolute are dropped.
Links are followed here, and told: a script's first line and a virtual environment name their interpreter by the way
its maker went, and where only real directories exist that way has to be laid again.
Must not know: what else a command may read. PATH is the user's own; nothing of a repository comes here.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from thetis_kernel.walls import private, system

_BIN_NAMES = ("bin", "sbin", "shims")
_LIBRARIES = ("lib", "lib64", "libexec")
_MOST_ENTRIES = 2000  # of one bin directory that are looked at for links
_MOST_LINKS = 40  # on the way to one file, as the kernel's own walk (MAXSYMLINKS, path_resolution(7))


class Toolchains(msgspec.Struct, frozen=True):
    """`readable`: real files and directories to show. `path`: PATH inside. `variables`: what the tools insist on.

    `links`: (place, text) of links on the way to them, each at its real place, none inside what is shown.
    """

    readable: tuple[Path, ...] = ()
    path: tuple[str, ...] = system.PATH
    variables: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()


def find(search_path: str, home: Path, hidden: tuple[Path, ...] = ()) -> Toolchains:
    """Toolchains of a PATH (entries separated by colons) for the user whose home is `home`.

    `hidden`: the state and configuration directories; nothing in, of or around them is returned, and no way
    through them is taken: agents write there.
    """
    search = _Search((home.resolve(), *private.homes()), tuple(place.resolve() for place in hidden))
    path: list[str] = []
    for entry in search_path.split(":"):
        if not entry.startswith("/") or not Path(entry).is_dir():
            continue
        real = search.reach(Path(entry))
        if real is None:
            continue
        search.bin_directory(real)
        shown = entry if search.shows(Path(entry)) else str(real)
        if search.shows(Path(shown)) and shown not in path:
            path.append(shown)
    path += [entry for entry in system.PATH if entry not in path]
    variables: tuple[tuple[str, str], ...] = ()
    rustup = home.resolve() / ".rustup"
    if any(Path(entry, "rustup").exists() for entry in path) and rustup.is_dir() and search.add(rustup):
        variables = (("RUSTUP_HOME", str(rustup)),)
    return Toolchains(tuple(search.found), tuple(path), variables, search.links())


class _Search:
    def __init__(self, home: tuple[Path, ...], hidden: tuple[Path, ...]) -> None:
        self._home = home
        self._hidden = hidden
        self._ways: dict[Path, str] = {}
        self.found: list[Path] = []

    def links(self) -> tuple[tuple[str, str], ...]:
        """The links that lead to what is shown and are not themselves inside it, outer places first."""
        ways = sorted(self._ways.items(), key=lambda way: (len(way[0].parts), way[0]))
        return tuple((str(place), text) for place, text in ways if not self.shows(place) and self._leads(place))

    def reach(self, path: Path) -> Path | None:
        """The real path behind `path`, remembering the links on the way; None: a loop, or a way through hidden places."""
        real, ways = _walk(path)
        if real is None or any(place.is_relative_to(one) for place in ways for one in self._hidden):
            return None
        self._ways |= ways
        return real

    def _leads(self, place: Path) -> bool:
        """Whether the link at `place` ends in what is shown, or on the way to it."""
        end, _ = _walk(place)
        return end is not None and (self.shows(end) or any(one.is_relative_to(end) for one in self.found))

    def shows(self, path: Path) -> bool:
        """Whether `path` would be visible with what was found so far."""
        return system.contains(path) or any(path.is_relative_to(one) for one in self.found)

    def add(self, path: Path) -> bool:
        """Show the real `path` unless it is private; True if it is visible now."""
        if self.shows(path):
            return True
        if private.why_not(path, home=self._home, hidden=self._hidden):
            return False
        self.found = [one for one in self.found if not one.is_relative_to(path)] + [path]
        return True

    def bin_directory(self, directory: Path) -> None:
        """Show the install that `directory` is the bin of, or the directory alone, and what its links lead to."""
        if self.shows(directory) and not self._is_venv(directory.parent):
            return
        if not self._install_of(directory) and not self.add(directory):
            return
        self._links(directory)

    def _install_of(self, directory: Path) -> bool:
        """Show the prefix around a bin directory if it looks like one install and nothing else."""
        prefix = directory.parent
        if directory.name not in _BIN_NAMES:
            return False
        if self._is_venv(prefix):
            named = _base_of(prefix / "pyvenv.cfg")
            base = None if named is None else self.reach(named)
            if base is not None and any(map(_program, base.glob("python*"))):  # the file may name anything
                self.bin_directory(base)
            return self.add(prefix)
        return any((prefix / name).is_dir() for name in _LIBRARIES) and self.add(prefix)

    @staticmethod
    def _is_venv(prefix: Path) -> bool:
        return (prefix / "pyvenv.cfg").is_file()

    def _links(self, directory: Path) -> None:
        try:
            names = sorted(os.listdir(directory))[:_MOST_ENTRIES]
        except OSError:
            return  # not ours to read: nothing in it would run
        for name in names:
            link = directory / name
            if not link.is_symlink():
                continue
            target = self.reach(link)
            if target and _program(target) and not self.shows(target) and not self._install_of(target.parent):
                self.add(target)


def _program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _walk(path: Path) -> tuple[Path | None, dict[Path, str]]:
    """The absolute `path` without links, and the links on the way: {real place: text}. None for a loop."""
    done, ways, links = Path("/"), dict[Path, str](), 0
    ahead = list(reversed(path.parts[1:]))
    while ahead:
        part = ahead.pop()
        here = done.parent if part == ".." else done / part
        try:
            text = os.readlink(here)
        except OSError:  # not a link, not there, or not ours to look at
            done = here
            continue
        links += 1
        if links > _MOST_LINKS:
            return None, {}
        ways[here] = text
        target = Path(text)
        done = Path("/") if target.is_absolute() else done
        ahead += reversed([part for part in target.parts if part != "/"])
    return done, ways


def _base_of(config: Path) -> Path | None:
    """The bin directory of the interpreter a virtual environment was made from, as it is named there."""
    try:
        text = config.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            return Path(value.strip())
    return None
