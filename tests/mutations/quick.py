"""A pytest plugin for mutated trees: one failure is all that is wanted, and nothing may hold it up.

Hypothesis does not look for the smallest failing example. A test that is stuck inside C code, where no signal and no
thread of Python's gets a turn, ends the process with status 1: it did not pass.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Generator

import pytest
from hypothesis import Phase, settings

settings.register_profile("mutations", phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("mutations")

_SHARE = 0.6
"""Of the time a test has: what is stuck is so for good, and the tests before it took some of the time for all."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Each test under a watch that needs no interpreter."""
    seconds = float(item.config.getini("timeout"))
    faulthandler.dump_traceback_later(_SHARE * seconds, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
