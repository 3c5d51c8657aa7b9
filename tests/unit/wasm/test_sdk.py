"""The guest SDK, natively: records, errors, and stubs over fake imports."""

from __future__ import annotations

import json
import sys

import pytest
from thetis_kernel.errors import Refused
from thetis_kernel.paths import builtin_root
from thetis_kernel.wasm.contract import world_imports

from tests.support.native_guest import native_guest


@pytest.fixture(autouse=True)
def sdk(monkeypatch):
    monkeypatch.syspath_prepend(str(builtin_root() / "guest"))
    from thetis_guest import _bind

    yield _bind
    _bind.install(None)


# Records


def test_a_record_takes_values_by_place_and_by_name():
    from thetis_guest import Record

    class Point(Record):
        x: int
        y: int = 2

    class Named(Point):
        name: str = ""
        tags: list[str] = []  # noqa: RUF012 - records copy it

    assert Point(1) == Point(x=1, y=2) != Point(1, 3)
    assert repr(Named(1, name="n")) == "Named(x=1, y=2, name='n', tags=[])"
    assert Named.__fields__ == ("x", "y", "name", "tags")
    one, two = Named(1), Named(1)
    one.tags.append("a")
    assert two.tags == [] and Named(1).tags == []
    assert one.replace(x=5).to_dict() == {"x": 5, "y": 2, "name": "", "tags": ["a"]}
    assert {Point(1), Point(1)} == {Point(1)}
    assert Point(1) != Named(1)


def test_records_inside_records_become_plain():
    from thetis_guest import Record

    class Leaf(Record):
        v: int

    class Tree(Record):
        leaves: list[Leaf]
        by_name: dict[str, Leaf]

    tree = Tree([Leaf(1)], {"a": Leaf(2)})
    assert json.loads(json.dumps(tree.to_dict())) == {"leaves": [{"v": 1}], "by_name": {"a": {"v": 2}}}


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [((), {}, "'x' is missing"), ((1, 2, 3), {}, "takes 2 values"), ((1,), {"z": 1}, "'z'"), ((1,), {"x": 1}, "'x'")],
)
def test_wrong_values_of_a_record_are_named(args, kwargs, said):
    from thetis_guest import Record

    class Point(Record):
        x: int
        y: int = 2

    with pytest.raises(TypeError, match=said):
        Point(*args, **kwargs)


# Stubs

CALLS = {
    "agents.spawn": lambda m: m.spawn("tests", "Objective: none", mode="plan"),
    "agents.status": lambda m: m.status("tests"),
    "agents.transcript": lambda m: m.transcript("tests", 4),
    "agents.cancel": lambda m: m.cancel("tests"),
    "agents.profiles": lambda m: m.profiles(),
    "wait.until": lambda m: m.until("any", ["tests"], terminal="t1", timeout_secs=5),
    "devkit.list-code": lambda m: m.list_code("tools/x"),
    "devkit.read-code": lambda m: m.read_code("tools/x/main.py", 3, 9),
    "devkit.write-code": lambda m: m.write_code("tools/x/main.py", "c"),
    "devkit.patch-code": lambda m: m.patch_code("tools/x/main.py", "a", "b"),
    "devkit.remove-code": lambda m: m.remove_code("tools/x/part.py"),
    "devkit.new-tool": lambda m: m.new_tool("x", "does"),
    "devkit.history": lambda m: m.history("agent"),
    "devkit.roll-back": lambda m: m.roll_back("agent"),
    "devkit.update-code": lambda m: m.update_code(),
    "branch.status": lambda m: m.status(),
    "branch.log": lambda m: m.log(),
    "branch.commit": lambda m: m.commit("m"),
    "branch.update-from-trunk": lambda m: m.update_from_trunk(),
    "branch.complete-merge": lambda m: m.complete_merge(),
    "branch.abort-merge": lambda m: m.abort_merge(),
    "branch.reset-to": lambda m: m.reset_to("abc"),
    "devkit.add-dependency": lambda m: m.add_dependency("tool/x", "idna"),
    "devkit.remove-dependency": lambda m: m.remove_dependency("tool/x", "idna"),
    "devkit.list-dependencies": lambda m: m.list_dependencies("tool/x"),
    "session.read": lambda m: m.read(3, 9),
    "session.append": lambda m: m.append("system-note", {"t": "é"}),
    "session.poll-inbox": lambda m: m.poll_inbox(),
    "llm.complete": lambda m: m.complete({"system": "s"}),
    "tooling.registry": lambda m: m.registry(),
    "tooling.invoke-many": lambda m: m.invoke_many([]),
    "files.read-file": lambda m: m.read_file("p"),
    "files.write-file": lambda m: m.write_file("p", "c"),
    "files.edit-file": lambda m: m.edit_file("p", "a", "b"),
    "files.list-dir": lambda m: m.list_dir(),
    "files.search-files": lambda m: m.search_files({"pattern": "x"}),
    "files.find-files": lambda m: m.find_files({"glob": "*"}),
    "terminal.run": lambda m: m.run("ls"),
    "notes.remember": lambda m: m.remember("k", "c"),
    "notes.recall": lambda m: m.recall(),
    "sandbox.available": lambda m: m.available(),
    "sandbox.read-file": lambda m: m.read_file("p"),
    "sandbox.list-files": lambda m: m.list_files(),
    "sandbox.search": lambda m: m.search("x"),
    "sandbox.write-file": lambda m: m.write_file("p", "c"),
    "sandbox.exec": lambda m: m.exec("ls"),
    "sandbox.http": lambda m: m.http({"url": "u"}),
    "view.events": lambda m: m.events("s"),
    "view.sessions": lambda m: m.sessions(),
    "view.skills": lambda m: m.skills(),
    "sys.log": lambda m: m.log("x"),
    "sys.now-ms": lambda m: m.now_ms(),
    "sys.sleep": lambda m: m.sleep(5),
    "sys.kv-get": lambda m: m.kv_get("k"),
    "sys.kv-put": lambda m: m.kv_put("k", [1]),
}
SHAPES = {key: shape for world in ("tool", "agent", "gateway") for key, shape in world_imports(world).items()}


def test_every_import_of_the_contract_has_a_stub():
    assert set(CALLS) == set(SHAPES) - {"sys.code"}


@pytest.mark.parametrize("key", CALLS)
def test_a_stub_sends_the_contracts_types_and_parses_the_answer(sdk, key):
    import importlib

    shape, seen = SHAPES[key], []

    def answer(*args):
        seen.append(args)
        return {"": None, "u64": 77}.get(shape.result, '{"a": 1}')

    sdk.install({key: answer})
    module = importlib.import_module("thetis_guest." + shape.interface)
    value = CALLS[key](module)
    kinds = {"string": str, "u32": int, "u64": int, "bool": bool}
    assert [type(arg) for arg in seen[0]] == [kinds[kind] for _, kind in shape.params]
    for (name, _), arg in zip(shape.params, seen[0], strict=True):
        if name.endswith("-json"):
            json.loads(arg)
    if shape.result == "u64":
        assert value == 77
    elif shape.answers_json:
        assert value == {"a": 1}
    elif key == "sandbox.read-file":
        assert value == '{"a": 1}'
    else:
        assert value is None


def test_what_the_host_refuses_is_a_host_error(sdk):
    from thetis_guest import HostError, files

    def no(*_):
        raise Refused("Not now.", capability="write", hint="Later.")

    sdk.install({"files.list-dir": no})
    with pytest.raises(HostError) as caught:
        files.list_dir()
    assert (caught.value.code, caught.value.message, caught.value.hint) == ("refused", "Not now.", "Later.")
    with pytest.raises(HostError) as caught:
        files.read_file("p")
    assert caught.value.code == "unavailable"


@pytest.mark.parametrize(
    ("payload", "code", "message"),
    [('{"code": "c", "message": "m"}', "c", "m"), ("plain words", "host-error", "plain words"), ("[1]", "host-error", "[1]")],
)
def test_any_err_payload_is_understood(sdk, payload, code, message):
    from thetis_guest import HostError, notes

    class Err(Exception):  # as componentize-py's
        value = payload

    def no(*_):
        raise Err

    sdk.install({"notes.recall": no})
    with pytest.raises(HostError) as caught:
        notes.recall()
    assert (caught.value.code, caught.value.message) == (code, message)


def test_a_bug_in_a_fake_is_not_taken_for_the_hosts_word(sdk):
    from thetis_guest import notes

    sdk.install({"notes.recall": lambda key: 1 / 0})
    with pytest.raises(ZeroDivisionError):
        notes.recall()


# Guests, natively

MAIN = "import helper\nfrom thetis_guest import notes\ndef health():\n    return [helper.NAME, notes.recall()]\n"


def test_a_guest_runs_natively_with_fake_imports_and_leaves_nothing(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.py").write_text(MAIN)
        (tmp_path / name / "helper.py").write_text(f"NAME = {name!r}\n")
        with native_guest(tmp_path / name, {"notes.recall": lambda key: '{"notes": []}'}) as main:
            assert main.health() == [name, {"notes": []}]
        assert "main" not in sys.modules and "helper" not in sys.modules
        assert str(tmp_path / name) not in sys.path
