"""Titles in borders. Textual reads a plain string there as markup; these never are."""

from __future__ import annotations

from typing import TypeVar

from textual.content import Content
from textual.widget import Widget

from thetis_tui.sanitise import one_line

W = TypeVar("W", bound=Widget)


def titled(widget: W, title: str = "", subtitle: str = "") -> W:
    """`widget` with texts in its border, literally; "" removes one."""
    title, subtitle = one_line(title), one_line(subtitle)
    widget.border_title = Content(title) if title else None
    widget.border_subtitle = Content(subtitle) if subtitle else None
    return widget
