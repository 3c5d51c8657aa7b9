"""The list of hosts: exact, empty is nobody, and no text that two readers could read differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.net.allow import NotAUrl, Origin, check, listed, target


@pytest.mark.parametrize(("url", "origin", "path"), [
    ("https://example.org", "https://example.org", "/"),
    ("https://EXAMPLE.org./a?b=c d".replace(" ", "%20"), "https://example.org", "/a?b=c%20d"),
    ("http://example.org:8080/x#frag", "http://example.org:8080", "/x"),
    ("https://[2606:4700::1]/", "https://[2606:4700::1]", "/"),
    ("https://b\u00fccher.example/", "https://xn--bcher-kva.example", "/"),
    ("https://example.org/\u00e9", "https://example.org", "/%C3%A9"),
])
def test_a_url_is_read(url: str, origin: str, path: str) -> None:
    found = target(url)
    assert (str(found.origin), found.path) == (origin, path)


@pytest.mark.parametrize("url", [
    "", "example.org", "ftp://example.org/", "file:///etc/passwd", "https://", "https:///x", "https://user@example.org/",
    "https://user:pw@example.org", "https://good.example\\@evil.example/", "https://good.example\t.evil/", "https://a b/",
    "https://example.org:0/", "https://example.org:99999/", "https://example.org:x/", "https://[::1/", "https://exa\nmple.org",
    "https://-a.example/", "https://a..example/", "javascript:alert(1)", "https://" + "a" * 70 + ".example/",
    "gopher://x/", "https://x/" + "a" * 9000, "https://[fe80::1%25eth0]/", "https://\u3002example/",
])
def test_what_is_not_clear_is_refused(url: str) -> None:
    with pytest.raises(NotAUrl):
        target(url)


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_an_error(text: str) -> None:
    for url in (text, f"https://{text}", f"https://example.org/{text}", f"http://example.org:{text}"):
        try:
            found = target(url)
        except NotAUrl:
            continue
        assert found.path.isascii() and found.path.isprintable() and " " not in found.path
        assert target(str(found)) == found


def test_an_empty_list_is_nobody() -> None:
    """Class D of the public bugs: CVE-2025-66479, an empty list that meant everybody."""
    with pytest.raises(Refused, match="not on this tool's list"):
        check(target("https://example.org/").origin, listed([]))


@pytest.mark.parametrize("url", [
    "https://www.example.org/", "https://example.org.evil.test/", "https://evilexample.org/", "http://example.org/",
    "https://example.org:444/", "https://org/",
])
def test_neighbours_are_not_on_it(url: str) -> None:
    allowed = listed(["example.org"])
    check(Origin("https", "example.org", 443), allowed)
    with pytest.raises(Refused):
        check(target(url).origin, allowed)


def test_entries_may_say_scheme_and_port() -> None:
    assert {str(one) for one in listed(["a.example", "b.example:8443", "http://c.example", "HTTP://D.example:81".lower()])} == {
        "https://a.example", "https://b.example:8443", "http://c.example", "http://d.example:81"}


@pytest.mark.parametrize("entry", ["*", "*.example.org", "example.org/", "example.org/path", "https://example.org/a", "", "a b"])
def test_a_pattern_is_no_entry(entry: str) -> None:
    with pytest.raises(ThetisError):
        listed(["fine.example", entry])
