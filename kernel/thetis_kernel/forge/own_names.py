"""Which names the shipped agent gives its own tools: a tool guest of such a name would never be offered to a model.

They are read from the agent's text, as data; it is not imported.
"""

from __future__ import annotations

import functools
import re

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.paths import builtin_root

_DECLARED = re.compile(r"\bTool\(\s*[\"']([a-zA-Z0-9_-]{1,64})[\"']")


@functools.cache
def agents_own_names() -> frozenset[str]:
    """Names of the tools every conversation has. Raises RuntimeBuildError when the shipped agent cannot be read."""
    directory = builtin_root() / "aspects" / "agent_core"
    try:
        texts = [path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.py"))]
    except (OSError, UnicodeDecodeError) as exc:
        raise RuntimeBuildError(f"The shipped agent {directory} cannot be read.", hint="Install Thetis again.") from exc
    return frozenset(name for text in texts for name in _DECLARED.findall(text))
