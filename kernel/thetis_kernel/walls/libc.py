"""The few kernel calls Python has no function for: prctl, capabilities, raw system calls.

Owns the ctypes boundary of this package. Imported by the helper process, so it imports ctypes and os only.
Every function raises OSError with the kernel's errno. Linux only; importing it elsewhere is harmless.
"""

from __future__ import annotations

import ctypes
import os

PR_SET_PDEATHSIG = 1  # numbers from linux/prctl.h, the same on every architecture
PR_CAPBSET_DROP = 24
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h
LAST_POSSIBLE_CAPABILITY = 63  # two 32-bit words; the kernel answers EINVAL above its own last one

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, argument: int = 0, second: int = 0) -> int:
    """prctl(2) with integer arguments (pointers are passed as their address)."""
    zero = ctypes.c_ulong(0)
    result = int(_libc.prctl(option, ctypes.c_ulong(argument), ctypes.c_ulong(second), zero, zero))
    return _checked(result, "prctl")


def syscall(number: int, *arguments: object) -> int:
    """syscall(2); integers are widened to long, other arguments must be ctypes values."""
    widened = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    return _checked(int(_libc.syscall(ctypes.c_long(number), *widened)), f"system call {number}")


def drop_capabilities() -> None:
    """Give up every capability for good, also those root would get back from an exec.

    Without this a confined root could make device nodes or load kernel modules, which no file rule stops.
    """
    for capability in range(LAST_POSSIBLE_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except PermissionError:
            break  # an ordinary user: nothing to drop, and NO_NEW_PRIVS keeps it so
        except OSError:
            break  # EINVAL: above the kernel's last capability
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    empty = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, in two words each
    _checked(int(_libc.capset(header, empty)), "capset")


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
