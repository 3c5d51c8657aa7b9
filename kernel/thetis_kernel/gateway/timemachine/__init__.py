"""Going back in a conversation, its files with it, and going on from any of its moments in another.

    keeping.py   a snapshot of the files before each effect that can change them
    service.py   rewind, undo, fork
    door.py      what clients may ask
"""
