"""Keeping all files of a worktree and putting them back, beside the branch and without its index.

    scan.py       what stands in the worktree: one look at every entry, nothing read
    memory.py     what the last look saw, so that only what changed is read again
    seeding.py    what git's index knows of a fresh checkout, as a first such memory
    taking.py     from a look to a commit; the chain of them
    restoring.py  from a commit back to files
"""
