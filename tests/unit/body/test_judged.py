"""What the kernel wrote is remembered over a restart, and a damaged memory is none."""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.gateway.body.judged import MAX_KEPT, Judged


def test_it_is_there_after_a_restart_and_gone_when_forgotten(tmp_path: Path) -> None:
    Judged(tmp_path).put("s", "agent", "a" * 64)
    known = Judged(tmp_path)
    assert known.get("s", "agent") == "a" * 64 and known.get("t", "agent") == known.get("s", "tool/x") == ""
    known.put("s", "agent", "")
    assert Judged(tmp_path).get("s", "agent") == ""


def test_damage_and_growth_cost_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".judged-by-us.json").write_bytes(b"{not json")
    known = Judged(tmp_path)
    for number in range(MAX_KEPT + 10):
        known.put(str(number), "agent", "r")
    assert Judged(tmp_path).get("0", "agent") == "" and Judged(tmp_path).get(str(MAX_KEPT + 9), "agent") == "r"
    Judged(tmp_path / "nowhere").put("s", "agent", "r")  # no checkout yet
