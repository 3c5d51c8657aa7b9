"""The rehearsal model: a stand-in that works everywhere, so that everything around a model can be tried and tested.

It is a pure function of the request: the last thing the person said and the results of the tools it called since then
decide the reply. It calls the tools it is offered and answers with what they really returned. It knows no network, no
key, no clock and no randomness.

    scene.py     what of a request matters: the instruction, the rounds since, the tools on offer
    script.py    how a multi-step answer is written, and how it is continued from the rounds so far
    verbs.py     the instructions it understands, and the table of them
    tours.py     the two longer ones: a look at a repository, and the tour
    drills.py    instructions for tests of the machinery around it: failures, delays, endless calls
    answers.py   how its answers read
    backend.py   the reply as a stream
"""

from __future__ import annotations

from thetis_kernel.models.rehearsal.backend import INFO, Rehearsal, delay_ms

__all__ = ["INFO", "Rehearsal", "delay_ms"]
