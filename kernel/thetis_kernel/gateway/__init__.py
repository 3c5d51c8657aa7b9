"""The gateway: the one process that owns a root. Every client comes in by one door, every effect on the log goes through here.

    gateway.py        opens and closes it all
    door.py           what clients may ask
    log.py            appends, folds, and who hears of them
    conversations.py  the list: create, settings, delete
    turns.py          a turn from a person's words to its commit
    recovery.py       what a crash left open, closed at the start
    workers.py        a conversation's process, and what it may ask
    models.py         completions, relayed from the model host
    repository.py     the root's repository, through the git host
    guests.py         which guests serve, judged by the gate host; prepare.py does it ahead of time
    rendering.py      events to blocks, by the face host or plainly
    runtimes.py       sealed wasm runtimes for the children
    control.py        the same door on a unix socket

It must not import pygit2, wasmtime, anthropic, discord or textual.
"""
