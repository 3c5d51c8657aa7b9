"""What a terminal needs of a shell, wherever it runs: walls.session inside a wall here, ssh.session on another machine.

Owns nothing but the names; each is described where it is implemented.
"""

from __future__ import annotations

from typing import Any, Protocol


class Session(Protocol):
    """Descriptors that never block, orders, and the shell's end. `note`: about its beginning. `farewell`: why it ended, where
    that is another reason than the shell's own."""

    master: int
    commands: int
    reports: int
    status: int
    ended: bool
    note: str
    farewell: str

    def restore_modes(self) -> None: ...

    def order(self, line: str) -> None: ...

    def press(self, number: int) -> None: ...

    def resize(self, columns: int, rows: int) -> None: ...

    def foreground(self) -> int: ...

    def is_started(self, idle: int) -> bool: ...

    def said(self) -> list[dict[str, Any]]: ...

    def put_back(self) -> list[str]: ...

    def close(self) -> None: ...
