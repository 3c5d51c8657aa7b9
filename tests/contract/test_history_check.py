"""The worker's check of a history, through the real agent world: what a wrong agent does is found and told, never raised."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import cache, partial
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import GuestError, SessionDamaged
from thetis_kernel.hosts.worker.checking import check_history
from thetis_kernel.hosts.worker.runtimes import Runtimes
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.events import Assistant, Nudge, TurnStarted, Usage, User
from thetis_kernel.protocol.worker import CheckHistory, GuestBundle, HistoryChecked, LogPage, ReadLog
from thetis_kernel.store import scrub
from thetis_kernel.wasm.call import GuestCall
from thetis_kernel.wasm.compiler import compile_bundle
from thetis_kernel.wasm.limits import AGENT_LIMITS
from thetis_kernel.wasm.runtimes import seal

from tests.support.logs import events, reply
from tests.support.native_guest import native_guest
from tests.support.ordeal import Imports, as_events, lived
from tests.support.runtimes import DIRECTORY, bundle, runtime

pytestmark = pytest.mark.runtimes
LOG = events(User(text="first"), TurnStarted("t1", "agent", "m1"), Nudge(text="and this"), reply("words", "call_a"))
ASKING = """
import json
from thetis_guest import llm, session
def handle_turn(turn):
    session.read(0, 1000000)
    MESSAGES = [{"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "text", "text": "and this"}]}]
    %s
    llm.complete({"system": "", "messages": MESSAGES})
    return {"stopped_by": "stop", "detail": "", "iterations": 0}
"""


class Channel:
    """The gateway's end: a log, and nothing may be asked of it but to read it."""

    def __init__(self, log: list[Any] | None = None) -> None:
        self._log = LOG if log is None else log

    def call(self, ask: Any, **options: Any) -> Any:
        if not isinstance(ask, ReadLog):
            raise AssertionError(f"a check asked for {ask}")
        rest = [event for event in self._log if event.seq > ask.after]
        return LogPage(events=rest[:2], end=len(rest) <= 2)


class Damaged(Channel):
    def call(self, ask: Any, **options: Any) -> Any:
        raise SessionDamaged("the conversation is damaged from event 3 on")


@pytest.fixture(scope="module")
def fds() -> Iterator[dict[str, int]]:
    runtime("agent")
    fd = seal("agent", directory=DIRECTORY)
    yield {"runtime-agent": fd}
    os.close(fd)


def checked(fds: dict[str, int], code: str, channel: Channel | None = None) -> HistoryChecked:
    return check_history(_ask(code), channel or Channel(), Runtimes(fds))  # type: ignore[arg-type]


def _ask(code: str) -> CheckHistory:
    turn = {"model": {"id": "m1"}, "mode": {"id": "agent", "read_only": False}}
    return CheckHistory(turn="t2", turn_json=json.dumps(turn).encode(), agent=GuestBundle("agent", "", code))


@cache
def shipped() -> str:
    agent = builtin_root() / "aspects" / "agent_core"
    return compile_bundle(runtime("compiler"), {path.stem: path.read_text() for path in agent.glob("*.py")})


def test_the_shipped_agents_request_is_valid_and_nothing_else_is_asked(fds: dict[str, int]) -> None:
    found = checked(fds, shipped())
    assert found.findings == [] and found.messages == 3 and found.said == 2 and found.size > 100


def test_the_shipped_agent_asks_even_where_a_turn_ran_into_its_limits(fds: dict[str, int]) -> None:
    """The turn that is looked at is a new one: what the last one used up does not count."""
    turn = [TurnStarted("t1", "agent", "m1"), *[reply("cut", turn="t1") for _ in range(80)]]
    assert checked(fds, shipped(), Channel(events(User(text="go"), *turn))).findings == []


def test_a_conversation_that_is_compacted_first_is_judged_by_what_is_asked_after_it(fds: dict[str, int]) -> None:
    """A summary is not the conversation's request, and none is asked for real."""
    said = msgspec.structs.replace(reply("words " * 4_000, turn="t1"), usage=Usage())  # nobody counted it: by its length
    long = [*[said] * 40, User(text="and now this")]
    found = checked(fds, shipped(), Channel(events(User(text="go"), TurnStarted("t1", "agent", "m1"), *long)))
    assert found.findings == [] and found.said == 2
    assert found.size < 500_000, "of 960,000 characters; what it sheds is not in the request"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("MESSAGES = []", "no messages"),
        ("MESSAGES[0]['content'].reverse()", "word for word and in order: 'and this'"),
        ("MESSAGES[0]['content'][0]['text'] = 'First'", "in order: 'first'"),
        ("MESSAGES.append({'role': 'assistant', 'content': [{'type': 'text', 'text': 'x'}]})", "last message"),
        ("import random; MESSAGES[0]['content'][0]['text'] = f'first {random.random()}'", "is not the same"),
        ("return {'stopped_by': 'limit', 'detail': 'enough', 'iterations': 0}", "without asking the model"),
        ("raise ValueError('no')", "ValueError"),
        ("MESSAGES = 3", "no messages"),
        ("llm.complete({'messages': [], 'purpose': 'summary'})", "no messages"),
    ],
)
def test_a_wrong_agent_is_found_out(fds: dict[str, int], line: str, says: str) -> None:
    findings = checked(fds, bundle(ASKING % line)).findings
    assert findings and says in " ".join(findings)


def test_a_body_as_deep_as_the_log_allows_can_be_read_and_sent(fds: dict[str, int]) -> None:
    """One level more, and every turn of that conversation would fail at its first look at the log."""
    deep: Any = "bottom"
    for _ in range(200):
        deep = {"in": [deep]}
    called = Assistant(blocks=[{"type": "tool_use", "id": "call_a", "name": "edit", "input": deep}], model="m1")
    stored = [scrub.safe(body)[0] for body in (User(text="go"), called)]
    assert checked(fds, shipped(), Channel(events(*stored))).findings == []


@pytest.fixture
def native() -> Iterator[SimpleNamespace]:
    """The agent's modules in this interpreter."""
    agent = builtin_root() / "aspects" / "agent_core"
    with native_guest(agent):
        yield SimpleNamespace(**{path.stem: sys.modules[path.stem] for path in agent.glob("*.py")})


def in_wasm(code: str, turn: dict[str, Any], imports: Imports) -> dict[str, Any]:
    """A turn in the real guest. What an import raises does not cross its boundary, so it is kept and raised here."""
    raised: list[BaseException] = []

    def kept(function: Any) -> Any:
        def call(*args: Any) -> Any:
            try:
                return function(*args)
            except BaseException as error:
                raised.append(error)
                raise

        return call

    guarded = {name: kept(function) for name, function in imports.items()}
    try:
        answer = GuestCall(runtime("agent"), code, guarded, AGENT_LIMITS).run("handle-turn", json.dumps(turn))
    except GuestError:
        raise raised[0] from None
    if raised:
        raise raised[0]
    return json.loads(answer)  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(12))
def test_the_guest_lives_generated_conversations_as_the_native_agent_does(
    fds: dict[str, int], native: SimpleNamespace, seed: int
) -> None:
    """Each of its requests is judged, and compared with the native projection of the same log."""
    code = shipped()
    ordeal = lived(native, Random(seed), partial(in_wasm, code))
    assert checked(fds, code, Channel(as_events(ordeal))).findings == []
    assert [sent for _, sent in ordeal.requests] == [sent for _, sent in lived(native, Random(seed)).requests]


def test_what_an_agent_writes_and_runs_stays_here(fds: dict[str, int]) -> None:
    line = (
        "session.append('system-note', {'text': 'x'}); "
        "assert session.read(4, 1000000)['events'][-1]['body'] == {'text': 'x'}"
    )
    assert checked(fds, bundle(ASKING % line)).findings == []
    line = "from thetis_guest import tooling; tooling.invoke_many([])"
    assert "Nothing is run" in " ".join(checked(fds, bundle(ASKING % line)).findings)


def test_a_log_that_cannot_be_read_is_a_finding(fds: dict[str, int]) -> None:
    assert "damaged from event 3" in " ".join(checked(fds, shipped(), Damaged()).findings)
