"""A conversation's branch beyond the commit after a turn: the agent's operations, merging by a person, worktrees."""
