"""What leaves an import: for every import of every world, enumerated from the contract, whatever it does.

The host's functions are made to raise each kind of exception, to answer the wrong thing, to answer too much. The guest
must get a typed answer, the process must live, and the binding's global for exceptions must stay empty.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.wasm.contract import FunctionShape, world_imports
from thetis_kernel.wasm.limits import Limits
from wasmtime.component import _enter

from tests.support.runtimes import call

WORLDS = ("tool", "agent", "gateway")
RAISED = (Exception, KeyboardInterrupt, SystemExit, asyncio.CancelledError, MemoryError, GeneratorExit, RecursionError)
IMPORTS = [(world, shape) for world in WORLDS for shape in world_imports(world).values()]

# Calls one import with plausible values, through the generated bindings themselves, and reports what came back.
GUEST = """
import json
import importlib

def poke(interface, function, values):
    module = importlib.import_module("wit_world.imports." + interface)
    call = getattr(module, function.replace("-", "_"))
    try:
        return json.dumps(["ok", call(*values)])
    except Exception as error:
        return json.dumps(["err", getattr(error, "value", repr(error))])

def describe(): return {}
def invoke(session_id, args, config): return poke(*args["poke"])
def handle_turn(turn): return {"said": poke(*turn["poke"])}
def render_events(events): return [poke(*events)]
"""
EXPORT = {
    "tool": lambda poke: ("invoke", "s", json.dumps({"poke": poke}), "{}"),
    "agent": lambda poke: ("handle-turn", json.dumps({"poke": poke})),
    "gateway": lambda poke: ("render-events", json.dumps(poke)),
}
UNWRAP = {
    "tool": json.loads,
    "agent": lambda text: json.loads(json.loads(text)["said"]),
    "gateway": lambda text: json.loads(json.loads(text)[0]),
}
VALUES = {"string": "text", "u32": 7, "u64": 8, "bool": True}



def each_import(wanted=lambda shape: True):
    chosen = [(world, shape) for world, shape in IMPORTS if wanted(shape)]
    assert len(chosen) > 30
    return pytest.mark.parametrize(("world", "shape"), chosen, ids=[f"{w}-{s.key}" for w, s in chosen])


def from_the_mapping(shape):
    """All but sys.code, which the runtime's own host code answers."""
    return shape.key != "sys.code"



def poke(world: str, shape: FunctionShape, function, values=None, **options):
    """(tag, value) the guest saw when it called the import `shape`, which the host answers with `function`."""
    values = [VALUES[kind] for _, kind in shape.params] if values is None else values
    args = EXPORT[world]([shape.interface, shape.name, values])
    answer = call(world, GUEST, *args, imports={shape.key: function}, **options)
    assert _enter.LAST_EXCEPTION is None
    return UNWRAP[world](answer)


def poke_fallible(*args, **options):
    tag, value = poke(*args, **options)
    return tag, json.loads(value) if tag == "err" else value


@each_import(from_the_mapping)
def test_whatever_an_import_raises_is_a_typed_answer(world, shape):
    for kind in RAISED:
        logged = []

        def function(*_args, kind=kind):
            raise kind("on purpose")

        tag, value = poke(world, shape, function, on_log=lambda *line, logged=logged: logged.append(line))
        if shape.fallible:
            assert tag == "err"
            assert json.loads(value) == {"code": "internal", "message": f"The host failed in {shape.key}.", "hint": ""}
        else:
            assert [tag, value] == ["ok", 0 if shape.result else None]
        (line,) = [text for source, text in logged if source == "host"]
        assert kind.__name__ in line and "on purpose" in line, "people are told; the guest is not"


@each_import(from_the_mapping)
def test_parameters_arrive_as_the_contract_types_them(world, shape):
    seen = []

    def function(*args):
        seen.append(args)
        return {"": None, "u64": 12345}.get(shape.result, '{"a": [1, "b"]}')

    tag, value = poke(world, shape, function)
    assert seen == [tuple(VALUES[kind] for _, kind in shape.params)]
    assert [type(value) for value in seen[0]] == [type(VALUES[kind]) for _, kind in shape.params]
    assert (tag, value) == ("ok", {"": None, "u64": 12345}.get(shape.result, '{"a": [1, "b"]}'))


@each_import(lambda shape: shape.fallible)
def test_a_kernel_error_reaches_the_guest_with_code_message_and_hint(world, shape):
    def function(*_args):
        raise Refused("Not in \ud800 plan mode.", capability="write", hint="Switch modes.")

    tag, value = poke_fallible(world, shape, function)
    assert (tag, value) == ("err", {"code": "refused", "message": "Not in \ufffd plan mode.", "hint": "Switch modes."})


@each_import(lambda shape: shape.fallible)
def test_a_missing_import_is_unavailable(world, shape):
    args = EXPORT[world]([shape.interface, shape.name, [VALUES[kind] for _, kind in shape.params]])
    tag, value = UNWRAP[world](call(world, GUEST, *args))
    assert tag == "err" and json.loads(value)["code"] == "unavailable"


READ = world_imports("agent")["session.read"]
WRITE = world_imports("agent")["files.write-file"]
TEXT = world_imports("tool")["sandbox.read-file"]


@pytest.mark.parametrize("wrong", [None, 5, b"{}", ["a"], object()])
def test_an_answer_of_the_wrong_type_is_the_hosts_failure(wrong):
    assert poke_fallible("agent", READ, lambda *_: wrong)[1]["code"] == "internal"
    assert poke("agent", world_imports("agent")["sys.now-ms"], lambda: "soon")[1] == 0
    assert poke("agent", world_imports("agent")["sys.now-ms"], lambda: -5)[1] == 0
    assert poke("agent", world_imports("agent")["sys.now-ms"], lambda: 2**70)[1] == 2**64 - 1


def test_an_error_with_unusable_fields_is_still_an_answer():
    def function(*_args):
        raise ThetisError(object(), code=object())  # type: ignore[arg-type]

    assert poke_fallible("agent", READ, function)[1]["code"] == "internal"


def test_a_log_that_fails_is_not_the_guests_trouble():
    def log(*_line):
        raise KeyboardInterrupt

    assert poke("agent", world_imports("agent")["sys.log"], lambda *_: 1 / 0, on_log=log) == ["ok", None]


def test_poisoned_json_is_repaired_on_its_way_in():
    poison = '{"a": NaN, "b": "\\ud800 \ud800", "c": [Infinity]}'
    tag, text = poke("agent", READ, lambda *_: poison)
    assert tag == "ok"
    assert json.loads(text) == {"a": None, "b": "\ufffd \ufffd", "c": [None]}


def test_deep_json_is_refused_and_deep_text_is_not():
    deep = "[" * 65 + "]" * 65
    assert poke_fallible("agent", READ, lambda *_: deep)[1]["code"] == "too-deep"
    assert poke("agent", READ, lambda *_: "[" * 64 + "]" * 64)[0] == "ok"
    assert poke("tool", TEXT, lambda *_: deep) == ["ok", deep]


WRITER = """
from thetis_guest import HostError, files
def attempt(size):
    try:
        return files.write_file("p" * size, "q" * size)
    except HostError as error:
        return error.code
def health(): return [attempt(size) for size in (6000, 4000, 1)]
"""


def test_arguments_and_answers_are_capped():
    calls = []

    def function(path, contents):
        calls.append(len(path))
        return json.dumps("x" * (20_000 if len(path) > 1 else 5))

    small = Limits(memory_mib=128, cpu_ms=5000, argument_bytes=10_000)
    said = call("agent", WRITER, "health", imports={WRITE.key: function}, limits=small)
    assert json.loads(said) == ["too-large", "too-large", "xxxxx"]
    assert calls == [4000, 1], "what is too large does not reach the import"


def test_a_flood_of_log_lines_is_cut_with_a_word():
    logged = []
    health = "from thetis_guest import sys\ndef health():\n    [sys.log('x' * 100) for _ in range(1000)]\n    return {}\n"
    small = Limits(memory_mib=128, cpu_ms=5000, output_bytes=10_000)
    call("agent", health, "health", on_log=lambda *line: logged.append(line), limits=small)
    assert 40 < len(logged) < 100
    assert logged[-1] == ("warn", "log cut: the guest logged more than 10000 characters")


def test_the_defaults_of_sys_tell_the_time_and_hand_out_the_code():
    import time

    before = time.time_ns() // 1_000_000
    now = poke("agent", world_imports("agent")["sys.now-ms"], None)[1]
    assert before <= now <= time.time_ns() // 1_000_000
    code = poke("agent", world_imports("agent")["sys.code"], None)[1]
    assert code == poke("agent", world_imports("agent")["sys.code"], lambda: "ignored")[1] != "ignored"
