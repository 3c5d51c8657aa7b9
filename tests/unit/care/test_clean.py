"""What an export may not hold: secrets, and anything of the registry of machines."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.gateway.care.clean import MACHINE, Cleaner, machine_words
from thetis_kernel.protocol.events import Body, Event, SystemNote, ToolInvocation, User, encode_body, kind_of
from thetis_kernel.scrub.scrubber import REMOVED, Scrubber
from thetis_kernel.ssh.registry import FILE

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
REGISTRY = """
# build machines
[atlas]
host = "10.1.2.3"
user = "deploy"
identity_file = "~/.ssh/atlas_ed25519"

[web-1]
host = "web1.internal.example"
jump = "atlas"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / FILE).write_text(REGISTRY)
    return tmp_path


def event(body: Body) -> Event:
    return Event("ab" * 8, 2, "e", 0, kind_of(body), 1, encode_body(body))


def test_the_words_are_names_addresses_and_paths(root: Path) -> None:
    assert set(machine_words(root)) == {"atlas", "10.1.2.3", "~/.ssh/atlas_ed25519", "web-1", "web1.internal.example"}


def test_none_of_them_is_in_what_is_shown(root: Path) -> None:
    cleaner = Cleaner(Scrubber(), root)
    said = "ssh deploy@10.1.2.3 and ATLAS, then web-1 (web1.internal.example) with ~/.ssh/atlas_ed25519; atlas-mountains stay"
    assert cleaner.text(said) == (
        f"ssh {MACHINE} and {MACHINE}, then {MACHINE} ({MACHINE}) with {MACHINE}; atlas-mountains stay")


def test_arguments_and_keys_are_cleaned_and_stay_json(root: Path) -> None:
    scrubber = Scrubber()
    scrubber.learn(KEY)
    call = ToolInvocation("c", "terminal_open", {"host": "atlas", "env": {"atlas": KEY}}, "terminal.open", True)
    raw = Cleaner(scrubber, root).event(event(call)).raw
    body = msgspec.json.decode(raw)
    assert body["args"] == {"host": MACHINE, "env": {MACHINE: REMOVED}}
    assert body["op"] == "terminal.open" and b"atlas" not in raw and KEY.encode() not in raw


def test_a_registry_that_does_not_parse_is_taken_by_its_looks(root: Path) -> None:
    (root / FILE).write_text(REGISTRY + "\n[broken\nhost = ")
    assert {"atlas", "10.1.2.3", "web-1", "web1.internal.example"} <= set(machine_words(root))


def test_without_a_registry_only_secrets_go(tmp_path: Path) -> None:
    scrubber = Scrubber()
    scrubber.learn(KEY)
    cleaner = Cleaner(scrubber, tmp_path)
    assert cleaner.text(f"atlas {KEY}") == f"atlas {REMOVED}"


def test_a_secret_learnt_after_it_was_written_goes(tmp_path: Path) -> None:
    scrubber = Scrubber()
    old = event(SystemNote(text="the password is correct-horse-battery-staple"))
    assert b"correct-horse" in Cleaner(scrubber, tmp_path).event(old).raw
    scrubber.learn("correct-horse-battery-staple")
    assert b"correct-horse" not in Cleaner(scrubber, tmp_path).event(old).raw


def test_what_cannot_be_read_is_not_shown(tmp_path: Path) -> None:
    bad = msgspec.structs.replace(event(User(text="x")), raw=b"{not json " + KEY.encode())
    assert KEY.encode() not in Cleaner(Scrubber(), tmp_path).event(bad).raw


@given(st.text(), st.sampled_from(["atlas", "10.1.2.3", "web-1"]), st.text(max_size=3))
def test_a_word_that_stands_alone_never_comes_through(before: str, word: str, after: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as base:
        (Path(base) / FILE).write_text(REGISTRY)
        shown = Cleaner(Scrubber(), Path(base)).text(f"{before} {word} {after}")
        assert f" {word} " not in shown
