"""The SDK without what is not used of it, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys


def fresh(code: str) -> str:
    """What `code` prints, in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = """
import sys
from thetis_kernel.models.anthropic import loading
{before}
loading.import_sdk()
import anthropic, httpx
client = anthropic.AsyncAnthropic(api_key="-", base_url="http://127.0.0.1:1")
stream = isinstance(object(), anthropic.AsyncStream)
names = ["anthropic.lib.tools._beta_runner", "anthropic.lib.streaming._messages", "rich", "anthropic._client", "httpx._client"]
print([name in sys.modules for name in names], type(client).__name__, stream)
"""


def test_what_is_not_used_is_not_loaded_and_the_client_works() -> None:
    assert fresh(LOADED.format(before="")) == "[False, False, False, True, True] AsyncAnthropic False"


def test_where_a_part_is_needed_after_all_everything_is_loaded() -> None:
    before = "loading.UNUSED['anthropic._models'] = ()"  # the package takes names out of this one
    assert fresh(LOADED.format(before=before)).startswith("[True, True, ")
    assert fresh(LOADED.format(before=before)).endswith(" AsyncAnthropic False")


def test_a_process_that_has_the_sdk_keeps_it() -> None:
    before = "import anthropic"
    assert fresh(LOADED.format(before=before)).startswith("[True, True, ")
