"""git_clone: another repository into /workspace. What may be asked for, and what a person is shown of it.

The network of a conversation is a person's to switch on. While it is off, and always for an address within their own
network, each clone is put to them. Must not know how a clone is made.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import msgspec

from thetis_kernel.errors import ThetisError
from thetis_kernel.net import addresses, allow
from thetis_kernel.protocol.clone import CloneRepository
from thetis_kernel.toolhost.authority import Intended, Subject
from thetis_kernel.toolhost.context import TurnContext

MAX_DEPTH = 1_000_000
DIRECTORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}")
REF = re.compile(r"(?!.*(\.\.|//|@\{))[A-Za-z0-9_][A-Za-z0-9._/+@#-]{0,199}(?<![./])")
OFF = "The network is off for this conversation."
INSIDE = "The address is within your own network."


class CloneError(ThetisError):
    """What cannot be cloned as it was asked for; the message names it."""

    code = "bad-arguments"


def address(url: str) -> allow.Target:
    """The address in its one form. Raises NotAUrl, CloneError: https, or http to an address of this machine."""
    if not url.startswith(("https://", "http://")):
        raise CloneError(
            f"{url[:120]!r} is not an https address.",
            hint="git_clone takes https://host/path. What lies on this machine is cloned with git in a command, where the "
            "walls let it be read; ssh and git addresses need keys, which are the person's.")
    found = allow.target(url)
    if found.origin.scheme == "http" and not local(found.origin.host):
        raise CloneError(f"{found.origin} is not encrypted: what comes could be anybody's.", hint="Use https.")
    return found


def local(host: str) -> bool:
    """Whether `host` is itself an address of this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def private(host: str) -> bool:
    """Whether `host` is itself an address that is not out in the open."""
    try:
        return not addresses.public(ipaddress.ip_address(host))
    except ValueError:
        return False


def directory(url: allow.Target, wanted: str) -> str:
    """The directory's name in /workspace. Raises CloneError for one that is no plain name."""
    own = url.path.split("?")[0].rstrip("/").rpartition("/")[2].removesuffix(".git")
    name = wanted.removeprefix("/workspace/").rstrip("/") or own
    if not DIRECTORY.fullmatch(name):
        raise CloneError(f"{name[:80]!r} cannot be the name of the clone's directory.",
                         hint="Give dir as one name of letters, digits, dots and dashes; it lands in /workspace.")
    return name


def checked(url: str, wanted: str, ref: str, depth: int) -> tuple[allow.Target, str]:
    """The address and the directory's name, when all of it can be asked for. Raises CloneError, NotAUrl."""
    found = address(url)
    if ref and not REF.fullmatch(ref):
        raise CloneError(f"{ref[:80]!r} cannot be a branch, tag or commit.")
    if not 0 <= depth <= MAX_DEPTH:
        raise CloneError("depth is how many commits to fetch, from 1.")
    return found, directory(found, wanted)


def intended(context: TurnContext, arguments: dict[str, Any]) -> Intended:
    """What a person is asked with, and why they are asked although the mode may not: see `Intended.insists`."""
    found, name = checked(arguments["repo"], arguments["dir"], arguments["ref"], arguments["depth"])
    insists = INSIDE if private(found.origin.host) else "" if context.place.network else OFF
    detail = [str(found), *(f"{key}: {arguments[key]}" for key in ("ref", "depth") if arguments[key])]
    subject = f"clone {found}"
    return Intended(
        what=f"Clone {found}"[:300], detail="\n".join(detail), where=f"into /workspace/{name}", insists=insists,
        subjects=(Subject(subject, rule=subject, session=subject, wide=False),))


def clone(context: TurnContext, call: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Have the gateway clone it. Raises what the gateway answers, and `unavailable` without one."""
    found, name = checked(arguments["repo"], arguments["dir"], arguments["ref"], arguments["depth"])
    if context.gateway is None:
        raise ThetisError("There is no network in this place.", code="unavailable")
    done = context.gateway(CloneRepository(call=call, url=str(found), directory=name, ref=arguments["ref"],
                                           depth=arguments["depth"]))
    told: dict[str, Any] = msgspec.to_builtins(done)
    return told
