"""What a person vouched for: the way to a machine, by a digest over it, and the keys machines showed them.

In the root's state directory, 0600, apart from the registry: whoever can write a registry, a clone for example, cannot vouch
for what it says. A way that changed in anything is another way. Keys are kept under a digest of the address, so that the file
is no map. What cannot be read vouches for nothing. Must not know connections.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from thetis_kernel import localfile
from thetis_kernel.errors import ConfigError
from thetis_kernel.ssh.host import Host

FILE = "ssh-trust.json"
MAX_BYTES = 1 << 20
MAX_KEYS = 8
"""Of one machine: one an algorithm."""


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """`ways`: name -> digest of the host; `keys`: digest of the address -> public keys, as OpenSSH writes them."""

    ways: dict[str, str] = {}
    keys: dict[str, list[str]] = {}


class Trust:
    """The book of one root. Every method may raise ConfigError."""

    def __init__(self, base: Path) -> None:
        self.file = base / FILE

    def vouched(self, name: str, host: Host) -> bool:
        """Whether a person vouched for exactly this way under exactly this name."""
        return self._read().ways.get(name) == host.digest

    def keys(self, host: Host) -> list[str]:
        """The keys a person accepted of the machine at this address; none before they did."""
        return self._read().keys.get(address(host), [])

    def vouch(self, name: str, host: Host) -> None:
        """A person means this way to be gone."""
        with localfile.locked(self.file):
            kept = self._read()
            kept.ways[name] = host.digest
            self._write(kept)

    def accept(self, host: Host, key: str, *, instead: bool) -> None:
        """A person has seen this key of the machine. `instead`: of all the others; else beside them."""
        with localfile.locked(self.file):
            kept = self._read()
            others = [] if instead else [one for one in kept.keys.get(address(host), []) if one != key]
            kept.keys[address(host)] = [*others, key][-MAX_KEYS:]
            self._write(kept)

    def forget(self, name: str) -> None:
        """Nobody vouches for this name any more; the machine's keys stay known."""
        with localfile.locked(self.file):
            kept = self._read()
            if kept.ways.pop(name, None) is not None:
                self._write(kept)

    def _read(self) -> Kept:
        try:
            raw = localfile.read(self.file, MAX_BYTES)
            return Kept() if raw is None else msgspec.json.decode(raw, type=Kept)
        except (OSError, msgspec.MsgspecError, RecursionError) as error:
            raise ConfigError(f"{self.file} cannot be read, so no machine is trusted.", file=str(self.file), line=0, key="",
                              hint="Move it away, and vouch for the machines anew with `thetis ssh trust`.") from error

    def _write(self, kept: Kept) -> None:
        try:
            localfile.replace(self.file, msgspec.json.format(msgspec.json.encode(kept)), mode=0o600)
        except OSError as error:
            raise ConfigError(f"{self.file} cannot be written: {error.strerror}.", file=str(self.file), line=0, key="") from error


def address(host: Host) -> str:
    """The key of an address in the book."""
    return hashlib.sha256(f"{host.host.lower()}\0{host.port}".encode()).hexdigest()[:32]
