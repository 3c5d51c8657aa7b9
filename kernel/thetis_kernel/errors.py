"""The kernel's one error tree: fields for machines, a sentence for people.

    ThetisError                 code, message, hint; everything below
    |-- UsageError              the person asked for something that cannot be (exit 2)
    |   |-- ConfigError         a bad setting: file, line, key
    |   `-- RootError           this directory cannot be a root; `kind` says why
    |-- Refused                 authority said no; `capability` says to what
    |-- StoreError              the event log could not do it
    |   |-- StoreFull           no space left; nothing acknowledged was lost
    |   |-- StoreLocked         another kernel holds this root; `pid` is for people only
    |   |-- SessionDamaged      one session's hash chain is broken; the others are fine
    |   `-- LeaseLost           an append under an old lease epoch
    |-- IpcError                the channel, not the request
    |   |-- PeerGone            the other process is gone; the outcome of open calls is unknown
    |   |-- DeadlineExceeded    no answer in time
    |   |-- Cancelled           the caller took its request back
    |   `-- ProtocolError       bytes or versions that do not fit
    |-- RemoteError             the peer answered with an error: its code, message and hint
    |-- ChildError              a child process could not be started or kept; `code` child-start, child-parked
    |-- RepoError               git: `kind` names the case (see repo.kinds)
    |-- GuestError              a guest failed: `kind` in trap, timeout, memory, type, exit, abort, import, error
    |-- GateError               a candidate did not pass: `step` and diagnostics
    |-- RuntimeBuildError       a wasm runtime could not be built
    |-- ModelError              a model stream could not even start (its failures are values, see protocol.models)
    `-- WallError               a command could not be confined

`code` is stable and kebab-case; `message` is one sentence that names the thing; `hint` says the way out.
Errors cross process boundaries as (code, message, hint, data) and come back as `RemoteError`.
"""

from __future__ import annotations

from typing import Any


class ThetisError(Exception):
    """Root of the tree.

    `message`: one sentence. `hint`: the way out, or "". `data`: JSON-able fields for machines.
    """

    code = "error"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.data = data
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip() if self.hint else self.message


class UsageError(ThetisError):
    """The request cannot be carried out as asked; the person can change it. Exit status 2, also from another process:
    `data["usage"]` crosses with it."""

    code = "usage"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None, **data: Any) -> None:
        super().__init__(message, hint=hint, code=code, **{"usage": True, **data})


class ConfigError(UsageError):
    """A setting is unusable. `data` has `file`, `line` (1-based or 0) and `key` where known."""

    code = "config"


class RootError(UsageError):
    """A directory that cannot serve as a root. `kind`: not-a-repository, home, ..."""

    code = "root"

    def __init__(self, message: str, *, kind: str, hint: str = "", **data: Any) -> None:
        super().__init__(message, hint=hint, kind=kind, **data)
        self.kind = kind


class Refused(ThetisError):
    """Authority said no. `capability` is what was asked for."""

    code = "refused"

    def __init__(self, message: str, *, capability: str, hint: str = "", **data: Any) -> None:
        super().__init__(message, hint=hint, capability=capability, **data)
        self.capability = capability


class StoreError(ThetisError):
    """The event log could not do what was asked."""

    code = "store"


class StoreFull(StoreError):
    """No space left on the device; nothing acknowledged was lost, new turns are refused until space returns."""

    code = "store-full"


class StoreLocked(StoreError):
    """Another kernel holds this root's lock. `pid` (0 when unknown) is for people, never for logic."""

    code = "store-locked"

    def __init__(self, message: str, *, pid: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint, pid=pid)
        self.pid = pid


class SessionDamaged(StoreError):
    """One session's chain does not verify; it is quarantined and readable up to `seq`."""

    code = "session-damaged"


class LeaseLost(StoreError):
    """An append came from an old lease epoch and was refused."""

    code = "lease-lost"


class IpcError(ThetisError):
    """The channel to another process failed."""

    code = "ipc"


class PeerGone(IpcError):
    """The other process is gone; what it was asked to do may or may not have happened."""

    code = "peer-gone"


class DeadlineExceeded(IpcError):
    """No answer before the request's deadline."""

    code = "deadline"


class Cancelled(IpcError):
    """The caller took its request back before it was answered."""

    code = "cancelled"


class ProtocolError(IpcError):
    """Bytes, sizes or versions that do not fit the protocol; the channel is closed."""

    code = "protocol"


class RemoteError(ThetisError):
    """A peer answered a request with an error; `code`, `message`, `hint`, `data` are the peer's."""

    code = "remote"


class ChildError(ThetisError):
    """A child process could not be started (`child-start`) or is not started any more (`child-parked`)."""

    code = "child"


class RepoError(ThetisError):
    """A repository cannot do this. `kind` names the case."""

    code = "repo"

    def __init__(self, message: str, *, kind: str, hint: str = "", **data: Any) -> None:
        super().__init__(message, hint=hint, kind=kind, **data)
        self.kind = kind


class GuestError(ThetisError):
    """A guest call failed. `kind`: trap, timeout, memory, type, exit, abort, import, error. `traceback`: the guest's."""

    code = "guest"

    def __init__(self, message: str, *, kind: str, traceback: str = "", hint: str = "", **data: Any) -> None:
        super().__init__(message, hint=hint, kind=kind, traceback=traceback, **data)
        self.kind = kind
        self.traceback = traceback


class GateError(ThetisError):
    """A candidate guest did not pass `step`; `diagnostics` is a list of {path, line, message}."""

    code = "gate"

    def __init__(self, message: str, *, step: str, diagnostics: list[dict[str, Any]], hint: str = "") -> None:
        super().__init__(message, hint=hint, step=step, diagnostics=diagnostics)
        self.step = step
        self.diagnostics = diagnostics


class RuntimeBuildError(ThetisError):
    """A wasm runtime could not be built or loaded."""

    code = "runtime-build"


class ModelError(ThetisError):
    """A model stream could not be started."""

    code = "model"


class WallError(ThetisError):
    """A command could not be confined, so it was not run."""

    code = "walls"
