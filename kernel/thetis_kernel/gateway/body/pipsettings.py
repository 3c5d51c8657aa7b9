"""Which index the person's pip uses: its own settings, read where pip reads them, handed on as what they are.

Nothing here names an index. Only what says where packages come from is taken; what steers an installation is left.
"""

from __future__ import annotations

import configparser
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

TAKEN = ("index-url", "extra-index-url", "no-index", "find-links", "trusted-host", "cert", "client-cert", "proxy")
"""pip's options that say where packages come from and how to get there."""
_SECTIONS = ("global", "download")
_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
            "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # fmt: skip
_PLACES = ("PIP_FIND_LINKS", "PIP_CERT", "PIP_CLIENT_CERT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "SSL_CERT_FILE",
           "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # fmt: skip


def of_the_person(environ: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that say to pip what the person's files and environment say: later files win, then variables."""
    found: dict[str, str] = {}
    for file in _files(environ):
        found |= _read(file)
    for name in (*(_variable(option) for option in TAKEN), *_NETWORK):
        if environ.get(name):
            found[name] = environ[name]
    return found


def network_only(settings: Mapping[str, str]) -> dict[str, str]:
    """Without what names an index: the person named one for Thetis, and no other is to be asked."""
    named = {_variable(option) for option in ("index-url", "extra-index-url", "no-index", "find-links")}
    return {name: value for name, value in settings.items() if name not in named}


def places(settings: Mapping[str, str], index: str) -> tuple[Path, ...]:
    """Existing files and directories of this machine that the settings and the index name."""
    words = [word for name in _PLACES for word in settings.get(name, "").split()] + [index]
    return tuple(dict.fromkeys(path.resolve() for word in words if (path := _local(word)) is not None and path.exists()))


def _local(word: str) -> Path | None:
    """The file a word names, as pip reads it: a path from the root, or a file: address with what is encoded in it decoded."""
    if word.startswith("/"):
        return Path(word)
    try:
        address = urlsplit(word)
    except ValueError:
        return None
    path = unquote(address.path)
    here = address.scheme == "file" and address.netloc in ("", "localhost")
    return Path(path) if here and path.startswith("/") and "\0" not in path else None


def _variable(option: str) -> str:
    return f"PIP_{option.upper().replace('-', '_')}"


def _files(environ: Mapping[str, str]) -> list[Path]:
    """In the order pip reads them: the machine's, the person's, the environment's, and the one that is named."""
    home = Path(environ.get("HOME") or Path.home())
    shared = [Path(place) / "pip" / "pip.conf" for place in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if place]
    own = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    named = [Path(environ["PIP_CONFIG_FILE"])] if environ.get("PIP_CONFIG_FILE") else []
    return [*shared, Path("/etc/pip.conf"), home / ".pip" / "pip.conf", own, Path(sys.prefix) / "pip.conf", *named]


def _read(file: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return {}  # as if it were not there: pip itself says what is wrong with it
    found: dict[str, str] = {}
    for section in _SECTIONS:
        for option in TAKEN:
            value = parser.get(section, option, fallback="").strip()
            if value:
                found[_variable(option)] = " ".join(value.split())
    return found
