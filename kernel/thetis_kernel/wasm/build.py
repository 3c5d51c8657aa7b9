"""The child process that builds one runtime: `python -m thetis_kernel.wasm.build WORLD OUTPUT`.

Steps, each announced as a line of JSON on stdout: componentize (componentize-py, in a process of its own) and
precompile (wasmtime). It exits with 0 when OUTPUT holds the precompiled runtime; else a last line has "error", a
sentence's end, and "detail", all that was said.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from thetis_kernel.paths import builtin_root

STEPS = ("componentize", "precompile")
_RUN_COMPONENTIZE = "import sys; from componentize_py import script; sys.argv[0] = 'componentize-py'; script()"
_ERROR_LINES = 25


def main(argv: list[str]) -> int:
    """Build `argv[0]`, a world, into the file `argv[1]`."""
    world, output = argv[0], Path(argv[1])
    try:
        with tempfile.TemporaryDirectory(prefix="thetis-build-") as scratch:
            component = Path(scratch) / f"{world}.wasm"
            _say(step="componentize")
            _componentize(world, component, Path(scratch))
            _say(step="precompile")
            _precompile(world, component, output)
    except Exception as error:  # noqa: BLE001 - whatever it was, the parent turns it into one sentence
        lines = str(error).strip().splitlines() or [type(error).__name__]
        _say(error=lines[-1].strip().rstrip("."), detail="\n".join(lines))
        return 1
    return 0


def _say(**fields: str) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def _componentize(world: str, component: Path, scratch: Path) -> None:
    """Make the component, with nothing of this Python's own packages on its path."""
    empty = scratch / "venv" / "lib" / "python3" / "site-packages"
    empty.mkdir(parents=True)
    root = builtin_root()
    command = [sys.executable, "-c", _RUN_COMPONENTIZE, "-d", str(root / "wit"), "-w", world, "componentize"]
    command += [f"{world}_shim", "-p", str(root / "guest" / "shims"), "-p", str(root / "guest"), "-o", str(component)]
    if world == "compiler":
        command.append("--stub-wasi")  # no imports at all: compiling needs neither clock nor output
    environment = {**os.environ, "VIRTUAL_ENV": str(scratch / "venv"), "HOME": str(scratch), "TMPDIR": str(scratch)}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode or not component.is_file():
        lines = (done.stdout + done.stderr).strip().splitlines()[-_ERROR_LINES:]
        raise RuntimeError("\n".join(["componentize-py failed", *lines]))


def _precompile(world: str, component: Path, output: Path) -> None:
    from wasmtime.component import Component

    from thetis_kernel.wasm import contract
    from thetis_kernel.wasm.engine import engine

    made = Component.from_file(engine(), str(component))
    contract.check_component_imports(world, made, engine())
    output.write_bytes(made.serialize())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
