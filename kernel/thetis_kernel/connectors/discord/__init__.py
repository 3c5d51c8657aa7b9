"""The read-only door in Discord.

    line.py        the library: the one importer of `discord`, on a thread and an event loop of its own
    heard.py       what came in, as plain records; admission.py: who is let in, and what is for us
    pairing.py     codes by which an administrator lets somebody in for a while
    talks.py       a conversation of Discord: words in, answer out; answer.py: what its answer looks like by now
    pages.py       a text in messages of 2,000 characters; poster.py: the messages that stand there, made to match
    forms.py       what an agent asks, as components; commands.py: /new, /stop, ... (none of them knows a mode)
    memory.py      what outlives this process: which conversation, which message, how far
    service.py     all of it together, over a gateway that may come and go

It has no tool policy of its own: it makes sure that its mode exists and is read-only, and offers nothing that changes it.
"""
