"""The agent's skills as a turn sees them: reading is nobody's business, one for every conversation is a person's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import Refused
from thetis_kernel.protocol.skills import Card, ReadSkill, SkillText, SkillWritten, WriteSkill
from thetis_kernel.protocol.worker import AskApproval, Verdict
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.toolhost.skills import LASTS

from tests.support.turns import turn_context


def test_only_the_persons_own_directory_is_asked_about(tmp_path: Path) -> None:
    context = turn_context(tmp_path)
    asked: list[AskApproval] = []
    sent: list[Any] = []

    def consent(ask: AskApproval) -> Verdict:
        asked.append(ask)
        return Verdict(allowed=len(asked) < 2, asked=True)

    def gateway(ask: Any) -> Any:
        sent.append(ask)
        return SkillText(Card("x", "Does."), "Text") if isinstance(ask, ReadSkill) else SkillWritten("x", True, "person")

    context.consent, context.gateway = consent, gateway
    assert perform(context, "skills.read", "c1", {"name": "x"})["text"] == "Text"
    perform(context, "skills.write", "c2", {"name": "x", "contents": "T"})
    assert asked == []
    perform(context, "skills.write", "c3", {"name": "x", "contents": "T", "where": "person"})
    assert [(one.where, one.detail, one.rememberable) for one in asked] == [(f"your own skills · {LASTS}", "T", False)]
    with pytest.raises(Refused):
        perform(context, "skills.write", "c4", {"name": "x", "contents": "T", "where": "person"})
    assert [one.where for one in sent if isinstance(one, WriteSkill)] == ["conversation", "person"]


def test_a_read_only_mode_reads_and_does_not_write(tmp_path: Path) -> None:
    context = turn_context(tmp_path, read_only=True)
    context.gateway = lambda ask: SkillText(Card("x", "Does."), "Text")
    assert perform(context, "skills.read", "c1", {"name": "x"})["text"] == "Text"
    for where in ("conversation", "person"):
        with pytest.raises(Refused, match="read-only"):
            perform(context, "skills.write", "c1", {"name": "x", "contents": "T", "where": where})
