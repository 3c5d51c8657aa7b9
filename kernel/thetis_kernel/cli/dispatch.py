"""From a parsed command line to the function that does it, and from errors to exit statuses."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable

from thetis_kernel.cli.commands import COMMANDS
from thetis_kernel.errors import ThetisError, UsageError


def dispatch(arguments: argparse.Namespace) -> int:
    """Run the command; errors of the tree become a sentence on standard error and a status."""
    try:
        return _run(arguments)
    except UsageError as error:
        return _told(error, 2)
    except ThetisError as error:
        return _told(error, 2 if error.data.get("usage") else 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command is None:
        return _screen(arguments)
    module, _, function = COMMANDS[arguments.command].does.partition(":")
    return int(getattr(importlib.import_module(f"thetis_kernel.cli.{module}"), function)(arguments))


def _screen(arguments: argparse.Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The screen needs a terminal.", hint='Without one, use: thetis run "..."')
    from thetis_kernel.cli.launcher import launched

    def work(let_go: Callable[[], None]) -> int:
        from thetis_kernel.cli.screen import screen

        return screen(arguments, let_go)

    return launched(work)


def _told(error: ThetisError, status: int) -> int:
    print(f"thetis: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
    return status
