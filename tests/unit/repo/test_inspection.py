"""What a directory is to us: every odd repository with its kind, its sentence and the way out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.protocol.git import RootInfo
from thetis_kernel.repo.inspection import inspect_root
from thetis_kernel.repo.offers import accept_offer
from thetis_kernel.repo.peculiarities import NOTICES
from thetis_kernel.repo.refusal import SENTENCES

from tests.support.repos import Repo, driven, make, root_state


def _plain(path: Path) -> Path:
    return make(path / "r").path


def _not_a_repository(path: Path) -> Path:
    (path / "r" / "sub").mkdir(parents=True)
    return path / "r" / "sub"


def _no_commit(path: Path) -> Path:
    Repo(path).git("init", "-q", "-b", "main", str(path / "r"))
    return path / "r"


def _bare(path: Path) -> Path:
    make(path / "o").git("clone", "-q", "--bare", ".", str(path / "r"))
    return path / "r"


def _partial(path: Path) -> Path:
    origin = make(path / "o")
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.git("clone", "-q", "--filter=blob:none", f"file://{path}/o", str(path / "r"))
    return path / "r"


def _partial_by_extension(path: Path) -> Path:
    repo = make(path / "r")
    repo.git("config", "core.repositoryformatversion", "1")
    repo.git("config", "extensions.partialClone", "origin")
    return repo.path


def _sha256(path: Path) -> Path:
    path.joinpath("r").mkdir()
    repo = Repo(path / "r")
    repo.git("init", "-q", "-b", "main", "--object-format=sha256")
    repo.write("a", "a")
    repo.commit()
    return repo.path


def _extension(name: str, value: str) -> Callable[[Path], Path]:
    def build(path: Path) -> Path:
        repo = make(path / "r")
        repo.git("config", "core.repositoryformatversion", "1")
        repo.git("config", f"extensions.{name}", value)
        return repo.path

    return build


def _future_version(path: Path) -> Path:
    repo = make(path / "r")
    repo.git("config", "core.repositoryformatversion", "7")
    return repo.path


def _branch_conv(path: Path) -> Path:
    repo = make(path / "r")
    repo.git("branch", "conv")
    return repo.path


def _branch_conv_packed(path: Path) -> Path:
    repo = make(path / "r")
    repo.git("branch", "conv")
    repo.git("pack-refs", "--all")
    return repo.path


def _worktree_elsewhere(path: Path) -> Path:
    repo = make(path / "r")
    repo.git("config", "core.worktree", str(make(path / "victim").path))
    return repo.path


def _damaged(spoil: Callable[[Path], None]) -> Callable[[Path], Path]:
    def build(path: Path) -> Path:
        repo = make(path / "r")
        spoil(repo.path / ".git")
        return repo.path

    return build


def _without_objects(git: Path) -> None:
    shutil.rmtree(git / "objects")
    (git / "objects").mkdir()


def _pipe(name: str) -> Callable[[Path], None]:
    def spoil(git: Path) -> None:
        (git / name).unlink(missing_ok=True)
        (git / name).parent.mkdir(exist_ok=True)
        os.mkfifo(git / name)

    return spoil


def _included_pipe(git: Path) -> None:
    os.mkfifo(git / "evil")
    (git / "more").write_text("[include]\n  path = evil\n")
    with open(git / "config", "a") as file:
        file.write("[include]\n\tpath = more\n")


def _named_pipe(git: Path) -> None:
    os.mkfifo(git / "evil")
    with open(git / "config", "a") as file:
        file.write(f"[core]\n\texcludesFile = {git}/evil\n")


REFUSED: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "not a repository": ("not-a-repository", _not_a_repository),
    "no commit": ("no-commit", _no_commit),
    "bare": ("bare", _bare),
    "partial clone": ("partial-clone", _partial),
    "partial clone by extension": ("partial-clone", _partial_by_extension),
    "sha256": ("sha256", _sha256),
    "reftable": ("reftable", _extension("refStorage", "reftable")),
    "unknown extension": ("unsupported-format", _extension("foo", "bar")),
    "future version": ("unsupported-format", _future_version),
    "branch conv": ("branch-named-conv", _branch_conv),
    "branch conv, packed": ("branch-named-conv", _branch_conv_packed),
    "core.worktree elsewhere": ("worktree-elsewhere", _worktree_elsewhere),
    "HEAD is garbage": ("corrupt", _damaged(lambda git: (git / "HEAD").write_text("garbage\n") and None)),
    "config does not parse": ("corrupt", _damaged(lambda git: (git / "config").write_text("[core\n") and None)),
    "no objects": ("corrupt", _damaged(_without_objects)),
    "HEAD is a pipe": ("not-a-repository", _damaged(_pipe("HEAD"))),
    "config is a pipe": ("special-file", _damaged(_pipe("config"))),
    "index is a pipe": ("special-file", _damaged(_pipe("index"))),
    "exclude is a pipe": ("special-file", _damaged(_pipe("info/exclude"))),
    "a pipe is included": ("special-file", _damaged(_included_pipe)),
    "a pipe is the excludes file": ("special-file", _damaged(_named_pipe)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_unusable_root_is_said_in_its_own_sentence(case: str, tmp_path: Path) -> None:
    kind, build = REFUSED[case]
    path = build(tmp_path)
    if "pipe" in case:
        info = msgspec.convert(driven("inspect", str(path), home=tmp_path / "another-home"), RootInfo)
    else:
        info = inspect_root(str(path))
    assert (info.kind, info.usable) == (kind, False)
    wording = SENTENCES[kind]
    assert info.sentence.startswith(wording.sentence.split("{")[0])
    assert "{" not in info.sentence + info.hint and info.sentence.count("\n") == 0
    assert info.hint and info.offer == wording.offer


def test_every_kind_of_refusal_has_a_case() -> None:
    elsewhere = {"other-owner", "inside-git-directory"}
    assert {kind for kind, _ in REFUSED.values()} | elsewhere == set(SENTENCES)


def _detached(path: Path) -> Path:
    repo = make(path / "r")
    repo.git("checkout", "-q", "--detach")
    return repo.path


def _shallow(path: Path) -> Path:
    origin = make(path / "o")
    origin.write("a.txt", "two\n")
    origin.commit()
    origin.git("clone", "-q", "--depth", "1", f"file://{path}/o", str(path / "r"))
    return path / "r"


def _sparse(path: Path) -> Path:
    repo = make(path / "r", **{"in/a": "1\n", "out/b": "2\n"})
    repo.git("sparse-checkout", "set", "in")
    return repo.path


def _sparse_index(path: Path) -> Path:
    repo = make(path / "r", **{"in/a": "1\n", "out/deep/b": "2\n"})
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    return repo.path


def _split_index(path: Path) -> Path:
    repo = make(path / "r")
    repo.git("update-index", "--split-index")
    repo.write("z", "z")
    repo.git("add", "z")
    return repo.path


def _linked(path: Path) -> Path:
    make(path / "o").git("worktree", "add", "-q", "-b", "side", str(path / "r"))
    return path / "r"


def _borrowing(path: Path) -> Path:
    make(path / "o").git("clone", "-q", "--shared", ".", str(path / "r"))
    return path / "r"


def _separate(path: Path) -> Path:
    make(path / "o").git("clone", "-q", "--separate-git-dir", str(path / "elsewhere.git"), ".", str(path / "r"))
    return path / "r"


def _with_submodule(path: Path) -> Path:
    make(path / "o")
    repo = make(path / "r")
    repo.git("submodule", "-q", "add", f"file://{path}/o", "sub")
    repo.commit()
    return repo.path


def _attributes(line: str, where: str = ".gitattributes") -> Callable[[Path], Path]:
    return lambda path: make(path / "r", **{where: line + "\n"}).path


PECULIAR: dict[str, Callable[[Path], Path]] = {
    "detached": _detached,
    "shallow": _shallow,
    "sparse": _sparse,
    "split-index": _split_index,
    "linked-worktree": _linked,
    "alternates": _borrowing,
    "git-dir-elsewhere": _separate,
    "submodules": _with_submodule,
    "lfs": _attributes("*.bin filter=lfs diff=lfs merge=lfs -text"),
    "filters": _attributes("secret filter=git-crypt diff=git-crypt", "deep/down/.gitattributes"),
    "working-tree-encoding": _attributes("*.u working-tree-encoding=UTF-16"),
}


@pytest.mark.parametrize("feature", PECULIAR)
def test_a_usable_root_is_used_and_what_is_odd_is_said(feature: str, tmp_path: Path) -> None:
    path = PECULIAR[feature](tmp_path)
    before = root_state(path)
    info = inspect_root(str(path))
    assert (info.kind, info.usable, info.root) == ("ok", True, str(path))
    assert info.features == [feature]
    assert [(notice.kind, notice.sentence) for notice in info.notices] == [(feature, NOTICES[feature][0])]  # type: ignore[index]
    assert info.trunk == {"detached": "", "linked-worktree": "side"}.get(feature, "main")
    assert info.head == Repo(path).head
    assert root_state(path) == before


def test_every_feature_has_a_case() -> None:
    assert set(PECULIAR) == set(NOTICES)


def test_a_sparse_index_is_sparse_first(tmp_path: Path) -> None:
    assert inspect_root(str(_sparse_index(tmp_path))).features == ["sparse"]


def test_a_plain_root_has_nothing_to_say_and_is_found_from_below(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", **{"d/e/f": "x"})
    info = inspect_root(str(repo.path / "d" / "e"))
    assert (info.root, info.trunk, info.head, info.features, info.notices) == (
        str(repo.path), "main", repo.head, [], [],
    )  # fmt: skip


def test_a_root_behind_a_symlink_is_its_real_path(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    (tmp_path / "link").symlink_to(repo.path)
    assert inspect_root(str(tmp_path / "link")).root == str(repo.path)


def test_the_worktree_of_a_conversation_says_that_it_is_one(tmp_path: Path) -> None:
    from thetis_kernel.repo.job import Job
    from thetis_kernel.repo.materialise import materialise

    repo = make(tmp_path / "r")
    materialise(str(repo.path), "conv/ab12cd34", str(tmp_path / "wt"), Job())
    kinds = [notice.kind for notice in inspect_root(str(tmp_path / "wt")).notices]
    assert kinds == ["linked-worktree", "conversation-worktree"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_another_users_repository_names_safe_directory_and_that_helps(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    for where, directories, names in os.walk(repo.path):
        for name in (*directories, *names, "."):
            os.chown(os.path.join(where, name), 12345, 12345)
    home = tmp_path / "another-home"
    info = driven("inspect", str(repo.path), home=home)
    assert info["kind"] == "other-owner" and f"safe.directory {repo.path}" in info["hint"]
    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {repo.path}\n")
    assert driven("inspect", str(repo.path), home=home)["kind"] == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_a_shared_directory_of_another_user_is_refused_although_git_directory_and_files_are_ours(tmp_path: Path) -> None:
    repo = make(tmp_path / "theirs")
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "ours"))
    os.chown(repo.path / ".git", 12345, 12345)
    info = driven("inspect", str(tmp_path / "ours"), home=tmp_path / "another-home")
    assert info["kind"] == "other-owner"


def test_identity_is_the_users_where_git_knows_it(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    home = tmp_path / "another-home"
    info = driven("inspect", str(repo.path), home=home)
    assert (info["identity"], info.get("identity_is_users", False)) == ("Thetis <thetis@localhost>", False)
    (home / ".gitconfig").write_text("[user]\n\tname = Ada Lovelace\n\temail = ada@localhost\n")
    info = driven("inspect", str(repo.path), home=home)
    assert (info["identity"], info["identity_is_users"]) == ("Ada Lovelace <ada@localhost>", True)


def test_an_identity_cannot_end_the_line_of_a_commits_header(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    with open(repo.path / ".git" / "config", "a") as file:
        file.write('[user]\n\tname = "A\\nparent 0000"\n\temail = "a<b>"\n')
    assert inspect_root(str(repo.path)).identity == "A parent 0000 <a b>"


def test_an_offer_is_taken_only_as_it_was_made(tmp_path: Path) -> None:
    from thetis_kernel.errors import RepoError

    path = tmp_path / "new"
    path.mkdir()
    (path / "file").write_text("mine\n")
    info = accept_offer(str(path), "init")
    assert (info.kind, info.offer) == ("no-commit", "first-commit")
    with pytest.raises(RepoError, match="not as it was"):
        accept_offer(str(path), "init")
    info = accept_offer(str(path), "first-commit")
    assert (info.kind, info.head) == ("ok", Repo(path).head)
    repo = Repo(path)
    assert repo.names("HEAD") == [] and repo.git("status", "--porcelain") == "?? file"
    assert (path / "file").read_text() == "mine\n"


HOSTILE = """
[core]
    fsmonitor = "touch {trace}; false"
    hooksPath = {hooks}
    sshCommand = "touch {trace}"
    editor = "touch {trace}"
    pager = "touch {trace}"
    askPass = "touch {trace}"
    gitProxy = "touch {trace}"
[filter "evil"]
    clean = "touch {trace}; cat"
    smudge = "touch {trace}; cat"
    process = "touch {trace}"
    required = true
[diff "evil"]
    command = "touch {trace}"
    textconv = "touch {trace}"
[diff]
    external = "touch {trace}"
[merge "evil"]
    driver = "touch {trace}"
[gpg]
    program = "{hooks}/pre-commit"
[commit]
    gpgSign = true
[credential]
    helper = "!touch {trace}"
[alias]
    status = "!touch {trace}"
[include]
    path = {included}
"""


def test_nothing_a_hostile_configuration_names_is_run(tmp_path: Path) -> None:
    """complaints 112: inspection, counting, worktree, commit, diff, status: none of them starts what the repository's files say,
    be it a hook or a helper that asks for a password."""
    from thetis_kernel.repo.changes import count_changes
    from thetis_kernel.repo.commit import commit_turn
    from thetis_kernel.repo.diff import diff
    from thetis_kernel.repo.history import branch_status
    from thetis_kernel.repo.job import Job
    from thetis_kernel.repo.materialise import materialise

    attributes = "*.evil filter=evil diff=evil merge=evil\n*.txt diff=evil\n"
    repo = make(tmp_path / "r", **{"a.txt": "one\n", ".gitattributes": attributes})
    trace, hooks = tmp_path / "trace", tmp_path / "hooks"
    for name in ("pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction",
                 "prepare-commit-msg", "commit-msg", "post-rewrite"):  # fmt: skip
        for directory in (hooks, repo.path / ".git" / "hooks"):
            directory.mkdir(exist_ok=True)
            (directory / name).write_text(f"#!/bin/sh\ntouch {trace}\n")
            (directory / name).chmod(0o755)
    (tmp_path / "included").write_text(f'[core]\n\tfsmonitor = "touch {trace}"\n')
    with open(repo.path / ".git" / "config", "a") as file:
        file.write(HOSTILE.format(trace=trace, hooks=hooks, included=tmp_path / "included"))
    repo.write("x.evil", "plain")
    root, branch = str(repo.path), "conv/ab12cd34"
    inspect_root(root)
    count_changes(root)
    materialise(root, branch, str(tmp_path / "wt"), Job(), with_changes=True)
    (tmp_path / "wt" / "a.txt").write_text("two\n")
    (tmp_path / "wt" / "y.evil").write_text("plain")
    diff(root, branch, uncommitted=True)
    assert commit_turn(root, branch, "turn", "", Job()).total == 1
    branch_status(root, branch, "")
    assert not trace.exists()
    repo.git("status", check=False)
    assert trace.exists()  # the git CLI does run them: the trap was armed
