"""Keeping secrets out of what is logged, stored, shown, committed or sent: known values by their digests, others by their shape.

    prints.py     a value as keyed digests, and finding it in bytes without having it
    shapes.py     what a key looks like when nobody told us of it
    scrubber.py   both together, over texts, JSON and live output
"""
