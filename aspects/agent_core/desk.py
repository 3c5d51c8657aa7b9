"""The calls the agent answers itself: plan, todos, and the search for tools.

Owns what they do to the conversation's state, which is kept as events, and the words that answer. Must not know the log or
how a reply is run.
"""

from __future__ import annotations

import json
from typing import Any

from groups import GROUPS, found
from state import State, todo_lines
from steering import STATUSES
from thetis_guest import session
from thetis_guest.lenient import mapping, objects, strings, text
from toolbox import Toolbox, answered

MAX_TODOS, MAX_TODO = 50, 200
MAX_PLAN = 200_000


class Desk:
    """Answers for one turn; `state` and `toolbox` are the turn's, and change with what is done here."""

    def __init__(self, state: State, toolbox: Toolbox) -> None:
        self._state = state
        self.toolbox = toolbox

    def take(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The call itself, or, when it is one of those here, its answer."""
        doing = _DOING.get(text(entry, "op"))
        if doing is None:
            return entry
        args = mapping(entry, "op-args")
        try:
            return answered(entry, doing(self, args), True)
        except ValueError as error:
            return answered(entry, f"{error} Nothing was changed.", False)

    def _keep(self, scope: str, key: str, value: Any) -> None:
        session.append("state-changed", {"scope": scope, "key": key, "value": json.dumps(value, ensure_ascii=False)})
        self._state.put(scope, key, value)

    # -- plan

    def plan_write(self, args: dict[str, Any]) -> str:
        """Replace the plan."""
        body = text(args, "body").strip()
        if not body:
            raise ValueError("A plan without a word is none.")
        return self._plan(body, text(args, "title") or text(self._state.plan, "title"))

    def plan_edit(self, args: dict[str, Any]) -> str:
        """Change or extend it."""
        body, old, new = text(self._state.plan, "body"), text(args, "old_text"), text(args, "new_text")
        if not old:
            return self._plan(f"{body}\n{new}".strip(), text(self._state.plan, "title"))
        times = body.count(old)
        if times != 1:
            near = " It stands there with other spaces or line ends." if _bare(old) in _bare(body) else ""
            raise ValueError(
                f"The text to replace stands in the plan {times} times, not once.{near if not times else ''}"
            )
        return self._plan(body.replace(old, new), text(self._state.plan, "title"))

    def _plan(self, body: str, title: str) -> str:
        if len(body.encode()) > MAX_PLAN:
            raise ValueError(f"A plan holds at most {MAX_PLAN:,} bytes.")
        revision = self._state.plan.get("revision")
        number = revision + 1 if isinstance(revision, int) else 1
        self._keep("plan", "document", {"title": title, "body": body, "revision": number})
        return f"The plan is kept, revision {number}."

    def plan_read(self, args: dict[str, Any]) -> str:
        """Both, as they stand."""
        plan = self._state.plan
        told = f"# {text(plan, 'title') or 'Plan'}\n{text(plan, 'body')}" if plan else "There is no plan."
        return f"{told}\n\n{todo_lines(self._state.todos) or 'There are no todos.'}"

    # -- todos

    def todo_write(self, args: dict[str, Any]) -> str:
        """Replace the list."""
        given = objects(args, "todos")
        if len(given) > MAX_TODOS:
            raise ValueError(f"A list holds at most {MAX_TODOS} todos, not {len(given)}.")
        todos = []
        for at, todo in enumerate(given, 1):
            content = " ".join(text(todo, "content").split())
            if not content or len(content.encode()) > MAX_TODO:
                raise ValueError(f"Todo {at} must have 1 to {MAX_TODO} bytes of text.")
            todos.append({"id": str(at), "content": content, "status": _status(text(todo, "status", "pending"))})
        return self._todos(todos)

    def todo_update(self, args: dict[str, Any]) -> str:
        """Change statuses."""
        todos = [dict(todo) for todo in self._state.todos]
        for update in objects(args, "updates"):
            wanted = text(update, "id") or str(update.get("id", ""))
            todo = next((todo for todo in todos if text(todo, "id") == wanted), None)
            if todo is None:
                raise ValueError(f"There is no todo {wanted!r}. They are numbered 1 to {len(todos)}.")
            todo["status"] = _status(text(update, "status"))
        return self._todos(todos)

    def _todos(self, todos: list[dict[str, Any]]) -> str:
        self._keep("todos", "list", todos)
        return todo_lines(todos) or "The list is empty."

    # -- tools

    def tool_search(self, args: dict[str, Any]) -> str:
        """Find and load groups; without arguments, list them."""
        loaded, wanted = self.toolbox.loaded, strings(args, "load")
        unknown = [name for name in wanted if name not in GROUPS]
        if unknown:
            raise ValueError(f"There is no tool group {unknown[0]!r}. They are: {', '.join(GROUPS)}.")
        query = text(args, "query")
        wanted = list(dict.fromkeys([*wanted, *(found(query, self.toolbox.described()) if query else [])]))
        told = wanted or list(GROUPS)
        new: list[str] = []
        lines = [f"No tool fits {query!r}."] if query and not wanted else []
        for group in told:
            tools = self.toolbox.of(group)
            if not tools:
                continue
            if group in wanted and loaded.admit(group, "search", self._state.seq):
                self.pin(group)
                new += [name for name, offered in tools if offered]
            names = ", ".join(name if offered else f"{name} (not in this mode)" for name, offered in tools)
            lines.append(f"{group} ({'loaded' if loaded.has(group) else 'not loaded'}): {GROUPS[group].brief}. {names}")
        # What was loaded is also told by name: a provider that defers definitions is given references to them.
        return json.dumps({"message": "\n".join(lines), "tools": new}, ensure_ascii=False) if new else "\n".join(lines)

    def pin(self, group: str) -> None:
        """Keep it: what was loaded once stays loaded."""
        loaded = self.toolbox.loaded
        self._keep("groups", group, {"why": loaded.why[group], "at": loaded.at[group]})


def _status(word: str) -> str:
    if word not in STATUSES:
        raise ValueError(f"A status is one of {', '.join(STATUSES)}, not {word!r}.")
    return word


def _bare(words: str) -> str:
    return "".join(words.split())


_DOING = {
    "self.plan-write": Desk.plan_write,
    "self.plan-edit": Desk.plan_edit,
    "self.plan-read": Desk.plan_read,
    "self.todo-write": Desk.todo_write,
    "self.todo-update": Desk.todo_update,
    "self.tool-search": Desk.tool_search,
}
