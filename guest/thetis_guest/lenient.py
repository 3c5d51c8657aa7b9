"""Reading JSON of unknown shape: every reader answers a value of the asked type, whatever stands there.

For events of other versions, damaged bodies, and answers of models: a reader never raises.
"""

from __future__ import annotations

import json
from typing import Any


def text(value: Any, key: str, default: str = "") -> str:
    """The string under `key` of a dict; `default` for anything else."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else default


def number(value: Any, key: str, default: int = 0) -> int:
    """The whole number under `key`; a bool is none."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found != found or abs(found) > 1e18:
        return default
    return int(found)


def flag(value: Any, key: str) -> bool:
    """Whether the value under `key` is exactly true."""
    return isinstance(value, dict) and value.get(key) is True


def mapping(value: Any, key: str) -> dict[str, Any]:
    """The object under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def objects(value: Any, key: str) -> list[dict[str, Any]]:
    """The objects in the list under `key`; other items are left out."""
    found = value.get(key) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def strings(value: Any, key: str) -> list[str]:
    """The strings in the list under `key`; other items are left out."""
    found = value.get(key) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def parsed(content: str) -> Any:
    """The JSON value of `content`, or None when it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
