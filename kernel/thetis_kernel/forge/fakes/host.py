"""What every world's stand-in shares: the guest's own key-value namespace, and how answers and refusals look.

`sys.log`, `now-ms` and `sleep` are left to the call's own defaults, which are those of production: a candidate that
sleeps really sleeps, on its own budget.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from thetis_kernel.errors import ThetisError
from thetis_kernel.protocol.ids import new_session_id

Import = Callable[..., "str | int | None"]
MAX_VALUE = 1 << 20
MAX_KEYS = 200


class BadRequest(ThetisError):
    """The guest asked in a way the contract does not know."""

    code = "bad-arguments"


class FakeHost:
    """Imports of one smoke call, keyed "interface.function"."""

    def __init__(self) -> None:
        self.session = new_session_id()
        self._kv: dict[str, str] = {}
        self.imports: dict[str, Import] = {
            "sys.kv-get": lambda key: self._kv.get(key, "null"),
            "sys.kv-put": self._kv_put,
        }

    def _kv_put(self, key: str, value_json: str) -> str:
        if len(value_json) > MAX_VALUE or len(key) > 200 or (key not in self._kv and len(self._kv) >= MAX_KEYS):
            raise BadRequest("The value does not fit this guest's namespace.", hint="At most 1 MiB a value and 200 keys.")
        self._kv[key] = value_json
        return ""


def lately_ms() -> int:
    """A time of the day before, in milliseconds: a date of its own would tell a candidate that it is being tried."""
    return time.time_ns() // 1_000_000 - 86_400_000


def dumps(value: Any) -> str:
    """JSON text as the host answers it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads_object(text: str, what: str) -> dict[str, Any]:
    """The JSON object in `text` ({} for ""). Raises BadRequest naming `what`."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as exc:
        raise BadRequest(f"The {what} are not JSON: {exc}.") from exc
    if not isinstance(value, dict):
        raise BadRequest(f"The {what} must be a JSON object.")
    return value
