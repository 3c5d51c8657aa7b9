"""The command line: `thetis` opens the screen, its subcommands work without one.

This module is the one lazy importer: `--version` and usage errors import nothing of the kernel beyond this package.
"""

from __future__ import annotations

import sys

from thetis_kernel import __version__


def main(argv: list[str] | None = None) -> int:
    """Entry point of the console script. Exit status: 0 finished, 1 failed, 2 usage or configuration, 130 interrupted."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] in (["--version"], ["-V"]):
        print(f"thetis {__version__}")
        return 0
    if sys.platform == "win32":
        print("Thetis does not run on Windows; use it inside WSL.", file=sys.stderr)
        return 2
    from thetis_kernel.cli.parser import parse

    parsed = parse(arguments)
    from thetis_kernel.cli.dispatch import dispatch

    return dispatch(parsed)
