"""The host's side of the agent's and the tools' imports, by their names in the contract.

Every function here may raise errors of the tree: the wasm host turns them into the guest's err values. What has an effect
goes through toolhost, which permits and logs it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from thetis_kernel import crash
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.hosts.worker.journal import GatewayJournal
from thetis_kernel.protocol.events import GUEST_MAY_APPEND, Assistant, StateChanged, Usage, decode_body
from thetis_kernel.protocol.worker import GuestBundle
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.dispatch import direct, invoke_many

Import = Callable[..., str | int | None]
MAX_PAGE = 1 << 20
MAX_KV = 256 * 1024
MAX_SLEEP_MS = 60_000
GUEST_STATE_SCOPES = frozenset({"plan", "todos", "groups"})


class Inbox:
    """What reached a running turn: nudges once each, the stop, and what has been spent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nudges: list[dict[str, Any]] = []
        self._wakes = False
        self._started = time.monotonic()
        self.tokens = 0

    def deliver(self, seq: int, text: str, wakes: bool = True) -> None:
        """A nudge arrived."""
        with self._lock:
            self._nudges.append({"seq": seq, "text": text})
            self._wakes = self._wakes or wakes

    @property
    def unread(self) -> bool:
        """Whether something worth waking for was delivered since the last look."""
        with self._lock:
            return self._wakes

    def poll(self, cancelled: bool) -> dict[str, Any]:
        """Everything new, as session.poll-inbox answers it."""
        with self._lock:
            nudges, self._nudges, self._wakes = self._nudges, [], False
        return {"cancelled": cancelled, "nudges": nudges, "tokens": self.tokens,
                "elapsed-ms": int((time.monotonic() - self._started) * 1000)}


def sys_imports(context: TurnContext, guest: GuestBundle, log: Callable[[str, str, str], None]) -> dict[str, Import]:
    """`sys` for one guest; `log(aspect, level, message)` takes its diagnostics. `sys.code` is the wasm host's own."""
    scope = f"kv:{guest.aspect}"

    def kv_get(key: str) -> str:
        return context.journal.state(scope).get(key, "null")

    def kv_put(key: str, value_json: str) -> str:
        if not key or len(key) > 200:
            raise ThetisError("A key has 1 to 200 characters.", code="bad-arguments")
        if len(value_json.encode("utf-8", "replace")) > MAX_KV:
            raise ThetisError(f"A value holds at most {MAX_KV} bytes.", code="bad-arguments")
        _json(value_json, "the value")
        context.journal.append(StateChanged(scope=scope, key=key, value=value_json))
        return "null"

    def sleep(ms: int) -> None:
        context.cancelled.wait(min(ms, MAX_SLEEP_MS) / 1000)

    return {
        "sys.log": lambda level, message: log(guest.aspect, level, message),
        "sys.now-ms": lambda: time.time_ns() // 1_000_000,
        "sys.sleep": sleep,
        "sys.kv-get": kv_get,
        "sys.kv-put": kv_put,
    }


def agent_imports(context: TurnContext, journal: GatewayJournal, inbox: Inbox,
                  complete: Callable[[bytes, bool], bytes]) -> dict[str, Import]:
    """Everything of the agent's world but `sys`. `complete(request, record)` runs one model call through the gateway."""

    def read(after: int, max_bytes: int) -> str:
        page = journal.read(after, min(max(max_bytes, 1), MAX_PAGE))
        events = [{"seq": e.seq, "kind": e.kind, "ts_ms": e.ts_ms, "body": msgspec.Raw(e.raw)} for e in page.events]
        last = page.events[-1].seq if page.events else after
        return msgspec.json.encode({"events": events, "next": last, "end": page.end}).decode()

    def append(kind: str, body_json: str) -> str:
        if kind not in GUEST_MAY_APPEND:
            raise Refused(f"A guest cannot write {kind[:40]!r} events; the host does.", capability="state",
                          hint="Allowed: " + ", ".join(sorted(GUEST_MAY_APPEND)) + ".")
        table = _json(body_json, "the body")
        if not isinstance(table, dict):
            raise ThetisError("The body must be a JSON object.", code="bad-arguments")
        try:
            body = decode_body(kind, msgspec.json.encode({**table, "kind": kind}))
        except msgspec.ValidationError as error:
            raise ThetisError(f"The {kind} event does not fit: {error}.", code="bad-arguments") from error
        if isinstance(body, Assistant):  # words of the agent's own: no provider counted them, and they settle no bill
            body = msgspec.structs.replace(body, usage=Usage(), cost=None)
        if isinstance(body, StateChanged) and body.scope not in GUEST_STATE_SCOPES:
            raise Refused(f"The scope {body.scope[:40]!r} is not the agent's to write.", capability="state",
                          hint="Notes go through notes.remember, keys through sys.kv-put.")
        if kind == "compaction":
            crash.point("compaction.summed")
        return _text({"seq": context.journal.append(body)})  # type: ignore[arg-type]  # GUEST_MAY_APPEND kinds are known

    def llm_complete(request_json: str) -> str:
        request = _json(request_json, "the request")
        if not isinstance(request, dict):
            raise ThetisError("The request must be a JSON object.", code="bad-arguments")
        answer = complete(request_json.encode("utf-8", "replace"), request.get("record", True) is not False)
        usage = msgspec.json.decode(answer).get("usage", {})
        inbox.tokens += sum(usage.get(part, 0) for part in ("input", "output", "cache_read", "cache_write"))
        return answer.decode()

    def registry() -> str:
        tools = []
        for name, guest in sorted(context.guests.items()):
            manifest = _json(guest.describes, "a manifest")
            tools.append({"name": name, "description": manifest.get("description", ""),
                          "input_schema": manifest.get("input_schema", {}),
                          "group": manifest.get("group", "extra"), "mutating": manifest.get("mutating", True)})
        return _text(tools)

    def run(command: str, options_json: str) -> str:
        options = _json(options_json or "{}", "the options")
        return _text(direct(context, "terminal.run", {"command": command, **options}))

    def op(name: str, *parameters: str) -> Import:
        return lambda *values: _text(direct(context, name, dict(zip(parameters, values, strict=True))))

    def query(name: str) -> Import:
        return lambda query_json: _text(direct(context, name, _json(query_json or "{}", "the query")))

    return {
        "session.read": read,
        "session.append": append,
        "session.poll-inbox": lambda: _text(inbox.poll(context.cancelled.is_set())),
        "llm.complete": llm_complete,
        "tooling.registry": registry,
        "tooling.invoke-many": lambda calls_json: _text(invoke_many(context, calls_json)),
        "files.read-file": op("files.read-file", "path", "offset", "limit"),
        "files.write-file": op("files.write-file", "path", "contents"),
        "files.edit-file": op("files.edit-file", "path", "old_text", "new_text", "replace_all"),
        "files.list-dir": op("files.list-dir", "path"),
        "files.search-files": query("files.search-files"),
        "files.find-files": query("files.find-files"),
        "terminal.run": run,
        "notes.remember": op("notes.remember", "key", "content"),
        "notes.recall": op("notes.recall", "key"),
        "devkit.list-code": op("devkit.list-code", "directory"),
        "devkit.read-code": op("devkit.read-code", "path", "offset", "limit"),
        "devkit.write-code": op("devkit.write-code", "path", "contents"),
        "devkit.patch-code": op("devkit.patch-code", "path", "old_text", "new_text"),
        "devkit.remove-code": op("devkit.remove-code", "path"),
        "devkit.new-tool": op("devkit.new-tool", "name", "description"),
        "devkit.history": op("devkit.history", "aspect"),
        "devkit.roll-back": op("devkit.roll-back", "aspect", "revision"),
        "devkit.update-code": op("devkit.update-code", "aspect"),
        "branch.status": op("branch.status"),
        "branch.log": op("branch.log", "limit"),
        "branch.commit": op("branch.commit", "message"),
        "branch.update-from-trunk": op("branch.update-from-trunk"),
        "branch.complete-merge": op("branch.complete-merge", "message"),
        "branch.abort-merge": op("branch.abort-merge"),
        "branch.reset-to": op("branch.reset-to", "revision"),
        "devkit.add-dependency": op("devkit.add-dependency", "aspect", "requirement"),
        "devkit.remove-dependency": op("devkit.remove-dependency", "aspect", "name"),
        "devkit.list-dependencies": op("devkit.list-dependencies", "aspect"),
        "agents.spawn": query("agents.spawn"),
        "agents.status": op("agents.status", "child"),
        "agents.transcript": op("agents.transcript", "child", "after"),
        "agents.cancel": op("agents.cancel", "child"),
        "agents.profiles": op("agents.profiles"),
        "wait.until": query("wait.until"),
    }


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ThetisError(f"{what[0].upper() + what[1:]} is not usable JSON: {error}.", code="bad-arguments") from error


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
