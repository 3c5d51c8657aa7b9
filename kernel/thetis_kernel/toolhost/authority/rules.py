"""What a person allowed before, and whether it covers what is about to happen. Pure: who keeps the rules is the gateway.

A pattern is text a person can read: a whole command, path or host, or one with a wildcard at its end. For commands `git
diff *` means these first words and any further plain arguments; for paths `src/**` means everything below `src`, anchored
at the checkout's top; `**` and `*` mean everything.
"""

from __future__ import annotations

import shlex

from thetis_kernel.protocol.approvals import hidden
from thetis_kernel.toolhost.authority.intended import Subject

MAX_PATTERN = 500
"""Characters of a pattern that can still be read at a glance."""


def usable(capability: str, pattern: str) -> str:
    """"" when the pattern can be a rule, else the reason why not, as a sentence."""
    if not pattern.strip() or len(pattern) > MAX_PATTERN:
        return f"A rule's pattern has 1 to {MAX_PATTERN} characters."
    if any(map(hidden, pattern)) or "\n" in pattern or "\t" in pattern:
        return "A rule's pattern holds no line breaks, control or invisible characters."
    if capability == "exec" and _words(pattern.removesuffix("*")) is None:
        return "The quotes of this pattern do not end."
    if capability == "write" and ".." in pattern.split("/"):
        return "A path pattern has no `..`."
    return ""


def covers(capability: str, pattern: str, subject: Subject) -> bool:
    """Whether an allowance of `pattern` covers the subject."""
    if usable(capability, pattern):
        return False
    if pattern == subject.text:
        return True
    if not subject.wide:
        return False
    if capability == "exec":
        return pattern == "*" or (pattern.endswith(" *") and _begins(subject.text, pattern[:-2]))
    if capability == "write":
        inside = ".." not in subject.text.split("/") and not subject.text.startswith("/")
        return inside and (pattern == "**" or (pattern.endswith("/**") and subject.text.startswith(pattern[:-2])))
    return False


def _begins(text: str, prefix: str) -> bool:
    words, first = _words(text), _words(prefix)
    return bool(words) and bool(first) and words[: len(first)] == first  # type: ignore[index,arg-type]


def _words(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None
