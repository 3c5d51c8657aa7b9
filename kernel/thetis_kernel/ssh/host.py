"""One machine of the registry: what may be said of it. Options are a closed list; none of them runs anything here.

Owns the checks. What is not understood is refused by name: ProxyCommand, LocalCommand and their like would be commands on this
machine. Must not know files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

import msgspec

from thetis_kernel.errors import UsageError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""Of a machine, as people and agents call it."""
_ADDRESS = re.compile(r"[A-Za-z0-9:](?:[A-Za-z0-9._:%-]{0,252}[A-Za-z0-9.])?")
_USER = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.@\\+-]{0,62}[A-Za-z0-9_$])?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
_WORDS = re.compile(r"[A-Za-z0-9@.,+^-]{1,500}")
MAX_HOSTS = 200
MAX_TEXT = 500
MAX_OPTIONS = 20


class HostError(UsageError):
    """What is said of a machine cannot be; the message names it without saying more than its name."""

    code = "ssh-host"


def _whole(least: int, most: int) -> Callable[[str], bool]:
    return lambda text: text.isascii() and text.isdigit() and len(text) < 8 and least <= int(text) <= most


OPTIONS: dict[str, Callable[[str], bool]] = {
    "ConnectTimeout": _whole(1, 120),
    "ServerAliveInterval": _whole(1, 3600),
    "ServerAliveCountMax": _whole(1, 100),
    "Compression": lambda text: text in ("yes", "no"),
    "AddressFamily": lambda text: text in ("any", "inet", "inet6"),
    "Ciphers": lambda text: _WORDS.fullmatch(text) is not None,
    "MACs": lambda text: _WORDS.fullmatch(text) is not None,
    "KexAlgorithms": lambda text: _WORDS.fullmatch(text) is not None,
    "HostKeyAlgorithms": lambda text: _WORDS.fullmatch(text) is not None,
    "PubkeyAcceptedAlgorithms": lambda text: _WORDS.fullmatch(text) is not None,
}
"""Options by the names of ssh_config(5), and what fits. Nothing that runs, forwards, logs or loosens the check of keys."""


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """[NAME] of the registry. `identity_file`: the path of a key, never a key; "" for whatever the agent holds. `jump`: the name
    of another machine on the way. `options`: "Name=value" of OPTIONS. `remote_cwd`: where shells begin; "" for the home
    directory. `description`: what an agent is told of it."""

    host: str
    port: int = 22
    user: str = ""
    identity_file: str = ""
    jump: str = ""
    options: list[str] = []
    remote_cwd: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if not _ADDRESS.fullmatch(self.host):
            raise ValueError("host is the name or address of a machine, nothing else")
        if not 1 <= self.port <= 65535:
            raise ValueError("port is from 1 to 65535")
        if self.user and not _USER.fullmatch(self.user):
            raise ValueError("user is a login name")
        if self.jump and not NAME.fullmatch(self.jump):
            raise ValueError("jump is the name of another machine here")
        if "PRIVATE KEY" in self.identity_file or "\n" in self.identity_file:
            raise ValueError("identity_file is the path of a key, never the key itself")
        if self.identity_file and not self.identity_file.startswith(("/", "~/")):
            raise ValueError("identity_file is an absolute path, or begins with ~/")
        for name in ("identity_file", "remote_cwd", "description"):
            text: str = getattr(self, name)
            if _CONTROL.search(text) or len(text) > MAX_TEXT:
                raise ValueError(f"{name} is one line of at most {MAX_TEXT} visible characters")
        if len(self.options) > MAX_OPTIONS:
            raise ValueError(f"there are more than {MAX_OPTIONS} options")
        for option in self.options:
            _check_option(option)

    def option(self, name: str, default: str = "") -> str:
        """The value of an option; the last one counts."""
        return next((one.partition("=")[2] for one in reversed(self.options) if one.partition("=")[0] == name), default)

    @property
    def digest(self) -> str:
        """Over everything that decides where a connection goes and as whom; what a person vouches for."""
        way = [self.host, self.port, self.user, self.identity_file, self.jump, list(self.options)]
        return hashlib.sha256(json.dumps(["thetis-ssh-1", *way]).encode()).hexdigest()


FIELDS = tuple(field.name for field in msgspec.structs.fields(Host))


def check_name(name: str) -> None:
    """Raise HostError for what cannot be a machine's name."""
    if not NAME.fullmatch(name):
        raise HostError(f"{name[:60]!r} cannot be the name of a machine.", hint="Use up to 40 letters, digits, dots and dashes.")


def made(name: str, table: object) -> Host:
    """A host from what a table says. Raises HostError that names the machine and the field, not its value."""
    check_name(name)
    try:
        return msgspec.convert(table, Host)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$.")
        raise HostError(f"{name}: {(where.rstrip('`') + ': ') if where else ''}{reason[0].lower()}{reason[1:]}.",
                        hint="Fields: " + ", ".join(FIELDS) + ".") from error


def _check_option(option: str) -> None:
    name, equals, value = option.partition("=")
    fits = OPTIONS.get(name)
    if fits is None:
        shown = name[:40] if name.isascii() and name.isalnum() else "one of them"
        raise ValueError(f"the option {shown} is not allowed; allowed are {', '.join(OPTIONS)}")
    if not equals or not fits(value):
        raise ValueError(f"the option {name} does not fit; it is written {name}=value")
