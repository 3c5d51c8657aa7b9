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
        "Read a text file, or look at a picture (PNG, JPEG, GIF, WebP) or a PDF. Lines come numbered; the numbers are not "
        "part of the file. Long files come in parts: the last line of the result says where to read on. Read several "
        "files with several calls in one reply.",
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
            scope=_text("project: for every conversation of this project", enum=["conversation", "project"]),
        ),
        "notes.remember",
        mutating=False,
    ),
    Tool(
        "recall",
        "Read a note of this conversation by its key, or all of them without a key.",
        _schema(
            "",
            key=_text("the note's key; leave out to list all"),
            scope=_text("default: conversation", enum=["conversation", "project"]),
        ),
        "notes.recall",
        mutating=False,
    ),
    Tool(
        "list_code",
        "List the guests this conversation runs on (the agent, which is you, the renderer of the screen, the tools), or "
        "the files of one of them.",
        _schema("", directory=_text("a guest's directory, such as tools/outline; leave out to list the guests")),
        "devkit.list-code",
        mutating=False,
    ),
    Tool(
        "read_code",
        "Read a file of a guest, by the paths list_code shows.",
        _schema(
            "path",
            path=_text("the file, such as aspects/agent_core/loop.py"),
            offset=_count("first line to read, from 1"),
            limit=_count("how many lines to read; default 1000"),
        ),
        "devkit.read-code",
        mutating=False,
    ),
    Tool(
        "new_tool",
        "Make yourself a new tool from a template: a manifest, main.py with describe() and invoke(), and a test. It can "
        "be called in your next reply; then make it do what you want with write_code or patch_code.",
        _schema(
            "name description",
            name=_text("the tool's name: a-z, 0-9 and hyphens", minLength=1, maxLength=48),
            description=_text("what it is for, in one sentence"),
        ),
        "devkit.new-tool",
        mutating=True,
    ),
    Tool(
        "write_code",
        "Write a whole file of a guest (a .py module or guest.toml). The gate checks the guest and answers with its "
        "verdict: if it passes, it serves from your next reply on (the agent from the next turn on); if not, you get "
        "file, line and reason, and what ran before goes on running. Guests have no files, network or processes of their "
        "own: they reach the host through thetis_guest alone. Read a guest of the same kind before you write one.",
        _schema(
            "path contents",
            path=_text("the file, such as tools/word-count/main.py"),
            contents=_text("the whole new contents"),
        ),
        "devkit.write-code",
        mutating=True,
    ),
    Tool(
        "patch_code",
        "Replace text in a file of a guest; judged and answered as write_code. old_text must stand there exactly once.",
        _schema(
            "path old_text new_text",
            path=_text("the file, such as tools/word-count/main.py"),
            old_text=_text("the text to replace, exactly as it stands in the file", minLength=1),
            new_text=_text("what to put in its place; may be empty"),
        ),
        "devkit.patch-code",
        mutating=True,
    ),
    Tool(
        "remove_code",
        "Remove a file of a guest; judged and answered as write_code.",
        _schema("path", path=_text("the file")),
        "devkit.remove-code",
        mutating=True,
    ),
    Tool(
        "code_history",
        "The revisions of a guest in this conversation, newest first: what changed, by whom, which one serves.",
        _schema("aspect", aspect=_text("agent, gateway/tui, tool/NAME or skill/NAME")),
        "devkit.history",
        mutating=False,
    ),
    Tool(
        "roll_back",
        "Serve an earlier revision of a guest again.",
        _schema(
            "aspect",
            aspect=_text("agent, gateway/tui, tool/NAME or skill/NAME"),
            revision=_text("the first characters of a revision, or shipped; leave out for the one before the present"),
        ),
        "devkit.roll-back",
        mutating=True,
    ),
)
