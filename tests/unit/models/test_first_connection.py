"""How long a first connection may take: a person is told within two seconds, whatever had to be loaded before."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from thetis_kernel.models.anthropic import endpoint as module
from thetis_kernel.models.anthropic.endpoint import CONNECT_S, FIRST_CONNECT_S, LEAST_CONNECT_S, Endpoint
from thetis_kernel.models.anthropic.loading import import_sdk
from thetis_kernel.protocol.models import Provider


class Client:
    """Takes a request and notes how long it would wait for a connection."""

    api_key, auth_token = "k", None

    def __init__(self) -> None:
        self.connect: list[float] = []

    async def post(self, *_: Any, options: dict[str, Any], **__: Any) -> Any:
        self.connect.append(options["timeout"].connect)
        raise OSError("no network in tests")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks once, a person having waited so many seconds; the seconds a connection may take."""
    import_sdk()
    now = time.monotonic()
    monkeypatch.setattr(f"{module.__name__}.time.monotonic", lambda: now)

    def ask(waited: float, reached: bool = False) -> float:
        endpoint, client = Endpoint(Provider(name="p", base_url="http://127.0.0.1:1"), lambda: "k"), Client()
        endpoint._client, endpoint.reached = client, reached  # type: ignore[assignment]

        async def post() -> None:
            async with endpoint.post({}, now - waited):
                raise AssertionError("it was answered")

        with pytest.raises(OSError, match="no network"):
            asyncio.run(post())
        return client.connect[0]

    return ask


def test_what_loading_took_is_not_waited_for_once_more(asked: Any) -> None:
    assert asked(0.0) == FIRST_CONNECT_S
    assert asked(0.5) == pytest.approx(FIRST_CONNECT_S - 0.5)
    assert asked(60.0) == LEAST_CONNECT_S


def test_a_provider_that_answered_before_is_given_its_time(asked: Any) -> None:
    assert asked(60.0, reached=True) == CONNECT_S
