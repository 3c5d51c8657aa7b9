"""Real builds of a runtime, which take half a minute each; their logic is in tests/unit/wasm/test_builder.py."""

from __future__ import annotations

import os
import shutil

import pytest
from thetis_kernel import paths
from thetis_kernel.errors import GateError, RuntimeBuildError
from thetis_kernel.wasm.compiler import compile_bundle
from thetis_kernel.wasm.runtimes import ensure_runtimes, open_runtime, runtime_digest, seal


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_runtime_is_built_damaged_refused_and_built_again(tmp_path):
    steps, digests = [], []
    for _ in range(2):
        ensure_runtimes(["compiler"], progress=lambda p: steps.append(p.step), directory=tmp_path)
        fd = seal("compiler", directory=tmp_path)
        runtime = open_runtime("compiler", fd)
        os.close(fd)
        assert compile_bundle(runtime, {"main": "x = 1"})
        with pytest.raises(GateError):
            compile_bundle(runtime, {"main": "x ="})
        digests.append(runtime_digest("compiler", directory=tmp_path))
        (path,) = tmp_path.glob("compiler-*.cwasm")
        with open(path, "r+b") as file:
            file.seek(1_000_000)
            file.write(b"changed")
        with pytest.raises(RuntimeBuildError, match="damaged"):
            seal("compiler", directory=tmp_path)
    assert steps.count("done") == 2 and {"componentize", "precompile"} <= set(steps)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_broken_shim_is_a_sentence_with_its_traceback(tmp_path, monkeypatch):
    root = paths.builtin_root()
    package = tmp_path / "site" / "thetis_kernel"
    shutil.copytree(root / "kernel" / "thetis_kernel", package, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("wit", "guest"):
        shutil.copytree(root / part, package / "builtin" / part, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "builtin" / "guest" / "shims" / "compiler_shim.py").write_text("raise ValueError('broken shim')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    with pytest.raises(RuntimeBuildError, match="broken shim") as caught:
        ensure_runtimes(["compiler"], progress=lambda p: None, directory=tmp_path / "cache")
    assert caught.value.data["step"] == "componentize"
    assert "\n" not in caught.value.message and "Traceback" in caught.value.data["detail"]


def test_a_file_that_is_no_runtime_does_not_load(tmp_path):
    (tmp_path / "x").write_bytes(b"not native code" * 1000)
    fd = os.open(tmp_path / "x", os.O_RDONLY)
    with pytest.raises(RuntimeBuildError, match="does not load"):
        open_runtime("tool", fd)
    os.close(fd)
    with pytest.raises(RuntimeBuildError, match="no world nowhere"):
        open_runtime("nowhere", 0)
