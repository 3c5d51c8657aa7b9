"""Messages that belong to no widget."""

from __future__ import annotations

from textual.message import Message
from thetis_kernel.protocol.wire import Tell


class Told(Message, bubble=False):
    """The gateway told something."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self.tell = tell
