"""The word the agent says to itself when it stops with todos open.

At most twice a turn, and only when the list is another one than at the last reminder. Must not change a todo.
"""

from __future__ import annotations

import json

from guards import REMINDERS, TODOS_OPEN
from history import History
from thetis_guest import session
from thetis_guest.lenient import text

_WORDS = (
    "You stop with todos open:\n{todos}\nGo on with them; or, if they are done or no longer needed, say so with todo_update and "
    "stop then. If the person has to decide something first, ask them."
)


def reminded(history: History) -> bool:
    """Remind of open todos; whether there was reason to."""
    state = history.state
    open_ = [todo for todo in state.todos if text(todo, "status") in ("pending", "in_progress")]
    print_ = ",".join(f"{text(todo, 'id')}={text(todo, 'status')}:{text(todo, 'content')}" for todo in state.todos)
    if not open_ or history.progress.reminders >= REMINDERS or state.values["todos"].get("reminded") == print_:
        return False
    lines = "\n".join(f"{text(todo, 'id')}. {text(todo, 'content')}" for todo in open_)
    session.append("system-note", {"text": _WORDS.format(todos=lines), "about": TODOS_OPEN})
    session.append("state-changed", {"scope": "todos", "key": "reminded", "value": json.dumps(print_)})
    return True
