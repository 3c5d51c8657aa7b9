"""Texts, JSON and live output without secrets; what is no secret stays to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.scrub.scrubber import REMOVED, Live, Scrubber

KEY = "canary-0123456789-abcdefXYZ"
HEX = "a8f5f167f44f4964e6c998dee827110c"


@pytest.fixture
def scrubber() -> Scrubber:
    made = Scrubber()
    made.learn(KEY)
    return made


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"the key is {KEY}.", f"the key is {REMOVED}."),
        (f"{KEY}{KEY}", REMOVED * 2),
        ("https://bob:pa55word@host.example/x", f"https://bob:{REMOVED}@host.example/x"),
        (f'API_KEY="{HEX}"', f'API_KEY="{REMOVED}"'),
        (f'{{"token": "{HEX}"}}', f'{{"token": "{REMOVED}"}}'),
        (f"Authorization: Bearer {HEX}", f"Authorization: Bearer {REMOVED}"),
        ("ghp_" + "a1B2" * 9, REMOVED),
        ("sk-ant-api03-" + "aB3_" * 10, REMOVED),
        ("AKIA" + "ABCD1234EFGH5678", REMOVED),
        ("x AIza" + "a1B2c" * 7 + " y", f"x {REMOVED} y"),
        ("-----BEGIN RSA PRIVATE KEY-----\n" + "MIIE" * 20 + "\n-----END RSA PRIVATE KEY-----", REMOVED),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", REMOVED),
        (f"db_password: 'Xk29dkeWq01mmZpq8821' # {KEY}", f"db_password: '{REMOVED}' # {REMOVED}"),
    ],
)
def test_secrets_go(scrubber: Scrubber, text: str, clean: str) -> None:
    assert scrubber.text(text) == clean
    assert scrubber.text(text) == clean  # and again: nothing is remembered as clean that was not
    assert scrubber.text(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        f"commit {HEX}",
        f"sha256:{HEX}{HEX}",
        "tokenizer = AutoTokenizerForSequences2",
        'password = os.environ["DATABASE_PASSWORD_1"]',
        "https://user@host/",
        "https://$USER:$TOKEN@host/",
        "https://u:***@h/",
        "ssh://git@github.com/a/b",
        "secret: see the wiki page",
        "token=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "key: value",
        "-----BEGIN CERTIFICATE-----",
        "max_tokens=100000000000000000000000",
        "a@b.example wrote: https://x.example/a:b",
        "id = 550e8400-e29b-41d4-a716-446655440000",
        "sk-learn is a package",
        "",
    ],
)
def test_everything_else_stays(scrubber: Scrubber, text: str) -> None:
    assert scrubber.text(text) is text


def test_this_repository_holds_next_to_nothing_that_looks_like_a_secret() -> None:
    """A scrub that sees secrets everywhere would eat an agent's work."""
    scrubber, top = Scrubber(), Path(__file__).parents[3]
    files = [
        *(top / "kernel").rglob("*.py"),
        *(top / "docs").rglob("*.md"),
        *(top / "thetis_tui").rglob("*.py"),
        top / "requirements.lock",
    ]
    changed = [str(file) for file in files if scrubber.text(text := file.read_text(encoding="utf-8")) != text]
    assert changed == []


def test_json_is_scrubbed_by_its_strings(scrubber: Scrubber) -> None:
    table: dict[str, Any] = {"a": [KEY, 1, None, {f"k{KEY}": "x"}], "signature": HEX, "data": {"x": KEY}, "n": 1.5}
    found = json.loads(scrubber.json(json.dumps(table).encode()))
    assert found == {"a": [REMOVED, 1, None, {f"k{REMOVED}": "x"}], "signature": HEX, "data": {"x": REMOVED}, "n": 1.5}


def test_clean_json_is_the_same_bytes(scrubber: Scrubber) -> None:
    raw = b'{ "odd" :  "spacing", "n": 1.0 }'
    assert scrubber.json(raw) is raw


WORDS = st.sampled_from([KEY, "words", "", HEX, "signature", "id", f"a {KEY} b", "eine Zeile\nnoch eine"])
JSON = st.recursive(st.one_of(st.none(), st.integers(-9, 9), WORDS),
                    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
                    max_leaves=12)


@given(st.dictionaries(WORDS, JSON, max_size=4), st.lists(JSON, max_size=3))
def test_what_grows_is_scrubbed_as_if_it_were_new(table: dict[str, Any], more: list[Any]) -> None:
    made = Scrubber()
    made.learn(KEY)
    for grown in (table, {**table, "messages": more}, {**table, "messages": [*more, *more, KEY]}, table):
        raw = json.dumps(grown).encode()
        assert json.loads(made.growing(raw)) == json.loads(Scrubber.json(made, raw))
        assert (made.growing(raw) is raw) == (made.json(raw) is raw)


def test_what_is_clean_as_a_text_is_not_clean_as_json(scrubber: Scrubber) -> None:
    hidden = '{"text":"' + "".join(f"\\u{ord(letter):04x}" for letter in KEY) + '"}'
    assert scrubber.text(hidden) is hidden, "nothing can be seen in it"
    raw = f'{{"messages":[{hidden}]}}'.encode()
    assert json.loads(scrubber.growing(raw)) == {"messages": [{"text": REMOVED}]}
    assert json.loads(scrubber.growing(raw)) == {"messages": [{"text": REMOVED}]}, "and it is not remembered as clean"


def test_a_providers_signature_is_left_alone_unless_it_holds_a_key(scrubber: Scrubber) -> None:
    signature = "sk-ant-api03-" + "aB3_" * 10
    raw = json.dumps({"type": "thinking", "thinking": "t", "signature": signature}).encode()
    assert scrubber.json(raw) is raw
    assert KEY not in scrubber.json(json.dumps({"signature": f"a{KEY}"}).encode()).decode()


def test_learning_later_counts(scrubber: Scrubber) -> None:
    text = "the second one is zebra-crossing-9981"
    assert scrubber.text(text) is text
    scrubber.learn("zebra-crossing-9981")
    assert scrubber.text(text) == f"the second one is {REMOVED}"


def test_learning_later_counts_for_what_grows(scrubber: Scrubber) -> None:
    raw = b'{"messages":[{"text":"the second one is zebra-crossing-9981"}]}'
    assert scrubber.growing(raw) is raw
    scrubber.learn("zebra-crossing-9981")
    assert json.loads(scrubber.growing(raw)) == {"messages": [{"text": f"the second one is {REMOVED}"}]}


def test_another_process_knows_the_same(scrubber: Scrubber) -> None:
    other = Scrubber(scrubber.known.salt)
    other.take(scrubber.known.prints)
    assert other.knows(f"x{KEY}".encode()) and not other.knows(b"x" * 100)


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.integers(1, 12), min_size=1, max_size=30))
def test_live_output_never_shows_it_however_it_is_cut(before: str, after: str, sizes: list[int]) -> None:
    scrubber = Scrubber()
    scrubber.learn(KEY)
    whole, at, shown = f"{before} {KEY} {after} ", 0, ""
    live = Live(scrubber)
    while at < len(whole):
        size = sizes[at % len(sizes)]
        shown += live.feed(whole[at : at + size])
        at += size
    assert KEY not in shown
    assert shown.startswith(scrubber.text(before + " ")) or before.strip() == "" or "\n" in before or "\t" in before


def test_live_output_is_not_held_for_ever() -> None:
    live = Live(Scrubber())
    assert live.feed("a word and ano") == "a word and "
    assert live.feed("ther\n") == "another\n"
    assert len(live.feed("x" * 5000)) > 4000
