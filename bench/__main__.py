"""`python -m bench [PREFIX]`: every benchmark module in a process of its own; lines whose figure begins with PREFIX.

A module may say in `FIGURES` which names it emits, so that a prefix runs only what it needs.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NOT_BENCHES = {"__init__", "__main__", "report", "seeded"}


def figures(module: Path) -> list[str]:
    """The names a module emits, read from its text; none when it does not say."""
    for node in ast.parse(module.read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == "FIGURES" and node.value is not None:
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def main(prefix: str) -> int:
    """Run and relay; 1 when a module failed."""
    failed = False
    for module in sorted(HERE.glob("*.py")):
        named = figures(module)
        if module.stem in NOT_BENCHES or (prefix and named and not any(name.startswith(prefix) for name in named)):
            continue
        command = [sys.executable, "-m", f"bench.{module.stem}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent) as child:
            for line in child.stdout or ():
                if not prefix or json.loads(line)["name"].startswith(prefix):
                    print(line, end="", flush=True)
        failed = failed or child.returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
