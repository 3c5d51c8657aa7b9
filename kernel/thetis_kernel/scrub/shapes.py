"""What a secret looks like when nobody told us of it: the issuers' own formats, private keys, passwords in URLs, and values of
high entropy behind a name that says it is one.

Random-looking text alone is no reason: digests, identifiers and encoded data are everywhere in a repository.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

ISSUED = (
    r"sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{24,}|sk-(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{32,}"
    r"|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}|xox[abeoprs]-[A-Za-z0-9-]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}"
    r"|pypi-[A-Za-z0-9_-]{50,}|[rs]k_live_[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{30,}|dop_v1_[a-f0-9]{60,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"
)
"""From the issuers' documentation and the rules of gitleaks."""
_ISSUED = re.compile(rf"(?<![A-Za-z0-9_-])(?:{ISSUED})(?![A-Za-z0-9_-])")
_PRIVATE = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.{40,20000}?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.S)
_IN_URL = re.compile(r"(?<=://)([^\s/:@\"'<>]{0,100}:)([^\s/@\"'<>]{3,300})(?=@)")
_VALUE = re.compile(r"(?:[:=]|[Bb]earer )>?\s{0,3}(?:[Bb]earer |[Bb]asic )?[\"']?([A-Za-z0-9+/_.~=-]{20,500})")
_NAME = re.compile(
    r"(?:secret|token|passwd|password|api_?-?key|private_?-?key|access_?-?key|credential|authorization)s?(?:[_.-][\w.-]{0,30})?[\"']{0,2}\s*$"
    r"|bearer\s*$", re.I)
"""Matched against what stands right before a value."""
_BEFORE = 60
_LIKELY = (
    "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "ya29.", "hf_", "npm_",
    "pypi-", "k_live_", "SG.", "dop_v1_", "eyJ",
)
BITS = 3.6
"""Of entropy for each character: random hexadecimal has 3.7 to 4, English and identifiers below 3.5 at this length."""


def find(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of what looks like a secret; places may overlap."""
    if any(mark in text for mark in _LIKELY):
        yield from (match.span() for match in _ISSUED.finditer(text))
    if "PRIVATE KEY" in text:
        yield from (match.span() for match in _PRIVATE.finditer(text))
    if "://" in text and "@" in text:
        yield from (match.span(2) for match in _IN_URL.finditer(text) if not _is_reference(match[2]))
    for match in _VALUE.finditer(text):
        if random_looking(match[1]) and _named(text[max(0, match.start() - _BEFORE) : match.start()], match[0]):
            yield match.span(1)


def random_looking(value: str) -> bool:
    """Whether a value has letters and digits mixed as no word has."""
    if not any(char.isdigit() for char in value) or not any(char.isalpha() for char in value):
        return False
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return entropy >= BITS


def _named(before: str, whole: str) -> bool:
    """Whether what stands before a value says that it is a secret."""
    return whole[:6].lower() == "bearer" or _NAME.search(before) is not None


def _is_reference(text: str) -> bool:
    """A placeholder: `$NAME`, `{name}`, stars."""
    return text[0] in "${%" or not text.strip("*xX.")
