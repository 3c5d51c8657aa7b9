"""What a person can press, say, set and see is documented: docs/screen.md is what the program says, and every setting has its
row in docs/settings.md."""

from __future__ import annotations

import re

import msgspec
from thetis_kernel.config import settings
from thetis_kernel.protocol.blocks import KINDS

from tests.support.reference import BLOCKS, DOCS, bound, screen
from thetis_tui.commands import ALL, BY_ID, BY_SLASH
from thetis_tui.screens.main import Desk
from thetis_tui.widgets.rows.factory import row_for

SETTINGS = (DOCS / "settings.md").read_text()


def test_the_page_of_the_screen_is_what_the_screen_says() -> None:
    assert (DOCS / "screen.md").read_text() == screen(), "run: python -m tests.support.reference"


def test_every_command_key_and_kind_of_block_is_on_the_page() -> None:
    page = screen()
    for command in ALL:
        assert command.title in page and command.help in page
        assert all(f"`{key}`" in page for key in command.key_names.split(", ") if key)
    assert set(BLOCKS) >= KINDS
    assert all(f"| `{kind}` |" in page for kind in KINDS)
    for pairs in bound().values():
        assert all(description for _, description in pairs), "a key without a word for it"


def test_every_key_of_the_desk_is_a_commands_and_can_be_remapped() -> None:
    ids = {binding.id for binding in Desk.BINDINGS}  # type: ignore[union-attr]
    assert None not in ids
    assert {str(one).removeprefix("thetis.").split("-1")[0] for one in ids} & set(BY_ID)


def test_names_are_given_once() -> None:
    assert len(BY_ID) == len(ALL)
    assert len(BY_SLASH) == len([command for command in ALL if command.slash])


def test_every_setting_has_its_row() -> None:
    rows = [row for row in SETTINGS.splitlines() if row.startswith("| `")]
    for table in msgspec.structs.fields(settings.Settings):
        if not isinstance(table.default, msgspec.Struct):
            assert any(re.match(rf"\| `{table.name}\b", row) for row in rows), table.name
            continue
        of_it = " ".join(row.split("|")[1] for row in rows if row.startswith(f"| `{table.name}."))
        for field in msgspec.structs.fields(table.default):
            assert re.search(rf"\b{field.name}`", of_it), f"{table.name}.{field.name} has no row in docs/settings.md"
    assert all(f"`{variable}`" in SETTINGS for variable in settings.ENVIRONMENT)


def test_every_kind_of_block_has_a_row_that_draws_it() -> None:
    from thetis_kernel.protocol.blocks import Block

    for kind in KINDS:
        row = row_for(Block(kind=kind, seq=7, title="A title", body="some body", call="c1"))
        assert "some body" in "\n".join(line.content.plain for line in row.build(60)) or kind in ("thinking", "tool")
