"""Packages a guest brings along: what a file of one may be, and what the gate makes of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from thetis_kernel.errors import GateError
from thetis_kernel.forge import packages
from thetis_kernel.forge.candidate import Candidate
from thetis_kernel.forge.source import read_guest, source_digest
from thetis_kernel.forge.steps import imports, layout
from thetis_kernel.gateway.body import files
from thetis_kernel.gateway.body.compare import patch_of
from thetis_kernel.protocol.gate import GuestSource, Package

MANIFEST = 'name = "x"\nworld = "tool"\nversion = "0.1.0"\ndescription = "X."\n'


def package(**changes: object) -> Package:
    facts = {"name": "pretty", "version": "1.2", "sha256": "a" * 64, "licence": "MIT",
             "modules": {"pretty": "A = 1\n", "pretty.sub": ""}}  # fmt: skip
    return Package(**{**facts, **changes})  # type: ignore[arg-type]


def source(found: list[Package], **modules: str) -> GuestSource:
    return GuestSource("tool/x", "tool", MANIFEST, {"main": "import pretty\n", **modules}, found)


def guest(tmp_path: Path, *found: Package) -> Path:
    directory = tmp_path / "tools" / "x"
    files.replace_guest(directory, {"guest.toml": MANIFEST, "main.py": "import pretty\n",
                                    **{packages.path_of(one): packages.text_of(one) for one in found}})  # fmt: skip
    return directory


def test_a_package_is_read_as_it_was_written_and_counts_in_the_revision(tmp_path: Path) -> None:
    read = read_guest(guest(tmp_path, package()), "tool/x")
    assert read.packages == [package()] and read.modules == {"main": "import pretty\n"}
    assert files.source_of(files.texts(tmp_path / "tools" / "x"), "tool/x", "tool") == read
    newer = msgspec.structs.replace(read, packages=[package(version="1.3")])
    assert len({source_digest(one) for one in (read, newer, msgspec.structs.replace(read, packages=[]))}) == 3


def test_a_file_that_was_changed_by_hand_is_no_package_any_more(tmp_path: Path) -> None:
    directory = guest(tmp_path, package())
    file = directory / packages.path_of(package())
    file.write_text(file.read_text().replace("A = 1", "A = 2"))
    with pytest.raises(GateError) as error:
        read_guest(directory, "tool/x")
    assert "not what was taken in" in error.value.data["diagnostics"][0]["message"]
    assert error.value.data["diagnostics"][0]["path"] == "packages/pretty-1.2.json"


@pytest.mark.parametrize(("changes", "words"), [
    ({"modules": {}}, "no modules"),
    ({"modules": {"json": ""}}, "taken in the guests' runtime"),
    ({"modules": {"thetis_guest.sys": ""}}, "taken in the guests' runtime"),
    ({"modules": {"main": ""}}, "taken in the guests' runtime"),
    ({"modules": {"a-b": ""}}, "a-b"),
    ({"name": "../x"}, "no usable name"),
    ({"sha256": "no"}, "no usable name, version or hash"),
    ({"requires": ["../x"]}, "unusable licence"),
    ({"modules": {f"m{n}": "" for n in range(packages.MAX_MODULES + 1)}}, "more than"),
])  # fmt: skip
def test_what_no_guest_can_bring_is_named(changes: dict[str, object], words: str) -> None:
    odd = package(**changes)
    assert words in packages.problem_of(odd)
    with pytest.raises(ValueError, match=words):
        packages.parse(packages.text_of(odd), packages.path_of(odd))
    assert [found.message for found in layout.run(Candidate(source([odd])), None) if words in found.message]  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "[]", "{}", "x" * 100, "[" * 5000])
def test_what_is_no_package_at_all_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no package"):
        packages.parse(text, "packages/pretty-1.2.json")


def test_a_package_in_another_ones_file_is_refused() -> None:
    with pytest.raises(ValueError, match=r"belongs into packages/pretty-1\.2\.json"):
        packages.parse(packages.text_of(package()), "packages/other-1.2.json")


def test_modules_of_packages_can_be_imported_and_clash_with_nothing(tmp_path: Path) -> None:
    assert imports.run(Candidate(source([package()])), None) == []  # type: ignore[arg-type]
    assert imports.run(Candidate(source([])), None)[0].message.startswith("pretty is not in the guests' runtime")  # type: ignore[arg-type]
    own = layout.run(Candidate(source([package()], pretty="B = 1\n")), None)  # type: ignore[arg-type]
    assert "the package pretty brings a module pretty, and so does something else here" in own[0].message
    two = layout.run(Candidate(source([package(), package(name="other")])), None)  # type: ignore[arg-type]
    assert "the package other brings a module pretty" in two[0].message


def test_a_difference_of_packages_is_what_they_are_and_not_their_code() -> None:
    before, after = ({packages.path_of(one): packages.text_of(one)} for one in (package(), package(version="1.3")))
    patch = patch_of(before, after, "tools/x")
    assert "+pretty 1.3" in patch and "-pretty 1.2" in patch and "licence: MIT" in patch and "A = 1" not in patch
