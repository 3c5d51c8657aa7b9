"""The tour of the forge: a tool is begun, written with a mistake, refused with its line, mended, and called in one turn.

Everything is done with the real dev kit; the mistake is the only thing that is staged. Must not know requests or streams.
"""

from __future__ import annotations

from thetis_kernel.models.rehearsal.answers import content, failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Script, Step, call

NAME = "frequent-words"
MAIN = f"tools/{NAME}/main.py"
TEST = f"tools/{NAME}/test_main.py"
PROMPT, TALK, WORD = "aspects/agent_core/prompt.py", "# How to talk", "captains"
RULE = "Speak of captains only when the person is at sea."
PURPOSE = "Lists the most frequent words of a text file."
MISTAKE = "    return Counter(words.most_common(count)"
MENDED = "    return Counter(words).most_common(count)"
SOURCE = f'''"""Lists the most frequent words of a text file."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from thetis_guest import HostError, ToolManifest, sandbox

SCHEMA: dict[str, object] = {{
    "type": "object",
    "properties": {{"path": {{"type": "string", "description": "a text file, relative to the checkout"}}}},
    "required": ["path"],
    "additionalProperties": False,
}}


def describe() -> ToolManifest:
    """What the model is told."""
    return ToolManifest(name="{NAME}", description="{PURPOSE}", input_schema=SCHEMA, group="extra", mutating=False)


def invoke(session_id: str, args: dict[str, Any], config: dict[str, Any]) -> str:
    """One line a word, the most frequent first."""
    path = args.get("path")
    if not isinstance(path, str) or not path:
        raise HostError("bad-arguments", "`path` is missing.", "Give a text file, relative to the checkout.")
    return "\\n".join(f"{{count:5}}  {{word}}" for word, count in frequent(sandbox.read_file(path), 5))


def frequent(text: str, count: int) -> list[tuple[str, int]]:
    """The most frequent words of three letters and more."""
    words = re.findall(r"[a-z]{{3,}}", text.lower())
{MISTAKE}
'''
CHECK = f'''"""The tool's own test."""

from __future__ import annotations

from main import describe, frequent


def test_words_are_counted() -> None:
    assert frequent("one two two", 1) == [("two", 2)]


def test_its_name() -> None:
    assert describe().name == "{NAME}"
'''


def make_a_tool(scene: Scene) -> Script:
    """Begin, write, be refused, mend, call."""
    [begun] = yield Step(f"I make myself a tool, {named(NAME)}. First the scaffold.",
                         [call("new_tool", name=NAME, description=PURPOSE)])
    [_, written] = yield Step("Its test first, which cannot pass yet, and then its code.", [
        call("write_code", path=TEST, contents=CHECK), call("write_code", path=MAIN, contents=SOURCE)])
    if written.ok:
        return "The gate let a mistake pass that it should have found. Please report this."
    [mended] = yield Step("The gate refuses my code and names the line. I mend it.",
                          [call("patch_code", path=MAIN, old_text=MISTAKE, new_text=MENDED)])
    if not mended.ok:
        return failure(mended)
    [listed] = yield Step("It passes. I look for something to use it on.", [call("find", glob="*.md")])
    paths = [line for line in listed.text.split("\n") if line.strip().endswith(".md")] if listed.ok else []
    path = paths[0].split("  ")[0].strip() if paths else "README.md"
    [used] = yield Step(f"Now I call it on {named(path)}.", [call(NAME, path=path)])
    return (
        f"I made myself a tool in this turn and used it.\n\n1. {content(begun).splitlines()[0] if begun.text else 'Begun.'}\n"
        f"2. The gate refused the first version:\n\n{fenced(written.text, 'text')}\n\n3. {mended.text.strip()}\n"
        f"4. {named(NAME)} says of {named(path)}:\n\n{fenced(used.text, 'text')}\n\n"
        "It belongs to this conversation alone. `thetis self log` shows every revision; `roll back the tool` removes it."
    )


def forge_tour(scene: Scene) -> Script:
    """Make a tool, then change what the agent itself is told: it holds from the next turn on."""
    told = yield from make_a_tool(scene)
    [changed] = yield Step("Now myself: I change what my prompt says of how to talk.", [
        call("patch_code", path=PROMPT, old_text=TALK, new_text=f"{TALK}\n- {RULE}")])
    if not changed.ok:
        return f"{told}\n\nMy prompt could not be changed:\n\n{failure(changed)}"
    return (
        f"{told}\n\n**Then I changed myself.** {changed.text.strip()}\n\n"
        f"Ask `what does your prompt say about {WORD}?` in the next turn: it is the changed agent that answers. "
        "`thetis self log` and F9 show what I made of myself; `roll back your prompt` takes it back."
    )


def prompt_says(scene: Scene, word: str) -> Script:
    """What of this turn's own prompt holds a word: the prompt is that of the agent that runs now."""
    lines = [line.strip() for line in scene.system.splitlines() if word.lower() in line.lower()]
    yield from ()
    if not lines:
        return f"My prompt says nothing about {named(word)}."
    return f"My prompt of this turn says about {named(word)}:\n\n{fenced(chr(10).join(lines), 'text', 10)}"


def prompt_back(scene: Scene) -> Script:
    """Take the prompt back to what ships."""
    [history] = yield Step("I look at what I was before.", [call("code_history", aspect="agent")])
    [done] = yield Step("I go back to the agent that ships.", [call("roll_back", aspect="agent", revision="shipped")])
    return f"{fenced(history.text, 'text')}\n\n{done.text.strip()} It counts from the next turn on." if done.ok else failure(done)


def take(scene: Scene, requirement: str, aspect: str) -> Script:
    """Take a package into a guest, and show what is there."""
    [taken] = yield Step(f"I take {named(requirement)} into {named(aspect)}.", [
        call("add_dependency", aspect=aspect, requirement=requirement)])
    if not taken.ok:
        return failure(taken)
    [listed] = yield Step("Which packages are there now?", [call("list_dependencies", aspect=aspect)])
    return f"{taken.text.strip()}\n\n{fenced(listed.text, 'text')}"


def roll_back(scene: Scene) -> Script:
    """Take the tool back."""
    [done] = yield Step("I go back one revision.", [call("roll_back", aspect=f"tool/{NAME}", revision="shipped")])
    return done.text.strip() if done.ok else failure(done)
