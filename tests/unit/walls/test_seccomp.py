"""The filter, run by a small machine of our own: for every architecture, also those this test does not run on."""

from __future__ import annotations

import struct

import pytest
from thetis_kernel.walls import seccomp

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
ALLOW, EPERM, EACCES, ENOSYS = 0x7FFF0000, 0x50001, 0x5000D, 0x50026
GENERIC = {
    "socket": 198,
    "clone": 220,
    "clone3": 435,
    "ioctl": 29,
    "ptrace": 117,
    "unshare": 97,
    "mount": 40,
    "read": 63,
}
X86 = {"socket": 41, "clone": 56, "clone3": 435, "ioctl": 16, "ptrace": 101, "unshare": 272, "mount": 165, "read": 0}
NUMBERS = {"x86_64": X86, "aarch64": GENERIC, "riscv64": GENERIC}

every_machine = pytest.mark.parametrize("machine", sorted(ARCHITECTURES))


def answer(code: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the kernel would do with one call."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<iIQ6Q", number, architecture, 0, *padded)
    lines = [struct.unpack("<HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]
    accumulator, at = 0, 0
    while True:
        operation, yes, no, value = lines[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x06:
            return value
        else:
            hit = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[operation]
            at += yes if hit else no


def ask(machine: str, name: str, *arguments: int, unix: bool = True, inet: bool = True, system_v: bool = True) -> int:
    code = seccomp.program(machine, unix=unix, inet=inet, system_v=system_v)
    return answer(code, ARCHITECTURES[machine], NUMBERS[machine][name], *arguments)


@every_machine
def test_ordinary_calls_pass_and_dangerous_ones_do_not(machine: str) -> None:
    assert ask(machine, "read", 3) == ALLOW
    for name in ("ptrace", "unshare", "mount"):
        assert ask(machine, name) == EPERM
    assert ask(machine, "clone3") == ENOSYS


@every_machine
def test_threads_and_forks_pass_new_namespaces_do_not(machine: str) -> None:
    assert ask(machine, "clone", 0x003D0F00) == ALLOW  # pthread_create
    assert ask(machine, "clone", 17) == ALLOW  # fork
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert ask(machine, "clone", 17 | flag) == EPERM


@every_machine
def test_sockets_by_family(machine: str) -> None:
    assert ask(machine, "socket", 1) == ALLOW
    assert ask(machine, "socket", 2) == ALLOW
    assert ask(machine, "socket", 10) == ALLOW
    assert ask(machine, "socket", 16, 3, 0) == ALLOW
    assert ask(machine, "socket", 16, 3, 9) == EACCES  # NETLINK_AUDIT
    for family in (17, 38, 40, 44):
        assert ask(machine, "socket", family) == EACCES
    for family in (1, 2, 10, 16, 17, 40):
        assert ask(machine, "socket", family, unix=False, inet=False) == EACCES
    assert ask(machine, "socket", 1, inet=False) == ALLOW
    assert ask(machine, "socket", 2, unix=False) == ALLOW


@every_machine
def test_high_bits_do_not_hide_an_argument(machine: str) -> None:
    assert ask(machine, "socket", (1 << 32) | 40) == EACCES
    assert ask(machine, "ioctl", 0, (1 << 32) | 0x5412) == EPERM


@every_machine
def test_typing_into_a_terminal(machine: str) -> None:
    assert ask(machine, "ioctl", 0, 0x5412) == EPERM
    assert ask(machine, "ioctl", 0, 0x541C) == EPERM
    assert ask(machine, "ioctl", 0, 0x5413) == ALLOW


@every_machine
def test_another_instruction_set_is_refused_whole(machine: str) -> None:
    code = seccomp.program(machine, unix=True, inet=True, system_v=True)

    assert answer(code, 0x40000003, 3) == ENOSYS  # 32-bit x86


def test_the_second_table_of_x86_is_refused_whole() -> None:
    code = seccomp.program("x86_64", unix=True, inet=True, system_v=True)

    assert answer(code, ARCHITECTURES["x86_64"], 0x40000000) == ENOSYS


def test_shared_memory_by_number_only_where_it_has_a_namespace() -> None:
    for allowed, expected in ((True, ALLOW), (False, EPERM)):
        code = seccomp.program("x86_64", unix=True, inet=True, system_v=allowed)
        assert answer(code, ARCHITECTURES["x86_64"], 29) == expected


@every_machine
def test_every_jump_lands_inside_and_the_program_fits(machine: str) -> None:
    code = seccomp.program(machine, unix=True, inet=True, system_v=False)
    lines = [struct.unpack("<HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]

    assert len(lines) < 4096
    for at, (operation, yes, no, _) in enumerate(lines):
        if operation in (0x15, 0x35, 0x45):
            assert at + 1 + max(yes, no) < len(lines)
    assert lines[-1][0] == 0x06


def test_other_machines_have_none() -> None:
    assert not seccomp.supported("s390x")
    with pytest.raises(KeyError):
        seccomp.program("s390x", unix=True, inet=True, system_v=True)
