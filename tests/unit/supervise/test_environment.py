"""No key of ours reaches a child."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.supervise.environment import OF_ROLE, child_environment

OURS = {
    "PATH": "/bin", "HOME": "/home/me", "LANG": "C", "LC_TIME": "C", "TZ": "UTC", "TMPDIR": "/t",
    "THETIS_CRASH": "append.before-begin", "THETIS_CRASH_TRACE": "/t/trace", "THETIS_STATE": "/s",
    "ANTHROPIC_API_KEY": "sk-1", "SSH_AUTH_SOCK": "/a", "LD_PRELOAD": "/evil.so", "PYTHONPATH": "/evil",
    "HTTPS_PROXY": "http://p", "XDG_CONFIG_HOME": "/c", "DISCORD_TOKEN": "t", "GIT_DIR": "/g",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1/bus",
}  # fmt: skip


def test_only_what_is_listed_passes() -> None:
    assert child_environment("worker", {"THETIS_RUNTIMES": "/r"}, OURS) == {
        "PATH": "/bin", "HOME": "/home/me", "LANG": "C", "LC_TIME": "C", "TZ": "UTC", "TMPDIR": "/t",
        "THETIS_CRASH": "append.before-begin", "THETIS_CRASH_TRACE": "/t/trace", "THETIS_RUNTIMES": "/r",
    }  # fmt: skip


def test_a_role_gets_its_few_more_and_no_other_does() -> None:
    assert {"HTTPS_PROXY", "DBUS_SESSION_BUS_ADDRESS"} <= set(child_environment("model", {}, OURS))
    assert "XDG_CONFIG_HOME" in child_environment("git", {}, OURS)
    for role in ("worker", "gate", "face"):
        assert not {"HTTPS_PROXY", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS"} & set(child_environment(role, {}, OURS))


def test_a_restarted_child_is_told_of_no_crash_point() -> None:
    assert not [n for n in child_environment("git", {}, OURS, crash_points=False) if "CRASH" in n]


@pytest.mark.parametrize(
    "name",
    ["PATH", "LD_PRELOAD", "THETIS_API_KEY", "THETIS_TOKEN", "THETIS_MY_SECRET", "THETIS_PASSWORD", "THETIS_CRASH",
     "THETIS_", "THETIS_x", "thetis_state", "THETIS_A=B", "THETIS_A\n"],
)  # fmt: skip
def test_settings_are_ours_and_no_secrets(name: str) -> None:
    with pytest.raises(ValueError, match="setting"):
        child_environment("worker", {name: "v"}, {})


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=5), max_size=20), st.sampled_from(["worker", "model", "git"]))
def test_nothing_else_ever_passes(ours: dict[str, str], role: str) -> None:
    for name in child_environment(role, {}, ours):
        assert name in {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "THETIS_CRASH", "THETIS_CRASH_TRACE"} | OF_ROLE.get(
            role, frozenset()
        ) or name.startswith("LC_")
