"""Virtual environments that stand on the running one's packages: made in a moment, without network."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path


def bare(directory: Path, first: Sequence[Path] = ()) -> Path:
    """A virtual environment that imports from `first` and then from the running environment's packages; its python.

    That environment's own path files are not read, and with them no editable install. It holds also for interpreters
    started isolated (`-I`), as the kernel's children are.
    """
    venv.create(directory, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = directory / "lib" / version / "site-packages"
    behind = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (packages / "behind.pth").write_text("\n".join([*map(str, first), *behind]) + "\n", encoding="utf-8")
    return directory / "bin" / "python"


def install(python: Path, wheel: Path) -> None:
    """Install a wheel into the environment of `python`, without its dependencies and without asking any index."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check", "--no-deps",
               "--no-index", "--force-reinstall", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"pip could not install {wheel.name}:\n{done.stdout}\n{done.stderr}")
