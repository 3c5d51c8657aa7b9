"""The agent's own tools: what the model is told of each, and which host operation carries it out.

Owns the names, descriptions and argument schemas. Must not know modes, tool guests or how a result reads.
The order is fixed and the texts never vary, so that the provider's cache of the tool list holds.
"""

from __future__ import annotations

from typing import Any


class Tool:
    """One tool as the model sees it. `op`: the host operation, or "tool:<name>" for a tool guest."""

    def __init__(self, name: str, description: str, schema: dict[str, Any], op: str, mutating: bool) -> None:
        self.name = name
        self.description = description
        self.schema = schema
        self.op = op
        self.mutating = mutating

    def definition(self) -> dict[str, Any]:
        """The tool in a model request."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}


def _schema(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _count(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": description}


_DIRECTORY = _text("directory, relative to the checkout; default: the whole checkout")

BUILTIN: tuple[Tool, ...] = (
    Tool(
        "read",
        "Read a text file. Lines come numbered; the numbers are not part of the file. Long files come in parts: the "
        "last line of the result says where to read on. Read several files with several calls in one reply.",
        _schema(
            "path",
            path=_text("the file, relative to the checkout, or under /workspace"),
            offset=_count("first line to read, from 1"),
            limit=_count("how many lines to read; default 1000"),
        ),
        "files.read-file",
        mutating=False,
    ),
    Tool(
        "list",
        "List one directory: subdirectories first, then files with their sizes.",
        _schema("", path=_text("the directory, relative to the checkout; default: its top")),
        "files.list-dir",
        mutating=False,
    ),
    Tool(
        "search",
        "Search file contents with a regular expression (ripgrep syntax; ignored files are skipped). Use it to find "
        "where something is defined or used before you read whole files.",
        _schema(
            "pattern",
            pattern=_text("the regular expression; escape what is meant literally: foo\\(bar\\)"),
            path=_DIRECTORY,
            glob=_text("only files whose path matches, such as *.py or src/**/*.ts"),
            mode=_text(
                "content: matching lines (default); files: only paths; count: matches in each file",
                enum=["content", "files", "count"],
            ),
            max_results=_count("default 100"),
        ),
        "files.search-files",
        mutating=False,
    ),
    Tool(
        "find",
        "Find files by name, newest first (ignored files are skipped).",
        _schema(
            "glob",
            glob=_text("a pattern for the path, such as *.toml, **/test_*.py or docs/**"),
            path=_DIRECTORY,
            max_results=_count("default 100"),
        ),
        "files.find-files",
        mutating=False,
    ),
    Tool(
        "edit",
        "Replace text in a file. old_text must stand in the file exactly once, indentation included and without the "
        "line numbers that read shows; add neighbouring lines until it is unique, or set replace_all.",
        _schema(
            "path old_text new_text",
            path=_text("the file, relative to the checkout, or under /workspace"),
            old_text=_text("the text to replace, exactly as it stands in the file", minLength=1),
            new_text=_text("what to put in its place; may be empty"),
            replace_all={"type": "boolean", "description": "replace every occurrence; default false"},
        ),
        "files.edit-file",
        mutating=True,
    ),
    Tool(
        "write",
        "Write a whole file: create it with its parent directories, or replace all of it. Prefer edit for changes "
        "to a file that exists.",
        _schema(
            "path contents",
            path=_text("the file, relative to the checkout, or under /workspace"),
            contents=_text("the whole new contents"),
        ),
        "files.write-file",
        mutating=True,
    ),
    Tool(
        "run",
        "Run a shell command inside the walls: it can write to the checkout, /workspace and a private /tmp, has an "
        "emptied environment and no terminal to read from. For tests, builds and programs; use read, search, find and "
        "edit for files. Output is cut in the middle when long.",
        _schema(
            "command",
            command=_text("the command, for sh -c"),
            cwd=_text("where to run it, relative to the checkout; default: its top"),
            timeout_ms=_count("stop it after so many milliseconds; default 120000"),
        ),
        "terminal.run",
        mutating=True,
    ),
    Tool(
        "remember",
        "Keep a note for this conversation under a short key. Notes survive restarts and long conversations; writing "
        "a key again replaces its note. Note decisions, constraints and where you stopped, not what files say.",
        _schema(
            "key content",
            key=_text("a short identifier, such as plan or decision-database", minLength=1, maxLength=80),
            content=_text("what to keep; empty forgets the note"),
        ),
        "notes.remember",
        mutating=False,
    ),
    Tool(
        "recall",
        "Read a note of this conversation by its key, or all of them without a key.",
        _schema("", key=_text("the note's key; leave out to list all")),
        "notes.recall",
        mutating=False,
    ),
)
