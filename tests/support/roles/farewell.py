"""Cleans up when asked to stop, then ends although a thread is in C code for hours."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from thetis_kernel.supervise.context import ChildContext


def serve(context: ChildContext) -> None:
    context.connect()
    threading.Thread(target=lambda: hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10**9)).start()
    context.run()
    Path("farewell").write_text("done")
