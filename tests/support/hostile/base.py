"""How a hostile guest is said: its files, and where its refusal must point. Families of them lie beside this module.

`steps`: where it may be refused. `place`: the file a complaint must name, with a line when `line` is true; "" where naming
the step is all that can be done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SIGNED = "def invoke(session_id: str, args: dict[str, object], config: dict[str, object]) -> object:"
HEAD = '"""A tool."""\n\nfrom __future__ import annotations\n\nfrom thetis_guest import ToolManifest\n\n'
OBJECT = '{"type": "object", "properties": {}}'


def manifest(name: str = "probe", world: str = "tool") -> str:
    return f'name = "{name}"\nworld = "{world}"\nversion = "0.1.0"\ndescription = "A probe."\n'


def describing(body: str) -> str:
    return f"def describe() -> ToolManifest:\n    {body}\n\n"


def invoking(body: str) -> str:
    return f"{SIGNED}\n    {body}\n"


def told(schema: str = OBJECT, name: str = '"probe"', description: str = '"d"', more: str = "") -> str:
    return f"return ToolManifest(name={name}, description={description}, input_schema={schema}{more})"


GOOD_DESCRIBE, GOOD_INVOKE = describing(told()), invoking('return "ok"')
GOOD = HEAD + GOOD_DESCRIBE + GOOD_INVOKE


@dataclass(frozen=True)
class Hostile:
    """One guest. `files`: path -> text or bytes. `lay`: what else is done to its directory. `slow`: takes seconds."""

    files: dict[str, str | bytes]
    steps: tuple[str, ...]
    place: str = ""
    line: bool = False
    aspect: str = "tool/probe"
    slow: bool = False
    lay: Callable[[Path], None] | None = field(default=None, compare=False)

    def write(self, directory: Path) -> None:
        """Make the guest's directory."""
        directory.mkdir(parents=True)
        for name, text in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if self.lay is not None:
            self.lay(directory)


def tool(main: str, steps: str, place: str = "main.py", line: bool = True, **more: object) -> Hostile:
    """A tool with this main.py; `steps` are words. Further files by `extra`."""
    files = {"guest.toml": manifest(), "main.py": main, **more.pop("extra", {})}  # type: ignore[dict-item]
    return Hostile(files, tuple(steps.split()), place, line, **more)  # type: ignore[arg-type]


Cases = Iterator[tuple[str, Hostile]]
