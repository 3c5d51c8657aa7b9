"""Everything a person can do, one class each. The order here is the order in the palette and the help."""

from __future__ import annotations

from thetis_tui.commands.agents import Agents
from thetis_tui.commands.application import Help, Quit, Retry
from thetis_tui.commands.base import Command
from thetis_tui.commands.context import ContextMeter
from thetis_tui.commands.conversations import (
    Mode,
    Model,
    Network,
    NewConversation,
    NextConversation,
    PreviousConversation,
    Switch,
)
from thetis_tui.commands.home import Back, Home, Nth, Search
from thetis_tui.commands.itself import Itself
from thetis_tui.commands.keeping import Archive, Delete, Title
from thetis_tui.commands.merging import Apply, Merge, Worktrees
from thetis_tui.commands.past import Fork, Rewind, UndoRewind
from thetis_tui.commands.prompt import EditPrompt, InsertFile
from thetis_tui.commands.queue import Later, RecallQueued, SayQueued
from thetis_tui.commands.reading import (
    BlockAbove,
    BlockBelow,
    CopyBlock,
    Find,
    MessageAbove,
    MessageBelow,
    OpenFile,
)
from thetis_tui.commands.settings import Keys, Preferences
from thetis_tui.commands.skills import Skill
from thetis_tui.commands.steering import Answer, Compact
from thetis_tui.commands.terminals import Terminals
from thetis_tui.commands.turns import CarryOut, Consent, IncludeChanges, Resume, Stop
from thetis_tui.commands.views import Conversations, Diff, EventLog, Files, FilterLog, Theme, ToPrompt, Unfold

SECTIONS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("Conversations", (
        NewConversation(), Home(), Switch(), PreviousConversation(), NextConversation(), Nth(), Back(), Search(),
        Title(), Archive(), Delete())),
    ("How it works for you", (Mode(), Model(), Network(), CarryOut(), Skill(), Consent(), Answer(), Compact(), Agents())),
    ("Turns", (Stop(), Resume(), Later(), RecallQueued(), SayQueued(), IncludeChanges(), EditPrompt(), InsertFile())),
    ("Its branch and its past", (Diff(), Files(), Rewind(), UndoRewind(), Fork(), Merge(), Apply(), Worktrees())),
    ("Looking", (
        Itself(), EventLog(), FilterLog(), Terminals(), ContextMeter(), Conversations(), Find(), BlockAbove(), BlockBelow(),
        MessageAbove(), MessageBelow(), Unfold(), CopyBlock(), OpenFile())),
    ("The program", (Preferences(), Keys(), Theme(), ToPrompt(), Retry(), Help(), Quit())),
)
"""What belongs together, under what the help says above it."""
ALL: tuple[Command, ...] = tuple(command for _, commands in SECTIONS for command in commands)
BY_ID: dict[str, Command] = {command.id: command for command in ALL}
BY_SLASH: dict[str, Command] = {command.slash: command for command in ALL if command.slash}

__all__ = ["ALL", "BY_ID", "BY_SLASH", "SECTIONS", "Command"]
