"""The same door on a unix socket, for clients in other processes. Its own module, so that a run that needs none opens none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.ipc.unix import Stranger, UnixServer, serve_unix


async def open_control(path: Path, admit: Callable[[], AsyncPeer], note: Path) -> UnixServer:
    """Serve the control socket at `path`; `admit()` makes the channel of each client (same user only, with the token).

    `note`: the file that says where it is to clients whose runtime directory is another one (a login without a session).
    """
    path.parent.parent.mkdir(exist_ok=True, mode=0o700)
    note.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # a full disk: clients of the same session find it all the same
        note.write_text(f"{path}\n", encoding="utf-8")

    def on_peer(_: Stranger) -> AsyncPeer:
        return admit()

    return await serve_unix(path, on_peer)
