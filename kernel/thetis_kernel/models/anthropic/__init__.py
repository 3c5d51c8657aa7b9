"""Providers that speak the Messages API, through the `anthropic` SDK. The only package that imports it, and that late.

    request.py     a request of ours as the API's body; marks.py puts the cache marks
    sse.py         server-sent events out of bytes
    assembly.py    events as deltas, and the blocks, usage and stop reason they add up to
    failures.py    everything that can go wrong, as a value
    endpoint.py    one provider's client and the thread its connections live on; imports the SDK
    backend.py     the seam: one reply as a stream
"""
