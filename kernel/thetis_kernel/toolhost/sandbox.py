"""The `sandbox` interface: the powers of toolhost as a tool guest sees them, permitted one by one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from thetis_kernel.toolhost import authority, files, network
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.inside import Inside
from thetis_kernel.toolhost.operations import BadArguments, perform

Import = Callable[..., str | int | None]
WHOLE = -1
"""As the limit of a read: the whole text as it is, lines uncut, for a tool that takes it in itself."""


def sandbox_imports(context: TurnContext, call: str, tool: str = "") -> dict[str, Import]:
    """The imports "sandbox.*" of the tool guest `tool` running for `call`, whose result will tell of the effects."""
    inside = context.inside[call] = Inside()

    def ok(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    def read_file(path: str, options_json: str) -> str:
        options = _options(options_json, {"offset", "limit"})
        if options.get("limit") == WHOLE:
            authority.permit(context, "sandbox.read-file", call)
            return files.read_whole(context.tree, path)
        data = perform(context, "files.read-file", call, {"path": path, **options})
        return str(data["text"])

    def list_files(path: str, options_json: str) -> str:
        options = _options(options_json, {"glob", "limit"})
        if "glob" in options:
            query = {"glob": options["glob"], "path": path or ".", "max_results": options.get("limit", 0)}
            found = perform(context, "files.find-files", call, query)
            return ok([{"path": name, "kind": "file", "size": 0} for name in found["files"]])
        listed = perform(context, "files.list-dir", call, {"path": path or "."})
        prefix = "" if listed["path"] == "." else listed["path"] + "/"
        entries = listed["entries"][: options.get("limit") or None]
        return ok([{"path": prefix + e["name"], "kind": e["kind"], "size": e["size"]} for e in entries])

    def search(pattern: str, options_json: str) -> str:
        options = _options(options_json, {"path", "glob", "limit"})
        query = {"pattern": pattern, "path": options.get("path", "."), "glob": options.get("glob", ""),
                 "max_results": options.get("limit", 0)}
        return ok(perform(context, "files.search-files", call, query)["matches"])

    def write_file(path: str, contents: str) -> str:
        with inside.effect("write", path):
            return ok(perform(context, "files.write-file", call, {"path": path, "contents": contents}))

    def execute(command: str, options_json: str) -> str:
        options = _options(options_json, {"cwd", "timeout-ms"})
        arguments = {"command": command, "cwd": options.get("cwd", "."), "timeout_ms": options.get("timeout-ms", 0)}
        with inside.effect("exec", command) as entry:
            data = perform(context, "terminal.run", call, arguments)
            if data["exit"]:
                entry["how"] = f"exit {data['exit']}"
        return ok({"exit": data["exit"], "output": data["output"], "truncated": data["truncated"],
                   "timed-out": data["timed_out"]})

    def http(request_json: str) -> str:
        with inside.effect("http", network.named(request_json)) as entry:
            answer = network.http(context, tool, call, request_json)
            entry["how"] = f"status {answer['status']}"
            return ok(answer)

    def available() -> str:
        capabilities: tuple[authority.Capability, ...] = ("read", "write", "exec", "http")
        return ok({capability: authority.may(context, capability, call) for capability in capabilities})

    return {
        "sandbox.available": available,
        "sandbox.read-file": read_file,
        "sandbox.list-files": list_files,
        "sandbox.search": search,
        "sandbox.write-file": write_file,
        "sandbox.exec": execute,
        "sandbox.http": http,
    }


def _options(text: str, known: set[str]) -> dict[str, Any]:
    try:
        options = json.loads(text or "{}")
    except ValueError as error:
        raise BadArguments(f"The options are not JSON: {error}.") from error
    if not isinstance(options, dict):
        raise BadArguments("The options must be a JSON object.")
    extra = sorted(set(options) - known)
    if extra:
        raise BadArguments(f"There is no option {extra[0]!r}.", hint="Known: " + ", ".join(sorted(known)) + ".")
    return options
