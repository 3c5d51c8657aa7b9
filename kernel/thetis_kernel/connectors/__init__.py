"""Doors to other people's chats: each a process of its own, a client of the gateway like any other, with fewer rights."""
