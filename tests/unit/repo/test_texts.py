"""Sets of texts merged over a third."""

from __future__ import annotations

from pathlib import Path

import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.repo.texts import merge_files

from tests.support.repos import make, root_state

BASE = {"main.py": "one\ntwo\nthree\nfour\nfive\n", "gone.py": "g\n", "sub/part.py": "p\n"}


def test_changes_of_both_sides_are_in_the_result_and_conflicts_carry_marks(tmp_path: Path) -> None:
    root = make(tmp_path / "r").path
    before = root_state(root)
    ours = {**BASE, "main.py": BASE["main.py"].replace("one", "ONE"), "mine.py": "m\n"}
    theirs = {**BASE, "main.py": BASE["main.py"].replace("five", "FIVE"), "sub/part.py": "q\n"}
    del theirs["gone.py"]
    merged = merge_files(str(root), BASE, ours, theirs, ("mine", "theirs"))
    assert merged.files == {"main.py": "ONE\ntwo\nthree\nfour\nFIVE\n", "mine.py": "m\n", "sub/part.py": "q\n"}
    assert (merged.conflicts, merged.kept) == ([], [])
    theirs["main.py"] = BASE["main.py"].replace("one", "Uno")
    merged = merge_files(str(root), BASE, ours, theirs, ("mine", "theirs"))
    assert merged.conflicts == ["main.py"]
    assert merged.files["main.py"].startswith("<<<<<<< mine\nONE\n=======\nUno\n>>>>>>> theirs\ntwo\n")
    assert merge_files(str(root), {}, {}, {"new.py": "n\n"}, ("a", "b")).files == {"new.py": "n\n"}
    assert root_state(root) == before


@pytest.mark.parametrize("name", ["../up.py", ".git/config", "a//b.py", ""])
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    root = make(tmp_path / "r").path
    with pytest.raises(RepoError):
        merge_files(str(root), {}, {name: "x"}, {}, ("a", "b"))
