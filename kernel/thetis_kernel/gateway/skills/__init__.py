"""The skills of a conversation: whose they are, which are named to the agent, what it reads, and what it or a person writes.

    sources.py   shipped, a person's, a trusted checkout's, the conversation's own; later ones take the place of earlier ones
    keeping.py   writing one: judged like an edit of a guest, committed to the body, or put in the person's directory
    service.py   what workers and clients ask
"""
