"""Only files of guests have a place in a body; nothing else can be named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.body.layout import aspect_of, directory_of, place_of

PARTS = st.lists(st.sampled_from(["aspects", "agent_core", "tools", "..", ".", "", "main.py", "x", "guest.toml", "wit", ".git",
                                  "a/b", "\0", "kernel", "é.py", "__pycache__"]), max_size=7)  # fmt: skip


@pytest.mark.parametrize(("path", "aspect", "inside"), [
    ("tools/outline/main.py", "tool/outline", "main.py"),
    ("./tools/a-b/pkg/part.py", "tool/a-b", "pkg/part.py"),
    ("aspects/agent_core/guest.toml", "agent", "guest.toml"),
    ("aspects/gateway_tui/talk.py", "gateway/tui", "talk.py"),
])  # fmt: skip
def test_a_guests_file_has_its_place(path: str, aspect: str, inside: str) -> None:
    place = place_of(path)
    assert (place.aspect, place.inside) == (aspect, inside)
    assert place.path == path.removeprefix("./")
    assert directory_of(aspect) == place.directory and aspect_of(place.directory) == aspect


@pytest.mark.parametrize("path", [
    "wit/thetis.wit", "kernel/thetis_kernel/forge/pipeline.py", "aspects/other/main.py", "tools/UPPER/main.py", "tools/x",
    "tools/x/.hidden.py", "tools/x/../../etc/passwd.py", "tools/x/data.json", "tools/x/pkg/guest.toml", "/etc/main.py",
    "tools/_template/main.py", "guest/shims/loader.py", "tools/x/" + "d/" * 7 + "m.py", "", "tools//main.py",
])  # fmt: skip
def test_nothing_else_has_one(path: str) -> None:
    with pytest.raises(UsageError) as error:
        place_of(path)
    assert error.value.hint


@given(PARTS)
def test_no_path_leads_out_of_a_guests_directory(parts: list[str]) -> None:
    try:
        place = place_of("/".join(parts))
    except UsageError:
        return
    assert place.directory in (f"tools/{place.aspect.removeprefix('tool/')}", "aspects/agent_core", "aspects/gateway_tui")
    assert all(part not in ("", ".", "..") and not part.startswith(".") for part in place.inside.split("/"))
