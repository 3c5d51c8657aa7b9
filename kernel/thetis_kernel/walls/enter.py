"""The helper process: starts one command inside its walls and outlives everything the command started.

`nursery` forks it with three descriptors (control, status, output; `session` adds two for
the shell of a terminal, which `attend` then looks after). It reads one line
of JSON from control, the policy (see `policy.Policy`), forks, confines the child, executes the command, and
waits. As subreaper it becomes the parent of every orphan below it, and it ends them all when the command
ends, when the time is up, when there are too many, when it reads a byte from control, and when control
reaches its end, which means that the worker is gone. Then it writes one JSON object to status:

    {"code": n, "reason": "exit" | "timeout" | "asked" | "threads", "leftover": n, "survivors": n, "starved": n, "unlimited": ""}
    {"error": "sentence"}        the command never ran
    {..., "reason": "lost", "trouble": "sentence"}    this process failed while the command ran

Must not know: results, output (it never reads it), sessions. It has no secrets: its environment is empty.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import sys
import time

from thetis_kernel.walls import cgroup, tree

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing costs milliseconds at run time
    from typing import Any, NoReturn

#: Where bubblewrap finds what it is told by number.
COUNT_FD, SECCOMP_FD, BWRAP_STATUS_FD = 3, 10, 11
FILES_FD = 100  # and after it, one for each file it copies
#: Where a terminal's shell finds the commands it is to run and writes how they ended (`session`).
COMMANDS_FD, REPORTS_FD = 4, 5

_KILL_WITHIN_S = 5.0  # uninterruptible processes (a dead network disk) are reported, not awaited
_LOOK_EVERY_S = 0.05  # how often the number of threads is looked at
_OOM_SCORE = 800  # of 1000: when memory ends, a command ends before the programs of the user
_ABOVE_FIXED_FDS = 32
SETTLE_S = 0.1  # between the end of a command and the end of its background processes
_SETTLE_LOOK_S = 0.005
_VANISH_S = 0.05  # before whoever is left is looked for and killed


class Supervisor:
    """One command from fork to the last of its descendants."""

    def __init__(self, policy: dict[str, Any], control: int, output: int, asked: bool) -> None:
        """`output`: what the command writes to; for a terminal its slave end."""
        self._policy = policy
        self._control = control
        self._asked = asked
        self._output = output
        self._private: tuple[int, ...] = ()
        self._status = 0
        self._ended = False
        self._main = self._starved = 0
        self._group = cgroup.Group("", {})
        self._unlimited = ""

    def run(self) -> dict[str, Any]:
        """Run the command; returns what goes to status."""
        policy = self._policy
        _become_subreaper()
        woken, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        baseline = tree.threads()
        deadline = time.monotonic() + policy["timeout_ms"] / 1000
        pipes = _Pipes()
        self._group = cgroup.Group(policy["cgroup"], policy["cgroup_files"])
        self._unlimited = self._group.make()
        me = os.getpid()
        self._main = os.fork()
        if self._main == 0:
            _child(policy, me, self._output, pipes, self._private, self._group)
        for fd in (self._output, *self._private):
            os.close(fd)
        pipes.close_child_ends()
        trouble, refused = pipes.trouble()
        self._unlimited = self._unlimited or refused
        if trouble:
            self.end()
            return {"error": trouble}
        reason = self._wait(woken, deadline, baseline)
        leftover = 0
        if reason == "exit":
            leftover = self._vanish(woken) if policy["bubblewrap"] else self._settle()
        survivors = self.end()
        if policy["bubblewrap"]:
            if reason == "exit" and not pipes.bwrap_started():
                return {"error": "bubblewrap could not set up the walls"}
            leftover = pipes.leftover()
        code = os.waitstatus_to_exitcode(self._status)
        return {
            "code": 128 - code if code < 0 else code,
            "reason": reason,
            "leftover": leftover,
            "survivors": survivors,
            "starved": self._starved,
            "unlimited": self._unlimited,
        }

    def end(self) -> int:
        """Kill the whole tree; how many would not die."""
        ended, survivors = tree.end(self._main, _KILL_WITHIN_S)
        self._note(ended)
        self._starved += self._group.end()
        return survivors

    def _wait(self, woken: int, deadline: float, baseline: int) -> str:
        """Until the command ends (reason "exit") or has to be ended; "parent" when nobody waits any more."""
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        poll.register(self._control, select.POLLIN | select.POLLHUP)
        most = self._policy["threads"]
        if self._asked:
            return "asked"
        while True:
            ended, left = tree.reap()
            self._note(ended)
            if self._ended or not left:
                return "exit"
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return "timeout"
            # the whole machine's count is one small read; only when it rises is ours looked at
            if tree.threads() - baseline > most and tree.threads(below=os.getpid()) > most:
                return "threads"
            for fd, _ in poll.poll(min(remaining, _LOOK_EVERY_S) * 1000):
                if fd == woken:
                    os.read(woken, 4096)
                else:
                    return "asked" if os.read(self._control, 1) else "parent"

    def _settle(self) -> int:
        """Let what is about to end do so (`> >(tee log)` outlives its shell a little); how many stay."""
        until = time.monotonic() + SETTLE_S
        while tree.reap()[1] and time.monotonic() < until:
            time.sleep(_SETTLE_LOOK_S)
        return len(tree.descendants(os.getpid()))

    def _vanish(self, woken: int) -> int:
        """Let the kernel empty the namespace that has lost its first process: looking for it costs more than waiting."""
        until = time.monotonic() + _VANISH_S
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        while True:
            ended, left = tree.reap()
            self._note(ended)
            remaining = until - time.monotonic()
            if not left or remaining <= 0:
                return 0
            if poll.poll(remaining * 1000):
                os.read(woken, 4096)

    def _note(self, ended: list[tuple[int, int]]) -> None:
        for pid, status in ended:
            if pid == self._main:
                self._status, self._ended = status, True


class _Pipes:
    """What the child and bubblewrap say back: set-up errors, "it started", the count of those left over."""

    def __init__(self) -> None:
        self._trouble, self.trouble_in_child = _high_pipe()
        self._count, self.count_in_child = _high_pipe()
        self._bwrap, self.bwrap_in_child = _high_pipe()

    def close_child_ends(self) -> None:
        for fd in (self.trouble_in_child, self.count_in_child, self.bwrap_in_child):
            os.close(fd)

    def trouble(self) -> tuple[str, str]:
        """Blocks until the child has executed (the pipe closes by itself): "" or why it could not, and why not its limits."""
        said = b""
        while piece := os.read(self._trouble, 4096):
            said += piece
        refused, _, trouble = said.decode("utf-8", "replace").rpartition("\n")
        return trouble, refused

    def bwrap_started(self) -> bool:
        """bubblewrap reports an exit code only if it got as far as running the command."""
        return b'"exit-code"' in _read_now(self._bwrap)

    def leftover(self) -> int:
        """What the shell around the command counted; a number from inside, so never more than for people."""
        text = _read_now(self._count)
        return int(text) if text.isdigit() and len(text) < 6 else 0


def _high_pipe() -> tuple[int, int]:
    """A pipe above the numbers bubblewrap is told, so that handing one over never closes another."""
    ends = os.pipe()
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ABOVE_FIXED_FDS) for fd in ends]
    for fd in ends:
        os.close(fd)
    return high[0], high[1]


def _read_now(fd: int) -> bytes:
    os.set_blocking(fd, False)
    try:
        return os.read(fd, 4096).strip()
    except BlockingIOError:
        return b""


def _become_subreaper() -> None:
    if sys.platform == "linux":
        from thetis_kernel.walls import libc

        libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)


def _child(
    policy: dict[str, Any], parent: int, output: int, pipes: _Pipes, private: tuple[int, ...], group: cgroup.Group
) -> NoReturn:
    """In the forked child: confine, then become the command. Never returns.

    `private`: the pipes of a terminal's shell, in the order of COMMANDS_FD and REPORTS_FD; () for a plain command.
    """
    try:
        refused = group.join()
        if refused:
            os.write(pipes.trouble_in_child, f"{refused}\n".encode())
        os.setsid()
        _plain_signals()
        if policy["cwd"]:
            os.chdir(policy["cwd"])
        os.dup2(output, 1)
        os.dup2(output, 2)
        if private:
            _take_terminal(private)
        else:
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
        _limit(policy)
        if sys.platform == "linux":
            _confine(policy, parent, pipes)
        os.execve(policy["argv"][0], policy["argv"], policy["env"])
    except BaseException as error:  # noqa: BLE001 - the process has to end here, and its parent must hear why
        os.write(pipes.trouble_in_child, f"{type(error).__name__}: {error}".replace("\n", " ").encode()[:4000])
    os._exit(127)


def _take_terminal(private: tuple[int, ...]) -> None:
    """Make standard output the controlling terminal and input too, and put the private pipes at their numbers."""
    import termios

    fcntl.ioctl(1, termios.TIOCSCTTY, 0)
    os.dup2(1, 0)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ABOVE_FIXED_FDS) for fd in private]
    for fd, number in zip(high, (COMMANDS_FD, REPORTS_FD), strict=True):
        _hand_over(fd, number)


def _plain_signals() -> None:
    """Undo what is ignored and what this process handles: the command starts plain.

    Python ignores SIGPIPE and SIGXFSZ; whoever started Thetis may have ignored more (nohup SIGHUP, a script's `&` SIGINT).
    """
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if number == signal.SIGCHLD or signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _limit(policy: dict[str, Any]) -> None:
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, policy["file_bytes"])
    if policy["memory_bytes"]:
        _lower(resource.RLIMIT_AS, policy["memory_bytes"])
    if sys.platform == "linux":
        # The kernel counts every thread of the user, so what runs already comes on top. Root is never
        # counted: there the supervisor's own look is the limit.
        _lower(resource.RLIMIT_NPROC, tree.threads() + policy["threads"])


def _lower(what: int, to: int) -> None:
    hard = resource.getrlimit(what)[1]
    value = to if hard == resource.RLIM_INFINITY else min(to, hard)
    resource.setrlimit(what, (value, value))


def _confine(policy: dict[str, Any], parent: int, pipes: _Pipes) -> None:
    from thetis_kernel.walls import landlock, libc, seccomp

    with open("/proc/self/oom_score_adj", "r+") as file:
        if int(file.read()) < _OOM_SCORE:  # only raising is allowed
            file.write(str(_OOM_SCORE))
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    sockets = policy["seccomp"]
    code = seccomp.program(os.uname().machine, **sockets) if sockets else b""
    if policy["bubblewrap"]:
        landlock.scope(policy["landlock_abi"])
        if code:
            _hand_over(_in_memory(code), SECCOMP_FD)
        _hand_over(pipes.bwrap_in_child, BWRAP_STATUS_FD)
        _hand_over(pipes.count_in_child, COUNT_FD)
        for place, path in enumerate(policy["files"]):
            _hand_over(os.open(path, os.O_RDONLY), FILES_FD + place)
    elif policy["landlock"]:
        libc.drop_capabilities()
        landlock.confine(policy["landlock_abi"], **policy["landlock"])
        seccomp.install(code)
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(127)


def _in_memory(code: bytes) -> int:
    fd = os.memfd_create("filter")
    os.write(fd, code)
    os.lseek(fd, 0, os.SEEK_SET)
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ABOVE_FIXED_FDS)


def _hand_over(fd: int, number: int) -> None:
    os.dup2(fd, number, inheritable=True)


def _read_policy(control: int) -> tuple[dict[str, Any], bool] | None:
    """The first line of control, and whether "stop" came with it; None when it ends before a whole line."""
    text = bytearray()
    while b"\n" not in text:
        piece = os.read(control, 65536)
        if not piece:
            return None
        text += piece
    line, _, rest = text.partition(b"\n")
    return json.loads(line), bool(rest)


def main(control: int, status: int, output: int, *private: int) -> None:
    """Entry: the descriptors as numbers, two more for a terminal. Ends the process."""
    for fd in (control, status, output, *private):
        os.set_inheritable(fd, False)
    received = _read_policy(control)
    if received is None:
        os._exit(1)
    policy, asked = received
    supervisor = _supervisor(policy, control, status, output, asked, private)
    try:
        answer = supervisor.run()
    except Exception as error:  # noqa: BLE001 - whatever it is, the runner has to hear of it
        trouble = f"{type(error).__name__}: {error}"
        answer = {
            "code": 137,
            "reason": "lost",
            "trouble": trouble,
            "leftover": 0,
            "survivors": supervisor.end(),
            "starved": 0,
            "unlimited": "",
        }
    try:
        os.write(status, json.dumps(answer).encode() + b"\n")
    except BrokenPipeError:
        _remove(policy["remove"])  # the worker is gone, nobody else will
    os._exit(0)


def _supervisor(
    policy: dict[str, Any], control: int, status: int, output: int, asked: bool, private: tuple[int, ...]
) -> Supervisor:
    if not private:
        return Supervisor(policy, control, output, asked)
    from thetis_kernel.walls.attend import Attendant

    return Attendant(policy, control, status, output, private)


def _remove(path: str) -> None:
    if path:
        from thetis_kernel.walls import scratch

        scratch.remove(path)
