"""Who is let in and what is for us: by numeric id alone, whatever else an event says."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.clock import FakeClock
from thetis_kernel.config.discord import Discord
from thetis_kernel.connectors.discord.admission import Admission
from thetis_kernel.connectors.discord.heard import Commanded, Person, Place, Pressed, Said
from thetis_kernel.connectors.discord.pairing import LENGTH, LETTERS, TRIES, Pairing

ADMIN, FRIEND, OTHER = 1, 2, 3
PRIVATE, CHANNEL, THREAD = Place("private", 10), Place("channel", 20), Place("thread", 30)


def admission(known: set[str] | None = None, pairing: Pairing | None = None, **settings: Any) -> Admission:
    chosen = Discord(**{"admin_users": [ADMIN], "allowed_users": [FRIEND], **settings})
    return Admission(chosen, pairing or Pairing(900, FakeClock()), lambda key: key in (known or set()))


def said(person: int, place: Place = PRIVATE, *, human: bool = True, to_us: bool = False, text: str = "hello",
         name: str = "n") -> Said:
    return Said(1, Person(person, name, human), place, text, to_us)


def test_only_ids_that_were_named_talk() -> None:
    door = admission()
    assert [door.judge(said(person)) for person in (ADMIN, FRIEND, OTHER)] == ["take", "take", "ignore"]
    assert door.judge(said(OTHER, name="ADMIN")) == door.judge(said(OTHER, name="1")) == "ignore"
    assert admission(allow_all_users=True).judge(said(OTHER)) == "take"


def test_bots_webhooks_and_discord_itself_are_never_heard() -> None:
    door = admission(allow_all_users=True)
    for one in (said(FRIEND, human=False), Commanded(1, "t", Person(FRIEND, "", False), PRIVATE, "status", ""),
                Pressed(1, "t", Person(FRIEND, "", False), PRIVATE, "m", {}, False)):
        assert door.judge(one) == "ignore"


def test_in_channels_words_have_to_be_for_us() -> None:
    door = admission(free_response_channels=[21])
    assert door.judge(said(FRIEND, CHANNEL)) == "ignore" and door.judge(said(FRIEND, CHANNEL, to_us=True)) == "take"
    assert door.judge(said(FRIEND, Place("channel", 21))) == "take"
    assert admission(require_mention=False).judge(said(FRIEND, CHANNEL)) == "take"
    assert door.judge(said(FRIEND, CHANNEL, to_us=True, text=" ")) == "ignore"


def test_a_thread_with_a_conversation_goes_on_without_a_mention() -> None:
    assert admission().judge(said(FRIEND, THREAD)) == "ignore"
    assert admission({"discord:thread:30:2"}).judge(said(FRIEND, THREAD)) == "take"
    assert admission({"discord:thread:30:2"}).judge(said(ADMIN, THREAD)) == "ignore"


def test_whoever_may_not_is_told_so_when_they_ask_and_nothing_else_happens() -> None:
    door = admission()
    stranger = Person(OTHER, "", True)
    verdicts = {name: door.judge(Commanded(1, "t", stranger, PRIVATE, name, ""))
                for name in ("new", "stop", "status", "model", "models", "pair", "whoami", "help", "mode")}
    assert {name for name, verdict in verdicts.items() if verdict == "take"} == {"pair", "whoami", "help"}
    assert door.judge(Pressed(1, "t", stranger, PRIVATE, "m", {0: ["0"]}, False)) == "stranger"


def test_conversations_are_by_place_and_person() -> None:
    door = admission()
    assert door.key(PRIVATE, Person(FRIEND, "", True)) == "discord:private:10"
    assert door.key(CHANNEL, Person(FRIEND, "", True)) == "discord:channel:20:2"
    together = admission(own_conversations=False)
    assert together.key(CHANNEL, Person(FRIEND, "", True)) == "discord:channel:20" and together.shared(CHANNEL)


@settings(max_examples=300)
@given(st.integers(1, 9), st.booleans(), st.sampled_from([PRIVATE, CHANNEL, THREAD]), st.booleans(), st.text(max_size=30),
       st.text(max_size=20))
def test_nobody_is_taken_but_people_who_were_let_in(
    person: int, human: bool, place: Place, to_us: bool, text: str, name: str
) -> None:
    door = admission(require_mention=False)
    for one in (said(person, place, human=human, to_us=to_us, text=text, name=name),
                Pressed(1, "t", Person(person, name, human), place, text, {0: [text]}, to_us),
                Commanded(1, "t", Person(person, name, human), place, "model", text)):
        assert door.judge(one) != "take" or (human and person in (ADMIN, FRIEND))


def test_a_code_lets_one_person_in_once_and_for_a_while_only() -> None:
    clock = FakeClock()
    pairing = Pairing(900, clock)
    door = admission(pairing=pairing)
    code, late = pairing.issue(), pairing.issue()
    assert len(code) == LENGTH and set(code) <= set(LETTERS) and not set(code) & set("AEIOU")
    assert pairing.use(OTHER, f" {code.lower()} ") and not pairing.use(4, code)
    assert door.judge(said(OTHER)) == "take" and not door.administers(OTHER)
    clock.advance(901)
    assert not pairing.use(5, late) and door.judge(said(5)) == "ignore"


def test_codes_cannot_be_guessed_at_will() -> None:
    clock = FakeClock()
    pairing = Pairing(900, clock)
    code = pairing.issue()
    assert not any(pairing.use(OTHER, "BBBBBB") for _ in range(TRIES))
    assert not pairing.use(OTHER, code) and not pairing.knows(OTHER)
    assert pairing.use(4, code)
