"""A small Python project in memory, answering file operations as a worker would. Knows no imports, only operations."""

from __future__ import annotations

import fnmatch
from typing import Any

from thetis_kernel.forge.fakes.host import BadRequest

FILES = {
    "README.md": "# Ledger\n\nKeeps double-entry accounts in plain files.\n\n## Use\n\n    ledger add 12.50 food\n",
    "pyproject.toml": '[project]\nname = "ledger"\nversion = "1.4.0"\nrequires-python = ">=3.11"\n',
    "src/ledger/__init__.py": '"""Accounts in plain files."""\n\n__version__ = "1.4.0"\n',
    "src/ledger/book.py": (
        '"""The book: entries in order."""\n\nfrom __future__ import annotations\n\n\nclass Book:\n'
        '    """All entries."""\n\n    def __init__(self) -> None:\n        self.entries: list[tuple[str, int]] = []\n\n'
        "    def add(self, account: str, cents: int) -> None:\n        self.entries.append((account, cents))\n\n"
        "    def total(self) -> int:\n        return sum(cents for _, cents in self.entries)\n"
    ),
    "src/ledger/static/index.js": "export function total(rows) {\n  return rows.reduce((sum, r) => sum + r.cents, 0);\n}\n",
    "tests/test_book.py": "from ledger.book import Book\n\n\ndef test_total():\n    assert Book().total() == 0\n",
}


class Checkout:
    """Operations by name; arguments are checked no further than they are used."""

    def __init__(self) -> None:
        self.files = dict(FILES)

    def perform(self, op: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of `files.read-file`, `terminal.run`, ... Raises BadRequest for what no worker would do."""
        found = _OPERATIONS.get(op)
        if found is None:
            raise BadRequest(f"There is no operation {op[:80]!r}.")
        try:
            return found(self, arguments)
        except (KeyError, TypeError, AttributeError) as exc:
            raise BadRequest(f"{op}: the arguments do not fit ({exc}).") from exc

    def text(self, path: str) -> str:
        """The contents of a file."""
        path = _clean(path)
        if path not in self.files:
            raise BadRequest(f"There is no file {path[:200]}.", code="not-found", hint="List the directory.")
        return self.files[path]

    def read(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path, offset, limit = arguments["path"], int(arguments.get("offset") or 1), int(arguments.get("limit") or 2000)
        lines = self.text(path).splitlines()
        kept = lines[max(offset, 1) - 1 :][:limit]
        return {
            "path": _clean(path), "text": "\n".join(kept), "first": max(offset, 1), "lines": len(kept),
            "total": len(lines), "truncated": len(kept) < len(lines),
        }  # fmt: skip

    def write(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path, contents = _clean(arguments["path"]), arguments["contents"]
        if len(contents) > 1 << 20 or len(self.files) > 100:
            raise BadRequest("There is no space left.", code="no-space")
        created = path not in self.files
        self.files[path] = contents
        return {"path": path, "bytes": len(contents.encode("utf-8", "replace")), "created": created}

    def edit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path, old, new = _clean(arguments["path"]), arguments["old_text"], arguments["new_text"]
        count = self.text(path).count(old) if old else 0
        if count == 0 or (count > 1 and not arguments.get("replace_all")):
            raise BadRequest(f"old_text occurs {count} times in {path}.", code="no-match")
        self.write({"path": path, "contents": self.files[path].replace(old, new)})
        return {"path": path, "replaced": count}

    def list_dir(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = _clean(arguments.get("path") or ".")
        prefix = "" if path == "." else path + "/"
        entries: dict[str, dict[str, Any]] = {}
        for name, text in self.files.items():
            if name.startswith(prefix):
                head, slash, _ = name[len(prefix) :].partition("/")
                entries[head] = {"name": head, "kind": "dir" if slash else "file", "size": 0 if slash else len(text)}
        if not entries:
            raise BadRequest(f"There is no directory {path[:200]}.", code="not-found")
        ordered = sorted(entries.values(), key=lambda entry: (entry["kind"] != "dir", entry["name"]))
        return {"path": path, "entries": ordered, "total": len(ordered), "truncated": False}

    def search(self, arguments: dict[str, Any]) -> dict[str, Any]:
        pattern, glob = arguments["pattern"], arguments.get("glob") or "*"
        matches = [
            {"path": name, "line": number, "text": line}
            for name, text in sorted(self.files.items())
            if fnmatch.fnmatch(name, "*" + glob)
            for number, line in enumerate(text.splitlines(), 1)
            if pattern in line
        ]
        return {"matches": matches[:100], "truncated": len(matches) > 100}

    def find(self, arguments: dict[str, Any]) -> dict[str, Any]:
        glob = arguments["glob"].removeprefix("**/")
        return {"files": [name for name in sorted(self.files) if fnmatch.fnmatch(name, "*" + glob)], "truncated": False}

    def run(self, arguments: dict[str, Any]) -> dict[str, Any]:
        output = "on branch main\n" if "git" in arguments["command"] else ""
        return {
            "exit": 0, "signal": "", "output": output, "truncated": False, "timed_out": False, "cancelled": False,
            "spill": "", "duration_ms": 14,
        }  # fmt: skip


_OPERATIONS = {
    "files.read-file": Checkout.read,
    "files.write-file": Checkout.write,
    "files.edit-file": Checkout.edit,
    "files.list-dir": Checkout.list_dir,
    "files.search-files": Checkout.search,
    "files.find-files": Checkout.find,
    "terminal.run": Checkout.run,
}


def _clean(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise BadRequest(f"{path[:200]} is outside the checkout.", code="outside")
    return "/".join(parts) or "."
