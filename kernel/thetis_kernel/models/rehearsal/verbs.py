"""The instructions the rehearsal model understands: a table of patterns, what they look like, and their scripts.

Must not know requests or streams.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from thetis_kernel.models.rehearsal import branching, delegating, drills, outside, selfwork, shells, steering, tours
from thetis_kernel.models.rehearsal.answers import content, failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call

QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’"}


class Verb(msgspec.Struct, frozen=True):
    """`pattern` must match the whole instruction; its groups, unquoted, are the script's arguments after the scene.

    `example` is shown to people; drills have none.
    """

    pattern: re.Pattern[str]
    script: Callable[..., Script]
    example: str = ""


def understood(instruction: str) -> tuple[Verb, list[str]] | None:
    """The verb an instruction is, and its arguments."""
    words = delegating.objective(instruction.strip())
    for verb in VERBS:
        match = verb.pattern.fullmatch(words)
        if match:
            return verb, [unquoted(group or "") for group in match.groups()]
    return None


def unquoted(words: str) -> str:
    """`words` without one pair of quotes or backticks around them."""
    words = words.strip()
    if len(words) >= 2 and QUOTES.get(words[0]) == words[-1]:
        return words[1:-1]
    return words


# -- the short ones


def list_directory(scene: Scene, where: str) -> Script:
    """list D"""
    [listed] = yield Step(f"Listing {named(where or '.')}.", [call("list", path=where or ".")])
    if not listed.ok:
        return failure(listed)
    return f"In {named(where or '.')}:\n\n{fenced(listed.text, 'text')}"


def read_file(scene: Scene, path: str) -> Script:
    """read F"""
    [read] = yield Step(f"Reading {named(path)}.", [call("read", path=path)])
    if not read.ok:
        return failure(read)
    text = content(read)
    count = len(text.split("\n"))
    return f"{named(path)}, {count} {'line' if count == 1 else 'lines'}:\n\n{fenced(text)}"


def search(scene: Scene, pattern: str, where: str) -> Script:
    """search X [in D]"""
    args = {"pattern": pattern, **({"path": where} if where else {})}
    [found] = yield Step(f"Searching for {named(pattern)}.", [call("search", **args)])
    if not found.ok:
        return failure(found)
    return f"Search for {named(pattern)}{f' in {named(where)}' if where else ''}:\n\n{fenced(found.text, 'text')}"


def find(scene: Scene, glob: str) -> Script:
    """find G"""
    [found] = yield Step(f"Looking for {named(glob)}.", [call("find", glob=glob)])
    return f"Files matching {named(glob)}:\n\n{fenced(found.text, 'text')}" if found.ok else failure(found)


def replace(scene: Scene, old: str, new: str, path: str) -> Script:
    """replace A with B in F, and show where B stands now"""
    words = f"Replacing {named(old)} in {named(path)}."
    [edited] = yield Step(words, [call("edit", path=path, old_text=old, new_text=new)])
    if not edited.ok:
        return failure(edited)
    [read] = yield Step("Reading it back.", [call("read", path=path)])
    lines = [line for line in content(read).split("\n") if new.split("\n")[0] in line] if new and read.ok else []
    shown = f" It reads now:\n\n{fenced(chr(10).join(lines[:5]))}" if lines else ""
    return f"Replaced {named(old)} with {named(new) if new else 'nothing'} in {named(path)}.{shown}"


def create(scene: Scene, path: str, text: str) -> Script:
    """create F with T, and read it back"""
    whole = text if text.endswith("\n") else f"{text}\n"
    [written] = yield Step(f"Writing {named(path)}.", [call("write", path=path, contents=whole)])
    if not written.ok:
        return failure(written)
    [read] = yield Step("Reading it back.", [call("read", path=path)])
    return f"{named(path)} holds now:\n\n{fenced(content(read))}" if read.ok else failure(read)


def run(scene: Scene, command: str) -> Script:
    """run C"""
    [ran] = yield Step(f"Running {named(command)}.", [call("run", command=command)])
    verdict = "It went through." if ran.ok else "It failed."
    return f"{verdict} {named(command)} printed:\n\n{fenced(ran.text, 'text')}"


def remember(scene: Scene, key: str, text: str) -> Script:
    """remember K: V"""
    [noted] = yield Step(f"Noting {named(key)}.", [call("remember", key=key, content=text)])
    return f"Noted under {named(key)}: {text}" if noted.ok else failure(noted)


def recall(scene: Scene, key: str) -> Script:
    """recall [K]"""
    [notes] = yield Step("Looking into my notes.", [call("recall", **({"key": key} if key else {}))])
    return f"My notes:\n\n{fenced(notes.text, 'text')}" if notes.ok else failure(notes)


def outline(scene: Scene, path: str) -> Script:
    """outline F"""
    [outlined] = yield Step(f"Outlining {named(path)}.", [call("outline", path=path)])
    return f"Outline of {named(path)}:\n\n{fenced(outlined.text, 'text')}" if outlined.ok else failure(outlined)


def earlier(scene: Scene, words: str) -> Script:
    """look for X in earlier conversations"""
    [found] = yield Step(f"Looking for {named(words)} in earlier conversations.", [call("search_conversations", query=words)])
    return f"Found:\n\n{fenced(found.text, 'text')}" if found.ok else failure(found)


def read_earlier(scene: Scene, conversation: str) -> Script:
    """read conversation C"""
    [page] = yield Step(f"Reading {named(conversation)}.", [call("read_conversation", conversation=conversation)])
    return f"It says:\n\n{fenced(page.text, 'text')}" if page.ok else failure(page)


def use_skill(scene: Scene, name: str) -> Script:
    """use the skill N"""
    [skill] = yield Step(f"Reading the skill {named(name)}.", [call("use_skill", name=name)])
    return f"It says:\n\n{skill.text}" if skill.ok else failure(skill)


def write_skill(scene: Scene, name: str, brief: str) -> Script:
    """write a skill N: B"""
    text = f'+++\nname = "{name}"\nbrief = "{brief}"\n+++\n\n# {name}\n\n{brief}\n'
    [kept] = yield Step(f"Writing the skill {named(name)}.", [call("write_skill", name=name, contents=text)])
    return f"{kept.text}" if kept.ok else failure(kept)


def clone(scene: Scene, address: str) -> Script:
    """clone URL"""
    [cloned] = yield Step(f"Cloning {named(address)}.", [call("git_clone", repo=address, depth=1)])
    return f"Done:\n\n{fenced(cloned.text, 'text')}" if cloned.ok else failure(cloned)


def _verb(pattern: str, script: Callable[..., Script], example: str = "") -> Verb:
    return Verb(re.compile(pattern, re.IGNORECASE | re.DOTALL), script, example)


_PLACE = r"(?:repo|repository|project|folder|directory|checkout|codebase)"
_QUOTED = r"\"[^\"]+\"|'[^']+'|`[^`]+`|“[^”]+”"

VERBS: tuple[Verb, ...] = (
    _verb(r"remember for the project ([^:]+): *(.+)", steering.remember_for_all, "remember for the project style: tests first"),
    _verb(r"recall the project'?s notes\W*", steering.recall_for_all),
    _verb(r"ask me ([^:]+?)(?:: *(\S.*))?", steering.ask, "ask me which colour: red, green or blue"),
    _verb(r"work through (\S.*)", steering.work_through, "work through look around; say hello"),
    _verb(r"begin (\S.*) and stop", steering.leave_open),
    _verb(r"(?:which tools are there|find a tool for (\S.*))\W*", steering.find_tool, "find a tool for running a server"),
    _verb(r"read events (\d{1,9}) to (\d{1,9})", steering.originals, "read events 1 to 5"),
    _verb(rf"what(?:'s|’s| is)? (?:there )?in (?:this|the|my) {_PLACE}\W*", tours.survey, "what is in this repository?"),
    _verb(rf"(?:describe|explain|summari[sz]e) (?:this|the|my) {_PLACE}\W*", tours.survey),
    _verb(r"(?:please )?(?:(?:give|show) me )?(?:the |a )?tour\W*", tours.tour, "tour"),
    _verb(r"where (?:does|is) (?:the|your|my) branch(?: stand)?\W*", branching.stands, "where does the branch stand?"),
    _verb(r"commit as (\S.*)", branching.commit, "commit as Say hello"),
    _verb(r"update from (?:the )?trunk and leave it", branching.begin_update),
    _verb(r"(?:update from (?:the )?trunk|Bring .* into your branch with update_from_trunk\..*)\W*", branching.update,
          "update from the trunk"),
    _verb(r"give the merge up\W*", branching.abort),
    _verb(r"go back to ([0-9a-f]{6,40})", branching.go_back),
    _verb(r"update your code\W*", branching.update_code),
    _verb(r"on ([A-Za-z0-9._-]{1,40}) run (\S.*)", outside.on_a_machine, "on build run hostname"),
    _verb(r"which machines are there\W*", outside.machines, "which machines are there?"),
    _verb(r"register the machine (\S+) at (\S+) as (\S+)", outside.register),
    _verb(r"set the setting (\S+) to (\S.*)", outside.set_setting, "set the setting screen.theme to thetis-light"),
    _verb(r"(?:read the setting (\S+)|list the settings)", outside.read_setting, "list the settings"),
    _verb(r"(?:list|ls)(?: files)?(?: in)?(?: (\S.*))?", list_directory, "list src"),
    _verb(r"read conversation (\w+)", read_earlier),
    _verb(r"(?:read|show|open|cat) (\S.*)", read_file, "read README.md"),
    _verb(rf"(?:search|grep)(?: for)? ({_QUOTED}|\S.*?)(?: in (\S+))?", search, "search TODO in src"),
    _verb(r"find(?: files)? (\S.*)", find, "find **/*.py"),
    _verb(rf"replace ({_QUOTED}|.+?) (?:with|by) ({_QUOTED}|.*) in (\S+)", replace, "replace colour with color in README.md"),
    _verb(r"(?:create|write) (\S+) with (.+)", create, "create notes.txt with Hello"),
    _verb(r"(?:run|execute) (\S.*)", run, "run ls -l"),
    _verb(r"in a terminal,? (?:run )?(\S.*)", shells.in_a_terminal, "in a terminal run cd src then pwd"),
    _verb(r"start (\S.*?) in the background", shells.in_the_background, "start sleep 3 in the background"),
    _verb(r"type (.+) into (t\d+)", shells.type_into),
    _verb(r"look at (t\d+)", shells.look_at),
    _verb(r"close (t\d+)", shells.end),
    _verb(r"have (?:sub-?)?agents in the background (\S.*)", delegating.behind,
          "have agents in the background nap 10; find *.md"),
    _verb(r"have (?:sub-?)?agents (\S.*)", delegating.together, "have agents list .; nap 5; read README.md"),
    _verb(r"how are the (?:sub-?)?agents\W*", delegating.status, "how are the agents"),
    _verb(r"nap (\d{1,4})(?: s| seconds)?", delegating.nap, "nap 10"),
    _verb(r"remember ([^:]+): *(.+)", remember, "remember owner: Ada"),
    _verb(r"recall(?: (\S.*))?", recall, "recall owner"),
    _verb(r"outline (\S.*)", outline, "outline src/main.py"),
    _verb(r"look for (.+?) in (?:earlier|other) conversations\W*", earlier, "look for Ada in earlier conversations"),
    _verb(r"use the skill ([\w-]+)\W*", use_skill, "use the skill careful-surgery"),
    _verb(r"write a skill ([\w-]+): *(.+)", write_skill, "write a skill greeting: Say hello to everybody"),
    _verb(r"clone (https?://\S+)", clone, "clone https://github.com/octocat/Hello-World"),
    _verb(r"(?:please )?make (?:yourself|me) a (?:new )?tool\b.*", selfwork.make_a_tool, "make yourself a tool"),
    _verb(r"(?:(?:give|show) me )?(?:the |a )?tour of (?:the forge|yourself)\W*", selfwork.forge_tour, "tour of the forge"),
    _verb(r"what does your prompt say (?:about|of) (\S.*?)\W*", selfwork.prompt_says, "what does your prompt say about tests?"),
    _verb(r"take (\S+) into (agent|gateway/tui|tool/[\w-]+)\W*", selfwork.take, "take idna into tool/frequent-words"),
    _verb(r"roll back your prompt\W*", selfwork.prompt_back, "roll back your prompt"),
    _verb(r"roll back (?:the|that) tool\W*", selfwork.roll_back, "roll back the tool"),
    *(_verb(pattern, script) for pattern, script in drills.DRILLS),
)


def what_is_understood() -> str:
    """The answer to everything else."""
    examples = "\n".join(verb.example for verb in VERBS if verb.example)
    return (
        "I am a rehearsal: I follow a few fixed instructions with the real tools on your real files, so that you can see "
        f"how everything works. Try one of these:\n\n{fenced(examples, 'text')}"
    )
