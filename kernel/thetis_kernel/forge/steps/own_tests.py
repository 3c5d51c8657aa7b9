"""Step: the guest's own tests pass, in its world, with the stand-in host.

Tests are plain functions `test_*` without parameters in modules `test_*`, with plain asserts. The tested bundle is the
guest's with a few lines behind its entry module that answer one export with what the tests did; it is thrown away, the
artifact is the guest alone. Inside, the guest's own functions stand where they stood.
"""

from __future__ import annotations

import dataclasses

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.diagnostics import as_diagnostic
from thetis_kernel.forge.fakes.agent import AgentHost
from thetis_kernel.forge.fakes.gateway import GatewayHost
from thetis_kernel.forge.fakes.host import FakeHost
from thetis_kernel.forge.fakes.tool import ToolHost
from thetis_kernel.forge.layout import ENTRY
from thetis_kernel.forge.schema import load_json
from thetis_kernel.protocol.gate import Diagnostic

PREFIX = "test_"
MAX_FAILURES = 20
_EXPORTS: dict[str, tuple[str, str, tuple[str, ...], type[FakeHost]]] = {
    "tool": ("invoke", "invoke", ("s", "{}", "{}"), ToolHost),
    "gateway": ("serve_asset", "serve-asset", ("x",), GatewayHost),
    "agent": ("health", "health", (), AgentHost),
}
"""World -> the function that is stood in for, the export that calls it, its arguments, the host."""
_RUNNER = '''

def {function}(*_args, _own=globals().get("{function}"), _modules={modules!r}, _most={most}):
    import importlib, sys, traceback
    globals()["{function}"] = _own
    count, failures = 0, []
    for name in _modules:
        try:
            module = importlib.import_module(name)
            tests = [value for key, value in vars(module).items() if key.startswith("test_") and callable(value)]
        except BaseException as error:
            failures.append((name, "", error))
            continue
        for test in tests:
            count += 1
            try:
                test()
            except BaseException as error:
                failures.append((name, test.__name__, error))
    told = []
    for name, test, error in failures[:_most]:
        lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
        own = [line for file, line in lines if file.endswith(name.replace(".", "/") + ".py")]
        words = str(error)[:500]
        told.append({{"module": name, "test": test, "line": own[-1] if own else 0, "kind": type(error).__name__, "words": words}})
    {answer}
'''


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Complaints name the test, its file and its line. A guest without tests has none."""
    tests = [name for name in candidate.source.modules if name.rpartition(".")[2].startswith(PREFIX)]
    if not tests:
        return []
    function, export, arguments, host = _EXPORTS[candidate.source.world]
    answer = {"tool": "import json; return json.dumps([count, told])",
              "gateway": 'import json; return {"media_type": "application/json", "text": json.dumps([count, told])}',
              "agent": 'return {"count": count, "told": told}'}[candidate.source.world]  # fmt: skip
    runner = _RUNNER.format(function=function, modules=sorted(tests), most=MAX_FAILURES, answer=answer)
    tried = dataclasses.replace(candidate, bundle=bench.compile(
        {**candidate.brought, **candidate.source.modules, ENTRY: candidate.source.modules[ENTRY] + runner}))
    value, problem = load_json(bench.call(tried, host(), export, *arguments), "what the tests answered")
    if problem:
        return [Diagnostic("", 0, problem)]
    count, told = _unpacked(candidate.source.world, value)
    paths = candidate.paths
    found = [as_diagnostic({"path": paths.get(str(each.get("module")), ""), "line": each.get("line"), "message": _words(each)})
             for each in told if isinstance(each, dict)]
    return found or ([] if count else [Diagnostic(paths[tests[0]], 0, f"there is no function {PREFIX}* here; remove the module")])


def _unpacked(world: str, value: object) -> tuple[int, list[object]]:
    if world == "gateway" and isinstance(value, dict):
        value, _ = load_json(str(value.get("text", "")), "what the tests answered")
    if world == "agent" and isinstance(value, dict):
        value = [value.get("count"), value.get("told")]
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int) and isinstance(value[1], list):
        return value[0], value[1]
    return 0, [{"words": "the tests answered something else than their outcome"}]


def _words(each: dict[str, object]) -> str:
    where = f"{each['test']}: " if each.get("test") else ""
    words = str(each.get("words") or "")
    kind = str(each.get("kind") or "")
    return f"{where}{kind}{': ' if kind and words else ''}{words}"[:600]
