"""The agent's own tools: what the model is told of each, and which host operation carries it out.

Owns the names, descriptions and argument schemas. Must not know modes, tool guests or how a result reads.
The order is fixed and the texts never vary, so that the provider's cache of the tool list holds. Every request carries all of
it (`tool_block_kib`): a word stands here once, and what a name says needs none.
"""

from __future__ import annotations

from typing import Any

from schemas import boolean, count, on_the_wire, string, takes


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
        return {"name": self.name, "description": self.description, "input_schema": on_the_wire(self.schema)}


_PATH = "in the checkout or /workspace"
_DIRECTORY = string(hint="a directory; default: everything")
_CODE = string(hint="such as tools/word-count/main.py; or guest.toml")
_OLD = string(minLength=1, hint="exactly as in the file")
_NEW = string(hint="may be empty")
_WHOLE = string(hint="all of it")
_SCOPES = ["conversation", "project"]

BUILTIN: tuple[Tool, ...] = (
    Tool(
        "read",
        "Read a text file (lines come numbered), a picture or a PDF. A long result ends with where to read on. Read "
        "several files in one reply.",
        takes("path", path=string(_PATH), offset=count("first line"), limit=count("default 1000")),
        "files.read-file",
        mutating=False,
    ),
    Tool(
        "list",
        "List a directory: subdirectories, then files with sizes.",
        takes(path=string(hint="default: the checkout's top")),
        "files.list-dir",
        mutating=False,
    ),
    Tool(
        "search",
        "Search file contents by regular expression (ripgrep; ignored files are skipped), before you read whole files.",
        takes(
            "pattern",
            pattern=string(hint="escape what is meant literally: foo\\(bar\\)"),
            path=_DIRECTORY,
            glob=string("such as src/**/*.ts"),
            mode=string(enum=["content", "files", "count"], hint="default content"),
            max_results=count(hint="default 100"),
        ),
        "files.search-files",
        mutating=False,
    ),
    Tool(
        "find",
        "Find files by name, newest first.",
        takes(
            "glob",
            glob=string("such as **/test_*.py"),
            path=_DIRECTORY,
            max_results=count(hint="default 100"),
        ),
        "files.find-files",
        mutating=False,
    ),
    Tool(
        "edit",
        "Replace text in a file. old_text must occur exactly once, indentation included, line numbers not: add lines "
        "until it is unique, or set replace_all.",
        takes(
            "path old_text new_text",
            path=string(hint=_PATH),
            old_text=_OLD,
            new_text=_NEW,
            replace_all=boolean(hint="default false"),
        ),
        "files.edit-file",
        mutating=True,
    ),
    Tool(
        "write",
        "Write a whole file, creating it and its directories or replacing it. Prefer edit for a file that exists.",
        takes("path contents", path=string(hint=_PATH), contents=_WHOLE),
        "files.write-file",
        mutating=True,
    ),
    Tool(
        "run",
        "Run a shell command; it can write to the checkout, /workspace and a private /tmp, and has no terminal. For "
        "tests, builds, programs; use the file tools for files. Long output is cut in the middle.",
        takes(
            "command",
            command=string(hint="for sh -c"),
            cwd=string(hint="default: the checkout's top"),
            timeout_ms=count("default 120000"),
        ),
        "terminal.run",
        mutating=True,
    ),
    Tool(
        "remember",
        "Keep a note under a short key, replacing the one there; it survives restarts and long conversations. Not for "
        "what files say.",
        takes(
            "key content",
            key=string(minLength=1, maxLength=80, hint="short, such as decision-database"),
            content=string("empty forgets"),
            scope=string("project: for all its conversations", enum=_SCOPES),
        ),
        "notes.remember",
        mutating=False,
    ),
    Tool(
        "recall",
        "Read a note by its key, or all of them.",
        takes(key=string(hint="leave out to list all"), scope=string(choices=_SCOPES, hint="default: conversation")),
        "notes.recall",
        mutating=False,
    ),
    Tool(
        "list_code",
        "List this conversation's guests (you, the screen's renderer, the tools), or the files of one.",
        takes(directory=string("such as tools/outline")),
        "devkit.list-code",
        mutating=False,
    ),
    Tool(
        "read_code",
        "Read a guest's file, by its path in list_code.",
        takes(
            "path",
            path=string(hint="such as aspects/agent_core/loop.py"),
            offset=count(hint="first line, from 1"),
            limit=count(hint="lines; default 1000"),
        ),
        "devkit.read-code",
        mutating=False,
    ),
    Tool(
        "new_tool",
        "Make yourself a tool from a template, callable from your next reply on; then shape it with write_code.",
        takes(
            "name description",
            name=string(hint="a-z, 0-9, hyphens", minLength=1, maxLength=48),
            description=string(hint="in one sentence"),
        ),
        "devkit.new-tool",
        mutating=True,
    ),
    Tool(
        "write_code",
        "Write a guest's file whole. What passes the gate serves from your next reply on (you yourself from the next "
        "turn); else you get file, line and reason. Guests reach files, network and processes through thetis_guest "
        "alone. Read a guest of the kind first.",
        takes("path contents", path=_CODE, contents=_WHOLE),
        "devkit.write-code",
        mutating=True,
    ),
    Tool(
        "patch_code",
        "Replace text that occurs once in a guest's file; judged as write_code.",
        takes("path old_text new_text", path=_CODE, old_text=_OLD, new_text=_NEW),
        "devkit.patch-code",
        mutating=True,
    ),
    Tool(
        "remove_code",
        "Remove a guest's file; judged as write_code.",
        takes("path", path=_CODE),
        "devkit.remove-code",
        mutating=True,
    ),
    Tool(
        "code_history",
        "A guest's revisions, newest first: what changed, by whom, which serves.",
        takes("aspect", aspect=string("agent, gateway/tui, tool/NAME, skill/NAME")),
        "devkit.history",
        mutating=False,
    ),
    Tool(
        "roll_back",
        "Serve an earlier revision of a guest again.",
        takes(
            "aspect",
            aspect=string(hint="as for code_history"),
            revision=string("or shipped; default: the one before"),
        ),
        "devkit.roll-back",
        mutating=True,
    ),
)
