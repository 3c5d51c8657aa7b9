"""What the project says of itself is true: documents, lock file, sizes and a few rules about its source."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from thetis_kernel.config.settings import ENVIRONMENT, USER_ONLY, Settings
from thetis_kernel.protocol.events import GUEST_MAY_APPEND, KINDS
from thetis_kernel.toolhost.authority import CAPABILITIES, EFFECTS, IMPORTS

TOP = Path(__file__).resolve().parents[2]
SOURCES = ("kernel", "thetis_tui", "guest", "aspects", "tools")
MAX_LINES = 400


def python_files(*directories: str) -> list[Path]:
    found = [file for directory in directories for file in sorted((TOP / directory).rglob("*.py"))]
    assert len(found) > 3
    return found


def rows(document: str, columns: int) -> list[list[str]]:
    """The cells of every table of that width in a document, heads left out."""
    lines = re.findall(r"^\|(.+)\|$", (TOP / document).read_text(), re.M)
    tables = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [cells for cells in tables if len(cells) == columns and cells[0].startswith("`")]


# Documents


def is_table(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def test_every_setting_is_documented_with_its_default() -> None:
    documented: dict[str, str] = {}
    for names, default, what in rows("docs/settings.md", 3):
        parts = [part.strip() for part in names.replace("`", "").split("/")]
        section = parts[0].partition(".")[0]
        full = [part if "." in part else f"{section}.{part}" for part in parts]
        defaults = default.split(" / ") if len(full) > 1 else [default]
        assert len(defaults) == len(full), names
        documented |= dict(zip(full, defaults, strict=True))
        owned = [name for name in full if name in USER_ONLY or name.partition(".")[0] in USER_ONLY]
        assert not owned or len(owned) == len(full), f"{names}: some belong to the person alone, some do not"
        assert ("yours only" in what) == bool(owned), names
    sections = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    settings = {f"{name}.{key.name}": key.default for name, kind in sections.items() if is_table(kind)
                for key in msgspec.structs.fields(kind)}
    # Tables a person names, and lists: the section has a row of its own.
    free = {name for name, kind in sections.items() if not is_table(kind)}
    assert {name for name in documented if name.partition(".")[0] not in free} == set(settings)
    assert {name.partition(".")[0] for name in documented} == set(sections)
    for name, default in settings.items():
        shown = documented[name].strip("`")
        if isinstance(default, bool):
            assert shown == str(default).lower(), name
        elif isinstance(default, int | float):
            assert float(shown) == default, name
        elif isinstance(default, str) and default:
            assert shown == default, name


def test_every_environment_variable_of_a_setting_is_documented() -> None:
    page = (TOP / "docs/settings.md").read_text()
    assert [name for name in ENVIRONMENT if f"`{name}`" not in page] == []


def test_every_kind_of_event_is_documented_with_all_its_fields() -> None:
    documented = {kind.strip("`"): (who, fields) for kind, who, _, fields in rows("docs/events.md", 4)}
    assert set(documented) == set(KINDS)
    for kind, (who, fields) in documented.items():
        assert (who == "guest") == (kind in GUEST_MAY_APPEND), kind
        named = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", fields))
        assert named == [field.name for field in msgspec.structs.fields(KINDS[kind])], kind


def test_every_import_of_the_contract_is_documented_with_its_capability() -> None:
    documented = {name.strip("`"): capability for name, capability, _ in rows("docs/contract.md", 3) if "." in name}
    assert documented == IMPORTS


def test_every_capability_is_documented() -> None:
    documented = {name.strip("`"): reach for name, reach in rows("docs/contract.md", 2)}
    assert documented == {name: reach + " (effect)" * (name in EFFECTS) for name, reach in CAPABILITIES.items()}


def test_the_worlds_are_documented_as_the_contract_has_them() -> None:
    contract = re.sub(r"//.*", "", (TOP / "wit/thetis.wit").read_text())
    worlds = {name: (re.findall(r"import ([\w-]+);", body), re.findall(r"export ([\w-]+):", body))
              for name, body in re.findall(r"world ([\w-]+) \{(.*?)\n\}", contract, re.S)}
    listed = {cells[0].strip("`"): cells[1:] for cells in rows("docs/contract.md", 3) if "." not in cells[0]}
    assert {name: tuple(re.findall(r"`([\w-]+)`", cell) for cell in cells) for name, cells in listed.items()} == worlds


def test_the_documents_a_document_points_at_exist() -> None:
    for document in [TOP / "README.md", TOP / "AGENTS.md", *sorted((TOP / "docs").glob("*.md"))]:
        for name in re.findall(r"`((?:docs|tests|wit|scripts)/[\w./-]+)`", document.read_text()):
            assert (TOP / name).exists(), f"{document.name} points at {name}"


# The lock file


def test_the_lock_holds_hashes_and_no_addresses() -> None:
    text = (TOP / "requirements.lock").read_text()
    assert "://" not in text and "index" not in text.split()
    entries = re.findall(r"^\S.*(?:\n[ \t].*)*", text, re.M)
    assert len(entries) > 20
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+", entry), entry.splitlines()[0]
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


def test_every_dependency_is_in_the_lock() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    locked = re.findall(r"^([a-z0-9-]+)==", (TOP / "requirements.lock").read_text(), re.M)
    names = [re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-") for requirement in wanted]
    assert [name for name in names if name not in locked] == []


# Source


def test_no_file_is_longer_than_a_design_question() -> None:
    lengths = {str(file.relative_to(TOP)): len(file.read_text().splitlines()) for file in python_files(*SOURCES)}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def nodes(file: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(file.read_text(), str(file)))


def places(kind: type[ast.AST], *directories: str) -> list[str]:
    return [f"{file.relative_to(TOP)}:{node.lineno}" for file in python_files(*directories) for node in nodes(file)
            if isinstance(node, kind)]


def test_the_kernel_checks_nothing_with_assert() -> None:
    assert places(ast.Assert, "kernel", "thetis_tui") == []


def test_the_kernel_prints_only_in_the_command_line() -> None:
    printing = [f"{file.relative_to(TOP)}:{node.lineno}" for file in python_files("kernel", "thetis_tui")
                if "cli" not in file.relative_to(TOP).parts
                for node in nodes(file)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input")]
    assert printing == []


def test_every_module_says_what_it_is() -> None:
    silent = [str(file.relative_to(TOP)) for file in python_files(*SOURCES)
              if file.read_text().strip() and not ast.get_docstring(ast.parse(file.read_text()))]
    assert silent == []


def test_nothing_is_left_for_later() -> None:
    later = [f"{file.relative_to(TOP)}:{token.start[0]}" for file in python_files(*SOURCES)
             for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
             if (token.type == tokenize.COMMENT and re.search(r"\b(TODO|FIXME|XXX)\b", token.string))
             or (token.type == tokenize.NAME and token.string == "NotImplementedError")]
    assert later == []
