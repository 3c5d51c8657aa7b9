"""Which row shows which block. An unknown kind is shown as a note: a renderer may be newer than the screen."""

from __future__ import annotations

from thetis_kernel.protocol.blocks import Block

from thetis_tui.widgets.rows.base import Row
from thetis_tui.widgets.rows.diff import DiffRow
from thetis_tui.widgets.rows.texts import NoteRow, ProseRow, ThinkingRow, TurnRow, UserRow
from thetis_tui.widgets.rows.tool import ToolRow


def row_for(block: Block) -> Row:
    """A row for a block that stands on its own."""
    match block.kind:
        case "user":
            return UserRow(block.body, block.seq, label=block.title)
        case "assistant":
            return ProseRow(block.body, block.seq)
        case "thinking":
            return ThinkingRow(block.body, block.seq)
        case "tool":
            return ToolRow(block)
        case "result":
            row = ToolRow(seq=block.seq, call_id=block.call)
            row.settle(block)
            return row
        case "diff":
            return DiffRow(block)
        case "turn":
            return TurnRow(block)
        case _:
            return NoteRow(block)
