"""Who a commit is by: what git was told about the user, else Thetis itself.

libgit2 reads the user's configuration where HOME pointed when pygit2 was imported.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pygit2

from thetis_kernel.repo.library import GIT_ERRORS

FALLBACK_NAME, FALLBACK_EMAIL = "Thetis", "thetis@localhost"
_AUTHOR = re.compile(r"\s*(.+?)\s*<([^<>]+)>\s*")
_UNFIT = re.compile(r"[\x00-\x1f\x7f<>]+")
"""What would end the line or the address in a commit's header."""


class Identity(NamedTuple):
    """`is_users` false: it is Thetis's own."""

    name: str
    email: str
    is_users: bool


def identity_of(repository: pygit2.Repository) -> Identity:
    """The user's identity as the repository's configuration has it; Thetis's unless both halves are there."""
    try:
        name, email = repository.config["user.name"], repository.config["user.email"]
    except GIT_ERRORS:
        return Identity(FALLBACK_NAME, FALLBACK_EMAIL, False)
    return _fit(name or "", email or "") or Identity(FALLBACK_NAME, FALLBACK_EMAIL, False)


def signatures(repository: pygit2.Repository, author: str) -> tuple[pygit2.Signature, pygit2.Signature]:
    """Author and committer, now. `author` is "Name <email>", or "" for the committer's identity."""
    committer = identity_of(repository)
    match = _AUTHOR.fullmatch(author)
    writer = (_fit(match[1], match[2]) if match else None) or committer
    return pygit2.Signature(writer.name, writer.email), pygit2.Signature(committer.name, committer.email)


def _fit(name: str, email: str) -> Identity | None:
    name, email = (_UNFIT.sub(" ", half).encode("utf-8", "replace").decode().strip() for half in (name, email))
    return Identity(name, email, True) if name and email else None
