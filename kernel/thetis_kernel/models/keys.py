"""A provider's key, from where its setting says, read when it is needed and kept in memory only.

`file:` and `keyring:` are read here, in the model host; `env:` values come over the channel. Must not know any provider's
protocol, and no message of it holds a key.
"""

from __future__ import annotations

import importlib
import os
import stat

from thetis_kernel.errors import ModelError
from thetis_kernel.protocol.models import Provider

MAX_KEY = 16 * 1024
"""Bytes of a key file: a larger one is some other file."""


def key_of(provider: Provider, handed: str) -> str:
    """The key; "" for a provider that needs none. `handed`: what the gateway had in its environment.

    Raises ModelError with the way out when there is none, or when its file is open to others.
    """
    if not provider.key:
        return ""
    return secret_at(provider.key, handed, f"The provider {provider.name!r} has no key")


def secret_at(reference: str, handed: str, without: str) -> str:
    """The secret a reference names: `env:NAME` (which is `handed`), `file:/path` or `keyring:service/user`.

    `without`: how a sentence begins that says there is none. Raises ModelError.
    """
    kind, _, where = reference.partition(":")
    if kind == "env":
        key = handed
        if not key.strip():
            raise _no(without, f"the environment variable {where} is not set", f"Set {where} before you start Thetis.")
    elif kind == "file":
        key = _from_file(without, where)
    elif kind == "keyring":
        key = _from_keyring(without, where)
    else:
        raise _no(without, "its `key` setting begins with neither env:, file: nor keyring:", "Mend the setting.")
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise _no(without, f"what {kind}:{where} holds is not a key", "A key is one line of letters, digits and signs.")
    return key


def _from_file(without: str, where: str) -> str:
    if not os.path.isabs(where):
        raise _no(without, f"the path of its key file, {where!r}, is not absolute", "Write file:/absolute/path.")
    try:
        descriptor = os.open(where, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _no(without, f"its key file {where} cannot be read ({error.strerror})", "Make the file, mode 0600.") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _no(without, f"its key file {where} is no ordinary file", "Put the key into a file of its own.")
        if found.st_mode & 0o077:
            raise _no(without, f"its key file {where} is open to other users (mode {stat.S_IMODE(found.st_mode):04o})",
                      f"chmod 600 {where}")
        if found.st_uid not in (os.geteuid(), 0):
            raise _no(without, f"its key file {where} belongs to another user", "Use a file of your own.")
        return os.read(descriptor, MAX_KEY).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _from_keyring(without: str, where: str) -> str:
    service, _, user = where.partition("/")
    try:
        keyring = importlib.import_module("keyring")  # nothing of ours needs it, so it may be absent
    except ImportError as error:
        raise _no(without, "its key is in the system keyring, and the package that reads it is not installed",
                  "Install `keyring` beside Thetis, or use file: or env:.") from error
    try:
        key = keyring.get_password(service, user)
    except Exception as error:  # backends of the keyring raise what they like
        raise _no(without, f"the system keyring does not open ({type(error).__name__})",
                  "Unlock it, or use file: or env:.") from error
    if key is None:
        raise _no(without, f"the system keyring holds nothing for {user!r} at {service!r}",
                  f"keyring set {service} {user}")
    return str(key)


def _no(without: str, why: str, hint: str) -> ModelError:
    return ModelError(f"{without}: {why}.", hint=hint)
