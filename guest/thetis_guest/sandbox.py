"""What a tool may do, as far as the session's mode and walls allow; refused calls raise HostError."""

from __future__ import annotations

from typing import Any

from thetis_guest import _bind


def available() -> dict[str, bool]:
    """{"read", "write", "exec", "http"}: which of the calls below this session allows now."""
    return _bind.value("sandbox", "available")  # type: ignore[no-any-return]


def read_file(path: str, *, offset: int = 1, limit: int = 0) -> str:
    """Text of a file of the checkout or /workspace; `offset` counts lines from 1, limit 0 is the host's default."""
    return _bind.text("sandbox", "read-file", path, _bind.dumps(_options(offset=offset - 1 and offset, limit=limit)))


def list_files(path: str = ".", *, glob: str = "", limit: int = 0) -> list[dict[str, Any]]:
    """[{"path", "kind", "size"}]."""
    options = _options(glob=glob, limit=limit)
    return _bind.value("sandbox", "list-files", path, _bind.dumps(options))  # type: ignore[no-any-return]


def search(pattern: str, *, path: str = "", glob: str = "", limit: int = 0) -> list[dict[str, Any]]:
    """[{"path", "line", "text"}] of the lines that match a regular expression."""
    options = _options(path=path, glob=glob, limit=limit)
    return _bind.value("sandbox", "search", pattern, _bind.dumps(options))  # type: ignore[no-any-return]


def write_file(path: str, contents: str) -> None:
    """Write a whole file, atomically, making its parents."""
    _bind.text("sandbox", "write-file", path, contents)


def exec(command: str, *, cwd: str = "", timeout_ms: int = 0) -> dict[str, Any]:
    """Run a shell command inside the walls: {"exit", "output", "truncated", "timed-out"}."""
    options: dict[str, Any] = _options(cwd=cwd)
    if timeout_ms:
        options["timeout-ms"] = timeout_ms
    return _bind.value("sandbox", "exec", command, _bind.dumps(options))  # type: ignore[no-any-return]


def http(request: dict[str, Any]) -> dict[str, Any]:
    """{"status", "headers", "body"}; only hosts in the tool's own configuration are reached."""
    return _bind.value("sandbox", "http", _bind.dumps(request))  # type: ignore[no-any-return]


def _options(**given: str | int) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value}
