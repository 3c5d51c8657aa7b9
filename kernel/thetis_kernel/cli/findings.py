"""What doctor finds, one thing at a time."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at. `level`: ok, warn, error."""

    name: str
    level: str
    message: str
    hint: str = ""
