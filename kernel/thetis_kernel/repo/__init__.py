"""Git, through pygit2: what a root is, worktrees of conversations, commits at a turn's end, diffs and logs.

The only importer of pygit2; runs in the git host. Plain functions over paths that answer with the structs of
`protocol.git`. It must not know conversations, events or processes other than by pid; and it never runs a program:
the git CLI would run what a hostile .git/config says.

    layout, refusal, shown, durable, job     names, sentences, paths as text, synced files, progress and cancel
    library                                  pygit2 itself, and opening a repository
    safety                                   FIFOs that libgit2 would wait on for ever
    beneath                                  reading and writing below a directory that others may change meanwhile
    inspection, identity, peculiarities, offers     what a root is, what is odd about it, what can be done about it
    marker, locks, process, lease            whose a worktree is and who works on it now
    refs, checkout, materialise, worktrees, removal     branches and worktrees
    changes, attributes, staging, blobs, links, commit, carry     from files to commits
    diff, history                            what changed

Nothing is imported here: importing pygit2 costs 0.2 s.
"""
