"""The instructions about sub-agents: several at once, with the parent asleep or at its own end meanwhile.

A sub-agent of the rehearsal is the rehearsal again: its brief's objective is one of the other instructions. Must not know
requests or streams.
"""

from __future__ import annotations

from thetis_kernel.models.rehearsal.answers import failure, fenced, named
from thetis_kernel.models.rehearsal.scene import Scene
from thetis_kernel.models.rehearsal.script import Call, Script, Step, call

MOST = 16
MOST_SECONDS = 3600
BRIEF = """Objective: {task}
Return: what you saw, in a few lines.
Sources: this checkout.
Boundaries: nothing besides; stop after that.
Known: nothing."""


def objective(instruction: str) -> str:
    """What a brief of `BRIEF` asks for; any other instruction as it is."""
    first, _, rest = instruction.partition("\n")
    if not first.startswith("Objective:") or not rest.startswith("Return:"):
        return instruction
    return first.removeprefix("Objective:").strip()


def together(scene: Scene, tasks: str) -> Script:
    """have agents A; B; C: one sub-agent for each instruction, and wait for all of them"""
    spawned = yield Step("I give each piece to a sub-agent.", _spawns(tasks))
    if not any(one.ok for one in spawned):
        return failure(spawned[0])
    [woke] = yield Step("Now I wait for them.", [call("wait")])
    if not woke.ok:
        return failure(woke)
    return f"This is what they answered:\n\n{fenced(woke.text, 'text')}"


def behind(scene: Scene, tasks: str) -> Script:
    """have agents in the background A; B: begin them, end the turn, and look when they have settled"""
    spawned = yield Step("I give each piece to a sub-agent.", _spawns(tasks))
    if not any(one.ok for one in spawned):
        return failure(spawned[0])
    if not scene.news and len(scene.rounds) < 2:
        count = sum(one.ok for one in spawned)
        return f"{count} {'sub-agent works' if count == 1 else 'sub-agents work'} now. I look again when they have settled."
    [woke] = yield Step("One has settled; I wait for the others.", [call("wait")])
    return f"This is what they answered:\n\n{fenced(woke.text, 'text')}" if woke.ok else failure(woke)


def nap(scene: Scene, seconds: str) -> Script:
    """nap N: sleep for N seconds, or until somebody speaks"""
    wanted = max(1, min(int(seconds), MOST_SECONDS))
    [woke] = yield Step(f"Sleeping for {wanted} s.", [call("wait", until="time", timeout_secs=wanted)])
    return f"I slept: {woke.text}" if woke.ok else failure(woke)


def status(scene: Scene) -> Script:
    """how are the agents"""
    [looked] = yield Step("Looking at the sub-agents.", [call("agent_status")])
    return f"They stand so:\n\n{fenced(looked.text, 'text')}" if looked.ok else failure(looked)


def vague(scene: Scene) -> Script:
    """A brief that says nothing, which is refused."""
    brief = "Please look around a little and tell me what you think about it all."
    [refused] = yield Step("I begin one with a vague brief.", [call("spawn_agent", label="vague", task=brief)])
    return failure(refused) if not refused.ok else refused.text


def _spawns(tasks: str) -> list[Call]:
    wanted = [task.strip() for task in tasks.split(";") if task.strip()][:MOST]
    return [call("spawn_agent", label=_label(task), task=BRIEF.format(task=task)) for task in wanted]


def _label(task: str) -> str:
    return named(task).strip("`")[:24].strip() or "piece"
