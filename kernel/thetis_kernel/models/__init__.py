"""The models a conversation can use, behind one seam.

    stream.py      what a backend is; the guard that makes every backend keep its promises
    registry.py    the table of models: id -> what people see, and the backend that answers
    rehearsal/     the model that is always there: no network, no key, no randomness

A real provider joins the table with a module of its own; its SDK is imported there and nowhere else.
"""
