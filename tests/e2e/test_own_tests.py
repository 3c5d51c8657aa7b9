"""A guest's own tests are part of the gate: in its world, with a stand-in host, with file and line of what fails."""

from __future__ import annotations

import msgspec
import pytest
from thetis_kernel.protocol.gate import GuestSource

from tests.e2e.gates import failing, judged
from tests.unit.forge.guests import GOOD, TOOL_MAIN, good, tool

pytestmark = pytest.mark.runtimes

TWICE = TOOL_MAIN + "\ndef twice(n: int) -> int:\n    return n * 2\n"


def with_test(source: GuestSource, text: str, name: str = "test_main") -> GuestSource:
    return msgspec.structs.replace(source, modules={**source.modules, name: text})


@pytest.mark.parametrize("aspect", GOOD)
async def test_tests_that_pass_pass_in_every_world(aspect: str) -> None:
    verdict = await judged(with_test(good(aspect), "import main\n\ndef test_it():\n    assert main.describe()\n"))
    assert verdict.ok, verdict.steps[-1]
    plain = await judged(good(aspect))
    assert verdict.steps[-1].step == "tests" and "test_it" not in plain.bundle


@pytest.mark.parametrize("aspect", GOOD)
async def test_a_test_that_fails_is_named_with_its_line(aspect: str) -> None:
    text = "import main\n\ndef test_good():\n    assert main\n\ndef test_bad():\n    x = 1\n    assert x == 2, f'{x} is not 2'\n"
    verdict = await judged(with_test(good(aspect), text))
    assert failing(verdict) == ("tests", "test_main.py", 8, "test_bad: AssertionError: 1 is not 2")


async def test_a_tests_own_functions_and_the_host_are_there() -> None:
    text = (
        "from thetis_guest import sandbox\nimport main\n\ndef test_invoke():\n    assert main.invoke('s', {}, {}) == 'ok'\n"
        "    assert main.twice(2) == 4\n\ndef test_host():\n    assert 'Ledger' in sandbox.read_file('README.md')\n"
    )
    assert (await judged(with_test(tool(TWICE), text))).ok


@pytest.mark.parametrize(("text", "words"), [
    ("import nowhere_at_all\n", "nowhere_at_all"),
    ("def helper():\n    pass\n", "no function test_*"),
    ("def test_exit():\n    raise SystemExit(3)\n", "test_exit: SystemExit: 3"),
    ("def test_odd():\n    raise type('Odd', (BaseException,), {'__str__': lambda s: 'odd'})()\n", "test_odd: Odd: odd"),
    ("def test_args(x):\n    pass\n", "test_args: TypeError"),
])  # fmt: skip
async def test_what_is_no_passing_test_is_said(text: str, words: str) -> None:
    verdict = await judged(with_test(tool(TWICE), text))
    step, _, _, message = failing(verdict)
    assert words in message and step in ("tests", "imports", "ty")


@pytest.mark.parametrize("text", [
    "def test_loop():\n    while True:\n        pass\n",
    "def test_memory():\n    x = []\n    while True:\n        x.append(bytearray(1 << 20))\n",
    "def test_lies():\n    import main\n    setattr(main, 'invoke', None)\n    main.__dict__.clear()\n    assert False\n",
    "import os\ndef test_dies():\n    os._exit(0)\n",
])  # fmt: skip
async def test_hostile_tests_do_not_pass(text: str) -> None:
    verdict = await judged(with_test(tool(TWICE), text))
    assert not verdict.ok and verdict.steps[-1].step in ("ty", "tests", "gate")
