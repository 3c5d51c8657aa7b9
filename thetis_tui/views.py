"""What the parts of the desk show, read from the state: texts, made safe and cut to one line.

Must not know about widgets beyond the values they are given.
"""

from __future__ import annotations

from thetis_kernel.protocol.client import Conversation
from thetis_kernel.protocol.cutting import head
from thetis_kernel.protocol.spending import Spent, price_words

from thetis_tui.sanitise import one_line
from thetis_tui.state import State
from thetis_tui.text import age, count
from thetis_tui.widgets.composer import Activity
from thetis_tui.widgets.sidebar import Entry
from thetis_tui.widgets.welcome import Facts

RECENT = 3


def title_of(conversation: Conversation) -> str:
    """A conversation's name for people."""
    return one_line(conversation.title) or head(one_line(conversation.preview), 80) or "Untitled"


def entries_of(state: State) -> tuple[Entry, ...]:
    """The list of conversations."""
    now = state.wall_ms()
    return tuple(
        Entry(
            session=c.id,
            title=title_of(c),
            state=_state_of(state, c),
            branch=one_line(c.branch),
            age=age(c.updated_ms, now),
            unread=c.id in state.unread,
            doing=_doing(state, c),
        )
        for c in state.listed()
    )


def _doing(state: State, conversation: Conversation) -> str:
    """What runs there or waits for somebody, "" when nothing does."""
    if _state_of(state, conversation) == "asking":
        return "needs you"
    turn = state.turns.get(conversation.id)
    return turn.doing if turn is not None else "sub-agents at work" if conversation.children else ""


def _state_of(state: State, conversation: Conversation) -> str:
    if state.requests.get(conversation.id) or conversation.asking:
        return "asking"
    return "running" if conversation.id in state.turns or conversation.children else conversation.state


def activity_of(state: State) -> Activity | None:
    """What the running turn is doing; None when nothing runs."""
    turn = state.turn
    if turn is None:
        return None
    if state.asking() and not turn.stopping:
        return Activity("asks for consent: ctrl+l", turn.started, turn.tokens_in, turn.tokens_out, turn.stopping)
    return Activity(turn.doing, turn.started, turn.tokens_in, turn.tokens_out, turn.stopping)


def tokens_of(state: State) -> str:
    """What the running turn has used and cost; between turns what the conversation has cost."""
    turn, conversation = state.turn, state.conversation
    if turn is None:
        return _price(conversation.spent) if conversation else ""
    price = _price(conversation.turn_spent) if conversation else ""
    if not (turn.tokens_in or turn.tokens_out):
        return ""
    return f"↑{count(turn.tokens_in)} ↓{count(turn.tokens_out)}" + (f" · {price}" if price else "")


def _price(spent: Spent) -> str:
    """What it cost; nothing is said of what is free."""
    return price_words(spent) if spent.cost or spent.unpriced else ""


def hint_of(state: State) -> str:
    """What Enter does."""
    conversation = state.conversation
    if state.queues.in_hand(state.current):
        return "tab puts it back · enter sends it now"
    if state.turn is not None:
        return "enter steers · tab queues"
    if conversation is not None and conversation.state == "interrupted":
        return "enter resumes"
    if state.queues.of(state.current):
        return "enter says the first that waits"
    return "enter sends"


def placeholder_of(state: State) -> str:
    """What stands in an empty prompt."""
    conversation = state.conversation
    if conversation is not None and conversation.parent:
        at_work = "Steer this sub-agent" if state.turn is not None else "This sub-agent has settled"
        return f"{at_work}; f6 goes back to the conversation it belongs to"
    if state.turn is not None:
        return "Say something to the running turn, or type and press Tab for later"
    if conversation is not None and conversation.state == "interrupted":
        return "This turn was cut short. Enter resumes it, or say what to do instead."
    if state.asking():
        return "Something waits for your consent: ctrl+l shows it"
    if state.may_hand_over() and state.mode() and conversation is not None and conversation.mode == "plan":
        return "Say what to change in the plan; /carry carries it out"
    if state.queues.of(state.current):
        return "Enter says the first message that waits; or say something else before it"
    return "Ask for something, or / for commands"


def where_of(state: State) -> tuple[str, str]:
    """The heading: title and branch."""
    conversation = state.conversation
    if conversation is None:
        return "", ""
    if conversation.parent:
        parent = state.conversations.get(conversation.parent)
        named = f" of {title_of(parent)}" if parent is not None else ""
        return f"↳ {title_of(conversation)}", f"sub-agent{head(named, 48)} · f6 goes back"
    return title_of(conversation), one_line(conversation.branch)


def facts_of(state: State) -> Facts:
    """The page of an empty conversation."""
    status, model = state.status, state.model()
    now = state.wall_ms()
    recent = tuple((c.id, title_of(c), age(c.updated_ms, now)) for c in state.listed()[:RECENT])
    return Facts(
        root=one_line(status.root) if status else "",
        trunk=one_line(status.trunk) if status else "",
        model=one_line(model.label) if model else "",
        notice=one_line(model.notice) if model else "",
        connecting=status is None,
        recent=recent,
    )
