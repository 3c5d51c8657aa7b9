"""Pictures and PDFs in what a person types: a pasted or dropped path, and `@file` in the words.

Must not know about widgets. What something is, its content says; the bytes themselves are the gateway's to take.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from thetis_kernel.protocol import media

LONGEST = 8192
"""Characters of a paste that is looked at: a longer one is no list of paths."""
_STARTS = ("/", "~", "'", '"', "file://")
_MENTION = re.compile(r"(?:(?<=\s)|^)@(?:\"([^\"\n]{1,4096})\"|([^\s\"]{1,4096}))")
_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")


def pasted(text: str) -> list[str]:
    """The absolute paths a paste consists of, when each is a picture or a PDF; [] for any other paste.

    As terminals paste what is dropped on them: quoted, with backslashes before spaces, or as file:// addresses.
    """
    text = text.strip()
    if not text or len(text) > LONGEST or not text.startswith(_STARTS):
        return []
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    for candidates in (words, [text]):  # a path with spaces that nobody quoted is one too
        paths = [_path(word) for word in candidates]
        if paths and all(path and kind(path) for path in paths):
            return paths
    return []


def mentioned(text: str, root: str) -> list[str]:
    """The absolute paths of pictures and PDFs that `text` names with @, in order, once each; others are only words.

    `@"a path with spaces"`; a relative one is looked for in `root`. An absolute one that is called like a picture or PDF
    is named even when it is not there, so that somebody says so.
    """
    found: list[str] = []
    for match in _MENTION.finditer(text):
        word = match[1] or match[2]
        for name in dict.fromkeys((word, word.rstrip(".,;:!?)"))):
            path = os.path.join(root, os.path.expanduser(name))
            promised = os.path.isabs(os.path.expanduser(name)) and name.lower().endswith(_NAMES)
            if os.path.isabs(path) and (kind(path) or promised):
                if path not in found:
                    found.append(path)
                break
    return found


def kind(path: str) -> str:
    """`picture` or `PDF`, by the content of an ordinary file; "" for everything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return ""
    try:
        head = os.read(descriptor, media.HEAD) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    found = media.media_type(head)
    return media.kind_of(found) if found else ""


def mention(path: str) -> str:
    """How words name the file."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def _path(word: str) -> str:
    if word.startswith("file://"):
        parts = urlsplit(word)
        word = unquote(parts.path) if parts.hostname in (None, "localhost") else ""
    path = os.path.expanduser(word)
    return str(Path(path)) if os.path.isabs(path) and '"' not in path and path.isprintable() else ""
