"""Conversations the fake gateway plays: for pictures, for trying the screen by hand, for tests of whole scenes."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from tests.support.fake_gateway import FakeGateway, FakeTurn

G = TypeVar("G", bound=FakeGateway)

PATCH = """\
diff --git a/engine/parser.py b/engine/parser.py
--- a/engine/parser.py
+++ b/engine/parser.py
@@ -41,7 +41,9 @@ def parse(text: str) -> Tree:
     stack: list[Node] = []
     for token in tokens(text):
         if token.kind == "open":
-            stack.append(Node(token))
+            stack.append(Node(token, depth=len(stack)))
         elif token.kind == "close":
-            stack.pop()
+            if not stack:
+                raise ParseError(f"unexpected {token.text!r}", token.line)
+            stack.pop()
     return Tree(stack)
"""
ANSWER = """\
The parser popped from an **empty stack** when a closing bracket came first. I made three changes:

1. `parse` raises `ParseError` with the line instead of failing in `list.pop`
2. `Node` keeps its depth, which the message needs
3. a test covers `")("`

```python
def test_closing_first() -> None:
    with pytest.raises(ParseError, match="unexpected"):
        parse(")(")
```

| suite | before | after |
|:--|--:|--:|
| unit | 41 failed | 0 failed |
| e2e | 2 failed | 0 failed |

> The old message pointed at `list.pop`; the new one names the *line in your file*.
"""
OUTPUT = "\n".join([*(f"tests/unit/test_{n}.py::test_case PASSED" for n in range(16)), "", "41 passed in 0.52s"])


async def fix_parser(turn: FakeTurn, pace: float = 0.0) -> None:
    """Thinks, reads, edits, runs the tests, answers."""
    turn.pause = pace
    await turn.say("The failure is in `stack.pop()`. I should look at the parser and its tests first.", "thinking")
    await turn.say("I'll look at the parser first.")
    turn.reply(calls=("read", "search"))
    one, two = turn.call("read", path="engine/parser.py"), turn.call("search", pattern="ParseError", path="tests")
    await asyncio.sleep(pace * 20)
    source = "class ParseError(Exception):\n    pass\n\n\ndef parse(text: str) -> Tree:\n    ...\n"
    turn.result(one, source * 6, title="36 lines", language="python", folded=True)
    turn.result(two, "tests/unit/test_parser.py:12: from engine import ParseError", title="1 match", folded=True)
    await turn.say("The stack is popped without looking. Changing that:")
    turn.reply(calls=("edit", "run"))
    edit = turn.call("edit", True, path="engine/parser.py", diff=PATCH)
    turn.result(edit, "", title="2 places")
    run = turn.call("run", True, command="make test")
    for line in OUTPUT.splitlines(keepends=True):
        turn.delta("output", line, run)
        await asyncio.sleep(pace * 4)
    turn.result(run, OUTPUT, duration_ms=2400, exit=0)
    await turn.say(ANSWER)
    turn.reply(tokens=412)


def played(gateway: FakeGateway, session: str, text: str) -> None:
    """The whole of `fix_parser` as history."""
    from thetis_kernel.protocol import events as e

    gateway.store(session, e.User(text))
    turn = gateway.turns[session] = FakeTurn(gateway, session, text)
    script = fix_parser(turn)
    _finish_now(script)
    turn.finish()


def _finish_now(script: object) -> None:
    """Run a script that never really waits to its end, synchronously."""
    try:
        while True:
            script.send(None)  # type: ignore[attr-defined]
    except StopIteration:
        return


def furnished(**changes: object) -> FakeGateway:
    """A gateway with some conversations in all states."""
    return filled(FakeGateway(**changes))


def filled(gateway: G) -> G:
    """`gateway` with them."""
    for title, fields in (
        ("Rename the configuration keys", {"branch": "conv/81bd0c2e"}),
        ("Port the build to hatchling and drop setup.py", {"branch": "conv/2c07aa91", "state": "interrupted"}),
        ("日本語のドキュメントを追加する 🚀", {"branch": "conv/7f31d020"}),
        ("Why is start-up slow on cold caches?", {"branch": "conv/b1946ac9", "state": "running"}),
    ):
        gateway.make(title, **fields)
    return gateway
