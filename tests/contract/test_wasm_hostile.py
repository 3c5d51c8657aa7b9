"""Guests that misbehave: each ends in one typed error, with the guest's traceback where Python could still give one."""

from __future__ import annotations

import json
import os
import threading
import time

import msgspec
import pytest
from thetis_kernel.errors import GuestError
from thetis_kernel.wasm.abort import Abort
from thetis_kernel.wasm.call import GuestCall, run_in_thread, stores_opened
from thetis_kernel.wasm.limits import PROBE_LIMITS, Limits
from thetis_kernel.wasm.output import Captured

from tests.support.runtimes import bundle, call, runtime

SHORT = Limits(memory_mib=128, cpu_ms=300, result_bytes=1 << 20)

TOOL = """
import json, sys, time
from thetis_guest import ToolManifest, sandbox, HostError
from thetis_guest import sys as host

def describe():
    return ToolManifest("demo", "d", {"type": "object"})

def invoke(session_id, args, config):
    %s
"""


def tool(body: str, *, limits: Limits = PROBE_LIMITS, args: object = None, **options) -> str:
    code = TOOL % body.strip().replace("\n", "\n    ")
    return call("tool", code, "invoke", "s-1", json.dumps(args or {}), "{}", limits=limits, **options)


def fails(body: str, kind: str, *, limits: Limits = PROBE_LIMITS, **options) -> GuestError:
    with pytest.raises(GuestError) as caught:
        tool(body, limits=limits, **options)
    assert caught.value.kind == kind, caught.value
    assert tool("return 'alive'") == "alive"
    return caught.value


LOOPS = {
    "loop": "while True: pass",
    "regex": "import re; re.match('(a+)+$', 'a' * 40 + 'b')",
    "bigint": "return str(len(str(9 ** 9 ** 8)))",
    "import-time": "exec(compile('while True: pass', 'x', 'exec'))",
    "in-except": "\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "sort": "\nx = list(range(2000))\nwhile True: x.sort(key=lambda v: -v)",
}


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_endless_work_is_stopped(body):
    error = fails(body, "timeout", limits=SHORT)
    assert "300 ms" in error.message


@pytest.mark.parametrize("body", ["time.sleep(10**6)", "host.sleep(2**32 - 1)", "\nwhile True: host.sleep(50)"])
def test_sleep_spends_the_budget(body):
    fails(body, "timeout", limits=SHORT)


WAITS = {
    "raw time.sleep": "\ndel sys.modules['time']\nimport time as raw\nraw.sleep(600)",
    "select": "import select; select.select([], [], [], 600)",
    "poll": "import select; select.poll().poll(600_000)",
}


@pytest.mark.parametrize("body", WAITS.values(), ids=WAITS)
def test_waiting_past_the_host_is_stopped_at_once(body):
    assert "sys.sleep" in fails(body, "trap").message


def test_short_sleeps_and_clocks_work():
    assert float(tool("\na = time.monotonic()\ntime.sleep(0.02)\nreturn str(time.monotonic() - a)")) >= 0.02


MEMORY = {
    "bomb": "\nx = []\nwhile True: x.append(bytearray(1 << 20))",
    "string of 200 MB": "return 'x' * (200 << 20)",
    "list of lists": "\nx = []\nwhile True: x.append([None] * 10_000)",
    "bytes": "return str(len(bytes(1 << 30)))",
}


@pytest.mark.parametrize("body", MEMORY.values(), ids=MEMORY)
def test_memory_bombs_end_at_the_limit(body):
    error = fails(body, "memory")
    assert "main.py" in error.traceback and "MemoryError" in error.traceback


def test_a_memory_bomb_the_interpreter_trips_over_is_stopped():
    with pytest.raises(GuestError) as caught:
        tool("\nx = 'x'\nwhile True: x += x")
    assert caught.value.kind in ("memory", "trap"), "CPython 3.14 on wasm calls a null pointer when this realloc fails"
    assert tool("return 'alive'") == "alive"


STORE_LIMITS = {"memories": "memory", "memory_mib": "memory", "tables": "trap", "table_elements": "trap", "instances": "trap"}


@pytest.mark.parametrize(("limit", "kind"), STORE_LIMITS.items())
def test_each_limit_of_the_store_is_set(limit, kind):
    with pytest.raises(GuestError) as caught:
        tool("return 'x'", limits=msgspec.structs.replace(PROBE_LIMITS, **{limit: 0}))
    assert caught.value.kind == kind, caught.value


def test_a_result_over_the_cap_is_refused():
    assert "1048576" in fails("return 'x' * (2 << 20)", "type").message


def test_an_exception_comes_with_the_guests_own_frames_only():
    error = fails("\ndef inner(): raise ValueError('boom \\ud800')\ninner()", "error")
    assert error.message == "ValueError: boom \ufffd"
    assert error.traceback.startswith("Traceback") and 'File "main.py"' in error.traceback
    assert "in inner" in error.traceback and "loader.py" not in error.traceback


def test_notes_do_not_pass_for_what_was_raised():
    error = fails("\nerror = ValueError('boom')\nerror.add_note('MemoryError: none left')\nraise error", "error")
    assert error.message == "ValueError: boom"
    assert "MemoryError: none left" in error.traceback
    assert fails("compile('a b', 'x', 'exec')", "error").message.startswith("SyntaxError: ")


def test_recursion_in_python_is_an_exception():
    error = fails("\ndef f(n): return f(n + 1) + 1\nf(0)", "error")
    assert "RecursionError" in error.message and "repeated" in error.traceback


def test_recursion_in_c_is_a_trap():
    error = fails("\nx = None\nfor _ in range(200_000): x = (x,)\ndel x", "trap")
    assert "call stack exhausted" in error.message


def test_deep_json_is_an_exception_in_the_guest():
    error = fails("json.loads('[' * 5000 + ']' * 5000)", "error")
    assert "RecursionError: JSON nested more than" in error.message and "main.py" in error.traceback
    assert tool("return str(len(json.loads('[' * 900 + ']' * 900)))") == "1"
    assert tool("return str(len(json.loads('[' + '[],' * 50_000 + '1]')))") == "50001"


def test_deep_json_does_not_get_in_as_an_argument():
    deep = "[" * 5000 + "]" * 5000
    call_ = GuestCall(runtime("tool"), bundle(TOOL % "return 'x'"), {}, PROBE_LIMITS)
    before = stores_opened()
    with pytest.raises(GuestError) as caught:
        call_.run("invoke", "s", deep, "{}")
    assert caught.value.kind == "type" and "args-json" in caught.value.message
    assert stores_opened() == before


def test_an_argument_over_the_cap_opens_no_store():
    before = stores_opened()
    with pytest.raises(GuestError) as caught:
        small = Limits(memory_mib=128, cpu_ms=100, argument_bytes=10)
        GuestCall(runtime("tool"), "", {}, small).run("invoke", "s", "x" * 11, "{}")
    assert caught.value.kind == "type" and "11 characters" in caught.value.message
    assert stores_opened() == before


def test_poisoned_arguments_are_repaired():
    poisoned = '{"a": NaN, "b": "\\ud800"}'
    code = TOOL % "return json.dumps([session_id, args])"
    assert json.loads(call("tool", code, "invoke", "s\ud800", poisoned, "{}")) == ["s\ufffd", {"a": None, "b": "\ufffd"}]


def test_lone_surrogates_are_replaced_on_their_way_out():
    assert tool("return 'a\\ud800b'") == "a\ufffdb"
    seen = []
    read = {"sandbox.read-file": lambda path, options: seen.append(path) or path}
    assert tool("return sandbox.read_file('p\\udfff')", imports=read) == "p\ufffd"
    assert tool("\nfrom wit_world.imports import sandbox as raw\nreturn raw.read_file('p\\udfff', '')", imports=read) == "p\ufffd"
    assert seen == ["p\ufffd", "p\ufffd"]


def test_a_wrong_argument_is_an_exception_in_the_guest():
    error = fails("\nfrom wit_world.imports import sandbox as raw\nraw.read_file(5, '')", "error")
    assert "TypeError" in error.message and "main.py" in error.traceback


@pytest.mark.parametrize("body", ["sys.exit(3)", "raise SystemExit('bye')", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_leaving_by_exception_is_typed(body):
    error = fails(body, "exit" if "xit(" in body and "Gen" not in body else "error")
    assert "main.py" in error.traceback


def test_leaving_the_process_is_typed():
    assert "exit" in fails("import os; os._exit(4)", "exit").message


def test_a_hostile_exception_is_still_typed():
    body = "\nclass E(Exception):\n    def __str__(self): raise SystemExit(1)\n    __repr__ = __str__\nraise E"
    assert "E" in fails(body, "error").message


@pytest.mark.parametrize("value", ["{1, 2}", "None", "object()", "b'x'", "{'a': float('nan')}", "{('a',): 1}", "[object()]"])
def test_a_wrong_result_type_is_named(value):
    error = fails(f"return {value}", "type")
    assert "invoke() returned" in error.message


def test_a_flood_of_output_is_cut_and_the_call_goes_on():
    logged = []
    body = "\nfor _ in range(3000): print('x' * 1000)\nsys.stderr.write('also')\nreturn 'done'"
    assert tool(body, on_log=lambda *line: logged.append(line)) == "done"
    streams = dict(logged)
    assert streams["stderr"] == "also"
    assert len(streams["stdout"]) <= (1 << 20) + 100
    assert streams["stdout"].endswith("... output cut: the guest printed more than 1048576 bytes\n")


def test_an_endless_flood_of_output_is_stopped_and_takes_no_memory(monkeypatch):
    logged, sizes, close = [], [], Captured.close

    def measured(self):
        sizes.append(os.stat(self.path).st_size)
        close(self)

    monkeypatch.setattr(Captured, "close", measured)
    fails("\nwhile True: print('x' * 10_000)", "timeout", limits=SHORT, on_log=lambda *line: logged.append(line))
    assert logged[0][0] == "stdout"
    assert set(sizes) == {1 << 20}


def test_output_of_a_call_that_trapped_is_kept():
    logged = []
    fails("\nprint('last words')\nwhile True: pass", "timeout", limits=SHORT, on_log=lambda *line: logged.append(line))
    assert ("stdout", "last words\n") in logged


DESCRIBE = {
    "raise ValueError('no')": ("error", "ValueError: no"),
    "return None": ("type", "describe() returned NoneType"),
    "return {'name': 'x'}": ("type", "`description` is missing"),
    "return {'name': 'x', 'description': 'd', 'input_schema': '{}', 'color': 'red'}": ("type", "unknown field 'color'"),
    "return {'name': 'x', 'description': 'd', 'input_schema': '{}', 'mutating': 1}": ("type", "`mutating` is not a bool"),
    "import sys; sys.exit(2)": ("exit", "SystemExit: 2"),
    "return 'x' * (200 << 20)": ("memory", "MemoryError"),
}


@pytest.mark.parametrize("body", DESCRIBE)
def test_an_export_without_a_result_still_says_what_went_wrong(body):
    kind, message = DESCRIBE[body]
    with pytest.raises(GuestError) as caught:
        call("tool", f"def describe():\n    {body}\n", "describe")
    assert (caught.value.kind, message in caught.value.message) == (kind, True), caught.value
    assert kind == "type" or "main.py" in caught.value.traceback


def test_a_module_that_fails_to_import_is_reported_with_its_line():
    with pytest.raises(GuestError) as caught:
        call("tool", "\n\nx = undefined_name\n", "describe")
    assert caught.value.kind == "error" and 'main.py", line 3' in caught.value.traceback


def test_a_missing_entry_function_is_named():
    with pytest.raises(GuestError, match=r"main.py has no function invoke\(\)"):
        call("tool", "describe = 5\n", "invoke", "s", "{}", "{}")


@pytest.mark.parametrize("code", ["", "!!!", "AAAA", "4wAAAAA=", "8wUAAAA="])
def test_a_damaged_bundle_is_an_error(code):
    with pytest.raises(GuestError):
        GuestCall(runtime("tool"), code, {}, PROBE_LIMITS).run("describe")
    assert tool("return 'alive'") == "alive"


def test_an_err_of_the_guests_own_keeps_its_fields():
    error = fails("raise HostError('not-found', 'No such thing.', 'Look elsewhere.')", "error")
    assert (error.message, error.hint) == ("No such thing.", "Look elsewhere.")
    assert error.data["error"]["code"] == "not-found"


def test_an_unknown_export_or_wrong_arity_opens_no_store():
    before = stores_opened()
    for export, args in (("nothing", ()), ("invoke", ("s",))):
        with pytest.raises(GuestError) as caught:
            GuestCall(runtime("tool"), "", {}, PROBE_LIMITS).run(export, *args)
        assert caught.value.kind == "type"
    assert stores_opened() == before


# Aborts


def blocked_call(body: str, imports=None, abort=None, **options):
    return run_in_thread(
        GuestCall(runtime("tool"), bundle(TOOL % body), imports or {}, PROBE_LIMITS, abort, **options), "invoke", "s", "{}", "{}"
    )


def aborted(future) -> GuestError:
    with pytest.raises(GuestError) as caught:
        future.result(timeout=60)
    assert caught.value.kind == "abort", caught.value
    return caught.value


def test_abort_stops_a_loop():
    entered, abort = threading.Event(), Abort()
    future = blocked_call("host.log('info', 'in')\n    while True: pass", {"sys.log": lambda *_: entered.set()}, abort)
    assert entered.wait(60)
    abort.fire("a person pressed stop")
    assert "a person pressed stop" in aborted(future).message


def test_abort_stops_a_sleep():
    entered, abort = threading.Event(), Abort()
    future = blocked_call("host.log('info', 'in')\n    host.sleep(4000)", {"sys.log": lambda *_: entered.set()}, abort)
    assert entered.wait(60)
    abort.fire("stop")
    aborted(future)


def test_abort_inside_an_import_takes_effect_when_it_returns():
    abort, after = Abort(), []

    def import_(*_):
        abort.fire("enough")
        return "{}"

    imports = {"sandbox.exec": import_, "sandbox.available": lambda: after.append(1) or "{}"}
    body = "\n    ".join(["try: sandbox.exec('x')", "except BaseException: pass", "sandbox.available()", "return 'went on'"])
    aborted(blocked_call(body, imports, abort))
    assert after == [], "nothing of the guest runs after an abort"


def test_abort_before_the_call_opens_no_store():
    abort = Abort()
    abort.fire("too late")
    before = stores_opened()
    aborted(blocked_call("return 'x'", abort=abort))
    assert stores_opened() == before


def test_an_import_that_blocks_is_not_the_guests_time():
    def slow(*_):
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            sum(range(1000))
        return "{}"

    assert tool("sandbox.exec('x'); return 'ok'", limits=SHORT, imports={"sandbox.exec": slow}) == "ok"


def test_the_budget_is_cumulative_over_imports():
    body = "\nwhile True:\n    sum(range(20_000))\n    sandbox.exec('x')"
    fails(body, "timeout", limits=SHORT, imports={"sandbox.exec": lambda *_: "{}"})


def test_every_call_opens_one_store_and_keeps_nothing():
    body = "\nimport builtins\nseen = getattr(builtins, 'seen', 0)\nbuiltins.seen = seen + 1\nreturn str(seen)"
    assert tool(body) == "0"  # compiles it too
    before = stores_opened()
    assert [tool(body) for _ in range(3)] == ["0", "0", "0"]
    assert stores_opened() == before + 3


def test_a_call_from_within_an_import_runs_on_a_thread_of_its_own():
    threads = []

    def nested(*_):
        threads.append(threading.get_ident())
        return json.dumps({"inner": tool("host.log('info', 'x'); return 'inner'", imports={"sys.log": note})})

    def note(*_):
        threads.append(threading.get_ident())

    assert json.loads(tool("return sandbox.exec('x')", imports={"sandbox.exec": nested})) == {"inner": "inner"}
    assert len(set(threads)) == 2 and threading.get_ident() not in threads
