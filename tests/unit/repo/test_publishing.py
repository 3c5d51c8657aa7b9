"""The public branch: nothing private in any object that can be reached from it, made again it is the same, and the guard."""

from __future__ import annotations

import random
from pathlib import Path

import pygit2
import pytest
from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.publishing import Published
from thetis_kernel.repo.guard import guard
from thetis_kernel.repo.job import Job
from thetis_kernel.repo.publishing import PUBLIC, publish

from tests.support.repos import Repo, make, root_state

CANARY = "canary-harbour"


def mirror(root: Repo, *, remake: bool = False) -> Published:
    return publish(str(root.path), remake, Job())


def reached(root: Repo, branch: str = PUBLIC) -> dict[str, bytes]:
    """Every object that can be reached from a branch, as git itself finds them: by id, with its names."""
    listed = root.git("rev-list", "--objects", branch).splitlines()
    repository = pygit2.Repository(str(root.path))
    return {line: repository[line.split()[0]].read_raw() for line in listed}


def clean(root: Repo) -> bool:
    """Whether the canary stands in no content, name or message that can be reached."""
    return not any(CANARY in name or CANARY.encode() in data for name, data in reached(root).items())


@pytest.fixture
def root(tmp_path: Path) -> Repo:
    made = make(tmp_path / "r", **{"a.txt": "one\n"})
    made.git("branch", "-M", "main")
    return made


def test_what_is_private_is_in_no_object_of_it_not_even_from_before_it_was_marked(root: Repo) -> None:
    root.write(f"keys/{CANARY}.txt", CANARY)
    root.write("b.txt", "b\n")
    root.commit(f"the {CANARY} key")
    root.write(f"{CANARY}.local.toml", CANARY)
    root.write("deep/er/x.LOCAL.toml", CANARY)
    root.commit(f"settings of {CANARY}")
    root.write("c.txt", "c\n")
    root.commit("public words")
    root.write("keys/.thetis-private", "")
    root.commit("private from now on")
    before = root_state(root.path)
    found = mirror(root)
    after = {name: what for name, what in root_state(root.path).items() if not name.endswith(f"refs/heads/{PUBLIC}")}
    assert after == before
    assert clean(root) and found.hidden == ["keys"] and found.left_out == [f"{CANARY}.local.toml", "deep/er/x.LOCAL.toml"]
    assert root.git("ls-tree", "-r", "--name-only", PUBLIC).split() == ["a.txt", "b.txt", "c.txt"]
    assert "public words" in root.git("log", "--format=%s", PUBLIC)
    assert root.git("rev-list", "--merges", PUBLIC) == ""


def test_it_is_made_again_the_same_and_goes_on_by_one_commit(root: Repo) -> None:
    first = mirror(root)
    assert mirror(root).tip == first.tip and mirror(root).made == 0
    root.write("b.txt", "b\n")
    root.commit("more")
    second = mirror(root)
    assert (second.made, second.commits) == (1, first.commits + 1) and not second.remade
    root.git("branch", "-D", PUBLIC)
    assert mirror(root).tip == second.tip
    assert root.git("rev-parse", f"{PUBLIC}~1") == first.tip


def test_what_becomes_private_later_goes_from_the_history_and_that_is_said(root: Repo) -> None:
    root.write(f"plans/{CANARY}.md", CANARY)
    root.commit("plans")
    assert not mirror(root).remade and not clean(root)
    root.write("plans/.thetis-private", "")
    root.commit("not for others")
    assert mirror(root).remade and clean(root)
    (root.path / "plans" / ".thetis-private").unlink()
    root.write("plans/open.md", "open\n")
    (root.path / "plans" / f"{CANARY}.md").unlink()
    root.commit("open from now on")
    found = mirror(root)
    assert clean(root) and "plans/open.md" in root.git("ls-tree", "-r", "--name-only", PUBLIC) and not found.remade


def test_merges_are_one_line_and_what_changes_nothing_public_is_no_commit(root: Repo) -> None:
    root.write("secret/.thetis-private", "")
    root.write("secret/x", CANARY)
    root.commit("hidden")
    root.git("switch", "-qc", "side")
    root.write("side.txt", "s\n")
    root.commit(f"side {CANARY}")
    root.git("switch", "-q", "main")
    root.write("main.txt", "m\n")
    root.commit("on main")
    root.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    found = mirror(root)
    assert root.git("log", "--format=%s", "--reverse", PUBLIC).splitlines()[-2:] == ["on main", "merged"]
    assert root.git("rev-list", "--merges", PUBLIC) == "" and clean(root) and found.commits == 3


def test_names_that_are_no_text_links_and_modes_stay_as_they_are(root: Repo) -> None:
    root.write(b"sub/na\xffme.txt", "x")
    root.write("sub/x.local.toml", CANARY)
    root.write("sub/run", "#!/bin/sh\n", executable=True)
    (root.path / "sub" / "link").symlink_to("run")
    root.commit("odd")
    mirror(root)
    wanted = [line for line in root.git("ls-tree", "-r", "main").splitlines() if "local.toml" not in line]
    assert root.git("ls-tree", "-r", PUBLIC).splitlines() == wanted and clean(root)
    assert root.git("fsck", "--strict") == ""


def test_a_branch_of_that_name_that_is_not_ours_is_left_alone(root: Repo) -> None:
    root.git("branch", PUBLIC)
    root.write("b.txt", "b\n")
    root.write("x.local.toml", "x")
    root.commit("more")
    root.git("branch", "-f", PUBLIC, "main")
    theirs = root.git("rev-parse", PUBLIC)
    with pytest.raises(RepoError, match="not a mirror that was made here"):
        mirror(root)
    assert root.git("rev-parse", PUBLIC) == theirs
    assert mirror(root, remake=True).remade and root.git("rev-parse", PUBLIC) != theirs


def test_another_branch_is_not_published_by_being_checked_out(root: Repo) -> None:
    root.write("b.txt", "b\n")
    root.commit("more")
    mirror(root)
    root.git("switch", "-qc", "other", "HEAD~1")
    root.write("c.txt", "c\n")
    root.commit("elsewhere")
    with pytest.raises(RepoError, match="another history"):
        mirror(root)


@pytest.mark.parametrize("case", ["detached", "itself", "worktree", "all"])
def test_what_cannot_be_mirrored_is_said(root: Repo, tmp_path: Path, case: str) -> None:
    mirror(root)
    root.write("b.txt", "b\n")
    root.commit("more")
    if case == "detached":
        root.git("switch", "-q", "--detach")
    elif case == "itself":
        root.git("switch", "-q", PUBLIC)
    elif case == "worktree":
        root.git("worktree", "add", "-q", str(tmp_path / "w"), PUBLIC)
    else:
        root.write(".thetis-private", "")
        root.commit("all of it")
    with pytest.raises(RepoError) as refused:
        mirror(root)
    assert refused.value.kind == {"detached": "detached", "all": "all-private"}.get(case, "checked-out-elsewhere")


def test_generated_histories_leak_nothing(tmp_path: Path) -> None:
    for seed in range(6):
        chosen = random.Random(seed)
        root = make(tmp_path / f"r{seed}", **{"a.txt": "one\n"})
        places = ["p", "p/q", "o", "o/n", "m"]
        private = set(chosen.sample(places, 2))
        for step in range(12):
            place = chosen.choice(places)
            hidden = any(place == one or place.startswith(f"{one}/") for one in private)
            root.write(f"{place}/{step}.txt", f"{CANARY if hidden else 'open'} {step}\n")
            if chosen.random() < 0.3:
                root.write(f"{place}/{step}.local.toml", CANARY)
            root.commit(f"{CANARY if hidden else 'open'} {step}")
            if chosen.random() < 0.3:
                mirror(root)
        for one in private:
            root.write(f"{one}/.thetis-private", "")
        root.commit("marked")
        mirror(root)
        assert clean(root), seed


def test_the_guard_lets_nothing_but_public_be_pushed(root: Repo, tmp_path: Path) -> None:
    root.git("init", "-q", "--bare", str(tmp_path / "there.git"))
    root.git("remote", "add", "there", str(tmp_path / "there.git"))
    mirror(root)
    assert guard(str(root.path), True).how == "set" and guard(str(root.path), True).how == "there"
    for what in ("main", "main:public", "HEAD:refs/heads/x", "--all", root.git("rev-parse", "main") + ":refs/heads/y"):
        root.git("push", "-q", "there", what, check=False)
        assert root.git("ls-remote", "there") == "", what
    root.git("push", "-q", "there", "public:main")
    assert root.git("ls-remote", "there").endswith("refs/heads/main")
    root.git("-c", "alias.p=!THETIS_ALLOW_PUSH=1 git push -q there main:other", "p")
    assert "other" in root.git("ls-remote", "there")
    assert guard(str(root.path), False).how == "removed" and guard(str(root.path), False).how == "none"


def test_a_foreign_hook_is_left_alone(root: Repo, tmp_path: Path) -> None:
    hook = root.path / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    for wanted in (True, False):
        assert guard(str(root.path), wanted).how == "foreign" and hook.read_text() == "#!/bin/sh\nexit 0\n"
    hook.unlink()
    hook.symlink_to(tmp_path / "elsewhere")
    assert guard(str(root.path), True).how == "foreign" and not (tmp_path / "elsewhere").exists()
    hook.unlink()
    root.git("config", "core.hooksPath", "/somewhere")
    assert guard(str(root.path), True).how == "elsewhere" and not hook.exists()
