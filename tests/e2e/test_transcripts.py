"""Earlier conversations through a whole gateway: found by words, read in pages, of this root alone, and not over a bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import Refused, UsageError
from thetis_kernel.gateway.transcripts import MAX_PAGE_CHARS, Transcripts
from thetis_kernel.protocol.events import Assistant, ToolResult, User
from thetis_kernel.protocol.transcripts import ListTranscripts, ReadTranscript, SearchTranscripts

from tests.support.gateways import Opened, gateway

runtimes = pytest.mark.runtimes


async def said(g: Opened, session: str, words: str) -> dict[str, Any]:
    """What the last tool answered in a turn with these words."""
    await g.client.submit(session, words)
    await g.client.wait_idle(session)
    found = [body for body in await g.log(session) if isinstance(body, ToolResult)][-1]
    assert found.outcome == "ok", found.content
    table: dict[str, Any] = msgspec.json.decode(found.content)
    return table


@runtimes
async def test_an_agent_finds_and_reads_what_was_said_before(tmp_path: Path) -> None:
    async with gateway(tmp_path) as g:
        first = await g.start("remember owner: Lovelace")
        await g.client.wait_idle(first)
        second = (await g.client.create(origin="tui")).id
        [hit, *_] = (await said(g, second, "look for Lovelace in earlier conversations"))["hits"]
        assert first.startswith(hit["id"])
        page = await said(g, second, f"read conversation {hit['id']}")
        assert [entry["text"] for entry in page["entries"] if entry["kind"] == "user"] == ["remember owner: Lovelace"]
        assert page["next"] == 0


async def test_pages_go_on_where_they_ended_and_no_kind_of_tool_work_hides_what_was_said(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as g:
        earlier = (await g.client.create(origin="tui")).id
        me = (await g.client.create(origin="tui")).id
        log, asks = g.gateway.log, Transcripts(g.gateway.log)
        for number in range(30):
            await log.append(earlier, User(text=f"question {number} about needles " + "x" * 2000))
            await log.append(earlier, ToolResult(call=f"c{number}", outcome="ok", content="needles in a haystack"))
            await log.append(earlier, Assistant(blocks=[{"type": "text", "text": f"answer {number}"}]))
        await log.append(me, User(text="needles are mine"))

        hits = await asks.search(me, SearchTranscripts(query="needles", limit=5))
        assert [hit.kind for hit in hits.hits] == ["user"] * 5 and hits.more
        assert all(earlier.startswith(hit.id) for hit in hits.hits)
        tools = await asks.search(me, SearchTranscripts(query="haystack", tools=True))
        assert {hit.kind for hit in tools.hits} == {"tool-result"}
        assert [hit.line for hit in (await asks.search(me, SearchTranscripts(query="needles", conversation="this"))).hits] == [
            "needles are mine"]

        seen: list[str] = []
        at = 1
        while at:
            page = await asks.read(me, ReadTranscript(conversation=earlier[:8], from_seq=at, limit=200, chars=8000))
            assert sum(len(entry.text) for entry in page.entries) <= MAX_PAGE_CHARS or len(page.entries) == 1
            seen += [entry.text for entry in page.entries if entry.kind == "assistant"]
            assert page.next == 0 or page.next > at
            at = page.next
        assert seen == [f"answer {number}" for number in range(30)]
        [entry, *_] = (await asks.read(me, ReadTranscript(conversation=earlier, from_seq=2, limit=1, chars=40))).entries
        assert (entry.seq, len(entry.text) <= 40, entry.more > 1900) == (2, True, True)


async def test_a_conversation_other_people_write_into_reads_only_itself(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as g:
        mine = (await g.client.create(origin="tui")).id
        theirs = (await g.gateway.conversations.create("discord", "chat", "")).id
        await g.gateway.log.append(mine, User(text="private words"))
        await g.gateway.log.append(theirs, User(text="public words"))
        asks = Transcripts(g.gateway.log)
        with pytest.raises(Refused):
            await asks.listing(theirs, ListTranscripts())
        with pytest.raises(Refused):
            await asks.search(theirs, SearchTranscripts(query="words"))
        with pytest.raises(Refused):
            await asks.read(theirs, ReadTranscript(conversation=mine))
        assert len((await asks.read(theirs, ReadTranscript(conversation="this"))).entries) == 1
        with pytest.raises(UsageError):
            await asks.read(mine, ReadTranscript(conversation="ffffffff"))


async def test_whatever_is_asked_the_answer_is_bounded(tmp_path: Path) -> None:
    async with gateway(tmp_path, warm=False) as g:
        me = (await g.client.create(origin="tui")).id
        asks = Transcripts(g.gateway.log)
        for number in range(12):
            await g.gateway.log.append(me, User(text=f"word{number} " + "x" * 9000))
        for query in ("", "word", '"', "word* OR", "NEAR(word", "\x00", "\u202e", "x" * 5000, "word " * 200):
            for number in (-5, 0, 1, 10**6):
                found = await asks.search(me, SearchTranscripts(query=query, limit=number, conversation="this"))
                assert len(found.hits) <= 100
                page = await asks.read(me, ReadTranscript(conversation="this", from_seq=number, limit=number, chars=number))
                assert sum(len(entry.text) for entry in page.entries) <= MAX_PAGE_CHARS
