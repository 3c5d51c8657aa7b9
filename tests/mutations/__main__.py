"""`python -m tests.mutations [--only NAME]`: break each rule in turn, expect its tests to turn red.

Exit status: 0 every mutation was noticed, 1 one survived or could not be tried.
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
_NOTICED = "noticed"


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
        # All tests at once without any mutation; only if that is not green, each mutation's before it as well.
        sound = copy.test(sorted({test for mutation in mutations for test in mutation.tests}), 5 * SECONDS)[0] == 0
        noticed = {mutation.name: try_out(copy, mutation, sound=sound) for mutation in mutations}
    bad = [name for name, red in noticed.items() if not red]
    print(f"{len(mutations) - len(bad)} of {len(mutations)} mutations were noticed.")
    if bad:
        print(f"Not noticed: {', '.join(bad)}")
    return 1 if bad else 0


def try_out(copy: Copy, mutation: Mutation, *, sound: bool) -> bool:
    """Whether the mutation's tests turn red; says so on standard output. `sound`: they are known to pass without it."""
    started = time.monotonic()
    try:
        word, detail = _outcome(copy, mutation, sound)
    except PatchError as error:
        word, detail = "DOES NOT APPLY", str(error)
    print(f"{mutation.name}: {word}, {time.monotonic() - started:.1f} s", flush=True)
    if detail:
        print("  " + detail.replace("\n", "\n  "), flush=True)
    return word.startswith(_NOTICED)


def _outcome(copy: Copy, mutation: Mutation, sound: bool) -> tuple[str, str]:
    """(what happened, what helps to see why)."""
    if not sound:
        status, output = copy.test(mutation.tests, mutation.seconds)
        if status != 0:
            return "NOT TESTED (its tests fail without it)", output[-3000:]
    with copy.mutated(mutation):
        status, output = copy.test(mutation.tests, mutation.seconds)
    if status is None:
        return f"STILL RUNNING after {mutation.seconds:g} s", output[-2000:]
    if status < 0:
        return f"{_NOTICED} (the test process died of signal {-status})", ""
    if status == _FAILED:
        return _NOTICED, ""
    if status == 0:
        return "SURVIVED", f"The rule: {mutation.rule}\nThe tests: {' '.join(mutation.tests)}"
    return f"NOT TESTED (pytest ended with {status})", output[-3000:]


if __name__ == "__main__":
    sys.exit(main())
