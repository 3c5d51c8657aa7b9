"""Screens over the desk that show the state as it changes, not as it was when they opened."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Living(Protocol):
    """The app calls `refresh_state` whenever what it knows may have changed."""

    def refresh_state(self) -> None:
        """Show the state as it is now."""
