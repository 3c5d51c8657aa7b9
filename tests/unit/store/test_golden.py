"""Logs of every release (D10): they open, verify, decode and mean what they meant.

`tests/fixtures/store/v*.db.gz` is a closed database, `v*.json` what it must say. A released pair is never changed; a release
adds one, made by `python -m tests.support.golden NAME`.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.protocol.events import KINDS, Unknown, User, encode_body
from thetis_kernel.store.store import Store

from tests.support.golden import describe

FIXTURES = Path(__file__).parents[2] / "fixtures" / "store"
NAMES = sorted(path.name.removesuffix(".json") for path in FIXTURES.glob("*.json"))


@pytest.fixture(params=NAMES)
def golden(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def opened(golden: str, tmp_path: Path):
    (tmp_path / "data").mkdir()
    content = gzip.decompress((FIXTURES / f"{golden}.db.gz").read_bytes())
    (tmp_path / "data" / "thetis.db").write_bytes(content)
    store = Store.open(tmp_path / "data", free=lambda: 0)
    yield store
    store.close()


def test_there_is_a_log_of_the_first_release():
    assert "v1" in NAMES


def test_it_says_what_it_said(golden, opened):
    assert opened.notices == []
    check(msgspec.json.decode((FIXTURES / f"{golden}.json").read_bytes()), describe(opened))


def check(expected: object, actual: object, at: str = "") -> None:
    """Everything expected is so; a newer version may say more about the same log."""
    if isinstance(expected, dict):
        assert isinstance(actual, dict)
        for name, value in expected.items():
            check(value, actual[name], f"{at}.{name}")
    elif isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected), at
        for index, value in enumerate(expected):
            check(value, actual[index], f"{at}[{index}]")
    else:
        assert actual == expected, at


def test_every_kind_decodes_and_encodes_to_the_same_bytes(opened):
    seen = set()
    for row in opened.sessions():
        for event in opened.read(row.id, max_bytes=1 << 30):
            seen.add(event.kind)
            assert encode_body(event.body) == event.raw
            assert isinstance(event.body, Unknown) == (event.kind not in KINDS)
    assert len(seen) >= 22


def test_it_can_be_gone_on_with(opened):
    for row in opened.sessions():
        assert opened.append(row.id, User(text="a word")).result(10).seq == row.last_seq + 1
    assert all(verdict.sound for verdict in opened.verify_all())
