"""The two longer answers: what is in a repository, and the five-step tour. Must not know requests or streams."""

from __future__ import annotations

import re

from thetis_kernel.models.rehearsal.answers import content, failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Done, Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call

MANIFESTS = {
    "pyproject.toml": "Python",
    "setup.py": "Python",
    "requirements.txt": "Python",
    "package.json": "JavaScript or TypeScript",
    "Cargo.toml": "Rust",
    "go.mod": "Go",
    "pom.xml": "Java",
    "build.gradle": "Java or Kotlin",
    "Gemfile": "Ruby",
    "composer.json": "PHP",
    "CMakeLists.txt": "C or C++",
    "Makefile": "",
}
"""Files that say what a project is, and the language each speaks for."""
SOURCES = ("src", "lib", "app", "source", "packages", "crates", "cmd")
README_LINES = 20
MANIFEST_LINES = 25
TOUR_FILE = "thetis-tour.md"


def entries(listed: Done) -> list[str]:
    """The names of a listing, directories with their slash; sizes and remarks left out."""
    found = []
    for line in listed.text.split("\n"):
        if line and not (line.startswith(("[", "(")) and line.endswith(("]", ")"))):
            found.append(re.sub(r"  (?:\d[\d.]* [KM]?B|\(\w+\))\Z", "", line))
    return found


def survey(scene: Scene) -> Script:
    """List, then read what says most about the project, then tell what was seen."""
    [listed] = yield Step("I look at what is here.", [call("list", path=".")])
    if not listed.ok:
        return failure(listed)
    names = entries(listed)
    files = _telling(names)
    folders = [name for name in names if name.rstrip("/") in SOURCES and name.endswith("/")][:1]
    answer = f"At its top the repository holds:\n\n{fenced(listed.text, 'text')}"
    if not files and not folders:
        return answer + "\n\nThere is no README and no project file among them."
    calls = [call("read", path=name) for name in files] + [call("list", path=name.rstrip("/")) for name in folders]
    done = yield Step(f"I look into {_listed([*files, *folders])}.", calls)
    for name, read in zip(files, done, strict=False):
        language, lines = ("markdown", README_LINES) if _is_readme(name) else ("", MANIFEST_LINES)
        answer += f"\n\n{named(name)} begins:\n\n{fenced(content(read), language, lines)}" if read.ok else ""
    for name, inside in zip(folders, done[len(files) :], strict=False):
        answer += f"\n\nIn {named(name)}:\n\n{fenced(inside.text, 'text')}" if inside.ok else ""
    kinds = list(dict.fromkeys(MANIFESTS[name] for name in files if MANIFESTS.get(name)))
    return answer + (f"\n\nBy its project files it is written in {_listed(kinds)}." if kinds else "")


def tour(scene: Scene) -> Script:
    """Five steps on real files; in a read-only mode the three that change nothing."""
    writing = {"write", "run"} <= scene.tools
    of = 5 if writing else 3
    [listed] = yield Step(f"**Step 1 of {of}: looking around.**", [call("list", path=".")])
    names = entries(listed)
    readable = _telling(names) or [name for name in names if not name.endswith("/")]
    path = readable[0] if readable else "README.md"
    [read] = yield Step(f"**Step 2 of {of}: reading a file.** I read {named(path)}.", [call("read", path=path)])
    word = _word(content(read) if read.ok else " ".join(names))
    [found] = yield Step(f"**Step 3 of {of}: searching.** Where is “{word}” mentioned?", [call("search", pattern=word)])
    among = f", among them {_listed([named(name) for name in names[:5]])}" if names else ""
    seen = [
        f"1. I listed the top of the repository: {_counted(len(names), 'entry', 'entries')}{among}.",
        f"2. I read {named(path)}: {_counted(len(content(read).splitlines()), 'line', 'lines')}."
        if read.ok
        else f"2. I could not read {named(path)}: {read.text.strip()}",
        f"3. I searched for “{word}”: {_matches(found).rstrip('.')}.",
    ]
    if not writing:
        ending = "Creating a file and running a command come next, but this mode is read-only. Switch the mode to see them."
        return "That was the tour.\n\n" + "\n".join(seen) + f"\n\n{ending}"
    text = f"# The tour was here\n\nThis checkout holds {_counted(len(names), 'entry', 'entries')} at its top.\n"
    words = f"**Step 4 of 5: changing something.** I write {named(TOUR_FILE)} on this conversation's own branch."
    [written] = yield Step(words, [call("write", path=TOUR_FILE, contents=text)])
    seen.append(f"4. {'I' if written.ok else 'Writing did not work:'} {written.text.strip().rstrip('.')}.")
    [ran] = yield Step("**Step 5 of 5: running a command.**", [call("run", command=f"wc -l {TOUR_FILE}")])
    seen.append(f"5. I ran `wc -l {TOUR_FILE}`:\n\n{fenced(ran.text, 'text')}")
    ending = (
        "Your own checkout is untouched: the new file is on this conversation's branch, and the event log holds every "
        f"step. Now it is your turn: try `read {path}`, or `replace tour with journey in {TOUR_FILE}`. And in the "
        "`tour of the forge` I make myself a tool and change my own prompt."
    )
    return "That was the tour.\n\n" + "\n".join(seen) + f"\n\n{ending}"


def _telling(names: list[str]) -> list[str]:
    """A README and at most two project files."""
    readmes = [name for name in names if _is_readme(name)][:1]
    return readmes + [name for name in MANIFESTS if name in names][:2]


def _is_readme(name: str) -> bool:
    return name.lower().split(".")[0] == "readme" and not name.endswith("/")


def _word(text: str) -> str:
    """A word worth searching for: the first long one."""
    words = re.findall(r"[A-Za-z][A-Za-z_]{3,}", text)
    return words[0] if words else "the"


def _matches(found: Done) -> str:
    if not found.ok:
        return found.text.strip() or "it failed"
    lines = [line for line in found.text.split("\n") if re.match(r".+:\d+:", line)]
    if not lines:
        return "no matches"
    return f"{_counted(len(lines), 'match', 'matches')}, the first in {named(lines[0].split(':')[0])}"


def _counted(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {many}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"
