"""The connection to a machine, over its jumps: keys pinned, nothing forwarded, nothing of this user's ssh configuration read.

asyncssh is imported here and in keys.py alone, and those are imported when somebody connects. Everything that could be taken
from a file or the environment is said outright (`config=None`, no known_hosts file, no default keys, no agent of its own, no
passwords, no proxies). Must not know what runs over it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from typing import Any

import asyncssh

from thetis_kernel.ssh.failures import SshError, changed, told, unseen
from thetis_kernel.ssh.host import Host
from thetis_kernel.ssh.keys import offered
from thetis_kernel.ssh.way import Step, Way

CONNECT_S = 15.0
"""For one step, from the first packet to being let in, when its options say nothing."""
ALIVE_S, ALIVE_COUNT = 15, 3
"""A machine that does not answer so many questions in a row is gone (complaint 142)."""
WINDOW = 256 * 1024
"""Bytes a machine may send ahead on a channel: what one reads slower waits over there, not in memory here."""
CLOSE_S = 1.0
TRIES = 4
"""A server under many beginnings drops some of them (sshd's MaxStartups); those that never were one are begun again."""

_log = logging.getLogger("asyncssh")
_log.propagate = False  # it names machines
_log.addHandler(logging.NullHandler())


class _Client(asyncssh.SSHClient):
    """Remembers the key a machine showed that nobody trusts, and why the connection ended."""

    def __init__(self) -> None:
        self.shown: Any = None
        self.lost: Exception | None = None
        self.over = asyncio.Event()

    def validate_host_public_key(self, host: str, addr: str, port: int, key: Any) -> bool:
        self.shown = key
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc
        self.over.set()


class Connected:
    """The machine at the end of a way. `over` is set when the connection is gone, and then `lost` says why."""

    def __init__(self, name: str, connections: list[Any], client: _Client, alive_s: float) -> None:
        self.name = name
        self.connection = connections[-1]
        self._connections = connections
        self._client = client
        self._alive_s = alive_s

    @property
    def over(self) -> asyncio.Event:
        """Set when the connection is gone."""
        return self._client.over

    def farewell(self) -> str:
        """Why it is gone, as a sentence."""
        lost = self._client.lost
        if lost is None:
            return f"{self.name} closed the connection."
        if "eepalive" in str(lost):
            return f"{self.name} did not answer for {self._alive_s:.0f} s, so the connection was given up."
        return f"The connection to {self.name} was lost."

    async def close(self) -> None:
        """End all of it, now, and give its sockets back."""
        await _ended(self._connections)


async def connect(way: Way) -> Connected:
    """Connect step by step. Raises SshError; the machine was told nothing when its key is not a trusted one."""
    connections: list[Any] = []
    try:
        for step in way.steps:
            connection, client = await _step(step, way.agent, connections[-1] if connections else None)
            connections.append(connection)
    except BaseException:
        await _ended(connections)
        raise
    interval, count = _alive(way.steps[-1].host)
    return Connected(way.name, connections, client, interval * (count + 1))


async def look(way: Way) -> tuple[Step, str]:
    """The first step whose key nobody has seen, or the last one, and the key its machine shows. Raises SshError."""
    at = way.unknown or way.steps[-1]
    before = way.steps[: way.steps.index(at)]
    reached = await connect(Way(at.name, before, way.agent)) if before else None
    seconds = _seconds(at.host)
    try:
        key = await asyncio.wait_for(
            asyncssh.get_server_host_key(
                at.host.host, at.host.port, tunnel=reached.connection if reached else None, config=None, **_algorithms(at.host)),
            seconds)
    except (OSError, asyncssh.Error, TimeoutError) as error:
        raise told(at.name, error, seconds) from error
    finally:
        if reached is not None:
            await reached.close()
    if key is None:
        raise SshError(f"{at.name} shows no host key.", code="ssh-protocol")
    return at, written(key)


async def _ended(connections: list[Any]) -> None:
    for connection in reversed(connections):
        connection.abort()  # takes effect in the loop's next round
    for connection in connections:
        with contextlib.suppress(TimeoutError, OSError, asyncssh.Error):
            await asyncio.wait_for(connection.wait_closed(), CLOSE_S)


def written(key: Any) -> str:
    """A public key in one line, as OpenSSH writes it, without its comment."""
    words: str = key.export_public_key("openssh").decode()
    return " ".join(words.split()[:2])


def fingerprint(key: str) -> str:
    """SHA256:... of a written key, with its kind."""
    found = asyncssh.import_public_key(key)
    return f"{found.get_fingerprint()} ({key.split()[0]})"


async def _step(step: Step, agent: str, tunnel: Any) -> tuple[Any, _Client]:
    if not step.keys:
        raise unseen(step.name)
    seconds = _seconds(step.host)
    keys = await offered(step.name, step.host, agent)
    try:
        async with asyncio.timeout(seconds):
            for left in range(TRIES - 1, -1, -1):
                client = _Client()
                try:
                    return await _begun(step, keys.pairs, tunnel, client), client
                except asyncssh.HostKeyNotVerifiable as error:
                    shown = fingerprint(written(client.shown)) if client.shown is not None else "of a kind nobody trusts"
                    raise changed(step.name, shown, [fingerprint(key) for key in step.keys]) from error
                except (asyncssh.ConnectionLost, ConnectionResetError):
                    if not left:
                        raise
                await asyncio.sleep(random.uniform(0.2, 1.0))
    except (OSError, asyncssh.Error, ValueError, TimeoutError) as error:
        raise told(step.name, error, seconds) from error
    finally:
        keys.close()
    raise unseen(step.name)


async def _begun(step: Step, pairs: list[Any], tunnel: Any, client: _Client) -> Any:
    host = step.host
    interval, count = _alive(host)
    more: dict[str, Any] = {"username": host.user} if host.user else {}
    if host.option("Compression") == "yes":
        more["compression_algs"] = ["zlib@openssh.com"]
    return await asyncssh.connect(
        host.host, host.port, **more, **_algorithms(host), tunnel=tunnel, config=None, client_factory=lambda: client,
        known_hosts=([asyncssh.import_public_key(key) for key in step.keys], [], []), x509_trusted_certs=None,
        x509_trusted_cert_paths=[], client_keys=pairs, agent_path=None, agent_forwarding=False, pkcs11_provider=None,
        preferred_auth="publickey", password_auth=False, kbdint_auth=False, host_based_auth=False, gss_kex=False, gss_auth=False,
        proxy_command=None, keepalive_interval=interval, keepalive_count_max=count, login_timeout=_seconds(host),
        connect_timeout=_seconds(host))


def _algorithms(host: Host) -> dict[str, Any]:
    """Of the options, what both looking and connecting take."""
    names = {"Ciphers": "encryption_algs", "MACs": "mac_algs", "KexAlgorithms": "kex_algs",
             "HostKeyAlgorithms": "server_host_key_algs", "PubkeyAcceptedAlgorithms": "signature_algs"}
    found: dict[str, Any] = {ours: host.option(name) for name, ours in names.items() if host.option(name)}
    family = {"inet": 2, "inet6": 10}.get(host.option("AddressFamily"))
    return {**found, **({"family": family} if family else {})}


def _seconds(host: Host) -> float:
    return float(host.option("ConnectTimeout") or CONNECT_S)


def _alive(host: Host) -> tuple[int, int]:
    return int(host.option("ServerAliveInterval") or ALIVE_S), int(host.option("ServerAliveCountMax") or ALIVE_COUNT)
