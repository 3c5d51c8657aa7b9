"""What went wrong between us and a provider, as a value: how the stream ended, a sentence with the way out, and whether
asking again may help.

Owns the classification of statuses, error events and exceptions. Status first, words second: a rate limit that mentions
tokens is no overflow. Must not know how often anything is retried, and never says a key.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from thetis_kernel.protocol.models import End, Provider

OF_KIND: Mapping[str, tuple[End, bool]] = {
    "overloaded_error": ("overloaded", True), "rate_limit_error": ("rate-limited", True), "api_error": ("transport", True),
    "timeout_error": ("transport", True), "authentication_error": ("auth", False), "permission_error": ("auth", False),
    "billing_error": ("auth", False), "request_too_large": ("context-overflow", False),
    "invalid_request_error": ("bad-request", False), "not_found_error": ("bad-request", False),
}
"""Kinds of errors as the Messages API names them: how the stream ends, and whether asking again may help."""
_OVERFLOW = re.compile(
    r"prompt is too long|exceeds? (the )?(maximum|available) context|context (window|length|size|limit)|too many (input )?tokens"
    r"|exceed_context_size|maximum context|input is too long", re.IGNORECASE)
_DAILY = re.compile(r"per[- ]day|daily|per[- ]month|monthly|quota", re.IGNORECASE)
_MONEY = re.compile(r"credit balance|billing|payment", re.IGNORECASE)
LONG_WAIT_MS = 5 * 60_000
"""A limit that lifts later than this is no per-minute one: nobody waits for it in front of a screen."""
MAX_WORDS = 300


class Failure(msgspec.Struct, frozen=True):
    """One failure. `retry_after_ms` 0: the provider named no time."""

    end: End
    detail: str
    retry: bool = False
    retry_after_ms: int = 0


def of_status(provider: Provider, model: str, status: int, headers: Mapping[str, str], body: Any) -> Failure:
    """A response that is not 200."""
    kind, words = _told(body)
    said = f": {words}" if words else "."
    name = provider.name
    if status == 429:
        return _limited(provider, words, _retry_after(headers))
    if status == 529 or kind == "overloaded_error":
        return Failure("overloaded", f"The provider {name!r} is overloaded{said}", True, _retry_after(headers))
    if status in (401, 403):
        return Failure("auth", f"The provider {name!r} does not accept the key ({provider.key or 'none is set'}){said} "
                               "Check the key, and that it belongs to this provider.")
    if status == 402 or (status == 400 and _MONEY.search(words)):
        return Failure("auth", f"The provider {name!r} does not serve this account{said}")
    if status == 413 or (status in (400, 422, 500) and _OVERFLOW.search(f"{kind} {words}")):
        return Failure("context-overflow", f"The conversation is too long for {model!r}{said}")
    if status == 404:
        if kind:
            return Failure("bad-request", f"The provider {name!r} does not know the model {model!r}{said} Pick another one, or "
                                          "mend its name in your configuration.")
        return Failure("bad-request", _not_the_api(provider, "answers 404"))
    if 300 <= status < 400:
        where = headers.get("location", "elsewhere")[:200]
        return Failure("bad-request", _not_the_api(provider, f"points to {where}"))
    if status == 408 or status >= 500:
        return Failure("transport", f"The provider {name!r} failed ({status}){said}", True, _retry_after(headers))
    return Failure("bad-request", f"The provider {name!r} rejected the request ({status}){said}")


def of_event(provider: Provider, model: str, error: Mapping[str, Any]) -> Failure:
    """An `error` event in the middle of a stream."""
    kind, words = _told({"error": error})
    end, retry = OF_KIND.get(kind, ("transport", True))
    if end == "rate-limited":
        return _limited(provider, words, 0)
    if end == "bad-request" and _OVERFLOW.search(words):
        return Failure("context-overflow", f"The conversation is too long for {model!r}: {words}")
    return Failure(end, f"The provider {provider.name!r} broke off ({kind or 'error'}): {words or 'it gave no reason'}", retry)


def of_network(provider: Provider, error: BaseException, reached: bool, idle: bool = False) -> Failure:
    """An exception on the way. `reached`: the provider has answered before, so its address is right and a retry sensible.

    `idle`: the connection stood and nothing came.
    """
    name, where = provider.name, provider.base_url
    if not _is_address(where):
        return Failure("bad-request", f"The base_url of the provider {name!r}, {where!r}, is not an address that begins with "
                                      "http:// or https://. Mend it in your configuration.")
    if idle:
        return Failure("transport", f"The provider {name!r} said nothing for {provider.idle_seconds:g} s.", True)
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError):
            why = getattr(cause, "reason", None) or "TLS"
            return Failure("transport", f"{where} offers no connection that can be trusted ({why}). Check base_url, the clock "
                                        "and the certificates of this machine.",
                           reached and not isinstance(cause, ssl.SSLCertVerificationError))
        if isinstance(cause, socket.gaierror):
            return Failure("transport", f"The address of the provider {name!r}, {where}, cannot be found. Check the network, "
                                        "and base_url.", reached)
        if isinstance(cause, ConnectionRefusedError):
            return Failure("transport", f"Nothing answers at {where} (provider {name!r}). Is it running? Are base_url and the "
                                        "proxy right?", reached)
    if _named(error, "ConnectTimeout"):
        return Failure("transport", f"{where} (provider {name!r}) does not answer. Check the network, and base_url.", True)
    if _named(error, "ProxyError"):
        return Failure("transport", f"The proxy on the way to {where} refuses. Check HTTPS_PROXY.", reached)
    if _named(error, "ConnectError"):
        return Failure("transport", f"{where} (provider {name!r}) cannot be reached. Check the network, and base_url.", reached)
    return Failure("transport", f"The connection to the provider {name!r} broke ({type(error).__name__}).", True)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def not_a_stream(provider: Provider, kind: str) -> Failure:
    """A 200 that is no event stream."""
    return Failure("bad-request", _not_the_api(provider, f"answers with {kind or 'something else'}"))


def _not_the_api(provider: Provider, what: str) -> str:
    return f"{provider.base_url} (provider {provider.name!r}) {what}, not like the Messages API. Is base_url right?"


def _limited(provider: Provider, words: str, after_ms: int) -> Failure:
    said = f": {words}" if words else "."
    if after_ms > LONG_WAIT_MS or (_DAILY.search(words) and not after_ms):
        return Failure("rate-limited", f"The provider {provider.name!r} is at a limit that lifts {_lifts(after_ms)}{said}", False,
                       after_ms)
    return Failure("rate-limited", f"The provider {provider.name!r} asks to slow down{said}", True, after_ms)


def _lifts(after_ms: int) -> str:
    if not after_ms:
        return "another day"
    minutes = round(after_ms / 60_000)
    return f"in {minutes} min" if minutes < 120 else f"in {round(minutes / 60)} h"


def _told(body: Any) -> tuple[str, str]:
    """(kind, words) of an error as the API words one; ("", "") of anything else."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", ""
    kind, words = error.get("type"), error.get("message")
    return (kind if isinstance(kind, str) else ""), " ".join(words.split())[:MAX_WORDS] if isinstance(words, str) else ""


def _retry_after(headers: Mapping[str, str]) -> int:
    """Milliseconds the provider asks to wait; 0 when it does not, or not in a way that can be read."""
    exact, given = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    try:
        if exact:
            return max(0, int(float(exact)))
        if given.replace(".", "", 1).isdigit():
            return int(float(given) * 1000)
        return max(0, int((parsedate_to_datetime(given).timestamp() - time()) * 1000)) if given else 0
    except (ValueError, OverflowError):
        return 0


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 20:
        yield error
        error, seen = error.__cause__ or error.__context__, seen + 1


def _named(error: BaseException, name: str) -> bool:
    """By name, so that this module needs no SDK."""
    return any(kind.__name__ == name for cause in _causes(error) for kind in type(cause).__mro__)
