from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import GateError, UsageError
from thetis_kernel.forge import source as module
from thetis_kernel.forge.source import read_guest, source_digest
from thetis_kernel.protocol.gate import GuestSource

from tests.unit.forge.guests import manifest


@pytest.fixture
def guest(tmp_path):
    (tmp_path / "guest.toml").write_text(manifest())
    (tmp_path / "main.py").write_text("x = 1\n")
    return tmp_path


def complaints(directory):
    with pytest.raises(GateError) as caught:
        read_guest(directory, "tool/probe")
    assert caught.value.step == "source"
    return {(d["path"], d["line"]): d["message"] for d in caught.value.diagnostics}


def test_reads_modules_and_manifest_sorted(guest):
    (guest / "pkg").mkdir()
    (guest / "pkg" / "__init__.py").write_text("")
    (guest / "pkg" / "part.py").write_text("y = 2\n")
    (guest / "README.md").write_text("not code")
    (guest / "__pycache__").mkdir()
    (guest / "__pycache__" / "old.py").write_text("never read")
    (guest / ".hidden").mkdir()
    (guest / ".hidden" / "x.py").write_text("never read")
    source = read_guest(guest, "tool/probe")
    assert source.world == "tool"
    assert list(source.modules) == ["main", "pkg", "pkg.part"]
    assert source.manifest == manifest()


@pytest.mark.parametrize("aspect", ["", "tool", "tool/", "worker", "agent/x", "gateway"])
def test_an_unknown_aspect_is_the_callers_mistake(guest, aspect):
    with pytest.raises(UsageError):
        read_guest(guest, aspect)


def test_bom_is_no_part_of_the_text(guest):
    (guest / "main.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert read_guest(guest, "tool/probe").modules["main"] == "x = 1\n"


def test_not_utf8_names_the_line(guest):
    (guest / "main.py").write_bytes(b"x = 1\ny = '\xff'\n")
    assert complaints(guest) == {("main.py", 2): "is not UTF-8"}


def test_a_file_at_the_cap_is_read_and_one_byte_more_is_not(guest):
    (guest / "main.py").write_bytes(b"#" * module.MAX_FILE)
    assert len(read_guest(guest, "tool/probe").modules["main"]) == module.MAX_FILE
    (guest / "main.py").write_bytes(b"#" * (module.MAX_FILE + 1))
    assert complaints(guest) == {("main.py", 0): "is larger than 512 KiB"}


def test_a_huge_manifest_is_refused_unread(guest):
    (guest / "guest.toml").write_bytes(b"#" * (64 << 20))
    assert complaints(guest) == {("guest.toml", 0): "is larger than 16 KiB"}


def test_total_size_is_capped(guest):
    for number in range(9):
        (guest / f"m{number}.py").write_bytes(b"#" * module.MAX_FILE)
    assert list(complaints(guest).values()) == ["the guest is larger than 4096 KiB in all"]


def test_number_of_modules_is_capped(guest):
    for number in range(module.MAX_FILES):
        (guest / f"m{number}.py").write_text("")
    assert "more than 400 modules" in complaints(guest)[("", 0)]


def test_number_of_entries_is_capped(guest, monkeypatch):
    monkeypatch.setattr(module, "MAX_ENTRIES", 20)
    for number in range(30):
        (guest / f"{number}.txt").write_text("")
    assert "more than 20 entries" in complaints(guest)[("", 0)]


def test_depth_is_capped(guest):
    deep = guest
    for _ in range(12):
        deep = deep / "d"
        deep.mkdir()
    (deep / "x.py").write_text("")
    assert any("nested deeper" in message for message in complaints(guest).values())


@pytest.mark.parametrize("target", ["/etc/passwd", "main.py", "nowhere"])
def test_links_are_not_followed(guest, target):
    (guest / "linked.py").symlink_to(target)
    assert complaints(guest) == {("linked.py", 0): "is a symbolic link; a guest is made of plain files"}


def test_linked_directories_and_manifests_are_not_followed(guest, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.py").write_text("secret")
    (guest / "pkg").symlink_to(elsewhere)
    (guest / "guest.toml").unlink()
    (guest / "guest.toml").symlink_to(elsewhere / "secret.py")
    assert set(complaints(guest)) == {("guest.toml", 0), ("pkg", 0)}


def test_the_directory_itself_may_not_be_a_link(guest, tmp_path_factory):
    link = tmp_path_factory.mktemp("x") / "link"
    link.symlink_to(guest)
    assert "cannot be opened" in complaints(link)[("", 0)]


def test_fifos_and_directories_named_like_modules_do_not_block(guest):
    os.mkfifo(guest / "pipe.py")
    assert complaints(guest) == {("pipe.py", 0): "is not a plain file"}


@pytest.mark.parametrize("name", ["my-module.py", "1st.py", "class.py", "naïve.py", "a b.py"])
def test_impossible_module_names(guest, name):
    (guest / name).write_text("")
    assert "cannot be a module name" in complaints(guest)[(name, 0)]


def test_names_that_are_not_utf8(guest):
    with open(os.fsencode(guest) + b"/\xff.py", "w"):
        pass
    assert any("name is not UTF-8" in message for message in complaints(guest).values())


def test_module_and_package_of_one_name(guest):
    (guest / "pkg").mkdir()
    (guest / "pkg" / "__init__.py").write_text("")
    (guest / "pkg.py").write_text("")
    assert any("a module and a package named pkg" in message for message in complaints(guest).values())


def test_no_manifest(guest):
    (guest / "guest.toml").unlink()
    assert complaints(guest) == {("guest.toml", 0): "there is no guest.toml here, or it is empty"}


def test_every_complaint_is_told_at_once(guest):
    (guest / "a.py").write_bytes(b"\xff")
    (guest / "b.py").symlink_to("a.py")
    assert set(complaints(guest)) == {("a.py", 1), ("b.py", 0)}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
sources = st.builds(
    lambda text, modules: GuestSource("tool/x", "tool", text, modules),
    texts,
    st.dictionaries(st.sampled_from(["main", "a", "b", "ab", "a.b"]), texts, max_size=4),
)


@given(sources, sources)
def test_digest_is_equal_exactly_for_equal_sources(one, two):
    same = one.manifest == two.manifest and one.modules == two.modules
    assert (source_digest(one) == source_digest(two)) == same


@given(sources)
def test_digest_does_not_see_the_order_of_modules(source):
    turned = GuestSource("tool/x", "tool", source.manifest, dict(reversed(source.modules.items())))
    assert source_digest(turned) == source_digest(source)


def test_digest_sees_where_one_text_ends_and_the_next_begins():
    one = GuestSource("tool/x", "tool", "m", {"a": "bc", "d": ""})
    two = GuestSource("tool/x", "tool", "m", {"ab": "c", "d": ""})
    assert source_digest(one) != source_digest(two)
