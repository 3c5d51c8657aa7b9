"""What this gateway knows to be secret: keys, variables whose names say so, settings whose names say so, values of `.env` files.

Values are turned into digests at once and not kept. The keys of files and keyrings never come here: the model host, their only
holder, answers with their digests. Must not know where texts go.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from thetis_kernel.config.settings import Settings
from thetis_kernel.scrub.scrubber import Scrubber
from thetis_kernel.scrub.shapes import random_looking

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|SIGNATURE|(?:^|_)(?:AUTH|PAT|PW|DSN|WEBHOOK)(?:_|$)", re.I)
PLAIN_NAME = re.compile(r"_(?:FILE|PATH|DIR|URL|ID|NAME|TYPE|SOCK|HOST|PORT)$|^(?:SSH_AUTH_SOCK|GPG_KEY|XAUTHORITY)$", re.I)
"""Names that hold one of those words and mean a place, not a value."""
MAX_FILE = 64 * 1024
MAX_VALUES = 200
SHORTEST = 12
"""Characters of a value out of a file: a checkout's `.env` is a stranger's and must not declare ordinary words secret."""
_LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]{0,80})\s*=\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s#]*))", re.M)
ENV_FILES = (".env", ".env.local", ".env.development", ".env.production", ".env.test")


def gathered(settings: Settings, root: Path, environ: Mapping[str, str] = os.environ) -> Scrubber:
    """A scrubber that knows the environment's secrets, the settings' and those of the root's `.env` files."""
    scrubber = Scrubber()
    scrubber.learn(*_of_environment(environ), *_of_tools(settings.tools, environ))
    for name in ENV_FILES:
        scrubber.learn(*of_env_file(root / name))
    return scrubber


def of_env_file(file: Path) -> list[str]:
    """The values of a `.env` file that look like secrets; none for a link, a pipe, or a file that is too large."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        raw = os.read(descriptor, MAX_FILE) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
    found = []
    for match in _LINE.finditer(raw.decode("utf-8", "replace")):
        value = (match[2] or match[3] or match[4] or "").strip()
        if len(value) >= SHORTEST and (is_secret_name(match[1]) or random_looking(value)):
            found.append(value)
    return found[:MAX_VALUES]


def is_secret_name(name: str) -> bool:
    """Whether a variable or setting of this name holds a secret."""
    return SECRET_NAME.search(name) is not None and PLAIN_NAME.search(name) is None


def shown(name: str, value: Any) -> Any:
    """A setting as people are shown it: a reference as it is, anything else under a secret's name as a word for it."""
    if isinstance(value, dict):
        return {key: shown(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [shown(name, one) for one in value]
    reference = isinstance(value, str) and value.partition(":")[0] in ("env", "file", "keyring")
    return "(set, not shown)" if is_secret_name(name) and value and not reference else value


def _of_environment(environ: Mapping[str, str]) -> Iterator[str]:
    yield from (value for name, value in environ.items() if is_secret_name(name))


def _of_tools(block: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[str]:
    """Secrets in the tools' blocks, and what their `env:NAME` references lead to."""
    for name, value in block.items():
        if isinstance(value, dict):
            yield from _of_tools(value, environ)
        elif isinstance(value, str) and value.startswith("env:"):
            yield environ.get(value[4:], "")
        elif isinstance(value, str) and is_secret_name(name) and not value.startswith(("file:", "keyring:")):
            yield value

