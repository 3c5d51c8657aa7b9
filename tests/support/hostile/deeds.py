"""Guests that are wrong when they run: exports, traps, what does not end, what they answer, their own tests."""

from __future__ import annotations

from tests.support.hostile.base import (
    GOOD,
    GOOD_DESCRIBE,
    GOOD_INVOKE,
    HEAD,
    Cases,
    Hostile,
    describing,
    invoking,
    manifest,
    told,
    tool,
)


def exports() -> Cases:
    yield "nothing at all", tool("", "exports", line=False)
    yield "no invoke", tool(HEAD + GOOD_DESCRIBE, "exports", line=False)
    yield "no describe", tool(HEAD + GOOD_INVOKE, "exports", line=False)
    yield "async", tool(HEAD + "async " + GOOD_DESCRIBE + GOOD_INVOKE, "exports")
    yield "a class", tool(HEAD + "class describe: ...\n" + GOOD_INVOKE, "exports")
    yield (
        "too many parameters",
        tool(HEAD + GOOD_DESCRIBE + GOOD_INVOKE.replace("session_id: str", "session_id: str, x: int"), "exports"),
    )
    yield (
        "too few parameters",
        tool(HEAD + GOOD_DESCRIBE + "def invoke(session_id: str) -> object:\n    return 1\n", "exports"),
    )
    yield (
        "required keyword",
        tool(
            HEAD + GOOD_DESCRIBE + "def invoke(a: str, b: object, c: object, *, d: int) -> object:\n    return d\n",
            "exports",
        ),
    )
    yield (
        "only in a function",
        tool(HEAD + "def f() -> None:\n    def describe() -> None: ...\n" + GOOD_INVOKE, "exports", line=False),
    )
    yield "a value", tool(HEAD + "describe = 3\n" + GOOD_INVOKE, "smoke exports", place="", line=False)
    for aspect, world in (("agent", "agent"), ("gateway/tui", "gateway")):
        name = "agent_core" if world == "agent" else "gateway_tui"
        files: dict[str, str | bytes] = {"guest.toml": manifest(name, world), "main.py": GOOD}
        yield f"a tool as {world}", Hostile(files, ("exports",), "main.py", aspect=aspect)
        yield (
            f"another world than {world}",
            Hostile({"guest.toml": manifest(name), "main.py": GOOD}, ("manifest",), "guest.toml", True, aspect=aspect),
        )


def traps() -> Cases:
    bodies = {
        "division": "raise ZeroDivisionError", "exit": "raise SystemExit(0)", "interrupt": "raise KeyboardInterrupt",
        "generator exit": "raise GeneratorExit", "recursion": "return describe()", "name": "raise NameError('x')",
        "odd exception": "raise type('Odd', (BaseException,), {'__str__': lambda s: 1 / 0})()",
        "long assertion": "assert not 'this', 'x' * 1_000_000",
    }  # fmt: skip
    for name, body in bodies.items():
        placed = name not in ("odd exception", "long assertion")  # their own words leave no room for the traceback
        yield (
            f"{name} in describe",
            tool(HEAD + describing(body) + GOOD_INVOKE, "smoke ty", "main.py" if placed else "", placed),
        )
    for name, body in {"hard exit": "import os; os._exit(0)", "abort": "import os; os.abort()",
                       "memory": "raise ValueError('x' * (1 << 30))",
                       "memory in pieces": "held = []\n    while True: held.append(bytearray(1 << 20))"}.items():  # fmt: skip
        yield f"{name} in describe", tool(HEAD + describing(body) + GOOD_INVOKE, "smoke ty", place="", line=False)
        yield f"{name} in invoke", tool(HEAD + GOOD_DESCRIBE + invoking(body), "smoke", place="", line=False)
        yield f"{name} at import", tool(GOOD + body.replace("\n    ", "\n") + "\n", "smoke", place="", line=False)
    yield "raises at import", tool(GOOD + "raise ValueError\n", "smoke")
    yield "imports itself raising", tool(GOOD + "import main\nraise RuntimeError(main)\n", "smoke")
    yield "wrong type", tool(HEAD + GOOD_DESCRIBE + invoking("return object()"), "smoke", place="", line=False)
    yield "a set is no JSON", tool(HEAD + GOOD_DESCRIBE + invoking("return {1, 2}"), "smoke", place="", line=False)
    yield (
        "changes the shim",
        tool(GOOD + "import sys\nsys.modules['tool_shim'].__dict__.clear()\n", "smoke", place="", line=False),
    )
    yield (
        "empties builtins",
        tool(GOOD + "import builtins\nbuiltins.__dict__.clear()\n", "smoke ruff", place="", line=False),
    )


def endless() -> Cases:
    for name, body in {
        "loop": "while True: pass", "sleep": "import time; time.sleep(10**6)", "big number": "str(9 ** 9 ** 8)",
        "regular expression": "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
        "caught for ever": "while True:\n        try:\n            x = 1\n        except BaseException:\n            pass",
    }.items():  # fmt: skip
        main = HEAD + describing(body + "\n    " + told()) + GOOD_INVOKE
        yield f"{name} in describe", tool(main, "smoke", place="", line=False, slow=True)
    yield "loop at import", tool(GOOD + "while True: pass\n", "smoke", place="", line=False, slow=True)
    yield (
        "loop in invoke",
        tool(HEAD + GOOD_DESCRIBE + invoking("while True: pass"), "smoke", place="", line=False, slow=True),
    )
    for name, body in {"loop": "    while True: pass\n", "sleep": "    import time; time.sleep(10**6)\n",
                       "memory": "    x = []\n    while True: x.append(bytearray(1 << 20))\n"}.items():  # fmt: skip
        yield (
            f"{name} in a test",
            tool(
                GOOD,
                "tests",
                place="",
                line=False,
                slow=name != "memory",
                extra={"test_main.py": "def test_it() -> None:\n" + body},
            ),
        )
    yield (
        "print flood",
        tool(
            HEAD + describing("print('x' * 50_000_000)\n    raise ValueError") + GOOD_INVOKE,
            "smoke",
            place="",
            line=False,
        ),
    )


def schemas() -> Cases:
    for name, schema in {
        "no object": '{"type": "string"}', "a list": "'[]'", "no JSON": "'{'", "deep text": "'[' * 5000 + ']' * 5000",
        "wide": "{'type': 'object', 'properties': {str(n): {} for n in range(9999)}}",
        "huge": "{'type': 'object', 'description': 'x' * 9_000_000}",
        "NaN": "{'type': 'object', 'minProperties': float('nan')}",
        "reference out": "{'type': 'object', '$ref': 'https://example.com/x'}",
        "reference to itself": "{'type': 'object', '$defs': {'a': {'$ref': '#/$defs/a'}}, '$ref': '#/$defs/a'}",
        "reference to nothing": "{'type': 'object', '$ref': '#/$defs/b'}",
        "odd type": "{'type': 'object', 'properties': {'x': {'type': 'any'}}}",
        "properties is a list": "{'type': 'object', 'properties': []}",
        "required is a number": "{'type': 'object', 'required': 3}",
        "required unknown": "{'type': 'object', 'properties': {}, 'required': ['x']}",
        "any of nothing": "{'type': 'object', 'properties': {'x': {'anyOf': []}}}",
        "any of thousands": "{'type': 'object', 'properties': {'x': {'anyOf': [{'type': 'string'}] * 5000}}}",
        "a surrogate": "{'type': 'object', 'description': '\\ud800'}",
    }.items():  # fmt: skip
        yield name, tool(HEAD + describing(told(schema)) + GOOD_INVOKE, "smoke ty", place="", line=False)
    nested = ("s: dict[str, object] = {'type': 'object'}\n    "
              "for _ in range(900): s = {'type': 'object', 'properties': {'x': s}}\n    ")  # fmt: skip
    yield "900 deep", tool(HEAD + describing(nested + told("s")) + GOOD_INVOKE, "smoke", line=False)
    ring = "s: dict[str, object] = {'type': 'object'}\n    s['properties'] = {'x': s}\n    "
    yield "a ring", tool(HEAD + describing(ring + told("s")) + GOOD_INVOKE, "smoke", place="", line=False)


def failing_tests() -> Cases:
    for name, text in {
        "fails": "def test_it() -> None:\n    assert 1 == 2\n", "raises": "def test_it() -> None:\n    raise OSError\n",
        "exits": "def test_it() -> None:\n    raise SystemExit(0)\n", "at import": "raise ValueError\n",
        "argument": "def test_it(x: int) -> None: ...\n",
    }.items():  # fmt: skip
        yield name, tool(GOOD, "tests", "test_main.py", name not in ("argument",), extra={"test_main.py": text})
    yield "none", tool(GOOD, "tests", "test_main.py", False, extra={"test_main.py": "x = 1\n"})
    for name, text in {
        "dies": "import os\ndef test_it() -> None:\n    os._exit(0)\n",
        "forges its outcome": "import json\nprint(json.dumps([1, []]))\ndef test_it() -> None:\n    raise SystemExit\n",
        "replaces the runner": "import main\nmain.__dict__.clear()\ndef test_it() -> None:\n    assert False\n",
    }.items():  # fmt: skip
        yield name, tool(GOOD, "tests", "", False, extra={"test_main.py": text})


def answers() -> Cases:
    yield "surrogate in the name", tool(HEAD + describing(told(name="'\\ud800'")) + GOOD_INVOKE, "smoke", "", False)
    yield "no description", tool(HEAD + describing(told(description="''")) + GOOD_INVOKE, "smoke", "", False)
    yield (
        "long description",
        tool(HEAD + describing(told(description="'x' * 300_000")) + GOOD_INVOKE, "smoke", "", False),
    )
    deep = "x: object = 1\n    for _ in range(100_000): x = [x]\n    return x"
    yield "100,000 deep", tool(HEAD + GOOD_DESCRIBE + invoking(deep), "smoke", "", False)
    ring = "x: list[object] = []\n    x.append(x)\n    return x"
    yield "a ring", tool(HEAD + GOOD_DESCRIBE + invoking(ring), "smoke", "", False)
    yield "40 MiB", tool(HEAD + GOOD_DESCRIBE + invoking("return 'x' * (40 << 20)"), "smoke", "", False)
    yield "a digit too many", tool(HEAD + GOOD_DESCRIBE + invoking("return 10 ** 5000"), "smoke", "", False)
