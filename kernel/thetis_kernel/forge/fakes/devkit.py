"""A body in memory with one agent and one tool; every change passes. Knows no imports, only operations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from thetis_kernel.forge.fakes.host import BadRequest, lately_ms

FILES = {
    "aspects/agent_core/guest.toml": 'name = "agent_core"\nworld = "agent"\nversion = "0.3.0"\ndescription = "The agent."\n',
    "aspects/agent_core/main.py": '"""The agent."""\n\nfrom __future__ import annotations\n\nfrom loop import run_turn\n',
    "tools/outline/guest.toml": 'name = "outline"\nworld = "tool"\nversion = "0.1.0"\ndescription = "Outlines."\n',
    "tools/outline/main.py": '"""Outlines source files."""\n\nfrom __future__ import annotations\n',
}
MAX_FILES = 100


class DevKit:
    """Operations by name, without their interface."""

    def __init__(self) -> None:
        self.files = dict(FILES)
        self._table: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "list-code": self._list, "read-code": self._read, "write-code": self._write, "patch-code": self._patch,
            "remove-code": self._remove, "new-tool": self._new_tool, "history": self._history, "roll-back": self._changed,
            "update-code": self._update,
            "add-dependency": self._package, "remove-dependency": self._package, "list-dependencies": self._packages,
        }  # fmt: skip

    def perform(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of an operation. Raises BadRequest for what no gateway would do."""
        found = self._table.get(name)
        if found is None:
            raise BadRequest(f"There is no operation devkit.{name[:40]}.")
        try:
            return found(arguments)
        except (KeyError, TypeError, AttributeError, ValueError) as exc:
            raise BadRequest(f"devkit.{name}: the arguments do not fit ({exc}).") from exc

    def _update(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"guests": [{"aspect": arguments["aspect"] or "agent", "how": "current", "revision": "", "conflicts": [],
                            "diagnostics": []}]}  # fmt: skip

    def _list(self, arguments: dict[str, Any]) -> dict[str, Any]:
        directory = arguments.get("directory", "").rstrip("/")
        if directory:
            below = {path: text for path, text in self.files.items() if path.startswith(directory + "/")}
            return {"files": [{"path": path, "bytes": len(text.encode())} for path, text in sorted(below.items())]}
        directories = sorted({path.rpartition("/")[0] for path in self.files if path.endswith("guest.toml")})
        return {"guests": [
            {"aspect": _aspect(each), "directory": each, "origin": "shipped", "revision": _digest(each), "version": "0.1.0",
             "description": "A guest."} for each in directories]}  # fmt: skip

    def _text(self, path: str) -> str:
        if path not in self.files:
            raise BadRequest(f"There is no file {path[:200]}.", code="not-found", hint="List the directory.")
        return self.files[path]

    def _read(self, arguments: dict[str, Any]) -> dict[str, Any]:
        lines = self._text(arguments["path"]).splitlines()
        first = max(int(arguments.get("offset") or 1), 1)
        kept = lines[first - 1 :][: int(arguments.get("limit") or 2000)]
        return {"path": arguments["path"], "text": "\n".join(kept), "first": first, "lines": len(kept), "total": len(lines),
                "truncated": first - 1 + len(kept) < len(lines)}  # fmt: skip

    def _write(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path, contents = arguments["path"], arguments["contents"]
        if len(contents) > 1 << 19 or len(self.files) >= MAX_FILES or path.count("/") < 2:
            raise BadRequest(f"{path[:200]} is no file of a guest.", hint="Paths begin with aspects/NAME/ or tools/NAME/.")
        self.files[path] = contents
        return self._changed({"path": path})

    def _patch(self, arguments: dict[str, Any]) -> dict[str, Any]:
        text = self._text(arguments["path"])
        if text.count(arguments["old_text"]) != 1:
            raise BadRequest("old_text does not occur exactly once.", hint="Read the file again.")
        return self._write({"path": arguments["path"],
                            "contents": text.replace(arguments["old_text"], arguments["new_text"])})  # fmt: skip

    def _remove(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._text(arguments["path"])
        del self.files[arguments["path"]]
        return self._changed(arguments)

    def _new_tool(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = f"tools/{arguments['name']}/main.py"
        return self._write({"path": path, "contents": FILES["tools/outline/main.py"]})

    def _history(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"revisions": [{"revision": _digest(arguments["aspect"]), "previous": "", "verdict": "pass", "by": "shipped",
                               "summary": "As shipped", "ts_ms": lately_ms(), "serving": True}]}  # fmt: skip

    def _package(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**self._changed({"path": "tools/outline/main.py"}), "packages": self._packages(arguments)["packages"]}

    def _packages(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"packages": [{"aspect": arguments["aspect"] or "tool/outline", "name": "idna", "version": "3.10", "modules": 8,
                              "sha256": _digest("idna"), "licence": "BSD-3-Clause", "wanted": True}]}  # fmt: skip

    def _changed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = arguments.get("path", "aspects/agent_core/main.py")
        return {"path": path, "aspect": _aspect(path), "ok": True, "revision": _digest(str(sorted(self.files.items()))),
                "diagnostics": [], "steps": [{"step": "compile", "ok": True, "ms": 12.5}]}  # fmt: skip


def _aspect(path: str) -> str:
    return "agent" if path.startswith("aspects/") else "/".join(["tool", path.split("/")[1]])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
