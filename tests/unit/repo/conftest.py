"""What the tests of one conversation's branch share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.repos import make, root_state

if TYPE_CHECKING:
    from tests.support.conversations import Conversation


@pytest.fixture
def conversation(tmp_path: Path) -> Iterator[Conversation]:
    """A small repository and a conversation that has not begun; at the end the root must be what it was."""
    from tests.support.conversations import Conversation

    root = make(tmp_path / "r", **{"a.txt": "one\n", "d/b.txt": "b\n", "run.sh": "#!/bin/sh\n"})
    (root.path / "run.sh").chmod(0o755)
    (root.path / "link").symlink_to("a.txt")
    root.commit("second")
    before = root_state(root.path)
    yield Conversation(root, tmp_path / "state" / "wt")
    assert root_state(root.path) == before, "the root checkout was touched"
