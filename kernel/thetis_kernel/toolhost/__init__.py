"""What a conversation's agent and tools can do: one table of operations, one function that permits them, one dispatcher.

    operations.py   name -> capability, whether it changes things, handler
    authority.py    may this session do that, now?
    dispatch.py     a reply's calls: in parallel where nothing changes, logged before and after
    tree.py         the one resolver of paths
    files.py edits.py search.py commands.py notes.py   the handlers
    sandbox.py      the same powers as a tool guest sees them
"""
