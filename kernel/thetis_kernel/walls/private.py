"""Directories that never become part of a wall's view, and why: they are, hold or lead to what is private.

Owns the judgement "may this directory be bound at all". Works on real paths (links resolved). Must not know
what the directory is wanted for.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

#: Whole trees of the machine's own state: nothing in them is ever bound as a root.
_NEVER_INSIDE = ("/proc", "/sys", "/dev", "/etc", "/boot", "/lost+found")
#: Tops that hold many people's or programs' things; a directory deeper inside may be a root.
_TOPS = (
    "/",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/run/user",
    "/srv",
    "/tmp",
    "/usr",
    "/var",
    "/var/tmp",
)

#: In a home: nothing inside these is ever bound ...
_PRIVATE = (
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".docker",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".password-store",
    ".ssh",
    ".thunderbird",
)
#: ... and these are never bound as a whole, though a program may be installed somewhere below.
_MIXED = (".cache", ".cargo", ".config", ".local", ".local/share", ".local/state", ".npm", "Library", "Documents")


def homes() -> tuple[Path, ...]:
    """The user's home by the environment and by the user database, real paths."""
    found = {Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()} if _known_user() else set()
    named = os.environ.get("HOME", "")
    if named.startswith("/"):
        found.add(Path(named).resolve())
    found.discard(Path("/"))
    return tuple(sorted(found))


def why_not(path: Path, *, home: tuple[Path, ...] | None = None, hidden: tuple[Path, ...] = ()) -> str:
    """Empty if the real `path` may be bound, else the reason as the end of a sentence ("... is your home").

    `hidden` adds directories of which nothing may be bound and which may not be inside what is bound.
    """
    if any(path.is_relative_to(tree) for tree in _NEVER_INSIDE):
        return "belongs to the system"
    if str(path) in _TOPS or str(path) in ("/bin", "/sbin", "/lib", "/lib64"):
        return "holds more than one project"
    for person in homes() if home is None else home:
        if path == person:
            return "is your home directory"
        if person.is_relative_to(path):
            return "contains your home directory"
        for name in _PRIVATE:
            if path.is_relative_to(person / name):
                return f"is private ({name})"
        if any(path == person / name for name in _MIXED):
            return "holds the private files of many programs"
    for place in hidden:
        if path.is_relative_to(place) or place.is_relative_to(path):
            return f"is, holds or lies in {place}"
    return ""


def _known_user() -> bool:
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True
