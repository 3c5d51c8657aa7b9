"""Stand-ins for what a worker answers guests, for the gate's smoke calls.

They answer in the shapes of production, from memory, and have no effects: a candidate sees an ordinary small
checkout, ordinary identifiers and the real clock, so nothing tells it that it is being judged.
"""
