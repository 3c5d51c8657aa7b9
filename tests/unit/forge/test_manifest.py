from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import GateError
from thetis_kernel.forge.manifest import ConfigKey, parse_manifest

from tests.unit.forge.guests import manifest

GOOD = manifest()


def complaint(text, aspect="tool/probe"):
    with pytest.raises(GateError) as caught:
        parse_manifest(text, aspect)
    assert caught.value.step == "manifest"
    return [(d["path"], d["line"], d["message"]) for d in caught.value.diagnostics]


def test_a_whole_manifest():
    text = GOOD + 'group = "code"\n[config.max_entries]\ndescription = "Most."\ndefault = 200\n[config.api_key]\n'
    text += 'description = "The key."\nsecret = true\n'
    found = parse_manifest(text, "tool/probe")
    assert (found.name, found.world, found.version, found.group) == ("probe", "tool", "0.1.0", "code")
    assert found.config == {"max_entries": ConfigKey("Most.", 200), "api_key": ConfigKey("The key.", None, True)}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('name = "probe"', 'name = "other"', 1, "must be equal"),
        ('name = "probe"', 'name = "-probe"', 1, "none at an edge"),
        ('name = "probe"', 'name = "Probe"', 1, "1-48 of a-z"),
        ('name = "probe"', f'name = "{"p" * 49}"', 1, "1-48 of a-z"),
        ('name = "probe"', 'name = "pro.be"', 1, "1-48 of a-z"),
        ('name = "probe"', "name = 3", 1, "must be a string"),
        ('name = "probe"\n', "", 0, "name is missing"),
        ('world = "tool"', 'world = "agent"', 2, "world must be 'tool'"),
        ('version = "0.1.0"', 'version = "one"', 3, "three numbers"),
        ('description = "A probe."', 'description = " "', 4, "one sentence"),
        ('description = "A probe."', f'description = "{"d" * 1001}"', 4, "longer than 1000"),
        ('description = "A probe."', 'descripton = "A probe."', 4, "did you mean description?"),
        ('version = "0.1.0"', 'version = "0.1.0"\nnetwork = true', 4, "unknown key network"),
        ('description = "A probe."', 'description = "x"\ngroup = "Not One"', 5, "group is 'Not One'"),
        ('description = "A probe."', 'description = "x"\nconfig = 3', 5, "config must be tables"),
        ('description = "A probe."', 'description = "x"\n[config]\nkey = 3', 6, "must be a table with a description"),
        ('description = "A probe."', 'description = "x"\n[config.key]\ndefault = 3', 5, "description must be one sentence"),
        ('description = "A probe."', 'description = "x"\n[config.KEY]\ndescription = "x"', 5, "must be a-z"),
        ('description = "A probe."', 'description = "x"\n[config.k]\ndescription="x"\ndefault=[1]', 5, "string, a number"),
        ('description = "A probe."', 'description = "x"\n[config.k]\ndescription="x"\ndefalt=1', 7, "config.k.default?"),
        ('description = "A probe."', 'description = "x"\n[config.k]\ndescription="x"\nsecret=1', 5, "true or false"),
        (
            'description = "A probe."',
            'description = "x"\n[config.k]\ndescription="x"\nsecret=true\ndefault="a"',
            5,
            "cannot have a default",
        ),
        ('name = "probe"', 'name = "probe', 1, "is not TOML"),
        ('version = "0.1.0"', 'version = "0.1.0"\nversion = "0.2.0"', 4, "is not TOML"),
        ('name = "probe"', "name = " + "9" * 5000, 0, "is not TOML"),
        ('name = "probe"', "name = " + "[" * 5000 + "]" * 5000, 0, "nested too deeply"),
        ('name = "probe"', "name = '\0'", 1, "is not TOML"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_mistake_has_its_line_and_sentence(old, new, line, words):
    text = GOOD.replace(old, new)
    assert text != GOOD
    found = complaint(text)
    assert any(path == "guest.toml" and at == line and words in message for path, at, message in found), found


def test_aspects_are_named_like_their_directories():
    assert parse_manifest(manifest("agent_core", "agent"), "agent").name == "agent_core"


def test_all_mistakes_are_told_at_once():
    assert len(complaint('name = "x"\nworld = "agent"\nversion = "1"\n')) == 4


def test_a_dotted_key_of_thousands_of_parts_is_refused_before_it_costs():
    started = time.process_time()
    assert complaint("a" + ".a" * 7000 + " = 1\n")[0][1] == 1
    assert complaint("x = {" + "a . " * 4000 + "a = 1}\n")
    assert time.process_time() - started < 0.5


def test_a_huge_text_is_refused_unparsed():
    assert complaint("#" * 20_000)[0][2] == "is larger than 16 KiB"


@given(st.text(max_size=200))
def test_any_text_is_a_manifest_or_a_gate_error(text):
    with pytest.raises(GateError):
        parse_manifest(text, "tool/probe")


values = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.text(max_size=8).map(lambda s: "'" + s.replace("'", "").replace("\n", "") + "'")),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["name", "world", "version", "description", "group", "config", "x"]), values))
def test_any_table_is_a_manifest_or_a_gate_error(table):
    def literal(value):
        if isinstance(value, bool):
            return str(value).lower()
        return "[" + ", ".join(map(literal, value)) + "]" if isinstance(value, list) else str(value)

    text = "".join(f"{key} = {literal(value)}\n" for key, value in table.items())
    with pytest.raises(GateError) as caught:
        parse_manifest(text, "tool/probe")
    assert caught.value.diagnostics
