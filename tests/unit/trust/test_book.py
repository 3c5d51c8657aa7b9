"""The trust book: one digest a root, private, and no trust from a book that cannot be read."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.trust import TrustBook


@pytest.fixture
def book(tmp_path: Path) -> TrustBook:
    return TrustBook(tmp_path / "state" / "trust.json")


def test_exactly_what_was_agreed_to(book: TrustBook) -> None:
    book.add("/r", "d1", "1 guest")
    assert (
        book.holds("/r", "d1")
        and not book.holds("/r", "d2")
        and not book.holds("/s", "d1")
        and not book.holds("/r", "")
    )
    assert book.knows("/r") and not book.knows("/s")


def test_a_later_tree_replaces_an_earlier_one(book: TrustBook) -> None:
    book.add("/r", "d1", "")
    book.add("/r", "d2", "")
    assert book.holds("/r", "d2") and not book.holds("/r", "d1")


def test_revoking(book: TrustBook) -> None:
    book.add("/r", "d1", "")
    book.add("/s", "d2", "")
    assert book.revoke("/r") and not book.revoke("/r")
    assert not book.holds("/r", "d1") and book.holds("/s", "d2")


@pytest.mark.parametrize("raw", [b"", b"{}", b"[{", b'[{"root": 1}]', b"\xff", b"[" * 5000])
def test_a_book_that_cannot_be_read_trusts_nothing(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "trust.json"
    file.write_bytes(raw)
    book = TrustBook(file)
    assert not book.holds("/r", "d") and not book.knows("/r")
    for act in (book.entries, lambda: book.add("/r", "d", ""), lambda: book.revoke("/r")):
        with pytest.raises(UsageError, match="cannot be read"):
            act()
    assert file.read_bytes() == raw


def test_it_is_private(tmp_path: Path, book: TrustBook) -> None:
    book.add("/r", "d", "")
    assert (tmp_path / "state" / "trust.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_none_is_lost_when_many_agree_at_once(book: TrustBook) -> None:
    threads = [threading.Thread(target=book.add, args=(f"/r{n}", "d", "")) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(book.entries()) == 16
