"""Cloning another repository into the workspace: what a worker asks of the gateway, and the gateway of a clone host.

No credential is ever part of it: an address that holds one is refused before any of this is sent.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thetis_kernel.protocol.wire import Ask, Tell

Stage = Literal["receiving", "resolving", "checkout"]


class Cloned(msgspec.Struct, frozen=True):
    """A clone as it lies there. `branch` is "" when a tag or a commit is checked out, `commit` when it has none yet.

    `path` is how tools name it; `files` and `bytes` are those of the working tree; `notes` are sentences for the agent.
    """

    branch: str = ""
    commit: str = ""
    files: int = 0
    bytes: int = 0
    notes: list[str] = []
    path: str = ""


class Clone(Ask[Cloned], frozen=True, tag="clone.clone"):
    """Clone `url` into `place`, a directory that is not there yet. `ref`: a branch, tag or commit, "" the default branch.
    `depth`: so many commits of each branch, 0 all. `literal`: the host is an address a person was shown."""

    url: str
    place: str
    ref: str = ""
    depth: int = 0
    literal: bool = False


class CloneProgress(Tell, frozen=True, tag="clone.progress"):
    """How far the clone is: objects or files, and bytes received."""

    stage: Stage
    done: int
    total: int
    bytes: int = 0


class CloneRepository(Ask[Cloned], frozen=True, tag="worker.clone"):
    """The agent clones `url` into /workspace under `directory` ("" takes the repository's own name). The turn has permitted
    it; progress is shown at the call. Withdrawing the request ends the clone and leaves nothing."""

    call: str
    url: str
    directory: str = ""
    ref: str = ""
    depth: int = 0


CLONE_ASKS = (Clone,)
CLONE_TELLS = (CloneProgress,)
