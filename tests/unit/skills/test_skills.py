"""Skills as files: two forms of a head, problems with their line, what is not followed, which fit some words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import ThetisError
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.skills import Card
from thetis_kernel.skills.frontmatter import MAX_TEXT, parse
from thetis_kernel.skills.ranking import best
from thetis_kernel.skills.reading import MAX_SKILLS, read_directory, read_file

TOML = '+++\nname = "a-b"\nbrief = "Does."\ntags = ["x"]\n+++\n\n# A\nText.\n'
YAML = '---\nname: a-b\ndescription: "Does."\ntags:\n  - x\nlicense: MIT\n---\n# A\nText.\n'


def parsed(text: str | bytes, name: str = "a-b") -> tuple[Card | None, list[tuple[int, str]]]:
    found = parse(text if isinstance(text, bytes) else text.encode(), name, f"{name}/SKILL.md")
    return found.card, [(problem.line, problem.message) for problem in found.problems if problem.fatal]


@pytest.mark.parametrize("text", [TOML, YAML, TOML.replace("\n", "\r\n"), YAML.replace("tags:\n  - x", "tags: [x]")])
def test_both_forms_of_a_head(text: str) -> None:
    card, problems = parsed(text)
    assert problems == []
    assert card is not None
    assert (card.name, card.brief, card.tags, card.universal) == ("a-b", "Does.", ["x"], False)


@pytest.mark.parametrize(("text", "line", "words"), [
    ("# A\n", 1, "does not begin with a head"),
    ("", 1, "does not begin with a head"),
    ('+++\nname = "a-b"\n', 1, "not ended"),
    ('+++\nname = "a-b"\nbrief = \n+++\nText', 3, "no TOML"),
    ('+++\nname = "c"\nbrief = "x"\n+++\nText', 2, "name must be 'a-b'"),
    ('+++\nname = "a-b"\n+++\nText', 1, "brief is missing"),
    ('+++\nbrief = "x"\ntags = "y"\nname = "a-b"\n+++\nText', 3, "tags is a list"),
    ('+++\nname = "a-b"\nbrief = "x"\n+++\n \n', 6, "no text below"),
    ('+++\nname = "a-b"\nbrief = "x"\n+++\nok\nhid\u202eden', 6, "cannot be seen"),
    ('---\nname: a-b\ndescription: >\n  folded\n---\nText', 3, "several lines"),
    ("---\nname: a-b\nno pair\ndescription: x\n---\nText", 3, "neither"),
    ('+++\nname = "a-b"\nbrief = "x"\nstatus = "retired"\n+++\nText', 4, "retired"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, words: str) -> None:
    card, problems = parsed(text)
    assert card is None
    assert [at for at, message in problems if words in message] == [line], problems


def test_bytes_that_are_no_text_and_texts_that_are_too_long() -> None:
    assert parsed(b"+++\nname = \xff")[1] == [(2, "It is not UTF-8 here.")]
    assert "at most" in parsed(TOML + "x" * MAX_TEXT)[1][0][1]


@given(st.binary(max_size=400))
def test_nothing_makes_it_fail(raw: bytes) -> None:
    for head in (b"", b"+++\n", b"---\n"):
        found = parse(head + raw, "a-b", "p")
        assert found.card is None or not any(problem.fatal for problem in found.problems)


def test_a_directory_with_everything_in_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(TOML.replace("a-b", "linked"))
    there = tmp_path / "skills"
    (there / "a-b" / "references").mkdir(parents=True)
    (there / "a-b" / "SKILL.md").write_text(TOML)
    (there / "a-b" / "more.md").write_text("more")
    (there / "a-b" / "references" / "deep.md").write_text("deep")
    (there / "a-b" / "secret").symlink_to(outside / "SKILL.md")
    (there / "plain.md").write_text(TOML.replace("a-b", "plain"))
    (there / "broken").mkdir()
    (there / "broken" / "SKILL.md").write_text("nothing")
    (there / "linked").symlink_to(outside)
    (there / "linked.md").symlink_to(outside / "SKILL.md")
    os.mkfifo(there / "pipe.md")
    (there / "README.md").write_text("about")
    (there / ".hidden").mkdir()
    found = read_directory(there, "person")
    assert sorted(found.skills) == ["a-b", "plain"]
    assert [(problem.path, problem.line) for problem in found.problems if problem.fatal] == [("broken/SKILL.md", 1)]
    skill = found.skills["a-b"]
    assert skill.card.files == ["more.md", "references/deep.md"]
    assert read_file(skill, "references/deep.md") == "deep"
    for name in ("secret", "../outside/SKILL.md", "/etc/passwd", "SKILL.md", ""):
        with pytest.raises(ThetisError, match="no file"):
            read_file(skill, name)


def test_a_directory_is_bounded(tmp_path: Path) -> None:
    there = tmp_path / "skills"
    there.mkdir()
    for number in range(MAX_SKILLS + 5):
        (there / f"s{number:03}.md").write_text(TOML.replace("a-b", f"s{number:03}"))
    found = read_directory(there, "person")
    assert len(found.skills) == MAX_SKILLS
    assert "only the first" in found.problems[0].message
    assert read_directory(tmp_path / "none", "person").skills == {}
    assert sorted(read_directory(there, "person", frozenset({"s001"})).skills) == ["s001"]


def test_one_that_goes_while_it_is_looked_at_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "skills"
    there.mkdir()
    (there / "a-b.md").write_text(TOML)
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: [*listed(path), *(["gone.md"] if path == there else [])])
    found = read_directory(there, "person")
    assert sorted(found.skills) == ["a-b"]
    assert [(problem.path, problem.fatal) for problem in found.problems] == [("gone.md", True)]


def card(name: str, brief: str, *tags: str) -> Card:
    return Card(name=name, brief=brief, tags=list(tags))


CARDS = [card("bugs", "Find the cause of a failure.", "crash", "failing"), card("output", "Keep output of tests small.", "logs"),
         card("skills", "Write a skill.", "lesson"), card("zebra", "Stripes and nothing else.")]


@pytest.mark.parametrize(("words", "names"), [
    ("Why does it crash?", ["bugs"]), ("keep the OUTPUT of the tests small", ["output"]), ("the cause of failures", ["bugs"]),
    ("a cause", []), ("", []), ("the and of", []), ("crashes in logs", ["output", "bugs"]), ("stripes", []),
])  # fmt: skip
def test_the_best_few(words: str, names: list[str]) -> None:
    assert [found.name for found in best(CARDS, words, 4)] == names
    assert [found.name for found in best(CARDS, words, 1)] == names[:1]


def test_equals_are_in_the_order_of_their_names() -> None:
    twins = [card(name, "Same.", "crash") for name in ("b", "a", "c")]
    assert [found.name for found in best(twins, "crash", 3)] == ["a", "b", "c"]


def test_what_ships_is_whole_and_small() -> None:
    found = read_directory(builtin_root() / "skills", "shipped")
    assert found.problems == []
    assert {"rewriting-yourself", "writing-skills", "bounded-output", "careful-surgery"} <= set(found.skills)
    assert all(len(skill.text) < 6000 for skill in found.skills.values())
    cards = [skill.card for skill in found.skills.values()]
    assert [one.name for one in best(cards, "make yourself a tool", 1)] == ["rewriting-yourself"]
