"""The first code of every child process: `python -I -m thetis_kernel.supervise.child ROLE KEY=VALUE...`

Owns the bootstrap: dying with the parent, quiet standard streams, signals; then it hands over to the role module.
Nothing heavy is imported before the process is tied to its parent. Keys on the command line, all set by `spawn`:
`parent` (pid), `channel` (descriptor), `package` (where role modules lie), `path` (one more import directory, or
empty) and `fd.NAME` (descriptors).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from thetis_kernel.supervise.context import ChildContext

PR_SET_PDEATHSIG = 1  # linux/prctl.h

EX_SOFTWARE = 70  # sysexits.h: the role raised
EX_PROTOCOL = 76  # sysexits.h: the channel carried something that does not fit


def main(argv: list[str]) -> NoReturn:
    """Run the role `argv[0]`; never returns. `os._exit` and not `sys.exit`: daemon threads may be inside C code, where
    the interpreter's own ending would crash them (reliability P9)."""
    role, options = argv[0], dict(word.split("=", 1) for word in argv[1:])
    die_with_parent(int(options["parent"]))
    # A Ctrl-C is the gateway's to decide. A handler, not SIG_IGN: commands the role starts would inherit that.
    # And what whoever started Thetis ignores (nohup, a script's `&`) is not ignored below it.
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, lambda *_: None)
    status = EX_SOFTWARE
    try:
        status = _serve(role, options)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 - the last frame of the process; the supervisor keeps what is written here
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def die_with_parent(parent: int) -> None:
    """On Linux: be killed when the thread that spawned us ends, even while stopped. Exits at once if it has ended.

    Elsewhere, and in addition, the end of the channel ends the process (`_exit_with_channel`).
    """
    if sys.platform == "linux":
        import ctypes

        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(0)


def _serve(role: str, options: dict[str, str]) -> int:
    import faulthandler
    import socket
    import threading

    channel = int(options["channel"])
    fds = {name.removeprefix("fd."): int(value) for name, value in options.items() if name.startswith("fd.")}
    for descriptor in (channel, *fds.values()):
        os.set_inheritable(descriptor, False)  # else a command the role starts would hold the channel open
    faulthandler.enable()

    from thetis_kernel.supervise.context import ChildContext

    settings = {name: value for name, value in os.environ.items() if name.startswith("THETIS_")}
    context = ChildContext(role, socket.socket(fileno=channel), fds, settings)
    signal.set_wakeup_fd(context.wakeup, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: context.stop())
    threading.Thread(target=_exit_with_channel, args=(channel, context), name="parent watch", daemon=True).start()

    import importlib

    if options["path"]:
        sys.path.insert(0, options["path"])
    importlib.import_module(f"{options['package']}.{role}").serve(context)
    return 0


def _exit_with_channel(channel: int, context: ChildContext) -> None:
    """End the process once the channel is over, whatever its other threads are doing.

    Only a hang-up is waited for, nothing is read: this works before the role has connected and beside its reader.
    """
    import select

    poll = select.poll()
    poll.register(channel, 0)  # POLLHUP and POLLERR are always reported
    poll.poll()
    reason = context.peer.wait_closed(timeout=0.25) if context.peer is not None else None
    if reason is None or reason.code == "peer-gone":
        os._exit(0)
    sys.stderr.write(f"{reason}\n")
    sys.stderr.flush()
    os._exit(EX_PROTOCOL)


if __name__ == "__main__":
    main(sys.argv[1:])
