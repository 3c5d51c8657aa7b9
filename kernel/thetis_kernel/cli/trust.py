"""`thetis trust`: what this checkout brings that would run or be believed, and a person's word for exactly that."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import msgspec

from thetis_kernel.cli.printing import say
from thetis_kernel.gateway.trust import Offer, book, look, trusted
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.roots import find_root

YES = ("y", "yes")


def trust(arguments: argparse.Namespace) -> int:
    """Show, ask, and keep the answer; 0 when nothing is left that is not trusted, else 1."""
    if arguments.list:
        return _list(json=arguments.json)
    root = find_root(Path(getattr(arguments, "root", None) or Path.cwd())).resolve()
    if arguments.revoke:
        gone = book().revoke(str(root))
        say(f"{root} is not trusted any more." if gone else f"{root} was not trusted.")
        return 0
    offer = look(root)
    if arguments.json:
        print(msgspec.json.encode({**msgspec.to_builtins(offer), "trusted": trusted(offer)}).decode())
    else:
        _show(offer)
    if not offer.items or trusted(offer):
        return 0
    if arguments.yes or (not arguments.json and sys.stdin.isatty() and _agreed()):
        return _keep(root, offer)
    return 1


def _show(offer: Offer) -> None:
    if not offer.items:
        print(f"{clean_line(offer.root)} brings nothing that would run or be believed: no guests, skills, commands or paths.")
        return
    print(f"{clean_line(offer.root)} brings:")
    width = max(len(clean_line(item.name)) for item in offer.items)
    for item in offer.items:
        where = f" ({clean_line(item.where)})" if item.where != item.name else ""
        print(f"  {item.kind:<8} {clean_line(item.name):<{width}}  {clean_line(item.detail)}{where}".rstrip())
    if trusted(offer):
        print("You trust exactly this; it is used.")
    elif book().knows(offer.root):
        print("You trusted this checkout, and it has changed since: none of it is used until you trust it again.")
    else:
        print("None of it is used: you have not trusted it.")


def _agreed() -> bool:
    print("It would run with your conversations, under the gate and the walls. Read it first.")
    return input("Trust exactly this? Any change to it asks again. [y/N] ").strip().lower() in YES


def _keep(root: Path, offer: Offer) -> int:
    """Agree, unless it changed while it was being read."""
    again = look(root)
    if again.digest != offer.digest:
        say("It changed while you looked. Look again.")
        return 1
    book().add(offer.root, offer.digest, offer.summary)
    say(f"Trusted: {offer.summary}. `thetis trust --revoke` takes it back.")
    return 0


def _list(*, json: bool) -> int:
    entries = book().entries()
    if json:
        print(msgspec.json.encode(entries).decode())
        return 0
    for entry in entries:
        there = Path(entry.root).is_dir()
        now = "gone" if not there else "as trusted" if look(Path(entry.root)).digest == entry.digest else "changed, not used"
        since = time.strftime("%Y-%m-%d", time.localtime(entry.at_ms / 1000))
        print(f"{clean_line(entry.root)}  {entry.summary}  since {since}  {now}")
    if not entries:
        print("No checkout is trusted.")
    return 0
