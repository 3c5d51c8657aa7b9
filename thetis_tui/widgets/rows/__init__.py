"""The rows of a transcript: one widget for each kind of block, all of them lines."""
