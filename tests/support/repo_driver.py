"""Runs one function of `thetis_kernel.repo` in this process; see `repos.drive`. `advance-many` is its own."""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import Any

import msgspec


def main(call: str) -> None:
    from thetis_kernel.errors import RepoError
    from thetis_kernel.repo.job import Job

    asked = json.loads(call)
    if asked["largest_file"]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["largest_file"], asked["largest_file"]))
    functions = _functions(Job())
    try:
        answer = functions[asked["function"]](*asked["arguments"], **asked["keywords"])
    except RepoError as error:
        answer = {"error": error.kind, "message": error.message, "hint": error.hint}
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")


def _functions(job: Any) -> dict[str, Any]:
    from thetis_kernel.repo.changes import count_changes
    from thetis_kernel.repo.commit import commit_turn
    from thetis_kernel.repo.inspection import inspect_root
    from thetis_kernel.repo.materialise import materialise

    return {
        "inspect": inspect_root,
        "count": count_changes,
        "materialise": lambda root, branch, where, **rest: materialise(root, branch, where, job, **rest),
        "commit": lambda root, branch, message: commit_turn(root, branch, message, "", job),
        "advance-many": advance_many,
    }


def advance_many(root: str, branch: str, who: str, times: int) -> list[str]:
    """Commit `times` files to `branch`, one commit each, through `refs.advance`; the commits that were acknowledged."""
    import pygit2
    from pygit2.enums import FileMode
    from thetis_kernel.repo import refs
    from thetis_kernel.repo.job import Job

    repository = pygit2.Repository(root)
    me = pygit2.Signature(who, f"{who}@localhost")
    landed = []
    for number in range(times):

        def build(tip: pygit2.Oid, number: int = number) -> pygit2.Oid:
            builder = repository.TreeBuilder(repository[tip].peel(pygit2.Tree))
            builder.insert(f"{who}-{number}", repository.create_blob(f"{who} {number}".encode()), FileMode.BLOB)
            return repository.create_commit(None, me, me, f"{who} {number}", builder.write(), [tip])

        landed.append(str(refs.advance(repository, branch, build, "test", Job())))
    return landed


if __name__ == "__main__":
    main(sys.argv[1])
