"""The mutations fit the tree, and their runner tells a rule that is watched from one that is not."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.__main__ import try_out
from tests.mutations.copy import CHECKOUT, Copy
from tests.mutations.mutation import Hunk, Mutation, PatchError, load, read

ALL = load()
EACH = pytest.mark.parametrize("mutation", ALL, ids=[mutation.name for mutation in ALL])


def test_the_rules_that_matter_have_one() -> None:
    parts = {mutation.name.partition("-")[0] for mutation in ALL}
    assert len(ALL) >= 25
    assert parts >= {"store", "ipc", "supervise", "wasm", "toolhost", "config", "walls", "agent", "forge", "tui"}


@EACH
def test_it_applies_and_changes_something(mutation: Mutation) -> None:
    for path, text in mutation.applied(CHECKOUT).items():
        assert text != (CHECKOUT / path).read_text()
        if path.endswith(".py"):
            compile(text, path, "exec")


@EACH
def test_it_changes_the_product_and_names_tests_that_are_there(mutation: Mutation) -> None:
    assert not [hunk.path for hunk in mutation.hunks if hunk.path.startswith("tests/")]
    for selection in mutation.tests:
        file, *names = selection.split("::")
        text = (CHECKOUT / file).read_text()
        for name in names:
            assert f"def {name.partition('[')[0]}(" in text, selection


def patch(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "a-rule.patch"
    file.write_text(text)
    return file


HEAD = "# rule: A rule.\n# test: tests/unit/test_x.py::test_y\n"
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -9,2 +9,2 @@ def f():\n one\n-two\n+2\n"


def test_lines_count_and_line_numbers_do_not(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("zero\none\ntwo\nthree\n")
    assert read(patch(tmp_path, HEAD + DIFF)).applied(tmp_path) == {"x.py": "zero\none\n2\nthree\n"}


@pytest.mark.parametrize("content", ["one\n2\n", "one\ntwo\none\ntwo\n", "none\ntwo\n", ""])
def test_lines_that_do_not_stand_there_exactly_once_are_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.py").write_text(content)
    with pytest.raises(PatchError, match="a-rule: these lines stand"):
        read(patch(tmp_path, HEAD + DIFF)).applied(tmp_path)


def test_two_hunks_of_one_file_both_apply(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("one\ntwo\nthree\nfour\n")
    second = "@@ -20 +20 @@\n-four\n+4\n"
    assert read(patch(tmp_path, HEAD + DIFF + second)).applied(tmp_path) == {"x.py": "one\n2\nthree\n4\n"}


@pytest.mark.parametrize("text", [DIFF, HEAD, "# rule: x\n" + DIFF, HEAD + HEAD + DIFF, HEAD + DIFF + "garbage\n"])
def test_what_is_no_mutation_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(PatchError, match="a-rule"):
        read(patch(tmp_path, text))


def test_a_time_of_its_own(tmp_path: Path) -> None:
    assert read(patch(tmp_path, HEAD + "# seconds: 7\n" + DIFF)).seconds == 7


class FakeCopy:
    """A copy whose tests end as told."""

    def __init__(self, status: int | None) -> None:
        self.status = status

    def mutated(self, mutation: Mutation) -> AbstractContextManager[None]:
        return nullcontext()

    def test(self, selections: list[str], seconds: float) -> tuple[int | None, str]:
        return self.status, "output"


@pytest.mark.parametrize(("status", "noticed", "word"), [
    (1, True, "noticed"), (-11, True, "signal 11"), (0, False, "SURVIVED"), (None, False, "STILL RUNNING"),
    (2, False, "NOT TESTED"), (4, False, "NOT TESTED"), (5, False, "NOT TESTED"),
])
def test_only_red_tests_count(capsys: pytest.CaptureFixture[str], status: int | None, noticed: bool, word: str) -> None:
    mutation = Mutation("a-rule", "A rule.", ["t"], [Hunk("x.py", "a", "b")])
    copy: Any = FakeCopy(status)
    assert try_out(copy, mutation, sound=True) is noticed
    assert word in capsys.readouterr().out


def test_tests_that_are_red_anyway_prove_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    copy: Any = FakeCopy(1)
    assert try_out(copy, Mutation("a-rule", "A rule.", ["t"], [Hunk("x.py", "a", "b")]), sound=False) is False
    assert "fail without it" in capsys.readouterr().out


@pytest.mark.slow
def test_a_real_copy_is_imported_mutated_and_restored(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    assert copy.imported_from().is_relative_to(copy.tree)
    watched = next(mutation for mutation in ALL if mutation.name == "config-user-only-tools")
    comment = Hunk("kernel/thetis_kernel/config/settings.py", "class Worker(", "#\nclass Worker(")
    assert copy.test(watched.tests, 60)[0] == 0
    assert try_out(copy, watched, sound=True) is True
    assert try_out(copy, Mutation("nothing", "None.", watched.tests, [comment]), sound=True) is False
    assert copy.test(watched.tests, 60)[0] == 0
