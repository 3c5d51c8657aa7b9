"""The keys that are offered to a machine: the one its entry names, and what the person's agent holds.

Read in the process that connects, when it connects, and kept no longer. A key with a passphrase is never asked for it: there is
nobody to type, so it has to be in the agent (complaint 140). Owns the checks of a key file. Must not know connections.
"""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import asyncssh

from thetis_kernel.ssh.failures import SshError
from thetis_kernel.ssh.host import Host

MAX_KEY = 64 * 1024
"""Bytes of a key file; RSA of 16,384 bits has 13 KiB."""
MAX_OFFERED = 5
"""Keys of an agent that are tried where none is named: OpenSSH ends a connection after six (MaxAuthTries)."""
_AGENT_S = 5.0


class Offered:
    """Key pairs for one connection; `close` ends the talk with the agent."""

    def __init__(self, pairs: list[Any], agent: Any = None) -> None:
        self.pairs = pairs
        self._agent = agent

    def close(self) -> None:
        """The agent is not needed any more."""
        if self._agent is not None:
            self._agent.close()


async def offered(name: str, host: Host, agent: str) -> Offered:
    """What to offer to `name`. Raises SshError when there is nothing, or the key needs an agent that does not have it."""
    path = os.path.expanduser(host.identity_file)
    pair, public = await asyncio.to_thread(_from_file, name, path) if path else (None, None)
    if pair is not None:
        return Offered([pair])
    client = await _agent(agent)
    try:
        pairs = list(await asyncio.wait_for(client.get_keys([public] if public else None), _AGENT_S)) if client else []
    except (OSError, ValueError, TimeoutError) as error:
        raise SshError("The key agent does not answer.", code="ssh-key", hint="Start it anew, or name a key file.") from error
    if pairs:
        return Offered(pairs[:MAX_OFFERED], client)
    if client is not None:
        client.close()
    if path:
        raise SshError(f"The key of {name} needs an agent: it has a passphrase, and "
                       + ("the agent does not hold it." if client else "there is no agent here."), code="ssh-key",
                       hint="A person runs ssh-add for it where Thetis is started, or names a key without a passphrase.")
    raise SshError(f"There is no key for {name}: its entry names none, and "
                   + ("the agent holds none." if client else "there is no agent here."), code="ssh-key",
                   hint="A person sets identity_file, or runs ssh-add where Thetis is started.")


async def _agent(path: str) -> Any:
    if not path:
        return None
    try:
        return await asyncio.wait_for(asyncssh.connect_agent(path), _AGENT_S)
    except (OSError, TimeoutError):
        return None


def _from_file(name: str, path: str) -> tuple[Any, bytes | None]:
    """(key pair, None), or (None, its public part where that is known) for a key with a passphrase. Raises SshError."""
    data = _read(name, path)
    try:
        key = asyncssh.import_private_key(data)
    except asyncssh.KeyImportError as error:
        if "assphrase" not in str(error):
            raise SshError(f"The key file of {name} holds no private key this machine understands.", code="ssh-key",
                           hint=f"`thetis ssh show {name}` says which file it is.") from error
        return None, _public(path)
    return asyncssh.load_keypairs([key])[0], None


def _read(name: str, path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise SshError(f"The key file of {name} cannot be read: {(error.strerror or 'it is gone').lower()}.", code="ssh-key",
                       hint=f"`thetis ssh show {name}` says which file it is.") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
            raise SshError(f"The key file of {name} is no ordinary file of this user.", code="ssh-key")
        if found.st_mode & 0o077:
            raise SshError(f"The key file of {name} is open to other users, so it is not used.", code="ssh-key",
                           hint="A person sets its mode to 0600.")
        return os.read(descriptor, MAX_KEY)
    finally:
        os.close(descriptor)


def _public(path: str) -> bytes | None:
    try:
        data: bytes = asyncssh.import_public_key(Path(f"{path}.pub").read_bytes()[:MAX_KEY]).public_data
    except (OSError, asyncssh.KeyImportError):
        return None
    return data
