"""Asking a person: what they are shown, when they are asked, and that nothing happens but that."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.config.modes import EVERY_EFFECT
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol.events import ToolInvocation, ToolResult
from thetis_kernel.protocol.machines import MachinePlan
from thetis_kernel.protocol.worker import AskApproval, GuestBundle, Verdict
from thetis_kernel.toolhost import authority
from thetis_kernel.toolhost.authority import CALLS, EFFECTS, IMPORTS, Intended, Subject, permit
from thetis_kernel.toolhost.authority.intended import MAX_DETAIL
from thetis_kernel.toolhost.authority.permit import request
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.dispatch import invoke_many
from thetis_kernel.toolhost.intentions import intended
from thetis_kernel.toolhost.operations import OPERATIONS, perform
from thetis_kernel.toolhost.sandbox import sandbox_imports

from tests.support.turns import turn_context


def asking(tmp_path: Path, *answers: Any, ask: tuple[str, ...] = EVERY_EFFECT) -> tuple[TurnContext, list[AskApproval]]:
    """A context of mode ask whose person gives these answers in turn (True for the rest), and what they were asked."""
    context = turn_context(tmp_path)
    context.place = msgspec.structs.replace(context.place, mode="ask", ask=list(ask))
    asked: list[AskApproval] = []
    left = list(answers)

    def consent(what: AskApproval) -> Verdict:
        asked.append(what)
        answer = left.pop(0) if left else True
        if callable(answer):
            answer = answer()
        return answer if isinstance(answer, Verdict) else Verdict(allowed=bool(answer), reason="No.", asked=True)

    context.consent = consent
    return context, asked


def call(context: TurnContext, op: str, **arguments: Any) -> dict[str, Any]:
    return invoke_many(context, json.dumps([{"id": "c1", "name": op, "op": op, "op-args": arguments}]))[0]


def test_config_and_authority_name_the_same_effects() -> None:
    assert set(EVERY_EFFECT) == EFFECTS


@pytest.mark.parametrize("name", sorted(name for name, needs in (IMPORTS | CALLS).items() if needs in EFFECTS))
def test_every_effect_is_asked_about(name: str, tmp_path: Path) -> None:
    context, asked = asking(tmp_path, False)
    with pytest.raises(Refused, match="No"):
        permit(context, name, "c1", Intended(what="do it"))
    assert [one.capability for one in asked] == [(IMPORTS | CALLS)[name]]


@pytest.mark.parametrize("name", sorted(name for name, needs in (IMPORTS | CALLS).items() if needs not in EFFECTS))
def test_nothing_else_is(name: str, tmp_path: Path) -> None:
    context, asked = asking(tmp_path)
    permit(context, name, "c1")
    assert asked == []


def test_only_what_a_person_marked_is_asked_about(tmp_path: Path) -> None:
    context, asked = asking(tmp_path, ask=("exec",))
    assert call(context, "files.write-file", path="a", contents="x")["outcome"] == "ok" and asked == []
    assert call(context, "terminal.run", command="ls")["outcome"] == "ok" and len(asked) == 1


def test_where_nobody_can_be_asked_the_answer_is_no(tmp_path: Path) -> None:
    context, _ = asking(tmp_path)
    context.consent = None
    assert call(context, "files.write-file", path="a", contents="x")["outcome"] == "refused"
    assert not (tmp_path / "wt" / "a").exists()


def test_a_refused_call_has_no_effect_and_one_result(tmp_path: Path) -> None:
    context, _ = asking(tmp_path, False, False)
    assert call(context, "files.write-file", path="a", contents="x") | {"data": {}} == {
        "id": "c1", "outcome": "refused", "content": "No.", "data": {}}
    assert call(context, "terminal.run", command="touch a")["outcome"] == "refused"
    assert not (tmp_path / "wt" / "a").exists() and context.commands.asked == []
    kinds = [type(body) for body in context.journal.bodies]
    assert kinds == [ToolInvocation, ToolResult] * 2


def test_a_crash_while_a_person_thinks_leaves_no_invocation(tmp_path: Path) -> None:
    context, _ = asking(tmp_path, lambda: seen.append(len(context.journal.bodies)) or True)
    seen: list[int] = []
    call(context, "terminal.run", command="ls")
    assert seen == [0], "the call is known not to have run: it was not logged as begun"


def test_a_command_is_shown_as_it_is_with_its_parts(tmp_path: Path) -> None:
    context, asked = asking(tmp_path)
    call(context, "terminal.run", command="cd src && make test | tail -3", cwd=".")
    (one,) = asked
    assert one.detail == "cd src && make test | tail -3" and one.cut == 0 and one.rememberable
    assert [part.text for part in one.parts] == ["cd src", "make test", "tail -3"]


@pytest.mark.parametrize("command", ["ls $(x)", "ls \u202e x", "ls \u200b", "ls \u3164", "ls \x1b[2K", "x" * 5000,
                                     "a" * (MAX_DETAIL + 1)])  # fmt: skip
def test_what_is_not_understood_or_not_shown_whole_is_never_remembered(tmp_path: Path, command: str) -> None:
    context, _ = asking(tmp_path)
    made = request(context, "exec", "c1", Intended(what="Run a command", detail=command, command=command))
    assert not made.rememberable
    assert made.cut == max(0, len(command) - MAX_DETAIL)
    longer = request(context, "exec", "c1", Intended(what="Run a command", detail=command + "!", command=command + "!"))
    assert longer.effect != made.effect, "the digest is of the whole, also of what is not carried"


def test_a_patch_that_is_too_long_or_hides_something_is_allowed_once_only(tmp_path: Path) -> None:
    context, asked = asking(tmp_path)
    call(context, "files.write-file", path="a", contents="plain\n")
    call(context, "files.write-file", path="b", contents="line\n" * MAX_DETAIL)
    call(context, "files.write-file", path="c", contents="if user != 'admin\u2066':\n")
    assert [one.rememberable for one in asked] == [True, False, False]


def test_a_file_is_shown_as_a_patch(tmp_path: Path) -> None:
    context, asked = asking(tmp_path)
    (tmp_path / "wt" / "a.py").write_text("one\ntwo\nthree\n")
    call(context, "files.edit-file", path="a.py", old_text="two", new_text="2")
    call(context, "files.write-file", path="sub/new.py", contents="x\ny\n")
    assert asked[0].what == "Change a.py" and asked[0].detail == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert asked[1].what == "Create sub/new.py (2 lines)" and asked[1].detail == "@@ -0,0 +1,2 @@\n+x\n+y"
    assert [(part.text, part.rule, part.session) for one in asked for part in one.parts] == [
        ("a.py", "a.py", "**"), ("sub/new.py", "sub/new.py", "**")]


def test_a_file_is_named_by_where_it_really_is(tmp_path: Path) -> None:
    context, asked = asking(tmp_path)
    (tmp_path / "wt" / "secret").mkdir()
    (tmp_path / "wt" / "src").symlink_to("secret")
    call(context, "files.write-file", path="src/./x/../a.py", contents="x")
    call(context, "files.write-file", path="/workspace/b.py", contents="x")
    assert [part.text for one in asked for part in one.parts] == ["secret/a.py", "/workspace/b.py"]


def test_an_edit_that_cannot_be_is_not_asked_about(tmp_path: Path) -> None:
    context, asked = asking(tmp_path)
    assert call(context, "files.edit-file", path="none.py", old_text="a", new_text="b")["outcome"] == "error"
    assert call(context, "terminal.run", command="ls", sandbox=False)["outcome"] == "error"
    assert asked == []


def test_what_changed_while_the_person_thought_is_not_done(tmp_path: Path) -> None:
    file = tmp_path / "wt" / "a.py"
    context, _ = asking(tmp_path, lambda: file.write_text("two and something else\n"))
    file.write_text("two\n")
    result = call(context, "files.edit-file", path="a.py", old_text="two", new_text="2")
    assert result["outcome"] == "refused" and "changed meanwhile" in result["content"]
    assert file.read_text() == "two and something else\n"


def test_a_mode_changed_while_the_person_thought_counts(tmp_path: Path) -> None:
    def to_plan() -> bool:
        context.place = msgspec.structs.replace(context.place, read_only=True, mode="plan")
        return True

    context, _ = asking(tmp_path, to_plan)
    result = call(context, "files.write-file", path="a", contents="x")
    assert result["outcome"] == "refused" and "read-only" in result["content"] and not (tmp_path / "wt" / "a").exists()


def test_a_stop_while_the_person_thinks_cancels(tmp_path: Path) -> None:
    def stop() -> Verdict:
        context.cancelled.set()
        return Verdict(allowed=False, reason="Stopped.")

    context, _ = asking(tmp_path, stop)
    assert call(context, "files.write-file", path="a", contents="x")["outcome"] == "cancelled"


def test_the_effects_of_a_tool_guest_are_asked_about_one_by_one(tmp_path: Path) -> None:
    context, asked = asking(tmp_path, True, False)
    context.guests = {"t": GuestBundle(aspect="tool/t", key="", bundle="", describes='{"mutating": true}')}

    def tool(name: str, call_id: str, arguments: dict[str, Any]) -> str:
        imports = sandbox_imports(context, call_id)
        imports["sandbox.write-file"]("a.txt", "x")
        imports["sandbox.exec"]("rm a.txt", "{}")
        return "done"

    context.call_guest = tool
    result = invoke_many(context, json.dumps([{"id": "c1", "name": "t", "op": "tool:t", "op-args": {}}]))[0]
    assert [one.capability for one in asked] == ["write", "exec"] and all("by the tool t" in one.where for one in asked)
    assert result["outcome"] == "refused" and context.commands.asked == []


def test_an_operation_without_words_of_its_own_is_shown_with_all_its_arguments(tmp_path: Path) -> None:
    context, asked = asking(tmp_path, False)
    with pytest.raises(Refused):
        perform(context, "devkit.roll-back", "c1", {"aspect": "agent", "revision": "abc123"})
    assert '"revision": "abc123"' in asked[0].detail and not asked[0].rememberable


def test_every_operation_with_an_effect_can_be_shown(tmp_path: Path) -> None:
    samples: dict[type, Any] = {str: "x", int: 1, bool: False, dict: {}, list: []}
    fitting: dict[str, Any] = {"repo": "https://a.example/x", "where": "conversation", "host": "", "key": "screen.theme",
               "value": '"thetis-ansi"', "fields": {"host": "build.example"}}
    for name, operation in OPERATIONS.items():
        if operation.changes:
            context, asked = asking(tmp_path, False)
            context.gateway = lambda ask: MachinePlan(digest="x", moves=True, made=True)
            (tmp_path / "wt" / "x").write_text("x\n")
            arguments = {key: fitting.get(key, samples[kind]) for key, (kind, _) in operation.parameters.items()}
            with pytest.raises(ThetisError):
                perform(context, name, "c1", arguments | ({"new_text": "y"} if "new_text" in operation.parameters else {}))
            assert len(asked) == 1 and asked[0].what, name


def test_a_budget_of_effects_ends_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["thetis_kernel.toolhost.authority.permit"], "MAX_EFFECTS", 3)
    context = turn_context(tmp_path)
    for _ in range(3):
        permit(context, "files.write-file")
    with pytest.raises(Refused, match="3 effects"):
        permit(context, "files.write-file")
    assert not authority.may(context, "write") and authority.may(context, "read")


def test_a_command_needs_walls_before_it_is_asked_about(tmp_path: Path) -> None:
    def none() -> None:
        raise ThetisError("Commands cannot be confined.", code="walls")

    context, asked = asking(tmp_path)
    context.confine = none
    with pytest.raises(ThetisError, match="confined"):
        permit(context, "terminal.run", "c1", Intended(what="x", subjects=(Subject("x"),)))
    assert asked == []


@pytest.mark.parametrize(("name", "arguments", "what", "detail"), [
    ("devkit.write-code", {"path": "tools/x/main.py", "contents": "a = 1"}, "Write tools/x/main.py", "a = 1"),
    ("devkit.patch-code", {"path": "tools/x/main.py", "old_text": "a", "new_text": "b"}, "Change tools/x/main.py",
     "@@ -1 +1 @@\n-a\n+b"),
    ("devkit.remove-code", {"path": "tools/x/part.py"}, "Remove tools/x/part.py", ""),
    ("devkit.new-tool", {"name": "x", "description": "Does."}, "Make a tool in tools/x", "Does."),
])  # fmt: skip
def test_a_change_of_a_guest_is_asked_with_its_text_and_allowed_for_that_guest(
    tmp_path: Path, name: str, arguments: dict[str, Any], what: str, detail: str
) -> None:
    told = intended(turn_context(tmp_path), name, arguments)
    assert (told.what, told.detail) == (what, detail)
    [subject] = told.subjects
    assert subject.text == subject.session == "tools/x" and subject.rule == ""  # never for good
