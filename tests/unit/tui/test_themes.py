"""The themes can be read (but for the one that leaves the colours to the terminal): contrast as WCAG measures it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

import thetis_tui
from thetis_tui.themes import THEMES


def luminance(color: Color) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, two: str) -> float:
    light, dark = sorted((luminance(Color.parse(one)), luminance(Color.parse(two))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [theme for theme in THEMES if not theme.ansi], ids=lambda theme: theme.name)
def test_text_can_be_read_on_everything_it_stands_on(theme: Theme) -> None:
    colors = theme.to_color_system().generate()
    for ground in ("background", "surface", "panel"):
        assert contrast(colors["text"], colors[ground]) >= 7, ground
        assert contrast(colors["text-muted"], colors[ground]) >= 4.5, ground
        for name in ("accent", "warning", "error", "success", "secondary"):
            assert contrast(colors[f"text-{name}"], colors[ground]) >= 4.5, (name, ground)
    assert contrast(colors["text-success"], colors["success-muted"]) >= 4.5
    assert contrast(colors["text-error"], colors["error-muted"]) >= 4.5
    for ground in ("background", "surface"):
        assert contrast(colors["text-disabled"], colors[ground]) >= 2.3, "decoration, but there"


def test_colours_stand_in_the_themes_and_nowhere_else() -> None:
    for path in Path(thetis_tui.__file__).parent.rglob("*"):
        if path.suffix in (".py", ".tcss") and path.name != "themes.py":
            text = path.read_text()
            assert not re.search(r"#[0-9a-fA-F]{6}\b", text), path
            assert not re.search(r"\bansi_\w+|\brgb\(", text), path


def test_no_restyle_storms() -> None:
    """Textual 6602: `*` with a pseudo-class restyles everything under the mouse."""
    for path in Path(thetis_tui.__file__).parent.rglob("*.tcss"):
        assert not re.search(r"\*\s*:", path.read_text())


def test_no_module_is_longer_than_can_be_read() -> None:
    for path in Path(thetis_tui.__file__).parent.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path
