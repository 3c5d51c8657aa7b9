"""A runtime's key covers everything the runtime depends on."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from thetis_kernel import paths
from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.wasm import keys
from thetis_kernel.wasm.settings import WORLDS


@pytest.fixture
def sources(tmp_path, monkeypatch):
    root = paths.builtin_root()
    for part in ("wit", "guest"):
        shutil.copytree(root / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keys, "builtin_root", lambda: tmp_path)
    return tmp_path


def all_keys():
    return {world: keys.runtime_key(world) for world in WORLDS}


def test_worlds_have_different_and_stable_keys():
    assert len(set(all_keys().values())) == len(WORLDS)
    assert all_keys() == all_keys()


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("wit/thetis.wit", set(WORLDS)),
        ("guest/shims/tool_shim.py", {"tool"}),
        ("guest/shims/compiler_shim.py", {"compiler"}),
        ("guest/shims/loader.py", {"tool", "agent", "gateway"}),
        ("guest/shims/sandbag.py", {"tool", "agent", "gateway"}),
        ("guest/shims/stdlib.py", {"tool", "agent", "gateway"}),
        ("guest/thetis_guest/_record.py", {"tool", "agent", "gateway"}),
    ],
)
def test_a_changed_source_changes_the_keys_that_use_it(sources, file, changed):
    before = all_keys()
    with open(sources / file, "a") as source:
        source.write("\n")
    assert {world for world, key in all_keys().items() if key != before[world]} == changed


def test_a_new_module_of_the_sdk_counts(sources):
    before = keys.runtime_key("agent")
    (sources / "guest" / "thetis_guest" / "extra.py").write_text("")
    assert keys.runtime_key("agent") != before


def test_every_shim_is_an_input(sources):
    used = {path.name for world in WORLDS for path in keys.build_inputs(world)}
    assert {path.name for path in (sources / "guest" / "shims").glob("*.py")} <= used


@pytest.mark.parametrize("what", ["settings", "toolchain", "processor"])
def test_engine_toolchain_and_processor_count(monkeypatch, what):
    before = all_keys()
    if what == "settings":
        monkeypatch.setattr(keys, "ENGINE_SETTINGS", {"epoch_interruption": False})
    elif what == "toolchain":
        monkeypatch.setattr(keys.metadata, "version", lambda name: "99.0")
    else:
        monkeypatch.setattr(keys, "_cpu_features", lambda: "abacus")
    keys._toolchain.cache_clear()
    try:
        after = all_keys()
    finally:
        keys._toolchain.cache_clear()
    assert all(after[world] != before[world] for world in WORLDS)


def test_a_missing_source_and_an_unknown_world_are_named(sources):
    (sources / "guest" / "shims" / "tool_shim.py").unlink()
    with pytest.raises(RuntimeBuildError, match=r"tool_shim\.py"):
        keys.runtime_key("tool")
    with pytest.raises(RuntimeBuildError, match="no world nowhere"):
        keys.runtime_key("nowhere")


def test_a_missing_toolchain_is_named(monkeypatch):
    def missing(name):
        raise keys.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(keys.metadata, "version", missing)
    with pytest.raises(RuntimeBuildError, match="componentize-py is not installed") as caught:
        keys._toolchain.__wrapped__()
    assert "pip install" in caught.value.hint


def test_the_gateways_half_imports_no_wasmtime():
    code = (
        "import sys; from thetis_kernel.wasm.runtimes import *; runtime_key('tool');"
        "sys.exit(' '.join(m for m in sys.modules if m.split('.')[0] in ('wasmtime', 'componentize_py')) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
