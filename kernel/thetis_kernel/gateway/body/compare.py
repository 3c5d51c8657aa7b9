"""What a revision of a guest changed, as a patch. Knows texts only."""

from __future__ import annotations

import difflib

from thetis_kernel.forge import packages

MAX_PATCH = 256 * 1024
"""Characters; more is cut with a line that says so."""


def patch_of(before: dict[str, str], after: dict[str, str], directory: str) -> str:
    """A unified patch between two sets of files (relative path -> text), paths as in the body."""
    parts: list[str] = []
    for path in sorted({*before, *after}):
        old, new = _shown(path, before.get(path)), _shown(path, after.get(path))
        if old == new:
            continue
        was, now = (f"{side}/{directory}/{path}" if text is not None else "/dev/null" for side, text in (("a", old), ("b", new)))
        parts += difflib.unified_diff(_lines(old), _lines(new), was, now)
    patch = "".join(parts)
    return patch if len(patch) <= MAX_PATCH else patch[:MAX_PATCH] + "\n[the patch is longer; this is its beginning]\n"


def _shown(path: str, text: str | None) -> str | None:
    """A package as what it is and where it came from; its code, thousands of lines of somebody else, is the index's affair."""
    if text is None or not packages.FILE.fullmatch(path):
        return text
    try:
        package = packages.parse(text, path)
    except ValueError as error:
        return f"(this file {error})\n"
    lines = [f"{package.name} {package.version}", f"licence: {package.licence}", f"sha256: {package.sha256}",
             f"needs: {', '.join(package.requires) or 'nothing'}",
             *(f"{name}: {len(code):,} characters" for name, code in sorted(package.modules.items()))]  # fmt: skip
    return "\n".join(lines) + "\n"


def _lines(text: str | None) -> list[str]:
    lines = (text or "").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines
