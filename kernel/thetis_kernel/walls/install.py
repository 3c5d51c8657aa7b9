"""The line that gets bubblewrap onto this machine, chosen from os-release."""

from __future__ import annotations

from pathlib import Path

#: os-release ID or ID_LIKE -> the command of that family.
_LINES = {
    "alpine": "apk add bubblewrap",
    "arch": "pacman -S bubblewrap",
    "debian": "apt install bubblewrap",
    "fedora": "dnf install bubblewrap",
    "gentoo": "emerge sys-apps/bubblewrap",
    "nixos": "nix-env -iA nixos.bubblewrap",
    "opensuse": "zypper install bubblewrap",
    "rhel": "dnf install bubblewrap",
    "suse": "zypper install bubblewrap",
    "ubuntu": "apt install bubblewrap",
    "void": "xbps-install bubblewrap",
}
_UNKNOWN = "install the package bubblewrap"
_PLACES = (Path("/etc/os-release"), Path("/usr/lib/os-release"))


def line(os_release: str) -> str:
    """The install line for the text of an os-release file; a plain sentence when the system is not known."""
    fields: dict[str, str] = {}
    for row in os_release.splitlines():
        key, _, value = row.partition("=")
        fields[key.strip()] = value.strip().strip("\"'")
    for name in [fields.get("ID", ""), *fields.get("ID_LIKE", "").split()]:
        for family in (name, name.partition("-")[0]):  # opensuse-leap
            if family in _LINES:
                return _LINES[family]
    return _UNKNOWN


def here() -> str:
    """The install line for this machine."""
    for place in _PLACES:
        try:
            return line(place.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return _UNKNOWN
