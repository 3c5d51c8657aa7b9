"""A new tool's files, from the shipped template with the tool's own name in it."""

from __future__ import annotations

from thetis_kernel.gateway.body import files
from thetis_kernel.paths import builtin_root

TEMPLATE = "template"
DESCRIPTION = "Counts the lines and words of a text file."
MAX_DESCRIPTION = 300


def new_tool_files(name: str, description: str) -> dict[str, str]:
    """Relative path -> text. The description goes into the manifest, where people read it."""
    directory = builtin_root() / "tools" / "_template"
    said = " ".join(description.split())[:MAX_DESCRIPTION] or DESCRIPTION
    quoted = "".join(char if char.isprintable() else " " for char in said).replace("\\", "\\\\").replace('"', '\\"')
    found = {}
    for path in files.code_files(directory):
        text = (directory / path).read_text("utf-8")
        found[path] = text.replace(f'"{TEMPLATE}"', f'"{name}"').replace(f'"{DESCRIPTION}"', f'"{quoted}"')
    return found
