"""The system calls no command needs and every escape wants, refused by a BPF filter.

Owns the filter: a pure function from (machine, what sockets are allowed) to the bytes of a classic BPF
program, and the call that installs it. Closes what path rules cannot: sockets (Landlock knows neither UDP nor
named Unix sockets, and a session bus behind one runs anything outside), new namespaces, io_uring (it opens
sockets past the filter), tracing, kernel keyrings, mounts, typing into a terminal.
"""

from __future__ import annotations

import ctypes
import struct

from thetis_kernel.walls import libc

_ALLOW = 0x7FFF0000  # linux/seccomp.h
_ERRNO = 0x00050000
_EPERM = _ERRNO | 1
_EACCES = _ERRNO | 13
_ENOSYS = _ERRNO | 38  # "this kernel has no such call": programs fall back to the older one

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_JUMP_ANY_BIT = 0x45
_RETURN = 0x06
_AT_NUMBER, _AT_ARCH, _AT_ARGUMENTS = 0, 4, 16  # struct seccomp_data, little endian, low words

_X32_BIT = 0x40000000
#: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h).
_NEW_NAMESPACES = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # fake terminal input (asm-generic/ioctls.h)
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16

#: machine -> (audit architecture, column in `_NUMBERS`). Others have no filter, see `supported`.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}

#: name -> number on x86_64, number in the generic table (0: no such call there).
_NUMBERS = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, 0),
    "ioperm": (173, 0),
    "vhangup": (153, 58),
    "fanotify_init": (300, 262),
}
_UNKNOWN = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "clone3": (435, 435),  # its flags are in memory, where a filter cannot look
}
#: Memory and queues shared by number with every process of the user; a namespace of their own in bubblewrap.
_SYSTEM_V = {"shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180)}
_CLONE, _SOCKET, _IOCTL = (56, 220), (41, 198), (16, 29)


def supported(machine: str) -> bool:
    """Whether there is a filter for `machine` (as `os.uname().machine` says)."""
    return machine in _MACHINES


def program(machine: str, *, unix: bool, inet: bool, system_v: bool) -> bytes:
    """The filter's bytes (struct sock_filter, 8 bytes each).

    `unix`: named and abstract Unix sockets (socketpair is always allowed). `inet`: IPv4, IPv6 and the route
    queries their resolvers make. `system_v`: System V memory and queues. Raises KeyError for a machine
    without a filter.
    """
    architecture, column = _MACHINES[machine]
    lines: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _AT_ARCH),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _ENOSYS),  # another instruction set's numbers would slip past the list
        (_LOAD, 0, 0, _AT_NUMBER),
    ]
    if machine == "x86_64":
        lines += [(_JUMP_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ENOSYS)]
    refused = dict(_NUMBERS) if system_v else _NUMBERS | _SYSTEM_V
    for numbers, answer in ((refused, _EPERM), (_UNKNOWN, _ENOSYS)):
        for both in numbers.values():
            if both[column]:
                lines += [(_JUMP_EQUAL, 0, 1, both[column]), (_RETURN, 0, 0, answer)]
    lines += _branch(
        _CLONE[column],
        [(_LOAD, 0, 0, _AT_ARGUMENTS), (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES), (_RETURN, 0, 0, _EPERM)],
        otherwise=_ALLOW,
    )
    typing = [(_LOAD, 0, 0, _AT_ARGUMENTS + 8)]
    for request in (_TIOCSTI, _TIOCLINUX):
        typing += [(_JUMP_EQUAL, 0, 1, request), (_RETURN, 0, 0, _EPERM)]
    lines += _branch(_IOCTL[column], typing, otherwise=_ALLOW)
    families = [(_LOAD, 0, 0, _AT_ARGUMENTS)]
    for family in (_AF_UNIX,) * unix + (_AF_INET, _AF_INET6) * inet:
        families += [(_JUMP_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    if inet:  # NETLINK_ROUTE only
        families += [
            (_JUMP_EQUAL, 0, 3, _AF_NETLINK),
            (_LOAD, 0, 0, _AT_ARGUMENTS + 16),
            (_JUMP_EQUAL, 0, 1, 0),
            (_RETURN, 0, 0, _ALLOW),
        ]
    lines += _branch(_SOCKET[column], families, otherwise=_EACCES)
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def install(code: bytes) -> None:
    """Put the filter on this process and all it will start. NO_NEW_PRIVS must be set. Raises OSError."""
    instructions = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: a 16-bit count, padding, a pointer
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(instructions))
    fprog = ctypes.create_string_buffer(header, len(header))
    libc.prctl(libc.PR_SET_SECCOMP, libc.SECCOMP_MODE_FILTER, ctypes.addressof(fprog))


def _branch(number: int, body: list[tuple[int, int, int, int]], *, otherwise: int) -> list[tuple[int, int, int, int]]:
    """`body` for one system call, ending in `otherwise`; every other call jumps over it."""
    block = [*body, (_RETURN, 0, 0, otherwise)]
    return [(_JUMP_EQUAL, 0, len(block), number), *block]
