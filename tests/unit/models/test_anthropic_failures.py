"""Everything that can go wrong with a provider is a value: how it ended, a sentence, and whether asking again may help."""

from __future__ import annotations

import socket
import ssl
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from thetis_kernel.models.anthropic.failures import Failure, not_a_stream, of_event, of_network, of_status
from thetis_kernel.protocol.models import Provider

PROVIDER = Provider(name="here", base_url="https://models.example", key="env:HERE_KEY", idle_seconds=90)


def told(kind: str, words: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": words}}


def status(code: int, kind: str = "", words: str = "", **headers: str) -> Failure:
    body = told(kind, words) if kind else "<html>"
    return of_status(PROVIDER, "m1", code, {name.replace("_", "-"): value for name, value in headers.items()}, body)


@pytest.mark.parametrize(("code", "kind", "words", "end", "retry", "says"), [
    (400, "invalid_request_error", "tool_use ids were found without tool_result", "bad-request", False, "tool_use ids"),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context-overflow", False, "210000"),
    (400, "invalid_request_error", "input and `max_tokens` exceed context limit: 1 > 3", "context-overflow", False, "too long"),
    (400, "exceed_context_size_error", "the request exceeds the available context size", "context-overflow", False, "too long"),
    (413, "request_too_large", "Request exceeds the maximum size", "context-overflow", False, "too long"),
    (400, "invalid_request_error", "Your credit balance is too low", "auth", False, "credit"),
    (401, "authentication_error", "invalid x-api-key", "auth", False, "env:HERE_KEY"),
    (403, "permission_error", "not allowed", "auth", False, "not allowed"),
    (402, "billing_error", "pay", "auth", False, "account"),
    (404, "not_found_error", "model: m1", "bad-request", False, "does not know the model 'm1'"),
    (404, "", "", "bad-request", False, "base_url"),
    (302, "", "", "bad-request", False, "base_url"),
    (405, "", "", "bad-request", False, "405"),
    (408, "", "", "transport", True, "408"),
    (500, "api_error", "Internal server error", "transport", True, "500"),
    (503, "", "", "transport", True, "503"),
    (529, "overloaded_error", "Overloaded", "overloaded", True, "overloaded"),
    (500, "overloaded_error", "Overloaded", "overloaded", True, "overloaded"),
    (429, "rate_limit_error", "50 requests per minute", "rate-limited", True, "slow down"),
    (429, "rate_limit_error", "Your daily limit is reached", "rate-limited", False, "another day"),
    (429, "", "", "rate-limited", True, "slow down"),
])
def test_statuses(code: int, kind: str, words: str, end: str, retry: bool, says: str) -> None:
    failure = status(code, kind, words)
    assert (failure.end, failure.retry) == (end, retry) and says in failure.detail


def test_a_rate_limit_that_speaks_of_the_context_is_no_overflow() -> None:
    """complaints 42 (pi#1038): a 429 was taken for an overflow, and the conversation compacted."""
    assert status(429, "rate_limit_error", "exceeds the maximum context; prompt is too long").end == "rate-limited"
    event = of_event(PROVIDER, "m1", told("rate_limit_error", "prompt is too long")["error"])
    assert event.end == "rate-limited" and event.retry


def test_the_time_a_provider_names() -> None:
    assert status(429, retry_after="3").retry_after_ms == 3000
    assert status(529, retry_after="1.5").retry_after_ms == 1500
    assert status(429, retry_after_ms="250", retry_after="9").retry_after_ms == 250
    assert 50_000 < status(429, retry_after=formatdate(time() + 60, usegmt=True)).retry_after_ms <= 60_000
    assert status(429, retry_after="soon").retry_after_ms == 0 and status(429, retry_after="-3").retry_after_ms == 0
    late = status(429, "rate_limit_error", "limit", retry_after="30000")
    assert not late.retry and "in 8 h" in late.detail
    assert status(429, "rate_limit_error", "daily quota", retry_after="20").retry, "a short time named outranks the words"


@pytest.mark.parametrize(("kind", "words", "end", "retry"), [
    ("overloaded_error", "Overloaded", "overloaded", True), ("api_error", "oops", "transport", True),
    ("invalid_request_error", "prompt is too long", "context-overflow", False),
    ("invalid_request_error", "x", "bad-request", False),
    ("authentication_error", "x", "auth", False), ("something_new", "x", "transport", True), ("", "", "transport", True),
])
def test_errors_in_the_middle_of_a_stream(kind: str, words: str, end: str, retry: bool) -> None:
    failure = of_event(PROVIDER, "m1", {"type": kind, "message": words})
    assert (failure.end, failure.retry) == (end, retry)


class ConnectError(Exception):
    pass


class ConnectTimeout(Exception):
    pass


def caused(cause: BaseException) -> Exception:
    outer = ConnectError("All connection attempts failed")
    outer.__cause__ = cause
    return outer


@pytest.mark.parametrize(("error", "says"), [
    (caused(socket.gaierror(-2, "Name or service not known")), "cannot be found"),
    (caused(ConnectionRefusedError()), "Nothing answers"),
    (ConnectError(), "cannot be reached"),
])
def test_a_provider_that_was_never_reached_is_not_asked_again(error: Exception, says: str) -> None:
    first, later = of_network(PROVIDER, error, reached=False), of_network(PROVIDER, error, reached=True)
    assert says in first.detail and "base_url" in first.detail and PROVIDER.base_url in first.detail
    assert (first.end, first.retry, later.retry) == ("transport", False, True)


def test_other_ways_a_network_fails() -> None:
    assert of_network(PROVIDER, ConnectTimeout(), reached=False).retry
    certificate = of_network(PROVIDER, caused(ssl.SSLCertVerificationError(1, "self-signed")), reached=True)
    assert not certificate.retry and "trusted" in certificate.detail
    broke = of_network(PROVIDER, RuntimeError("x"), reached=True)
    assert broke.retry and "RuntimeError" in broke.detail
    assert "90 s" in of_network(PROVIDER, RuntimeError(), reached=True, idle=True).detail
    assert not_a_stream(PROVIDER, "text/html").end == "bad-request"


@pytest.mark.parametrize("address", ["", "models.example", "ftp://x", "https://"])
def test_an_address_that_is_none_is_told_of(address: str) -> None:
    failure = of_network(Provider(name="x", base_url=address), RuntimeError(), reached=False)
    assert failure.end == "bad-request" and not failure.retry and "base_url" in failure.detail


def test_long_words_are_cut_and_no_line_is_broken() -> None:
    assert len(status(500, "api_error", "long\n" * 1000).detail) < 400 and "\n" not in status(500, "api_error", "a\nb").detail
