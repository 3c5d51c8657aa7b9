"""Landlock: the kernel's own path rules, for machines where bubblewrap cannot run.

Owns the rights a command gets on each kind of path. Runs inside the helper process, after the fork and
before the exec, on a process with one thread. Must not know where the paths come from.

What Landlock cannot do, whatever we ask: it does not hide names or sizes (stat works everywhere), and it does
not stop chmod, chown, utime or setxattr on files outside that the user owns. It has no deny rule, so a file
inside a writable directory cannot be protected (see `gitfile`). Sockets are `seccomp`'s part.
"""

from __future__ import annotations

import ctypes
import os
import stat

from thetis_kernel.walls import libc

# Rights and numbers: linux/landlock.h.
EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13  # ABI 2
TRUNCATE = 1 << 14  # ABI 3
IOCTL_DEV = 1 << 15  # ABI 5
NET_BIND_TCP = 1 << 0  # ABI 4
NET_CONNECT_TCP = 1 << 1
SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0  # ABI 6
SCOPE_SIGNAL = 1 << 1

ABI_TRUNCATE = 3
ABI_NET = 4
ABI_IOCTL = 5
ABI_SCOPE = 6

#: Below this truncate(2) reaches every file of the user, so there is no wall worth the name (Linux 6.2).
LOWEST_ABI = ABI_TRUNCATE

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = (
    READ
    | WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER
    | TRUNCATE
)
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

_CREATE_RULESET = 444  # one number on every architecture
_ADD_RULE = 445
_RESTRICT_SELF = 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1


class _RulesetAttr(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi() -> int:
    """The kernel's Landlock version, 0 when it has none or it is switched off."""
    try:
        return libc.syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)
    except (OSError, AttributeError):
        return 0


def handled(version: int) -> int:
    """Every file right the kernel's `version` knows: what is not granted by a rule is refused."""
    rights = (1 << 13) - 1
    rights |= REFER if version >= 2 else 0
    rights |= TRUNCATE if version >= ABI_TRUNCATE else 0
    rights |= IOCTL_DEV if version >= ABI_IOCTL else 0
    return rights


def confine(
    version: int, read: list[str], write: list[str], devices: list[str], tcp: bool, terminals: list[str] | None = None
) -> None:
    """Confine this process and all it will start to `read`, `write`, `devices` and `terminals` (absolute paths).

    Devices are read and written; only terminals also take commands (their modes, their size).

    Paths that do not exist or cannot be reached are left out. `tcp` False refuses TCP as a second layer under seccomp.
    NO_NEW_PRIVS must be set. Raises OSError; the caller must then not go on.
    """
    fs = handled(version)
    net = 0 if tcp or version < ABI_NET else NET_BIND_TCP | NET_CONNECT_TCP
    ruleset = _create(version, fs, net, _scopes(version))
    try:
        device = READ_FILE | WRITE_FILE
        for rights, paths in ((READ, read), (WRITE, write), (device, devices), (device | IOCTL_DEV, terminals or [])):
            for path in paths:
                _allow(ruleset, path, rights & fs)
        libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def scope(version: int) -> None:
    """Only cut signals and abstract sockets to the outside; does nothing on kernels older than 6.12.

    For bubblewrap with the network on, which shares the host's abstract sockets. It leaves mounting alone.
    """
    if version < ABI_SCOPE:
        return
    ruleset = _create(version, 0, 0, _scopes(version))
    try:
        libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _scopes(version: int) -> int:
    return SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL if version >= ABI_SCOPE else 0


def _create(version: int, fs: int, net: int, scoped: int) -> int:
    attr = _RulesetAttr(fs, net, scoped)
    size = 24 if version >= ABI_SCOPE else 16 if version >= ABI_NET else 8
    return libc.syscall(_CREATE_RULESET, ctypes.byref(attr), size, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what is not there, or what this user cannot reach, needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= ON_FILES
        attr = _PathBeneathAttr(rights, parent)
        libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(attr), 0)
    finally:
        os.close(parent)
