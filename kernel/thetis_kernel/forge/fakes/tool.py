"""The tool world's stand-in: `sandbox` over the small checkout, in a session that may do everything but reach the network."""

from __future__ import annotations

from thetis_kernel.errors import Refused
from thetis_kernel.forge.fakes.checkout import Checkout
from thetis_kernel.forge.fakes.host import FakeHost, dumps, loads_object


class ToolHost(FakeHost):
    """Imports of one call of a tool."""

    def __init__(self) -> None:
        super().__init__()
        self._checkout = Checkout()
        self.imports.update(
            {
                "sandbox.available": lambda: dumps({"read": True, "write": True, "exec": True, "http": True}),
                "sandbox.read-file": self._read,
                "sandbox.list-files": self._list,
                "sandbox.search": self._search,
                "sandbox.write-file": self._write,
                "sandbox.exec": self._exec,
                "sandbox.http": self._http,
            }
        )

    def _read(self, path: str, options_json: str) -> str:
        options = loads_object(options_json, "options")
        return str(self._checkout.perform("files.read-file", {"path": path, **options})["text"])

    def _list(self, path: str, options_json: str) -> str:
        options = loads_object(options_json, "options")
        if "glob" in options:
            found = self._checkout.perform("files.find-files", {"glob": options["glob"]})["files"]
            return dumps([{"path": name, "kind": "file", "size": 0} for name in found])
        listed = self._checkout.perform("files.list-dir", {"path": path or "."})
        prefix = "" if listed["path"] == "." else listed["path"] + "/"
        return dumps([{"path": prefix + e["name"], "kind": e["kind"], "size": e["size"]} for e in listed["entries"]])

    def _search(self, pattern: str, options_json: str) -> str:
        options = loads_object(options_json, "options")
        found = self._checkout.perform("files.search-files", {"pattern": pattern, "glob": options.get("glob", "")})
        return dumps(found["matches"])

    def _write(self, path: str, contents: str) -> str:
        return dumps(self._checkout.perform("files.write-file", {"path": path, "contents": contents}))

    def _exec(self, command: str, options_json: str) -> str:
        loads_object(options_json, "options")
        data = self._checkout.perform("terminal.run", {"command": command})
        return dumps({"exit": data["exit"], "output": data["output"], "truncated": False, "timed-out": False})

    def _http(self, request_json: str) -> str:
        loads_object(request_json, "request")
        raise Refused("No host is allowed for this tool.", capability="http")
