"""What a guest's packages become when one is asked for or taken out, whose index it is, and what of a wheel is a module."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from thetis_kernel.errors import Refused, UsageError
from thetis_kernel.gateway.body import dependencies, pins, pipsettings, wheels
from thetis_kernel.gateway.body.resolver import name_of
from thetis_kernel.protocol.gate import Package
from thetis_kernel.store.folds import SessionState


def package(name: str, *requires: str, wanted: bool = True) -> Package:
    return Package(name, "1.0", "a" * 64, "MIT", {name: ""}, list(requires), wanted)


THERE = [package("a", "b"), package("b", "c", wanted=False), package("c", wanted=False), package("d", "c")]


def test_what_was_asked_for_before_keeps_its_version() -> None:
    assert dependencies.asked(THERE, " e>=2 ", "e") == ["a==1.0", "d==1.0", "e>=2"]
    assert dependencies.asked(THERE, "a==2", "a") == ["d==1.0", "a==2"]


def test_a_package_goes_with_what_only_it_needed() -> None:
    assert [one.name for one in dependencies.without(THERE, "a")] == ["c", "d"]
    assert [one.name for one in dependencies.without(THERE, "d")] == ["a", "b", "c"]


@pytest.mark.parametrize(("name", "words"), [("b", "needed by a"), ("x", "no package x")])
def test_what_was_not_asked_for_does_not_go(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dependencies.without(THERE, name)


def test_names_are_compared_as_indexes_compare_them() -> None:
    assert name_of("Small_Thing>=1, <2") == name_of("small.thing") == "small-thing"


def test_the_persons_own_pip_settings_count_in_pips_order(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = http://one/simple\ntrusted-host =\n  one\n  two\n[install]\nuser = true\n")
    named = tmp_path / "named.conf"
    named.write_text("[global]\nindex-url = http://two/simple\n")
    environ = {"HOME": str(home), "XDG_CONFIG_DIRS": str(tmp_path), "https_proxy": "http://proxy"}
    found = pipsettings.of_the_person(environ)
    assert found["PIP_INDEX_URL"] == "http://one/simple" and found["PIP_TRUSTED_HOST"] == "one two"
    assert "PIP_USER" not in found and found["https_proxy"] == "http://proxy"
    assert pipsettings.of_the_person({**environ, "PIP_CONFIG_FILE": str(named)})["PIP_INDEX_URL"] == "http://two/simple"
    environment = {**environ, "PIP_CONFIG_FILE": str(named), "PIP_INDEX_URL": "http://three"}
    assert pipsettings.of_the_person(environment)["PIP_INDEX_URL"] == "http://three"
    assert "PIP_INDEX_URL" not in pipsettings.network_only(found) and pipsettings.network_only(found)["https_proxy"]
    assert pipsettings.places({"PIP_FIND_LINKS": f"{home} http://x/"}, f"file://{named}") == (home.resolve(), named.resolve())


def test_a_broken_pip_configuration_is_pips_to_complain_of(tmp_path: Path) -> None:
    named = tmp_path / "odd.conf"
    named.write_bytes(b"\xff[global\n= x")
    assert "PIP_INDEX_URL" not in pipsettings.of_the_person(
        {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), "PIP_CONFIG_FILE": str(named), "PIP_NO_INDEX": "1"})


@pytest.mark.parametrize(("path", "name"), [
    ("pretty/__init__.py", "pretty"), ("pretty/core.py", "pretty.core"), ("small.py", "small"), ("pretty/data.json", ""),
    ("pretty/tests/test_x.py", ""), ("pretty-1.0.dist-info/METADATA", ""), ("pretty/a-b.py", ""), ("__init__.py", ""),
    ("../../etc/x.py", ""), ("pretty-1.0.data/scripts/x.py", ""),
])  # fmt: skip
def test_only_importable_files_of_a_wheel_are_modules(path: str, name: str) -> None:
    assert wheels.module(path) == name


def test_a_pin_keeps_the_agent_away_and_nobody_else() -> None:
    state = SessionState(values={pins.SCOPE: {"agent": pins.value("b" * 64)}})
    with pytest.raises(Refused, match="pinned at bbbbbbbb"):
        pins.check(state, "agent", "agent")
    pins.check(state, "agent", "user")
    pins.check(state, "agent", "kernel")
    pins.check(state, "tool/x", "agent")
    assert pins.value("") == ""


@pytest.mark.parametrize("written", ["{}", "file://{}", "file://localhost{}", "file:{}"])
def test_a_place_is_found_however_it_is_written(written: str, tmp_path: Path) -> None:
    there = tmp_path / "wheels of mine #1"
    there.mkdir()
    path = quote(str(there)) if "file:" in written else str(there)
    assert pipsettings.places({}, written.format(path)) == (there.resolve(),)
    assert pipsettings.places({}, "file://elsewhere/tmp") == pipsettings.places({}, "file:///%00") == ()
    assert pipsettings.places({}, "https://x/tmp") == pipsettings.places({}, "tmp") == pipsettings.places({}, "file:tmp") == ()
