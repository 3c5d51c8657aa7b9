"""Why a connection failed, in words without addresses, users or paths: they go into logs and to models.

What a library says in its exceptions is not passed on; it names machines. Must not know asyncssh: its errors are told apart by
their names.
"""

from __future__ import annotations

from thetis_kernel.errors import ThetisError

LOOK = "`thetis ssh test {name}` shows a person more."


class SshError(ThetisError):
    """A machine that could not be reached, or did not stay. `data["why"]`: more of it, for a person at a terminal alone."""

    code = "ssh"


def told(name: str, error: BaseException, seconds: float) -> SshError:
    """The error for a failed connection to `name`. `seconds`: what it was given."""
    kind = type(error).__name__
    if isinstance(error, TimeoutError):
        return SshError(f"{name} did not answer within {seconds:.0f} s.", code="ssh-timeout",
                        hint="Is it up, and reachable from here? The option ConnectTimeout gives it longer.")
    if kind == "PermissionDenied":
        return SshError(f"{name} let none of the keys in.", code="ssh-auth",
                        hint=f"Its user or key may be wrong, or the key is not known there. {LOOK.format(name=name)}")
    if kind == "KeyExchangeFailed":
        return SshError(f"{name} and this machine have no algorithm in common, or it has no host key of a trusted kind any more.",
                        code="ssh-algorithms", hint=f"If its host key was made anew, a person runs `thetis ssh trust {name}`.")
    if kind in ("ProtocolError", "MACError", "CompressionError", "ProtocolNotSupported"):
        return SshError(f"What answers as {name} does not speak SSH properly.", code="ssh-protocol", hint=LOOK.format(name=name))
    if kind == "gaierror":
        return SshError(f"The name under which {name} is registered leads nowhere.", code="ssh-unreachable",
                        hint=f"`thetis ssh show {name}` says what it is.")
    if isinstance(error, ConnectionRefusedError):
        return SshError(f"{name} refuses connections: nothing listens at its port.", code="ssh-unreachable")
    if kind == "ConnectionLost" or isinstance(error, ConnectionError):
        return SshError(f"{name} closed the connection before it was one.", code="ssh-unreachable",
                        hint="It may have too many at once, or no host key of the kind you trust any more.")
    if isinstance(error, OSError):
        return SshError(f"{name} cannot be reached from here ({error.strerror or kind}).", code="ssh-unreachable")
    return SshError(f"The connection to {name} failed ({kind}).", hint=LOOK.format(name=name))


def changed(name: str, shown: str, trusted: list[str]) -> SshError:
    """The machine shows a key a person has not seen. `shown`, `trusted`: fingerprints."""
    return SshError(
        f"{name} shows another host key than the one you trust, so nothing was sent to it: it is {shown}, trusted is "
        f"{' or '.join(trusted)}.", code="ssh-host-key",
        hint=f"Either somebody is in between, or it was set up anew. A person who knows which runs `thetis ssh trust {name}`.")


def unseen(name: str) -> SshError:
    """Nobody has looked at the machine's key yet."""
    return SshError(f"Nobody has looked at the host key of {name} yet.", code="ssh-host-key",
                    hint=f"A person does with `thetis ssh trust {name}`.")
