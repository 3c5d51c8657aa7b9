"""Stages made ahead: a call in one cannot be told from a call in a store of its own, but for the time it takes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import wasmtime
from thetis_kernel.errors import GuestError
from thetis_kernel.wasm import native
from thetis_kernel.wasm.call import GuestCall, run_in_thread, stores_opened
from thetis_kernel.wasm.limits import PROBE_LIMITS, Limits
from thetis_kernel.wasm.spares import Spares, _Making
from thetis_kernel.wasm.stage import Stage, stores_open
from thetis_kernel.wasm.threads import start_thread

from tests.support.runtimes import bundle, runtime

# Runs statements; `out` is the answer. What a call leaves behind would be seen by the next.
GUEST = """
import builtins, json, os, random, sys, time, uuid
from thetis_guest import sandbox
from thetis_guest import sys as host

def describe(): return {}
def invoke(session_id, args, config):
    space = {**globals(), "session_id": session_id, "out": None}
    exec(args["do"], space)
    return json.dumps(space["out"])
"""
SHORT = Limits(memory_mib=128, cpu_ms=300, result_bytes=1 << 20)


def spares_of(limits: Limits = PROBE_LIMITS) -> Spares:
    return Spares(lambda: runtime("tool"), limits)


def on_a_guests_thread(work: Callable[[], Any]) -> None:
    over = threading.Event()

    def body() -> None:
        try:
            work()
        finally:
            over.set()

    start_thread(body, "test")
    assert over.wait(60)


def do(
    spares: Spares, code: str, *, limits: Limits = PROBE_LIMITS, session: str = "s", ready: bool = True, **options: Any
) -> Any:
    """Run `code` in a spare, which is made first (`ready`)."""
    if ready:
        on_a_guests_thread(spares.restock)
        _until(lambda: spares._spare is not None)  # the thread of the call before may be at it
    imports = options.pop("imports", {})
    call = GuestCall(runtime("tool"), bundle(GUEST), imports, limits, spares=spares, **options)
    try:
        return json.loads(call.run("invoke", session, json.dumps({"do": code}), "{}"))
    finally:
        if ready:
            assert spares._spare is None or spares._spare is not call._stage


def test_each_call_has_its_own_imports_session_and_streams() -> None:
    spares, said = spares_of(), []

    def exec_of(name: str) -> dict[str, Any]:
        return {"sandbox.exec": lambda command, options: json.dumps({"exit": 0, "output": name})}

    with spares.hold():
        for name in ("one", "two", "three"):
            code = "print('printed by', session_id); out = [session_id, sandbox.exec('x')['output']]"
            answer = do(spares, code, session=name, imports=exec_of(name), on_log=lambda _, text: said.append(text.strip()))
            assert answer == [name, name]
    assert said == ["printed by one", "printed by two", "printed by three"]


def test_nothing_of_a_call_reaches_the_next() -> None:
    spares = spares_of()
    with spares.hold():
        first = do(spares, "builtins.left = sys.left = os.environ['left'] = 'x'; out = [random.random(), uuid.uuid4().hex]")
        second = do(spares, "out = [hasattr(builtins, 'left'), hasattr(sys, 'left'), dict(os.environ)]")
        third = do(spares, "out = [random.random(), uuid.uuid4().hex]")
    assert second == [False, False, {}]
    assert first[0] != third[0]
    assert first[1] != third[1]


def test_a_spare_serves_one_call_and_is_closed_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spares, before, opened = spares_of(), stores_open(), stores_opened()
    export, kept = Stage.export, list[Stage]()

    def noted(stage: Stage, name: str, wasi: wasmtime.WasiConfig) -> Any:
        assert not stage._closed
        kept.append(stage)
        return export(stage, name, wasi)

    monkeypatch.setattr(Stage, "export", noted)
    with spares.hold():
        for _ in range(4):
            do(spares, "out = 1")
        with pytest.raises(GuestError, match="ZeroDivisionError"):
            do(spares, "1 / 0")
        assert do(spares, "out = 2") == 2
        on_a_guests_thread(spares.restock)
        assert stores_opened() == opened + 6, "a spare that stands ready is no call"
    assert len({id(stage) for stage in kept}) == 6
    _until(lambda: stores_open() <= before)  # the last spare goes when nobody holds them open
    assert all(stage._closed for stage in kept)


def test_after_an_answer_the_next_spare_is_made_and_only_then() -> None:
    spares = spares_of()
    do(spares, "out = 1", ready=False)
    assert spares._spare is None, "nobody holds them"
    with spares.hold():
        _until(lambda: spares._spare is not None)  # it was used before
        do(spares, "out = 1", ready=False)
        _until(lambda: spares._spare is not None)


def test_the_answer_is_there_before_the_store_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    release, closing, close = threading.Event(), threading.Event(), Stage.close

    def slow(stage: Stage) -> None:
        closing.set()
        assert release.wait(60)
        close(stage)

    monkeypatch.setattr(Stage, "close", slow)
    future = run_in_thread(GuestCall(runtime("tool"), bundle(GUEST), {}, PROBE_LIMITS), "invoke", "s", '{"do": "out = 7"}', "{}")
    try:
        assert future.result(60) == "7"
        assert closing.wait(60)
    finally:
        release.set()


def test_limits_hold_in_a_spare_and_other_limits_get_none(tmp_path: Path) -> None:
    small = msgspec.structs.replace(SHORT, memory_mib=40, cpu_ms=5_000)
    spares = spares_of(small)
    with spares.hold():
        with pytest.raises(GuestError) as caught:
            do(spares, "x = 'x' * 60_000_000", limits=small)
        assert caught.value.kind == "memory"
        on_a_guests_thread(spares.restock)
        assert spares.take(runtime("tool"), PROBE_LIMITS) is None
        assert spares.take(runtime("agent"), small) is None
        assert do(spares, "x = 'x' * 60_000_000; out = len(x)", limits=PROBE_LIMITS, ready=False) == 60_000_000


def test_the_time_of_a_call_begins_with_the_call() -> None:
    spares = spares_of(SHORT)
    with spares.hold():
        on_a_guests_thread(spares.restock)
        do(spares_of(), "time.sleep(0.4); out = 1", ready=False)  # the engine's clock goes on while the spare stands
        assert do(spares, "out = 1", limits=SHORT, ready=False) == 1
        with pytest.raises(GuestError) as caught:
            do(spares, "while True: pass", limits=SHORT)
        assert caught.value.kind == "timeout"


def test_a_call_in_a_spare_sees_its_own_workspace_alone(tmp_path: Path) -> None:
    spares = spares_of()
    (tmp_path / "a").write_text("of this call")
    with spares.hold():
        assert do(spares, "out = open('/workspace/a').read()", workspace=tmp_path) == "of this call"
        with pytest.raises(GuestError, match=r"FileNotFoundError|PermissionError|OSError"):
            do(spares, "out = open('/workspace/a').read()")


def test_instantiating_uses_no_import_and_not_much_time() -> None:
    making = _Making()
    assert making.tick()
    making._until = 0.0
    assert not making.tick()
    with pytest.raises(RuntimeError, match="no call runs"):
        making.answer(next(iter(native._shapes)), [])


def test_a_spare_that_cannot_be_made_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    spares = spares_of()

    def fails() -> None:
        raise wasmtime.WasmtimeError("no memory for it")

    monkeypatch.setattr(spares, "_runtime", fails)
    with spares.hold():
        on_a_guests_thread(spares.restock)
        assert spares._spare is None
        assert do(spares, "out = 1", ready=False) == 1


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
