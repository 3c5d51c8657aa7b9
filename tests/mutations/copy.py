"""A copy of the tree with an interpreter that imports it, also in child processes that were started isolated (`-I`).

The copy holds the files git tracks, as they are in the checkout. Its interpreter finds the copy first and the running
environment's packages after it, but not the editable install.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.mutations.mutation import Mutation
from tests.support import environments

CHECKOUT = Path(__file__).resolve().parents[2]
_CONSOLE = "#!{python}\nimport sys\nfrom thetis_kernel.cli import main\nsys.exit(main())\n"


class Copy:
    """The copied tree under `base`; `python` imports it."""

    def __init__(self, base: Path) -> None:
        self.tree = base / "tree"
        self._scratch = base / "tests"
        self._times = 1_000_000_000
        for name in _tracked():
            target = self.tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target, follow_symlinks=False)
        self.python = environments.bare(base / "venv", [self.tree / "kernel", self.tree])
        script = self.python.with_name("thetis")
        script.write_text(_CONSOLE.format(python=self.python), encoding="utf-8")
        script.chmod(0o755)

    def imported_from(self) -> Path:
        """Where an isolated interpreter finds the kernel."""
        command = [str(self.python), "-I", "-c", "import thetis_kernel; print(thetis_kernel.__file__)"]
        return Path(subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.tree).stdout.strip())

    def test(self, selections: list[str], seconds: float) -> tuple[int | None, str]:
        """Run pytest in the copy: its exit status (None: still running after `seconds`, and ended) and its output."""
        command = [str(self.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "tests.mutations.quick",
                   "-o", f"timeout={seconds * 0.8:.0f}", f"--basetemp={self._scratch}", *selections]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PYTEST"))}
        with subprocess.Popen(command, cwd=self.tree, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as child:
            try:
                output, _ = child.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                output, _ = child.communicate()
                return None, output
        return child.returncode, output

    def mutated(self, mutation: Mutation) -> _Mutated:
        """A context in which the copy holds `mutation`. Raises PatchError when it does not apply."""
        self._times += 1
        return _Mutated(self.tree, mutation.applied(self.tree), self._times)


class _Mutated:
    """Writes mutated files, and puts the old ones back."""

    def __init__(self, tree: Path, texts: dict[str, str], time_s: int) -> None:
        self._texts = {tree / path: text for path, text in texts.items()}
        self._time_s = time_s
        self._old: dict[Path, tuple[bytes, int]] = {}

    def __enter__(self) -> None:
        for path, text in self._texts.items():
            self._old[path] = path.read_bytes(), path.stat().st_mtime_ns
            path.write_text(text, encoding="utf-8")
            # Compiled files are told apart by the source's whole second and size: no two versions may share a second.
            os.utime(path, (self._time_s, self._time_s))

    def __exit__(self, *_: object) -> None:
        for path, (content, time_ns) in self._old.items():
            path.write_bytes(content)
            os.utime(path, ns=(time_ns, time_ns))


def _tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, check=True, capture_output=True).stdout
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    return [name for name in names if (CHECKOUT / name).is_file()]
