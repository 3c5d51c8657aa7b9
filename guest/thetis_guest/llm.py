"""Completions by the conversation's model."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def complete(request: dict[str, Any]) -> dict[str, Any]:
    """One completion: request {"system", "messages", "tools", "max_tokens", "record"}.

    Answers {"seq", "end", "blocks", "usage", "detail"}. A failed stream is an answer too: look at "end".
    """
    return _bind.value("llm", "complete", _bind.dumps(request))  # type: ignore[no-any-return]
