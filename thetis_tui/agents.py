"""Sub-agents as the screen shows them: one line each, made safe, with a clock that runs between what the gateway tells.

Must not know about widgets or the gateway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from thetis_kernel.protocol.children import ChildLine
from thetis_kernel.protocol.spending import Spent, price_words

from thetis_tui.sanitise import one_line
from thetis_tui.text import count, cut, duration

_GLYPHS = {
    "running": ("●", "$text-accent"),
    "done": ("✓", "$text-success"),
    "failed": ("✗", "$text-error"),
    "cancelled": ("■", "$text-disabled"),
}
_NARROW = 46
"""Cells below which a line shows no tokens and no money."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One sub-agent as safe one-line texts. `told` is when `elapsed` was true, on the monotonic clock, seconds both."""

    child: str
    label: str
    state: str
    last: str
    elapsed: float
    told: float
    tokens: int
    price: str
    stale: bool = False
    detail: str = ""

    def passed(self, now: float) -> float:
        """Seconds it has been at work, or was."""
        return self.elapsed + (max(0.0, now - self.told) if self.state == "running" else 0.0)


def agents_of(lines: Sequence[ChildLine], told: float) -> tuple[Agent, ...]:
    """The lines as they were told at `told`."""
    return tuple(
        Agent(
            child=line.child,
            label=one_line(line.label) or line.child[:8],
            state=line.state,
            last=one_line(line.last),
            elapsed=line.elapsed_ms / 1000,
            told=told,
            tokens=line.tokens,
            price=_price(line),
            stale=line.stale,
            detail=one_line(line.detail),
        )
        for line in lines
    )


def _price(told: ChildLine) -> str:
    """What it cost; nothing is said of what is free."""
    spent = Spent(calls=max(told.steps, 1), input=told.tokens, cost=told.cost, unpriced=told.unpriced)
    return price_words(spent) if told.cost or told.unpriced else ""


def line(agent: Agent, width: int, now: float, *, labels: int = 16) -> Content:
    """One sub-agent in `width` cells: glyph, label, what it does, and at the right how long and how much."""
    glyph, colour = _GLYPHS.get(agent.state, ("○", "$text-disabled"))
    passed = agent.passed(now)
    facts = [duration(passed) if passed >= 10 else f"{int(passed)}s"]
    if width >= _NARROW:
        facts += [count(agent.tokens)] if agent.tokens else []
        facts += [agent.price] if agent.price else []
    tail = " · ".join(facts)
    if agent.state == "running":
        doing = "no sign of life for long" if agent.stale else agent.last or "thinking"
    else:
        doing = f"{agent.state}: {agent.detail}" if agent.detail else agent.state
    label = cut(agent.label, labels)
    head = Content.assemble((f"{glyph} ", colour), (label, "bold" if agent.state == "running" else "$text-muted"))
    head = head.pad_right(max(0, labels + 2 - head.cell_length))
    room = width - head.cell_length - len(tail) - 4
    tone = "$text-warning" if agent.stale and agent.state == "running" else "$text-muted"
    middle = Content.styled(cut(doing, max(0, room)), tone)
    whole = Content.assemble(head, "  ", middle)
    return whole.pad_right(max(1, width - whole.cell_length - len(tail))) + Content.styled(tail, "$text-disabled")


def label_width(agents: Sequence[Agent]) -> int:
    """Cells for the labels of these agents, so that they stand under each other."""
    return min(24, max((len(agent.label) for agent in agents), default=0) + 1)
