"""Bodies: the guests a conversation has of its own, in a repository of Thetis's own, on a branch of the conversation's name."""
