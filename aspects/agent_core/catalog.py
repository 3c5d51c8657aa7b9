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
        return {"name": self.name, "description": self.description, "input_schema": _on_the_wire(self.schema)}


OURS = ("additionalProperties", "minLength", "maxLength", "minimum", "maxItems", "minItems")
"""What `validate` and the tools check, and a model need not read with every request."""


def _on_the_wire(schema: Any) -> Any:
    """A schema without what only costs tokens: bounds that are checked anyway, and an empty `required`."""
    if isinstance(schema, list):
        return [_on_the_wire(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        schema = {**schema, "properties": {name: _on_the_wire(value) for name, value in schema["properties"].items()}}
        return {key: value for key, value in schema.items() if key not in OURS and (key, value) != ("required", [])}
    return {key: _on_the_wire(value) for key, value in schema.items() if key not in OURS}


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


_DIRECTORY = _text("a directory; default: everything")

BUILTIN: tuple[Tool, ...] = (
    Tool(
        "read",
        (
            "Read a text file, or look at a picture or a PDF. Lines come numbered; the numbers are not part "
            "of the file. The last line of a long result says where to read on. Read several files with "
            "several calls in one reply."
        ),
        _schema(
            "path",
            path=_text("in the checkout, or under /workspace"),
            offset=_count("first line, from 1"),
            limit=_count("lines; default 1000"),
        ),
        "files.read-file",
        mutating=False,
    ),
    Tool(
        "list",
        "List a directory: subdirectories, then files with their sizes.",
        _schema("", path=_text("default: the checkout's top")),
        "files.list-dir",
        mutating=False,
    ),
    Tool(
        "search",
        (
            "Search file contents with a regular expression (ripgrep; ignored files are skipped), to find "
            "where something is before you read whole files."
        ),
        _schema(
            "pattern",
            pattern=_text("escape what is meant literally: foo\\(bar\\)"),
            path=_DIRECTORY,
            glob=_text("only such paths: *.py, src/**/*.ts"),
            mode=_text(
                "default content",
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
            glob=_text("*.toml, **/test_*.py, docs/**"),
            path=_DIRECTORY,
            max_results=_count("default 100"),
        ),
        "files.find-files",
        mutating=False,
    ),
    Tool(
        "edit",
        (
            "Replace text in a file. old_text must stand there exactly once, indentation included and "
            "without line numbers; add neighbouring lines until it is unique, or set replace_all."
        ),
        _schema(
            "path old_text new_text",
            path=_text("as for read"),
            old_text=_text("exactly as in the file", minLength=1),
            new_text=_text("may be empty"),
            replace_all={"type": "boolean", "description": "default false"},
        ),
        "files.edit-file",
        mutating=True,
    ),
    Tool(
        "write",
        ("Write a whole file, creating its directories or replacing all of it. Prefer edit for a file that exists."),
        _schema(
            "path contents",
            path=_text("as for read"),
            contents=_text("all of it"),
        ),
        "files.write-file",
        mutating=True,
    ),
    Tool(
        "run",
        (
            "Run a shell command inside the walls: it can write to the checkout, /workspace and a private "
            "/tmp, has an emptied environment and no terminal. For tests, builds and programs; use the file "
            "tools for files. Long output is cut in the middle."
        ),
        _schema(
            "command",
            command=_text("for sh -c"),
            cwd=_text("default: the checkout's top"),
            timeout_ms=_count("default 120000"),
        ),
        "terminal.run",
        mutating=True,
    ),
    Tool(
        "remember",
        (
            "Keep a note under a short key; it survives restarts and long conversations. Writing a key again "
            "replaces its note. Note decisions, constraints and where you stopped, not what files say."
        ),
        _schema(
            "key content",
            key=_text("short, such as decision-database", minLength=1, maxLength=80),
            content=_text("empty forgets the note"),
            scope=_text("project: for all its conversations", enum=["conversation", "project"]),
        ),
        "notes.remember",
        mutating=False,
    ),
    Tool(
        "recall",
        "Read a note by its key, or all of them.",
        _schema(
            "",
            key=_text("leave out to list all"),
            scope=_text("default: conversation", enum=["conversation", "project"]),
        ),
        "notes.recall",
        mutating=False,
    ),
    Tool(
        "list_code",
        "List the guests this conversation runs on (you, the screen's renderer, the tools), or the files of one.",
        _schema("", directory=_text("such as tools/outline; leave out for the guests")),
        "devkit.list-code",
        mutating=False,
    ),
    Tool(
        "read_code",
        "Read a file of a guest, by the paths list_code shows.",
        _schema(
            "path",
            path=_text("such as aspects/agent_core/loop.py"),
            offset=_count("first line, from 1"),
            limit=_count("lines; default 1000"),
        ),
        "devkit.read-code",
        mutating=False,
    ),
    Tool(
        "new_tool",
        (
            "Make yourself a tool from a template. It can be called in your next reply; then make it do what "
            "you want with write_code or patch_code."
        ),
        _schema(
            "name description",
            name=_text("a-z, 0-9, hyphens", minLength=1, maxLength=48),
            description=_text("in one sentence"),
        ),
        "devkit.new-tool",
        mutating=True,
    ),
    Tool(
        "write_code",
        (
            "Write a whole file of a guest. The gate judges it: if it passes, it serves from your next reply "
            "on (you yourself from the next turn); if not, you get file, line and reason, and what ran goes "
            "on running. Guests reach files, network and processes through thetis_guest alone. Read a guest "
            "of the kind first."
        ),
        _schema(
            "path contents",
            path=_text("such as tools/word-count/main.py; or guest.toml"),
            contents=_text("all of it"),
        ),
        "devkit.write-code",
        mutating=True,
    ),
    Tool(
        "patch_code",
        "Replace text that stands once in a file of a guest; judged as write_code.",
        _schema(
            "path old_text new_text",
            path=_text("as for write_code"),
            old_text=_text("exactly as in the file", minLength=1),
            new_text=_text("may be empty"),
        ),
        "devkit.patch-code",
        mutating=True,
    ),
    Tool(
        "remove_code",
        "Remove a file of a guest; judged as write_code.",
        _schema("path", path=_text("as for write_code")),
        "devkit.remove-code",
        mutating=True,
    ),
    Tool(
        "code_history",
        "The revisions of a guest, newest first: what changed, by whom, which one serves.",
        _schema("aspect", aspect=_text("agent, gateway/tui, tool/NAME, skill/NAME")),
        "devkit.history",
        mutating=False,
    ),
    Tool(
        "roll_back",
        "Serve an earlier revision of a guest again.",
        _schema(
            "aspect",
            aspect=_text("as for code_history"),
            revision=_text("its first characters, or shipped; default: the one before"),
        ),
        "devkit.roll-back",
        mutating=True,
    ),
)
