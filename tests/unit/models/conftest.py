"""A look at what a fresh interpreter imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def clean_import() -> Callable[[str], set[str]]:
    """The modules loaded after running a statement in a new interpreter."""

    def run(statement: str) -> set[str]:
        code = f"{statement}\nimport sys; print(' '.join(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    return run
