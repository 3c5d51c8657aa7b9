"""WebAssembly guests: their runtimes, and calls into them. The only package that imports wasmtime, and only late.

It knows nothing of sessions, tools or the store: authority reaches a guest as a mapping of imports somebody else made.
"""
