"""The parts of a machine every command may read, and nothing else of it.

Owns the lists. Programs and libraries as whole directories; of /etc only what programs need to run, file by file,
because /etc also holds password hashes and service credentials, and root can read them all.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

#: Programs and libraries. /nix and /gnu are where those systems keep all of theirs.
DIRECTORIES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")

#: Users and names, the loader, time, certificates (public parts), alternatives, file types.
ETC = (
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/java-25-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/python3",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
)
MOST_COPIED = 256 * 1024
ETC_WITH_NETWORK = ("/etc/gai.conf", "/etc/resolv.conf")

#: For Landlock, which cannot make a fresh /proc and /dev: no process's own directory, no terminal, no shared memory.
PROC = (
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm/overcommit_memory",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
)
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
#: Opening it gives a process its own controlling terminal, never another; only commands on a terminal have one.
OWN_TERMINAL = ("/dev/tty",)

#: Where programs are looked for when the user's PATH adds nothing.
PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def etc(network: bool) -> list[tuple[str, str]]:
    """(real path, path as programs ask for it) of what exists; links are followed here, outside the walls."""
    wanted = ETC + (ETC_WITH_NETWORK if network else ())
    return [(os.path.realpath(name), name) for name in wanted if os.path.exists(name)]


def is_copied(path: str) -> bool:
    """Whether a real path is a file small enough to be copied into each view, and readable to us."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= MOST_COPIED and os.access(path, os.R_OK)


def contains(path: Path) -> bool:
    """Whether `path` (real) lies in the machine's own programs and libraries."""
    return any(path.is_relative_to(directory) for directory in DIRECTORIES)


def shell() -> str:
    """bash where there is one, else sh; a fixed place, never PATH."""
    for candidate in ("/bin/bash", "/usr/bin/bash"):
        if Path(candidate).exists():
            return candidate
    return "/bin/sh"
