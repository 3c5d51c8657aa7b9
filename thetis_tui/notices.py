"""Word to a person who looks elsewhere: the window's title always, a bell and the terminal's own notices when needed.

Owns which sequences a terminal understands for that. Must not know how the screen is drawn.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.cutting import head

from thetis_tui.overview import state_of
from thetis_tui.sanitise import one_line
from thetis_tui.views import title_of

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp

Level = Literal["all", "bell", "title", "off"]
"""all: title, bell and the terminal's notices; bell: without those; title: without a sound; off: nothing."""
LONG = 10.0
"""Seconds a turn lasts at least for its end to be told: a person still looks at a shorter one."""
_NEEDS = frozenset({"approval", "question"})


def plain(text: str) -> str:
    """`text` fit to stand inside a control sequence: one line, nothing in it ends or steers that."""
    return "".join(letter for letter in head(one_line(text), 120) if letter.isprintable()).replace(";", ",")


class Notices:
    """`heard` gets each durable event after the state has folded it; `look` sets the title."""

    def __init__(self, app: ThetisApp, level: Level = "all") -> None:
        self._app = app
        self.level = level
        self._title = ""
        self._started: dict[str, float] = {}

    def heard(self, event: e.Event) -> None:
        """Tell what concerns a person who may not be looking."""
        if event.kind == "turn-started":
            self._started[event.session] = self._app.state.now()
        elif event.kind == "turn-finished":
            self._ended(event)
        elif event.kind in _NEEDS:
            body = event.body
            if not (isinstance(body, e.Approval) and body.decision):
                self._say(event.session, "needs you")

    def _ended(self, event: e.Event) -> None:
        began = self._started.pop(event.session, None)
        lasted = self._app.state.now() - began if began is not None else 0.0
        body = event.body
        how = body.stopped_by if isinstance(body, e.TurnFinished) else ""
        if how == "cancelled":
            return  # whoever stopped it is there
        if how == "error":
            self._say(event.session, "failed")
        elif lasted >= LONG:
            self._say(event.session, "done")

    def _say(self, session: str, what: str) -> None:
        app = self._app
        if self.level in ("off", "title") or (app.app_focus and session == app.state.current):
            return
        conversation = app.state.conversations.get(session)
        name = title_of(conversation) if conversation is not None else ""
        self._write("\a")
        if self.level == "all":
            words = plain(f"{what}: {name}" if name else what)
            self._write(f"\x1b]777;notify;Thetis;{words}\x1b\\" if _rxvt() else f"\x1b]9;Thetis {words}\x1b\\")

    def look(self) -> None:
        """Say in the window's title how things stand."""
        state = self._app.state
        states = [state_of(state, c) for c in state.conversations.values() if not c.archived]
        needs, runs = states.count("needs you"), states.count("running")
        mark = "? " if needs else "● " if runs else ""
        where = one_line(state.status.root.rstrip("/").rsplit("/", 1)[-1]) if state.status else ""
        here = title_of(state.conversation) if state.conversation is not None else where
        title = plain(f"{mark}{here or 'Thetis'} · Thetis" if here else f"{mark}Thetis")
        if self.level != "off" and title != self._title and self._write(f"\x1b]2;{title}\x1b\\"):
            self._title = title

    def _write(self, sequence: str) -> bool:
        """Write to the terminal, unless there is none, or an editor may have it now."""
        app = self._app
        driver = app._driver
        if driver is None or app._batch_count:
            return False
        driver.write(sequence)
        driver.flush()
        return True


def _rxvt() -> bool:
    """Whether the terminal takes rxvt's sequence rather than the more common OSC 9."""
    return os.environ.get("TERM", "").startswith(("rxvt", "foot")) or bool(os.environ.get("VTE_VERSION"))
