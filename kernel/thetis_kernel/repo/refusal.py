"""Why a directory cannot be a root: one sentence and the way out for each kind.

Owns the wording; what is the case is found out by `inspection`. `{path}` is the directory, `{detail}` what was found.
"""

from __future__ import annotations

from typing import NamedTuple

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.git import Offer


class Wording(NamedTuple):
    """A sentence, the way out, and what the kernel can do about it when a person agrees."""

    sentence: str
    hint: str
    offer: Offer = ""


SENTENCES: dict[str, Wording] = {
    "not-a-repository": Wording(
        "{path} is not in a git repository.", "Thetis can make one here, or start it in another directory.", "init"
    ),
    "no-commit": Wording(
        "The repository {path} has no commit yet, so there is nothing a conversation could begin at.",
        "Make a first commit, or let Thetis make an empty one.",
        "first-commit",
    ),
    "bare": Wording(
        "{path} is a bare repository: it has no working files.", "Start Thetis in a clone or a worktree of it."
    ),
    "inside-git-directory": Wording("{path} lies inside a git directory.", "Start Thetis in the working tree instead."),
    "partial-clone": Wording(
        "{path} is a partial clone: files it lacks are fetched on demand, which Thetis cannot do.",
        "Make a full clone, or run `git fetch --refetch --no-filter` and remove remote.*.promisor from its config.",
    ),
    "sha256": Wording(
        "{path} names its objects by SHA-256, which libgit2 cannot read.", "Use a clone with the SHA-1 format."
    ),
    "reftable": Wording(
        "{path} keeps its branches in a reftable, which libgit2 cannot read.",
        "Run `git refs migrate --ref-format=files` there.",
    ),
    "unsupported-format": Wording("{path} needs a newer libgit2: {detail}.", "Use a clone without that extension."),
    "other-owner": Wording(
        "{path} belongs to another user, and what its configuration says could run commands in your name.",
        "If you trust it: git config --global --add safe.directory {path}",
    ),
    "branch-named-conv": Wording(
        "{path} has a branch called `conv`, so git cannot keep conversations as conv/...",
        "Rename that branch: git branch -m conv conversations",
    ),
    "worktree-elsewhere": Wording(
        "The git directory of {path} says that its working files are in {detail}.",
        "If that is not meant: git config --unset core.worktree",
    ),
    "special-file": Wording("{path} cannot be read safely: {detail}", "Remove what is named there."),
    "corrupt": Wording("The repository {path} is damaged: {detail}.", "`git fsck` says more; a fresh clone helps."),
}


def refusal(kind: str, path: str, detail: str = "") -> RepoError:
    """The error for a root of this `kind`; its data carries `offer`."""
    wording = SENTENCES[kind]
    return RepoError(
        wording.sentence.format(path=path, detail=detail),
        kind=kind,
        hint=wording.hint.format(path=path, detail=detail),
        path=path,
        offer=wording.offer,
    )
