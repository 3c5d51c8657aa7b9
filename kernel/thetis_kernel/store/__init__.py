"""The event log: one SQLite database, its blobs, and the pure functions that give the log its meaning.

Nothing is imported here: workers use `folds`, `recovery` and `scrub` and must not load SQLite. The database is opened
by `store.store.Store` alone, in the gateway.
"""
