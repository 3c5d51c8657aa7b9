"""git_clone before it reaches anything: which addresses, names and references, and who is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol.clone import Cloned, CloneRepository
from thetis_kernel.protocol.worker import AskApproval, Verdict
from thetis_kernel.toolhost import cloning
from thetis_kernel.toolhost.authority import Subject
from thetis_kernel.toolhost.authority.rules import covers
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.operations import perform

from tests.support.turns import turn_context

URL = "https://git.example/ada/engine.git"


class Asked:
    """A gateway and a person; both keep what they were asked."""

    def __init__(self, context: TurnContext, *, allowed: bool = True, asked: bool = True, network: bool = False) -> None:
        self.clones: list[CloneRepository] = []
        self.people: list[AskApproval] = []
        context.place = msgspec.structs.replace(context.place, network=network)
        context.gateway = self._gateway
        context.consent = self._consent
        self._verdict = Verdict(allowed=allowed, asked=asked, reason="" if allowed else "No.")

    def _gateway(self, ask: Any) -> Cloned:
        self.clones.append(ask)
        return Cloned(branch="main", commit="c" * 40, path=f"/workspace/{ask.directory}")

    def _consent(self, ask: AskApproval) -> Verdict:
        self.people.append(ask)
        return self._verdict


def clone(context: TurnContext, **arguments: Any) -> dict[str, Any]:
    return perform(context, "repository.clone", "c1", {"repo": URL, **arguments})


def test_a_person_is_asked_while_the_network_is_off(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    asked = Asked(context)
    assert clone(context, ref="main")["path"] == "/workspace/engine"
    [person] = asked.people
    assert person.what == f"Clone {URL}"
    assert person.where == f"into /workspace/engine · {cloning.OFF}"
    assert "ref: main" in person.detail
    assert person.rememberable
    [part] = person.parts
    for pattern in (part.rule, part.session):
        assert covers("http", pattern, Subject(part.text, wide=part.wide))
        assert not covers("http", pattern, Subject("clone https://git.example/ada/other.git"))
    assert asked.clones == [CloneRepository(call="c1", url=URL, directory="engine", ref="main")]


def test_nobody_is_asked_once_the_network_is_on(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    asked = Asked(context, network=True)
    clone(context)
    assert asked.people == []
    assert len(asked.clones) == 1


def test_but_always_for_an_address_of_their_own_network(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    asked = Asked(context, network=True)
    for url in ("http://127.0.0.1:8000/a", "https://10.0.0.7/a", "https://[fe80::1]/a", "https://169.254.169.254/a"):
        perform(context, "repository.clone", "c1", {"repo": url})
    assert [person.where.rpartition(" · ")[2] for person in asked.people] == [cloning.INSIDE] * 4


@pytest.mark.parametrize("asked_somebody", [True, False])
def test_without_a_yes_nothing_is_asked_of_the_gateway(tmp_path: Path, asked_somebody: bool) -> None:
    context = turn_context(tmp_path)
    asked = Asked(context, allowed=False, asked=asked_somebody)
    with pytest.raises(Refused) as caught:
        clone(context)
    assert asked.clones == []
    assert ("nobody to ask" in caught.value.message) is not asked_somebody


def test_a_read_only_mode_clones_nothing(tmp_path: Path) -> None:
    context = turn_context(tmp_path, read_only=True)
    asked = Asked(context, network=True)
    with pytest.raises(Refused, match="read-only"):
        clone(context)
    assert (asked.clones, asked.people) == ([], [])


@pytest.mark.parametrize("url", [
    "http://git.example/a", "ssh://git@git.example/a", "git@git.example:a", "git://git.example/a", "file:///etc", "/etc",
    "https://ada:word@git.example/a", "https://ada@git.example/a", "--upload-pack=touch pwned", "ext::sh -c id", "",
    "https:///a", "https://git.example/a\nb", "https://git.example\\@evil.example/a",
])
def test_an_address_that_is_no_plain_https_is_refused(tmp_path: Path, url: str) -> None:
    """complaints 130: no credential travels in an address, neither in the log nor in an argument."""
    context = turn_context(tmp_path)
    asked = Asked(context, network=True)
    with pytest.raises(ThetisError) as caught:
        clone(context, repo=url)
    assert caught.value.code == "bad-arguments"
    assert (asked.clones, asked.people) == ([], [])


@pytest.mark.parametrize("name", ["..", "../x", "a/b", ".git", "-x", "a b", "a\nb", "/etc", "x" * 90, ".", "a\u202eb"])
def test_a_directory_is_one_plain_name(tmp_path: Path, name: str) -> None:
    context = turn_context(tmp_path)
    asked = Asked(context, network=True)
    with pytest.raises(ThetisError, match="cannot be the name"):
        clone(context, dir=name)
    assert asked.clones == []


@pytest.mark.parametrize(("url", "name"), [
    (URL, "engine"), ("https://git.example/engine/", "engine"), ("https://git.example/a?x=/y", "a")])
def test_it_is_named_after_the_repository(url: str, name: str) -> None:
    assert cloning.checked(url, "", "", 0)[1] == name
    assert cloning.checked(url, "/workspace/other", "", 0)[1] == "other"


@pytest.mark.parametrize("ref", ["-x", "--upload-pack=x", "a..b", "a b", "@{u}", "a.lock/", "refs\n", "^x", ":x", "a//b"])
def test_a_reference_is_a_plain_name(ref: str) -> None:
    with pytest.raises(ThetisError):
        cloning.checked(URL, "", ref, 0)
