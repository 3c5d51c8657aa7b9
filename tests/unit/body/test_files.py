"""A guest's files: copied, written whole or not at all, replaced by exact match, and read as the gate reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.forge.builtin import shipped_guests
from thetis_kernel.forge.source import MAX_FILE, read_guest
from thetis_kernel.gateway.body import files
from thetis_kernel.gateway.body.compare import patch_of
from thetis_kernel.gateway.body.files import CodeError
from thetis_kernel.gateway.body.template import new_tool_files


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    directory = tmp_path / "tools" / "x"
    files.replace_guest(directory, {"guest.toml": 'name = "x"\n', "main.py": "a = 1\nb = 1\n", "pkg/part.py": "c = 2\n"})
    return directory


@pytest.mark.parametrize("aspect", ["agent", "gateway/tui", "tool/outline"])
def test_a_copy_is_the_same_candidate(aspect: str, tmp_path: Path) -> None:
    shipped = shipped_guests()[aspect]
    files.copy_guest(shipped, tmp_path / "deep" / "copy")
    assert read_guest(tmp_path / "deep" / "copy", aspect) == read_guest(shipped, aspect)
    assert files.source_of(files.texts(shipped), aspect, read_guest(shipped, aspect).world) == read_guest(shipped, aspect)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["copy"]


def test_links_and_hidden_files_are_no_part_of_a_guest(guest: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("key = 1")
    (guest / "link.py").symlink_to(tmp_path / "secret.py")
    (guest / ".hidden.py").write_text("x = 1")
    assert files.code_files(guest) == ["guest.toml", "main.py", "pkg/part.py"]
    with pytest.raises(CodeError, match="There is no file"):
        files.read(guest, "link.py", "tools/x/link.py")


def test_a_directory_that_is_a_link_is_not_written_through(guest: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (guest / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(CodeError, match="leads out"):
        files.write(guest, "sub/main.py", "x = 1")
    assert not list((tmp_path / "outside").iterdir())


def test_a_patch_replaces_what_stands_there_once(guest: Path) -> None:
    files.patch(guest, "main.py", "tools/x/main.py", "a = 1", "a = 3")
    assert (guest / "main.py").read_text() == "a = 3\nb = 1\n"


@pytest.mark.parametrize(("old", "code"), [("= 1", "ambiguous"), ("z = 9", "no-match"), ("", "no-match")])
def test_a_patch_that_does_not_fit_changes_nothing(guest: Path, old: str, code: str) -> None:
    with pytest.raises(CodeError) as error:
        files.patch(guest, "main.py", "tools/x/main.py", old, "new")
    assert error.value.code == code and "tools/x/main.py" in error.value.message
    assert (guest / "main.py").read_text() == "a = 1\nb = 1\n"


def test_a_file_that_is_too_large_is_refused(guest: Path) -> None:
    with pytest.raises(CodeError, match="may hold"):
        files.write(guest, "main.py", "x" * (MAX_FILE + 1))
    assert (guest / "main.py").read_text() == "a = 1\nb = 1\n" and len(list(guest.iterdir())) == 3


def test_a_new_tool_carries_its_own_name_and_description() -> None:
    made = new_tool_files("word-count", 'Counts "words"\nand lines \\ quickly.')
    assert 'name = "word-count"' in made["guest.toml"] and 'name="word-count"' in made["main.py"]
    assert '"template"' not in made["main.py"] and '"template"' not in made["guest.toml"]
    assert 'description = "Counts \\"words\\" and lines \\\\ quickly."' in made["guest.toml"]


def test_a_patch_names_every_file_that_differs() -> None:
    patch = patch_of({"a.py": "x = 1\n", "gone.py": "g"}, {"a.py": "x = 2\n", "new.py": "n\n"}, "tools/x")
    assert "--- a/tools/x/a.py\n+++ b/tools/x/a.py\n" in patch and "-x = 1\n+x = 2\n" in patch
    assert "+++ /dev/null" in patch and "--- /dev/null\n+++ b/tools/x/new.py" in patch
    assert patch_of({"a.py": "x"}, {"a.py": "x"}, "tools/x") == ""
