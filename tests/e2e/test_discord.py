"""The door in Discord with the real library, a fake Discord and a real gateway: words in, answers out, nothing lost between."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.connectors.discord import pages, pause
from thetis_kernel.connectors.discord.pause import Pause
from thetis_kernel.errors import RemoteError, UsageError
from thetis_kernel.protocol.asking import Given
from thetis_kernel.protocol.events import Answer, Nudge, SessionStarted, User

from tests.support.discord_bots import ADMIN, FRIEND, STRANGER, Bot, begin, bot, served
from tests.support.discord_server import CHANNEL, PRIVATE, THREAD
from tests.support.gateways import gateway
from tests.support.messages_server import MessagesServer, reply, text

pytestmark = pytest.mark.runtimes
LONG = "\n\n".join(f"{number}. " + " ".join(f"word{number}-{n}" for n in range(30)) for number in range(75))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same back-off, a hundred times faster."""
    monkeypatch.setattr(Pause.__init__, "__defaults__", (pause.FIRST_S / 100, pause.LONGEST_S / 100))


async def there(work: Any, *arguments: Any, **named: Any) -> Any:
    """Something of the fake Discord, beside this loop."""
    return await asyncio.to_thread(work, *arguments, **named)


async def answered(b: Bot, count: int = 1, channel: int = PRIVATE, seconds: float = 30) -> list[str]:
    """The bot's messages once `count` turns ended in its conversations and all of it is shown."""
    def over() -> bool:
        shown = b.server.shown(channel)
        talks = [talk for talk in b.connector.memory.all().values() if talk.channel == channel]
        return bool(shown) and len(shown) >= count and all(talk.shown and not talk.turn for talk in talks)

    await b.gateway.eventually(over, seconds)
    return list(b.server.shown(channel))


async def sessions(b: Bot) -> list[Any]:
    return await b.gateway.client.conversations()


async def test_words_are_answered_in_a_read_only_conversation_of_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bot(tmp_path, monkeypatch) as b:
        first = await there(b.server.say, FRIEND, "remember owner: Ada")
        assert "Ada" in "".join(await answered(b))
        (line,) = await sessions(b)
        log = await b.gateway.log(line.id)
        assert isinstance(log[0], SessionStarted) and (log[0].origin, log[0].mode, line.mode) == ("discord", "chat", "chat")
        assert b.server.messages[b.server.order[-1]]["message_reference"]["message_id"] == str(first)
        await there(b.server.say, FRIEND, "<@100> list .", channel=CHANNEL)
        assert "README.md" in "".join(await answered(b, channel=CHANNEL))
        assert len(await sessions(b)) == 2
        posted = [body for method, path, body in b.server.calls if method in ("POST", "PATCH") and "/messages" in path]
        assert posted and all(body["allowed_mentions"]["parse"] == [] for body in posted)


async def test_nothing_changes_the_mode_and_no_command_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bot(tmp_path, monkeypatch) as b:
        await there(b.server.say, FRIEND, "mode=agent create made.txt with Hello")
        await answered(b)
        (line,) = await sessions(b)
        for name, value in (("mode", "agent"), ("model", "agent"), ("new-mode", "agent"), ("status", "mode=agent")):
            await there(b.server.told, await there(b.server.command, FRIEND, name, value))
        for client in (b.gateway.client, await b.connector.client()):
            with pytest.raises(RemoteError, match="over a bridge"):
                await client.set(line.id, "mode", "agent")
        with pytest.raises(RemoteError, match="over a bridge"):
            await (await b.connector.client()).hand_over(line.id, "agent")
        assert (await b.gateway.client.conversation(line.id)).mode == "chat"
        registered = next(body for method, path, body in b.server.calls if path.endswith("/commands"))
        assert {one["name"] for one in registered} == {"new", "stop", "status", "model", "models", "pair", "whoami", "help"}
        assert all(one["integration_types"] == [0] and one["contexts"] == [0, 1] for one in registered)
        assert not list(tmp_path.rglob("made.txt"))


@pytest.mark.parametrize("size", [pytest.param(7, marks=pytest.mark.slow), 400])
async def test_an_answer_of_20000_characters_arrives_whole_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    assert len(LONG) > 20_000
    with MessagesServer() as model:
        model.say(reply(text(LONG), size=size))
        (tmp_path / "none.toml").write_text(f'[[providers]]\nname = "anthropic"\nbase_url = "{model.url}"\nkey = "env:OUR_KEY"\n')
        monkeypatch.setenv("OUR_KEY", "sk-key-of-this-test")
        async with bot(tmp_path, monkeypatch) as b:
            await there(b.server.say, FRIEND, "Tell me everything")
            shown = await answered(b, 11, seconds=60)
            assert all(len(one) <= 2000 for one in shown)
            assert re.findall(r"\S+", " ".join(shown)) == LONG.split()
            made = [body for method, path, body in b.server.calls if method == "POST" and path.endswith("/messages")]
            assert len(made) == len(shown) == len(pages.pages(LONG))


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("taken_up", "minutes"), [
    (True, 0), (False, 0), pytest.param(True, 1, marks=pytest.mark.slow), pytest.param(False, 1, marks=pytest.mark.slow)])
async def test_an_outage_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_up: bool, minutes: int
) -> None:
    """Discord is away while more is said, for a minute by the clock with the real back-off, or for no longer than it takes; the
    session is taken up again, or is not."""
    if minutes:
        monkeypatch.setattr(Pause.__init__, "__defaults__", (pause.FIRST_S, pause.LONGEST_S))
    async with bot(tmp_path, monkeypatch) as b:
        await there(b.server.say, FRIEND, "remember owner: Ada")
        await answered(b)
        b.server.refuse_resume = not taken_up
        await there(b.server.down)
        said = [await there(b.server.say, FRIEND, f"list . (number {n})", told=taken_up) for n in range(3)]
        in_channel = await there(b.server.say, FRIEND, "<@100> hello in here", channel=CHANNEL, told=taken_up)
        unheard = await there(b.server.say, STRANGER, "<@100> hello too", channel=CHANNEL, told=taken_up)
        assert unheard > in_channel > said[-1]
        await asyncio.sleep(60 * minutes)
        b.server.up()
        await answered(b, channel=CHANNEL, seconds=30 + 100 * minutes)
        await answered(b, 2)
        logs = [await b.gateway.log(line.id) for line in await sessions(b)]
        told = [body.text for log in logs for body in log if isinstance(body, (User, Nudge))]
        assert [words for words in told if "number" in words] == [f"list . (number {n})" for n in range(3)]
        assert told.count("hello in here") == 1 and not any("too" in words for words in told)
        assert (b.server.resumed > 0) == taken_up and b.server.identified == (1 if taken_up else 2)


@pytest.mark.slow
async def test_an_answer_written_while_discord_is_away_is_there_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THETIS_REHEARSAL_DELAY_MS", "0")
    async with bot(tmp_path, monkeypatch) as b:
        await there(b.server.say, FRIEND, "remember owner: Ada")
        await answered(b)
        before = list(b.server.shown())
        b.server.fail_next += [503] * 3
        b.server.lose_next = 2
        await there(b.server.say, FRIEND, "list .")
        after = await answered(b, len(before) + 1)
        assert after[: len(before)] == before and len(after) == len(before) + 1 and "README.md" in after[-1]


async def test_a_gateway_that_goes_away_loses_no_words_and_answers_once_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(monkeypatch) as server:
        async with gateway(tmp_path) as first:
            b = await begin(first, server, tmp_path / "memory.json")
            await there(server.say, FRIEND, "remember owner: Ada")
            await answered(b)
        await there(server.say, FRIEND, "recall owner")
        await there(server.say, FRIEND, "list .")
        async with gateway(tmp_path) as second:
            await second.eventually(lambda: "README.md" in "".join(server.shown()))
            await second.eventually(lambda: all(not talk.turn for talk in b.connector.memory.all().values()))
            (line,) = await second.client.conversations()
            told = [body.text for body in await second.log(line.id) if isinstance(body, (User, Nudge))]
            assert told == ["remember owner: Ada", "recall owner", "list ."]
            await b.close()


async def test_a_connector_that_was_killed_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(monkeypatch) as server:
        async with gateway(tmp_path) as opened:
            b = await begin(opened, server, tmp_path / "memory.json")
            await there(server.say, FRIEND, "remember owner: Ada")
            shown = await answered(b)
            await b.close()
            await there(server.say, FRIEND, "recall owner", told=False)  # while there is no connector
            await opened.client.submit((await opened.client.conversations())[0].id, "list .")  # and on a screen
            b = await begin(opened, server, tmp_path / "memory.json")
            await answered(b, len(shown) + 2)
            assert server.shown()[: len(shown)] == shown
            assert len(await opened.client.conversations()) == 1
            await b.close()


async def test_complaint_145_heartbeats_go_on_while_our_loop_stalls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(monkeypatch) as server:
        server.interval_ms = 50
        async with gateway(tmp_path) as opened:
            b = await begin(opened, server, tmp_path / "memory.json")
            await opened.eventually(lambda: len(server.heartbeats) >= 2)
            before = len(server.heartbeats)
            time.sleep(1.0)
            assert len(server.heartbeats) - before >= 5
            await there(server.say, FRIEND, "remember owner: Ada")
            await answered(b)
            await b.close()


async def test_questions_are_components_and_the_first_answer_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bot(tmp_path, monkeypatch) as b:
        await there(b.server.say, FRIEND, "ask me which colour: red, green or blue")

        def asked() -> Any:
            return next((m for m in b.server.messages.values() if m["components"]), None)

        form = await there(b.server.until, asked)
        select, button = (row["components"][0] for row in form["components"])
        assert [one["label"] for one in select["options"]] == ["red", "green", "blue"]
        foreign = await there(b.server.press, ADMIN, select["custom_id"], ["0"], channel=CHANNEL)
        assert "not of you" in await there(b.server.told, foreign)
        denied = await there(b.server.press, STRANGER, select["custom_id"], ["0"])
        assert "may not" in await there(b.server.told, denied)
        opened = await there(b.server.press, FRIEND, button["custom_id"])
        await there(b.server.until, lambda: any(token == opened and told["type"] == 9 for token, told in b.server.answers))
        await there(b.server.press, FRIEND, select["custom_id"], ["1"])
        late = await there(b.server.press, FRIEND, select["custom_id"], ["2"])
        (line,) = await sessions(b)
        await b.gateway.eventually(lambda: "green" in "".join(b.server.shown()))
        await answered(b, 3)
        assert re.search("answered already|not asked any more", await there(b.server.told, late))
        (given,) = [body for body in await b.gateway.log(line.id) if isinstance(body, Answer)]
        assert given.answers[0]["answer"] == "green"


async def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bot(tmp_path, monkeypatch) as b:
        async def command(who: int, name: str, value: str = "", channel: int = PRIVATE) -> str:
            return str(await there(b.server.told, await there(b.server.command, who, name, value, channel=channel)))

        assert "no conversation here" in await command(FRIEND, "status")
        assert str(STRANGER) in await command(STRANGER, "whoami") and "may not" in await command(STRANGER, "new")
        assert "read-only" in await command(STRANGER, "help")
        code = (await command(ADMIN, "pair")).partition(": ")[2][:6]
        assert "administrator" in await command(FRIEND, "pair") and "private" in await command(ADMIN, "pair", channel=CHANNEL)
        assert "not good" in await command(STRANGER, "pair", "BBBBBB") and "let in" in await command(STRANGER, "pair", code)
        await there(b.server.say, STRANGER, "<@100> remember owner: Ada", channel=THREAD)
        await answered(b, channel=THREAD)
        assert "read-only (mode chat)" in await command(STRANGER, "status", channel=THREAD)
        assert "rehearsal" in await command(STRANGER, "models", channel=THREAD)
        assert "no model" in await command(STRANGER, "model", "gpt", channel=THREAD)
        assert "Nothing runs" in await command(STRANGER, "stop", channel=THREAD)
        assert "another conversation" in await command(STRANGER, "new", channel=THREAD)
        await there(b.server.say, STRANGER, "<@100> recall owner", channel=THREAD)
        await b.gateway.eventually(lambda: len(b.server.shown(THREAD)) >= 2)
        await answered(b, 2, channel=THREAD)
        assert len(await sessions(b)) == 2


async def test_interactions_of_every_odd_kind_are_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Null contexts, no channel, group messages, foreign components, forms with holes."""
    async with bot(tmp_path, monkeypatch) as b:
        odd: list[dict[str, Any]] = [
            {"context": None}, {"channel": None, "channel_id": None}, {"channel": {"id": "9", "type": 3}}, {"data": None},
            {"data": {"custom_id": None}}, {"data": {"custom_id": "thetis:zz:w5"}}, {"user": None}, {"token": None}, {"id": None},
            {"type": 99}, {"data": {"custom_id": "thetis:0123456789abcdef:w99"}}, {"data": {"name": "status", "options": [None]}},
            {"data": {"custom_id": "thetis:0123456789abcdef:m", "components": [None, {"components": None}, {"components": [7]}]}}]
        for kind in (2, 3, 4, 5):
            for fields in odd:
                await there(b.server.interact, FRIEND, kind, {"custom_id": "x", "name": "status"}, forged=fields)
        await there(b.server.say, FRIEND, "remember owner: Ada")
        await answered(b)
        assert len(await sessions(b)) == 1


async def test_it_starts_only_in_a_mode_that_exists_and_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(monkeypatch) as server:
        (tmp_path / "none.toml").write_text("[modes.loose]\nread_only = false\n")
        async with gateway(tmp_path) as opened:
            for mode in ("agent", "ask", "loose", "nothing"):
                with pytest.raises(UsageError, match="nothing is opened to Discord"):
                    await begin(opened, server, tmp_path / "memory.json", mode=mode)
            assert server.calls == [] and await opened.client.conversations() == []


async def test_a_bridge_reaches_nothing_but_its_own(tmp_path: Path) -> None:
    from thetis_kernel.gateway.bridged import NAMED, OPEN
    from thetis_kernel.gateway.door import handlers
    from thetis_kernel.protocol import client as c

    async with gateway(tmp_path) as opened:
        own = (await opened.client.create(origin="headless", mode="chat")).id
        bridge = await opened.gateway.connect()
        await bridge.attend("bridge")
        theirs = (await bridge.create(origin="discord", mode="chat")).id
        for attempt in (bridge.submit(own, "hello"), bridge.read(own), bridge.stop(own), bridge.conversation(own),
                        bridge.subscribe(""), bridge.subscribe(own), bridge.conversations(), bridge.search("a"),
                        bridge.create(origin="headless", mode="agent"), bridge.set(theirs, "title", "x"),
                        bridge.submit(theirs, "x", with_changes=True), bridge.delete(theirs), bridge.fork(theirs),
                        bridge.attach("/etc/passwd"), bridge.consent(True), bridge.shutdown(), bridge.compact(theirs)):
            with pytest.raises(RemoteError, match="over a bridge"):
                await attempt
        with pytest.raises(RemoteError, match="read-only"):
            await bridge.create(origin="discord", mode="agent")
        assert (await bridge.conversation(theirs)).mode == "chat" and await bridge.questions(theirs) == []
        reached = {*OPEN, *NAMED, c.ChangeSetting, c.GetConversation, c.CreateConversation}
        assert reached < set(handlers(opened.gateway, lambda: None))  # type: ignore[arg-type,return-value]


async def test_of_two_answers_at_once_the_first_counts(tmp_path: Path) -> None:
    async with gateway(tmp_path) as opened:
        session = await opened.start("ask me which colour: red, green or blue", mode="chat")
        await opened.client.wait_idle(session)
        (question,) = await opened.client.questions(session)
        tried = await asyncio.gather(*(opened.client.answer_question(session, question.id, [Given("1", chose=[colour])])
                                       for colour in ("red", "green", "blue")), return_exceptions=True)
        await opened.client.wait_idle(session)
        assert sum(isinstance(one, RemoteError) for one in tried) == 2
        assert len([body for body in await opened.log(session) if isinstance(body, Answer)]) == 1


async def test_the_projects_notes_are_not_read_over_a_bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bot(tmp_path, monkeypatch) as b:
        own = await b.gateway.start("remember for the project style: canary tests first")
        await b.gateway.client.wait_idle(own)
        assert "canary" in repr(await b.gateway.log(await recalled(b, own)))
        await there(b.server.say, FRIEND, "recall the project's notes")
        await answered(b)
        (line,) = [one for one in await sessions(b) if one.mode == "chat"]
        log = repr(await b.gateway.log(line.id))
        assert "does not read the project's notes" in log and "canary" not in log + repr(b.server.calls)


async def recalled(b: Bot, session: str) -> str:
    """The same asked on a screen: there it is told."""
    await b.gateway.client.submit(session, "recall the project's notes")
    await b.gateway.client.wait_idle(session)
    return session
