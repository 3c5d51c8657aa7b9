"""The words of `thetis config`, `ssh`, `connect` and `publish`, apart from the rest of the command line for its length."""

from __future__ import annotations

import argparse
from collections.abc import Callable

PLACES = ("user", "root", "local")
Common = Callable[[argparse.ArgumentParser], None]


def config_words(commands: argparse._SubParsersAction[argparse.ArgumentParser], common: Common) -> None:
    """`thetis config [ls | get | set | unset]`."""
    config = commands.add_parser("config", help="the settings: what they are, where they come from, change one",
                                 description="Comments stay, and nothing is written that does not fit as a whole.")
    deeds = config.add_subparsers(dest="action", metavar="ACTION")
    listing = deeds.add_parser("ls", help="every setting with its value and where it comes from")
    listing.add_argument("prefix", metavar="PREFIX", nargs="?", default="", help="only those whose key begins so")
    get = deeds.add_parser("get", help="print one")
    change = deeds.add_parser("set", help="write one")
    unset = deeds.add_parser("unset", help="take one out of its file")
    for one in (get, change, unset):
        one.add_argument("key", metavar="KEY", help="as `thetis config ls` names it")
    change.add_argument("value", metavar="VALUE", help='true, 12, ["a", "b"], words; for a secret env:NAME or file:/path')
    for one in (change, unset):
        one.add_argument("--in", dest="where", choices=PLACES, default="user",
                         help="your own file (default), the repository's thetis.toml or its thetis.local.toml")
    for one in (config, listing, get, change, unset):
        common(one)
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    config.set_defaults(json=False, prefix="")


def connect_words(commands: argparse._SubParsersAction[argparse.ArgumentParser], common: Common) -> None:
    """`thetis connect discord`."""
    connect = commands.add_parser("connect", help="open a read-only door to this root in Discord",
                                  description="It holds the line until it is interrupted, beside a daemon or a screen. Who may "
                                              "talk, and where the bot's token is, stands under [discord] of your own settings.")
    connect.add_argument("to", choices=("discord",))
    common(connect)


def publish_words(commands: argparse._SubParsersAction[argparse.ArgumentParser], common: Common) -> None:
    """`thetis publish [--guard | --unguard] [--remake]`."""
    publish = commands.add_parser(
        "publish", help="bring the branch public up to the trunk, without what is private",
        description="A directory with a file .thetis-private in it is private, in every commit before it was, too; so is every "
                    "*.local.toml. Nothing is pushed, and the checkout is not touched.")
    what = publish.add_mutually_exclusive_group()
    what.add_argument("--remake", action="store_true", help="also when public mirrors something else until now")
    what.add_argument("--guard", action="store_true", help="have a hook let nothing but public be pushed")
    what.add_argument("--unguard", action="store_true", help="take that hook away")
    common(publish)
    publish.add_argument("--json", action="store_true", help="print JSON")


def ssh_words(commands: argparse._SubParsersAction[argparse.ArgumentParser], common: Common) -> None:
    """`thetis ssh [ls | set | show | rm | rename | trust | test]`."""
    ssh = commands.add_parser("ssh", help="machines that agents may have shells on: who is there, adding, vouching, trying",
                              description="They stand in ssh-hosts.local.toml, which is yours alone and kept out of git. An "
                                          "agent is told names and descriptions, nothing else.")
    deeds = ssh.add_subparsers(dest="action", metavar="ACTION")
    listing = deeds.add_parser("ls", help="every machine, and whether it can be used")
    put = deeds.add_parser("set", help="register a machine or change one; what is not given stays")
    show = deeds.add_parser("show", help="all of one, with the fingerprint of its key")
    remove = deeds.add_parser("rm", help="take one out")
    rename = deeds.add_parser("rename", help="call one by another name")
    trust = deeds.add_parser("trust", help="vouch for the way to one, and for the key it shows")
    test = deeds.add_parser("test", help="connect to one, and say what is wrong")
    for one in (put, show, remove, rename, trust, test):
        one.add_argument("name", metavar="NAME", help="as agents call it")
    rename.add_argument("to", metavar="TO", help="its new name")
    put.add_argument("--host", metavar="ADDRESS", help="a name or address")
    put.add_argument("--port", metavar="N", type=int)
    put.add_argument("--user", metavar="LOGIN")
    put.add_argument("--key", dest="identity_file", metavar="FILE", help="a path; without one, what your key agent holds")
    put.add_argument("--jump", metavar="NAME", help="another machine here it is reached through")
    put.add_argument("--option", metavar="NAME=VALUE", action="append", help="as ssh_config has it, of a closed list")
    put.add_argument("--cwd", dest="remote_cwd", metavar="DIR", help="where shells begin")
    put.add_argument("--description", metavar="TEXT", help="what agents are told of it")
    trust.add_argument("--yes", action="store_true", help="to the way and the key it shows now, unseen")
    trust.add_argument("--fingerprint", metavar="SHA256:...", default="", help="accept this key and no other")
    for one in (ssh, listing, put, show, remove, rename, trust, test):
        common(one)
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    ssh.set_defaults(json=False)
