"""What fills a window and what the cache did, folded from events; the page that shows it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.protocol import events as e

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen
from thetis_tui.context import KEPT, PROMPT, TOOLS, fold, shares


def log(*bodies: e.Body, minutes: int = 1) -> list[e.Event]:
    return [e.Event("s", n, str(n), n * minutes * 60_000, e.kind_of(b), 1, e.encode_body(b), "") for n, b in enumerate(bodies, 1)]


def asked(read: int, written: int, fresh: int, model: str = "m", tools: tuple[int, ...] = (5, 100, 5, 100)) -> e.Assistant:
    usage = e.Usage(input=fresh, output=5, cache_read=read, cache_write=written)
    return e.Assistant([{"type": "text", "text": "abc"}], model, usage=usage, tools=list(tools))


def test_parts_are_counted_and_a_summary_stands_for_what_was_before() -> None:
    whole = fold(log(e.User("four"), asked(0, 10, 1), e.ToolResult("c", "ok", "x" * 50, {})))
    assert whole.parts == {"what you said": 4, "replies": 3, "results of tools": 50}
    after = fold(log(e.User("four"), e.Compaction([(1, 1)], "short"), e.User("ab")))
    assert after.parts == {"summary of earlier parts": 5, "what you said": 2}


def test_what_broke_the_cache_is_named() -> None:
    def broke(*bodies: e.Body, minutes: int = 1) -> list[str]:
        return [request.broke for request in fold(log(*bodies, minutes=minutes)).requests]

    assert broke(asked(0, 100, 1), asked(100, 20, 1)) == ["", ""]
    assert broke(asked(0, 100, 1), asked(0, 120, 1, model="other")) == ["", "another model"]
    assert broke(asked(0, 100, 1), asked(0, 120, 1, tools=(6, 120, 6, 120))) == ["", "other tools were offered"]
    assert broke(asked(0, 100, 1), asked(0, 120, 1), minutes=9) == ["", "a pause of more than five minutes"]
    assert broke(asked(0, 100, 1), e.Compaction([(1, 1)], "s"), asked(0, 20, 1)) == ["", "the conversation was summed up"]
    assert broke(asked(0, 100, 1), asked(0, 120, 1)) == ["", "the beginning of the request changed"]


def test_parts_add_up_to_what_the_provider_counted() -> None:
    request = asked(0, 5_000, 5_000, tools=(23, 12_000, 60, 30_000))
    parts = dict(shares(fold(log(e.User("x" * 4_000), request, e.User("y" * 9_000)))))
    assert parts == {"what you said": 1_000, TOOLS: 3_000, PROMPT: 6_000}
    assert shares(fold([])) == []


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=4), st.integers(1, 10**6), st.integers(0, 10**6))
def test_an_estimate_that_was_high_is_made_smaller_and_a_prompt_remains(sizes: list[int], prompt: int, tools: int) -> None:
    said = [e.ToolResult("c", "ok", "x" * min(size, 50_000), {}) for size in sizes]
    parts = shares(fold(log(*said, asked(0, 0, prompt, tools=(1, tools, 1, tools)))))
    assert sum(size for _, size in parts) == prompt and all(size > 0 for _, size in parts)
    assert dict(parts).get(PROMPT, 0) >= prompt // 20


def test_only_the_newest_requests_are_kept() -> None:
    requests = fold(log(*[asked(n, 1, 1) for n in range(40)])).requests
    assert len(requests) == KEPT and requests[-1].seq == 40


async def test_the_page_shows_the_window_its_parts_and_the_cache() -> None:
    gateway = FakeGateway()
    session = gateway.make("One", branch="conv/0a0b0c0d")
    gateway.store(session, e.User("question " * 50))
    gateway.store(session, asked(0, 48_000, 2_000))
    gateway.store(session, asked(0, 49_000, 1_000, model="other"))
    async with screen(gateway, conversation=session, size=(110, 34)) as s:
        await s.pilot.press("f10")
        await s.until(lambda: "50 % of 100k tokens" in s.text() and "50k free" in s.text(), "the meter")
        assert "what you said" in s.text() and "system prompt and rules" in s.text() and "5 tools" in s.text()
        assert "written 49k" in s.text() and "lost: another model" in s.text()
        await s.pilot.press("escape")
        assert s.app.screen is s.desk
