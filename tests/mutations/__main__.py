"""`python -m tests.mutations [--only NAME]`: break each rule in turn, expect its tests to turn red.

Exit status: 0 every mutation was noticed, 1 one survived or could not be tried, 2 the tests fail without any mutation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.mutations.copy import Copy
from tests.mutations.mutation import SECONDS, Mutation, PatchError, load

_FAILED = 1  # pytest: tests ran and some failed. 2 to 5 say that they did not run.


def main() -> int:
    """Run them; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="mutations whose name holds NAME")
    options = parser.parse_args()
    try:
        mutations = load(options.only)
    except PatchError as error:
        print(error, file=sys.stderr)
        return 1
    if not mutations:
        print(f"No mutation's name holds {options.only!r}.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="thetis-mutations-") as base:
        copy = Copy(Path(base).resolve())
        if not copy.imported_from().is_relative_to(copy.tree):
            print(f"The copy is not what is imported, {copy.imported_from()} is.", file=sys.stderr)
            return 1
        selections = sorted({test for mutation in mutations for test in mutation.tests})
        status, output = copy.test(selections, 5 * SECONDS)
        if status != 0:
            print(f"Without any mutation the tests must pass, but:\n{output[-6000:]}", file=sys.stderr)
            return 2
        bad = [name for name, noticed in ((m.name, try_out(copy, m)) for m in mutations) if not noticed]
    print(f"{len(mutations) - len(bad)} of {len(mutations)} mutations were noticed.")
    if bad:
        print(f"Not noticed: {', '.join(bad)}")
    return 1 if bad else 0


def try_out(copy: Copy, mutation: Mutation) -> bool:
    """Whether the mutation's tests turn red; says so on standard output."""
    started = time.monotonic()
    try:
        with copy.mutated(mutation):
            status, output = copy.test(mutation.tests, mutation.seconds)
    except PatchError as error:
        word, detail = "DOES NOT APPLY", str(error)
    else:
        detail = ""
        if status == _FAILED:
            word = "noticed"
        elif status is not None and status < 0:
            word = f"noticed (the test process died of signal {-status})"
        elif status is None:
            word, detail = f"STILL RUNNING after {mutation.seconds:g} s", output[-2000:]
        elif status == 0:
            word, detail = "SURVIVED", f"The rule: {mutation.rule}\nThe tests: {' '.join(mutation.tests)}"
        else:
            word, detail = f"NOT TESTED (pytest ended with {status})", output[-3000:]
    print(f"{mutation.name}: {word}, {time.monotonic() - started:.1f} s", flush=True)
    if detail:
        print("  " + detail.replace("\n", "\n  "), flush=True)
    return word.startswith("noticed")


if __name__ == "__main__":
    sys.exit(main())
