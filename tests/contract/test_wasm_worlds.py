"""Each world's exports, through its runtime, with the SDK; and the compiler."""

from __future__ import annotations

import json

import pytest
from thetis_kernel.errors import GateError, GuestError, RuntimeBuildError
from thetis_kernel.wasm import contract
from thetis_kernel.wasm.call import GuestCall
from thetis_kernel.wasm.compiler import check_sources, compile_bundle
from thetis_kernel.wasm.engine import Runtime, engine
from thetis_kernel.wasm.limits import PROBE_LIMITS
from thetis_kernel.wasm.settings import WORLDS

from tests.support.runtimes import bundle, call, runtime

AGENT = """
from thetis_guest import HostError, Record, files, llm, notes, sandbox, session, sys, terminal, tooling

class Step(Record):
    name: str
    done: bool = False
    notes: list = []

def describe(): return {"name": "a", "version": "1"}
def health(): return {"ok": True}
def list_tools(mode): return [{"name": mode}]
def handle_turn(turn):
    return {
        "turn": turn, "step": Step("x").to_dict(),
        "page": session.read(3, 1000), "seq": session.append("system-note", {"text": "t"}),
        "inbox": session.poll_inbox(), "done": llm.complete({"system": "s"}), "tools": tooling.registry(),
        "results": tooling.invoke_many([{"id": "1"}]), "file": files.read_file("p", 2, 3),
        "ran": terminal.run("ls", cwd="d", timeout_ms=5), "noted": notes.remember("k", "c"), "notes": notes.recall(),
        "kv": [sys.kv_put("k", {"v": 1}), sys.kv_get("k")], "no": no(),
    }
def no():
    try:
        sandbox.available()
    except HostError as error:
        return error.code
"""


def echo(key):
    return lambda *args: json.dumps({"key": key, "args": list(args)})


def test_an_agent_reaches_every_interface_through_the_sdk():
    imports = {key: echo(key) for key, shape in contract.world_imports("agent").items() if shape.answers_json}
    imports.update({"sys.kv-put": lambda key, value: "", "notes.remember": lambda key, content: ""})
    turn = {"session": "s", "mode": {"id": "plan"}}
    said = json.loads(call("agent", AGENT, "handle-turn", json.dumps(turn), imports=imports))
    assert said["turn"] == turn
    assert said["step"] == {"name": "x", "done": False, "notes": []}
    assert said["page"] == {"key": "session.read", "args": [3, 1000]}
    assert said["seq"] == {"key": "session.append", "args": ["system-note", '{"text":"t"}']}
    assert said["file"]["args"] == ["p", 2, 3]
    assert said["ran"]["args"] == ["ls", '{"cwd":"d","timeout_ms":5}']
    assert said["results"]["args"] == ['[{"id":"1"}]']
    assert said["kv"] == [None, {"key": "sys.kv-get", "args": ["k"]}]
    assert said["no"] == "unavailable", "a world without an interface says so"
    assert call("agent", AGENT, "describe") == '{"name":"a","version":"1"}'
    assert call("agent", AGENT, "health") == '{"ok":true}'
    assert json.loads(call("agent", AGENT, "list-tools", "plan")) == [{"name": "plan"}]


GATEWAY = """
from thetis_guest import view
def describe(): return {"name": "g", "version": "1"}
def serve_asset(path): return {"media_type": "text/plain", "text": path}
def on_client_message(message): return [message, view.sessions()]
def render_events(events): return [{"seq": event["seq"], "blocks": []} for event in events]
"""


def test_a_gateway_guest_answers_its_exports():
    assert json.loads(call("gateway", GATEWAY, "describe"))["name"] == "g"
    assert json.loads(call("gateway", GATEWAY, "serve-asset", "a/b"))["text"] == "a/b"
    said = call("gateway", GATEWAY, "on-client-message", '{"x": 1}', imports={"view.sessions": lambda: "[]"})
    assert json.loads(said) == [{"x": 1}, []]
    assert json.loads(call("gateway", GATEWAY, "render-events", '[{"seq": 4}]')) == [{"seq": 4, "blocks": []}]


TOOL = """
from thetis_guest import ToolManifest, sandbox
def describe(): return ToolManifest("outline", "d", {"type": "object"}, group="code", mutating=True)
def invoke(session_id, args, config): return [sandbox.read_file("p"), sandbox.read_file("p", offset=2, limit=9), args, config]
"""


def test_a_tool_describes_itself_and_returns_text_or_json():
    assert json.loads(call("tool", TOOL, "describe")) == {
        "name": "outline",
        "description": "d",
        "input_schema": '{"type": "object"}',
        "group": "code",
        "mutating": True,
    }
    imports = {"sandbox.read-file": lambda path, options: f"{path} [{options}]"}
    said = call("tool", TOOL, "invoke", "s", '{"a": 1}', '{"b": 2}', imports=imports)
    assert json.loads(said) == ["p [{}]", 'p [{"offset":2,"limit":9}]', {"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("world", "body", "export", "args"),
    [
        ("agent", "describe = lambda: 5", "describe", ()),
        ("agent", "health = lambda: 'fine'", "health", ()),
        ("agent", "list_tools = lambda mode: {}", "list-tools", ("plan",)),
        ("agent", "handle_turn = lambda turn: None", "handle-turn", ("{}",)),
        ("gateway", "serve_asset = lambda path: 'x'", "serve-asset", ("p",)),
        ("gateway", "on_client_message = lambda message: {1}", "on-client-message", ("{}",)),
        ("gateway", "render_events = lambda events: {}", "render-events", ("[]",)),
    ],
)
def test_a_wrong_result_is_a_type_error_of_the_guest(world, body, export, args):
    with pytest.raises(GuestError) as caught:
        call(world, body, export, *args)
    assert caught.value.kind == "type", caught.value


def test_a_guest_may_be_made_of_packages():
    modules = {
        "lib": "VALUE = 1\nfrom lib.deep import more",
        "lib.deep": "",
        "lib.deep.more": "from lib import VALUE\nVALUE += 1",
        "plain.inner": "VALUE = 5",
    }
    main = "import lib, plain.inner\ndef health(): return [lib.more.VALUE, plain.inner.VALUE, __name__]\n"
    code = compile_bundle(runtime("compiler"), {"main": main, **modules})
    assert GuestCall(runtime("agent"), code, {}, PROBE_LIMITS).run("health") == '[2,5,"main"]'


def test_useful_modules_can_be_imported():
    names = "json re dataclasses datetime decimal difflib textwrap unittest tomllib html.parser xml.etree.ElementTree zipfile"
    main = f"import importlib\ndef health(): return [importlib.import_module(n).__name__ for n in {names.split()}]\n"
    assert json.loads(call("agent", main, "health")) == names.split()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "utf-7", "latin-1", "iso8859-15"])
def test_encodings_can_be_used(encoding):
    main = f"def health(): return ['h\u00e9'.encode({encoding!r}).hex()]\n"
    assert json.loads(call("agent", main, "health")) == ["h\u00e9".encode(encoding).hex()]


# The compiler


def test_diagnostics_name_path_line_and_message():
    with pytest.raises(GateError) as caught:
        compile_bundle(runtime("compiler"), {"main": "x = 1\ndef f(:\n", "pkg": "", "pkg.part": "return 5", "good": "x = 1"})
    error = caught.value
    assert error.step == "compile"
    assert [(d["path"], d["line"]) for d in error.diagnostics] == [("main.py", 2), ("pkg/part.py", 1)]
    assert all(d["message"] for d in error.diagnostics) and "main.py:2" in error.message


def test_check_finds_the_same_without_a_bundle():
    assert check_sources(runtime("compiler"), {"main": "x = 1"}) == []
    (found,) = check_sources(runtime("compiler"), {"main": "\n\nawait x"})
    assert (found["path"], found["line"]) == ("main.py", 3)


@pytest.mark.parametrize(
    "source",
    ["x = '\0'", "(" * 5000, "-" * 100_000 + "1", "\n".join(" " * n + "if 1:" for n in range(150)), "f'{" * 500, "x = '\ud800'"],
    ids=["null", "parentheses", "minuses", "indents", "f-strings", "surrogate"],
)
def test_sources_that_cannot_be_compiled_are_diagnosed_not_trapped(source):
    try:
        found = check_sources(runtime("compiler"), {"main": source})
    except GuestError as error:
        assert error.kind in ("memory", "trap", "timeout")
    else:
        assert not found or found[0]["path"] == "main.py"
    assert check_sources(runtime("compiler"), {"main": "x = 1"}) == []


def test_compiling_is_repeatable():
    sources = {"main": "class A:\n    '''doc'''\n    def f(self): return {1, 2, 'x', 'y'}\n", "b": "x = frozenset('abc')"}
    assert len({compile_bundle(runtime("compiler"), sources) for _ in range(3)}) == 1


def test_a_large_guest_compiles_and_loads():
    lines = "\n".join(f"def f{n}(a, b=None):\n    '''doc'''\n    return [a, b, {n}, 'text {n}']" for n in range(1500))
    code = bundle(lines + "\ndef health(): return f1499(1)\n")
    assert GuestCall(runtime("agent"), code, {}, PROBE_LIMITS).run("health") == '[1,null,1499,"text 1499"]'


# The contract and the components


@pytest.mark.parametrize("world", WORLDS)
def test_components_have_exactly_their_worlds_imports_and_exports(world):
    component = runtime(world).component
    assert contract.component_mismatch(world, component, engine()) == ""
    other = "tool" if world != "tool" else "agent"
    with pytest.raises(RuntimeBuildError, match="does not fit the contract"):
        Runtime(other, component)


def test_the_compiler_imports_nothing_at_all():
    assert runtime("compiler").component.type.imports(engine()) == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import sandbox;", "", "sandbox"),
        ("now-ms: func() -> u64;", "now-ms: func() -> u32;", "sys.now-ms"),
        ("available: func() -> result<string, string>;", "", "the functions of"),
        ("read-file: func(path: string, options-json", "read-file: func(where: string, options-json", "sandbox.read-file"),
        ("export invoke: func(", "export call: func(", "does not export call"),
    ],
)
def test_a_component_that_differs_from_the_contract_is_named(monkeypatch, old, new, said):
    text = contract.contract_file().read_text()
    assert old in text
    monkeypatch.setattr(contract, "load", lambda: contract._parse(text.replace(old, new, 1)))
    assert said in contract.component_mismatch("tool", runtime("tool").component, engine())
