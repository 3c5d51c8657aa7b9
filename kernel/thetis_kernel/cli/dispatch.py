"""From a parsed command line to the function that does it, and from errors to exit statuses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

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
    match arguments.command:
        case None:
            return _screen(arguments)
        case "run":
            from thetis_kernel.cli.run import run

            return run(arguments)
        case "disk":
            from thetis_kernel.cli.disk import disk

            return disk(arguments)
        case "export":
            from thetis_kernel.cli.export import export

            return export(arguments)
        case "daemon":
            from thetis_kernel.cli.daemon import daemon

            return daemon(arguments)
        case "publish":
            from thetis_kernel.cli.publish import publish

            return publish(arguments)
        case "connect":
            from thetis_kernel.cli.connect import connect

            return connect(arguments)
        case "ls":
            from thetis_kernel.cli.listing import ls

            return ls(arguments)
        case "log":
            from thetis_kernel.cli.listing import log

            return log(arguments)
        case "show":
            from thetis_kernel.cli.listing import show

            return show(arguments)
        case "self":
            from thetis_kernel.cli.selfwork import selfwork

            return selfwork(arguments)
        case "merge" | "diff" | "apply" | "path" | "worktrees":
            from thetis_kernel.cli import merging

            return int(getattr(merging, arguments.command)(arguments))
        case "rewind" | "undo" | "fork":
            from thetis_kernel.cli import timemachine

            return int(getattr(timemachine, arguments.command)(arguments))
        case "answer":
            from thetis_kernel.cli.answer import answer

            return answer(arguments)
        case "compact":
            from thetis_kernel.cli.compact import compact

            return compact(arguments)
        case "usage":
            from thetis_kernel.cli.usage import usage

            return usage(arguments)
        case "kernel":
            from thetis_kernel.cli.kernel import kernel

            return kernel(arguments)
        case "trust":
            from thetis_kernel.cli.trust import trust

            return trust(arguments)
        case "rules":
            from thetis_kernel.cli.rules import rules

            return rules(arguments)
        case "ssh":
            from thetis_kernel.cli.ssh import ssh

            return ssh(arguments)
        case "config":
            from thetis_kernel.cli.config import config

            return config(arguments)
        case "skills":
            from thetis_kernel.cli.skills import skills

            return skills(arguments)
        case "setup":
            from thetis_kernel.cli.setup import setup

            return setup(arguments)
        case _:
            from thetis_kernel.cli.doctor import doctor

            return doctor(arguments)


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
