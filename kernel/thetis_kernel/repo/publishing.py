"""A branch that mirrors the trunk without what is private, made in memory: no checkout and no index is touched.

A directory with `.thetis-private` in it is private, and every `*.local.toml` is. What is private in any commit is left out of
all commits before it, too, so that nothing private can be reached from the public branch. The mirror is one line of commits and
a pure function of the trunk: made again, it is the same. Must not know who asks, nor remotes.
"""

from __future__ import annotations

import pygit2
from pygit2.enums import ObjectType

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.publishing import Published
from thetis_kernel.repo import refs
from thetis_kernel.repo.filtering import ANY, Filter
from thetis_kernel.repo.forward import place_of
from thetis_kernel.repo.inspection import Root, open_root
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.library import GIT_ERRORS

PUBLIC = "public"
MIRRORED, SOURCE = "refs/thetis/public", "refs/thetis/public-of"
"""The mirror as it was made last, and the commit of the trunk it was made of: a public branch that stands elsewhere is somebody
else's, and a trunk without that commit is another one."""
IN_PART = "A change that is private in part\n"
"""The message of a commit that changed something private as well: its own words may be about that."""
MAX_NAMED = 50


def publish(root: str, remake: bool, job: Job) -> Published:
    """Bring `public` up to the branch checked out in `root`. See `PublishTrunk` for what is raised."""
    opened = open_root(root)
    repository = opened.repository
    trunk = _trunk(repository)
    chain = _first_parents(repository, trunk, job)
    filters = Filter(repository)
    hidden = _hidden(filters, chain, job)
    if ANY in hidden[-1]:
        raise RepoError("The whole of this repository is private: its top directory holds .thetis-private.", kind="all-private",
                        hint="Put that file into the directories that are private.")
    mirror = _mirror(repository, filters, chain, hidden, job)
    before = refs.tip_of(repository, PUBLIC)
    lost = before is not None and before not in mirror
    if lost and not remake:
        _check_ours(repository, before, trunk, chain)
    if mirror and before != mirror[-1]:
        _move(opened, before, mirror[-1], job)
    if mirror:
        repository.references.create(SOURCE, chain[-1].id, force=True)
    newest = filters.kept(chain[-1].tree, hidden[-1])
    return Published(
        trunk=trunk, branch=PUBLIC, tip=str(mirror[-1]) if mirror else "", commits=len(mirror),
        made=len(mirror) if before is None or lost else len(mirror) - 1 - mirror.index(before),
        hidden=sorted(hidden[-1])[:MAX_NAMED], hidden_total=len(hidden[-1]),
        left_out=sorted(path for path, _ in newest.dropped if path not in hidden[-1])[:MAX_NAMED], remade=lost)


def _trunk(repository: pygit2.Repository) -> str:
    if repository.head_is_detached or repository.head_is_unborn:
        raise RepoError("No branch is checked out here, so there is nothing to mirror.", kind="detached",
                        hint="Check the trunk out: git switch main")
    trunk = repository.head.shorthand
    if trunk == PUBLIC:
        raise RepoError(f"{PUBLIC} itself is checked out.", kind="checked-out-elsewhere",
                        hint="Check the trunk out: git switch main")
    return str(trunk)


def _first_parents(repository: pygit2.Repository, trunk: str, job: Job) -> list[pygit2.Commit]:
    """The trunk's own commits, the oldest first."""
    chain = [repository.references[f"refs/heads/{trunk}"].peel(pygit2.Commit)]
    while chain[-1].parent_ids:
        job.check()
        parent: object = repository.get(chain[-1].parent_ids[0])
        if not isinstance(parent, pygit2.Commit):
            break  # a shallow clone ends here
        chain.append(parent)
    return chain[::-1]


def _hidden(filters: Filter, chain: list[pygit2.Commit], job: Job) -> list[frozenset[str]]:
    """For each commit the directories that are private in it or in any later one."""
    found: list[frozenset[str]] = []
    private: frozenset[str] = frozenset()
    for commit in reversed(chain):
        job.check()
        marked = filters.marked(commit.tree)
        private = private if marked <= private else private | marked
        found.append(private)
    return found[::-1]


def _mirror(repository: pygit2.Repository, filters: Filter, chain: list[pygit2.Commit], hidden: list[frozenset[str]],
            job: Job) -> list[pygit2.Oid]:
    """The public commits, the oldest first. A commit that changes nothing public has none."""
    made: list[pygit2.Oid] = []
    shown: pygit2.Oid | None = None
    private: frozenset[tuple[str, pygit2.Oid]] = frozenset()
    for commit, directories in zip(chain, hidden, strict=True):
        job.check()
        kept = filters.kept(commit.tree, directories)
        in_part, private = kept.dropped != private, kept.dropped
        tree = kept.tree or (repository.write(ObjectType.TREE, b"") if made else None)
        if tree is None or tree == shown:
            continue
        shown = tree
        message = IN_PART if in_part else commit.message
        made.append(repository.create_commit(None, commit.author, commit.committer, message, tree, made[-1:]))
    return made


def _check_ours(repository: pygit2.Repository, before: pygit2.Oid | None, trunk: str, chain: list[pygit2.Commit]) -> None:
    """Raise RepoError unless the public branch was made here, of this trunk: then something became private meanwhile."""
    if _at(repository, MIRRORED) != before:
        raise RepoError(f"The branch {PUBLIC} is not a mirror that was made here.", kind="not-ours",
                        hint="Rename it, or replace it with: thetis publish --remake")
    if _at(repository, SOURCE) not in {commit.id for commit in chain}:
        raise RepoError(f"{PUBLIC} mirrors another history than that of {trunk}.", kind="not-ours",
                        hint="Check the trunk out, or replace it with: thetis publish --remake")


def _at(repository: pygit2.Repository, name: str) -> pygit2.Oid | None:
    try:
        return repository.references[name].peel(pygit2.Commit).id
    except GIT_ERRORS:
        return None


def _move(root: Root, before: pygit2.Oid | None, tip: pygit2.Oid, job: Job) -> None:
    repository, place = root.repository, place_of(root, PUBLIC)
    if place is not None:
        raise RepoError(f"{PUBLIC} is checked out in {place.path}.", kind="checked-out-elsewhere",
                        hint="Check another branch out there.")
    repository.references.create(MIRRORED, tip, force=True)  # first: a public branch without it would be taken for another's
    if before is None:
        refs.create(repository, PUBLIC, tip, job)
    else:
        refs.advance(repository, PUBLIC, lambda at: tip if at == before else None, "thetis publish", job)
    if refs.tip_of(repository, PUBLIC) != tip:
        raise RepoError(f"{PUBLIC} was moved meanwhile.", kind="contended", hint="Publish again.")
