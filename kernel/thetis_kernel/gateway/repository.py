"""The root's repository through the git host: worktrees made at the first message, a commit at each turn's end."""

from __future__ import annotations
