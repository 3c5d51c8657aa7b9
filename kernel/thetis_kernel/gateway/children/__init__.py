"""Sub-agents: conversations begun by the agent of another one, each with its own log, window and turn.

    service.py    begun, looked at, ended, settled; what the parent is told and when
    purse.py      what a conversation and its sub-agents have used together, and the limit before the next call
    results.py    how a child's log ended, as its parent is told
    reading.py    a child's log as text
    recovery.py   what a kernel that died left open

Depth one: a child is offered nothing that begins another, its turn is refused it, and the store makes none.
"""
