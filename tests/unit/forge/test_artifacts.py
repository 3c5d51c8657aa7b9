from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thetis_kernel.errors import StoreError
from thetis_kernel.forge import artifacts as module
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.protocol.gate import Diagnostic, StepResult, Verdict

KEY, OTHER = "a" * 64, "b" * 64
PASS = Verdict(True, KEY, [StepResult("compile", True, 1.5)], "Y29kZQ==", '{"name":"probe"}')
FAIL = Verdict(False, KEY, [StepResult("smoke", False, 2.0, [Diagnostic("main.py", 3, "boom")])])


@pytest.fixture
def store(tmp_path):
    return ArtifactStore(tmp_path / "artifacts")


@pytest.mark.parametrize("verdict", [PASS, FAIL])
def test_what_was_put_is_what_another_process_gets(store, tmp_path, verdict):
    assert store.get(KEY) is None
    store.put(verdict)
    assert store.get(KEY) == verdict
    assert ArtifactStore(tmp_path / "artifacts").get(KEY) == verdict
    assert not list((tmp_path / "artifacts").glob(".new-*"))


def test_a_failing_verdict_keeps_no_bundle(store, tmp_path):
    store.put(msgspec.structs.replace(FAIL, bundle="Y29kZQ=="))
    assert not (tmp_path / "artifacts" / KEY / "bundle").exists()
    assert store.get(KEY).bundle == ""


def test_the_first_verdict_stands(store):
    store.put(PASS)
    store.put(msgspec.structs.replace(PASS, bundle="b3RoZXI="))
    assert store.get(KEY) == PASS


def test_two_writers_at_once_leave_one_whole_entry(tmp_path, monkeypatch):
    """Both are past the look at what is there; the renames decide."""
    gate = threading.Barrier(2)
    real = module._sync_directory

    def sync(path):
        if path.name.startswith(".new-"):
            gate.wait(10)
        real(path)

    monkeypatch.setattr(module, "_sync_directory", sync)
    stores = [ArtifactStore(tmp_path / "artifacts") for _ in range(2)]
    for one in stores:
        one.get(KEY)
    threads = [threading.Thread(target=one.put, args=(PASS,)) for one in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[0].get(KEY) == stores[1].get(KEY) == PASS
    assert sorted(p.name for p in (tmp_path / "artifacts").iterdir()) == [".seal", KEY]


@pytest.mark.parametrize("key", ["", "..", "a" * 63, "A" * 64, "../" + "a" * 61, "a" * 64 + "/x"])
def test_only_keys_name_entries(store, key):
    with pytest.raises(StoreError):
        store.get(key)


def damaged(tmp_path, change):
    """What a store with one damaged entry answers, and what it tells."""
    directory = tmp_path / "artifacts"
    told = []
    store = ArtifactStore(directory, on_damage=lambda key, why: told.append((key, why)))
    store.put(PASS)
    change(directory / KEY)
    answer = ArtifactStore(directory, on_damage=lambda key, why: told.append((key, why))).get(KEY)
    return answer, told, directory


DAMAGE = {
    "bundle cut": lambda e: (e / "bundle").write_bytes(b"Y29k"),
    "bundle gone": lambda e: (e / "bundle").unlink(),
    "bundle longer": lambda e: (e / "bundle").write_bytes(b"Y29kZQ==Y29kZQ=="),
    "bundle a link": lambda e: ((e / "bundle").unlink(), (e / "bundle").symlink_to("/etc/passwd")),
    "bundle a directory": lambda e: ((e / "bundle").unlink(), (e / "bundle").mkdir()),
    "meta gone": lambda e: (e / "meta.json").unlink(),
    "meta empty": lambda e: (e / "meta.json").write_bytes(b""),
    "meta cut": lambda e: (e / "meta.json").write_bytes((e / "meta.json").read_bytes()[:-9]),
    "meta deep": lambda e: (e / "meta.json").write_bytes(b"[" * 100_000),
    "meta a fifo": lambda e: ((e / "meta.json").unlink(), os.mkfifo(e / "meta.json")),
    "verdict turned": lambda e: (e / "meta.json").write_bytes((e / "meta.json").read_bytes().replace(b"true", b"false")),
    "described otherwise": lambda e: (e / "meta.json").write_bytes((e / "meta.json").read_bytes().replace(b"probe", b"prude")),
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_gone_and_told(tmp_path, change):
    answer, told, directory = damaged(tmp_path, change)
    assert answer is None
    assert [key for key, _ in told] == [KEY]
    assert sorted(p.name for p in directory.iterdir()) == [".seal"]


def test_every_single_bit_counts(store, tmp_path):
    entry = tmp_path / "artifacts" / KEY
    for name in ("bundle", "meta.json"):
        store.put(PASS)
        data = (entry / name).read_bytes()
        for position in range(len(data)):
            store.put(PASS)
            flipped = bytearray(data)
            flipped[position] ^= 1 << position % 8
            (entry / name).write_bytes(flipped)
            answer = store.get(KEY)
            assert answer is None or answer == PASS, (name, position)  # JSON has bytes that do not matter
            store.forget(KEY)


def test_two_valid_entries_cannot_be_swapped(store, tmp_path):
    store.put(PASS)
    store.put(msgspec.structs.replace(PASS, key=OTHER, bundle="b3RoZXI="))
    directory = tmp_path / "artifacts"
    (directory / KEY).rename(directory / "x")
    (directory / OTHER).rename(directory / KEY)
    (directory / "x").rename(directory / OTHER)
    assert store.get(KEY) is None
    assert store.get(OTHER) is None


def test_an_entry_made_without_the_seal_is_refused(store, tmp_path):
    """A whole, consistent entry under the right name, from another store."""
    other = ArtifactStore(tmp_path / "other")
    other.put(msgspec.structs.replace(PASS, bundle="ZXZpbA=="))
    store.put(msgspec.structs.replace(PASS, key=OTHER))
    (tmp_path / "other" / KEY).rename(tmp_path / "artifacts" / KEY)
    assert store.get(KEY) is None
    assert store.get(OTHER) is not None


def test_a_bundle_from_elsewhere_is_refused_though_both_are_sealed(store, tmp_path):
    store.put(PASS)
    store.put(msgspec.structs.replace(PASS, key=OTHER, bundle="b3RoZXI="))
    (tmp_path / "artifacts" / OTHER / "bundle").replace(tmp_path / "artifacts" / KEY / "bundle")
    assert store.get(KEY) is None


@pytest.mark.parametrize("secret", [b"", b"short", b"x" * 33])
def test_a_damaged_seal_is_replaced_and_everything_judged_anew(store, tmp_path, secret):
    store.put(PASS)
    (tmp_path / "artifacts" / ".seal").write_bytes(secret)
    again = ArtifactStore(tmp_path / "artifacts")
    assert again.get(KEY) is None
    again.put(PASS)
    assert again.get(KEY) == PASS


def test_the_seal_is_the_owners_alone(store, tmp_path):
    store.put(PASS)
    assert (tmp_path / "artifacts" / ".seal").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("failing", ["fsync", "write", "mkdir", "rename"])
def test_a_full_disk_is_a_store_error_and_leaves_nothing_visible(store, tmp_path, monkeypatch, failing):
    store.put(msgspec.structs.replace(PASS, key=OTHER))

    def no(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        if failing == "write":
            patch.setattr(module, "_write_synced", no)
        elif failing == "fsync":
            patch.setattr(module.os, "fsync", no)
        else:
            patch.setattr(module.Path, failing, no)
        with pytest.raises(StoreError) as caught:
            store.put(PASS)
        assert "No space left" in caught.value.message
    assert store.get(KEY) is None
    assert store.get(OTHER) is not None
    store.put(PASS)
    assert store.get(KEY) == PASS


def test_forget_lets_a_source_be_judged_again(store):
    store.put(FAIL)
    assert store.forget(KEY)
    assert not store.forget(KEY)
    assert store.get(KEY) is None
    store.put(PASS)
    assert store.get(KEY) == PASS


def test_sweep_takes_what_nobody_can_use(store, tmp_path):
    directory = tmp_path / "artifacts"
    assert store.sweep() == []
    store.put(PASS)
    store.put(msgspec.structs.replace(PASS, key=OTHER))
    (directory / ".new-1234").mkdir()
    (directory / ".new-1234" / "bundle").write_bytes(b"half")
    (directory / "notes.txt").write_text("x")
    (directory / ("c" * 64)).symlink_to("/etc")
    assert store.sweep() == [".new-1234", "c" * 64]
    assert (directory / "notes.txt").exists()  # a person's, wherever it came from
    assert store.sweep(keep={KEY}) == [OTHER]
    assert store.get(KEY) == PASS
    assert store.get(OTHER) is None


@pytest.mark.parametrize(("point", "there"), [("swap.before", False), ("swap.after", True)])
def test_killed_around_the_write_leaves_all_or_nothing(tmp_path, point, there):
    code = (
        "import sys; from pathlib import Path; from thetis_kernel.forge.artifacts import ArtifactStore;"
        "from thetis_kernel.protocol.gate import Verdict;"
        f"ArtifactStore(Path(sys.argv[1])).put(Verdict(True, {KEY!r}, [], 'Y29kZQ=='))"
    )
    trace = tmp_path / "trace"
    environment = {"THETIS_CRASH": point, "THETIS_CRASH_TRACE": str(trace), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], env=environment, timeout=60)
    assert done.returncode == -9
    assert point in trace.read_text().split()
    found = ArtifactStore(tmp_path / "a").get(KEY)
    assert (found is not None) == there


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["meta.json", "bundle"]))
def test_any_bytes_in_a_file_are_refused(tmp_path, data, name):
    store = ArtifactStore(tmp_path / "any")
    store.put(PASS)
    (tmp_path / "any" / KEY / name).write_bytes(data)
    assert store.get(KEY) is None
    store.forget(KEY)
