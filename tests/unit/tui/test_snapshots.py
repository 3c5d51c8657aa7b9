"""Pictures of moments of a conversation at several sizes; those of every page are in test_pages.

Look at them before accepting a change (`pytest --snapshot-update`).

The pictures are drawn on one Python only: widths of emoji and the order of style spans differ between versions.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from thetis_kernel.protocol import client as c
from thetis_kernel.protocol import events as e
from thetis_kernel.protocol.approvals import Part

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_scenes import fix_parser, furnished
from tests.support.fake_screen import Shown
from thetis_tui.app import ThetisApp
from thetis_tui.screens.dialog import Dialog

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="the pictures are drawn on Python 3.11; other versions differ in cell widths"
)
THEMES = ("thetis-dark", "thetis-light")
SIZES = ((80, 24), (120, 40), (20, 5))


CHANGE = """@@ -10,6 +10,7 @@ def parse(tokens):
     depth = 0
     for token in tokens:
-        if token == "]":
+        if token in CLOSING:
+            depth -= 1
             return depth
     return depth"""


def named(size: tuple[int, int]) -> str:
    """80x24."""
    return f"{size[0]}x{size[1]}"


Act = Callable[[Shown], Awaitable[None]]


def picture(snap_compare: Any, gateway: FakeGateway, size: tuple[int, int], theme: str, act: Act, talk: str = "") -> None:
    """Compare the screen after `act` with the picture of the test's name."""
    app = ThetisApp(gateway.connect, conversation=talk, theme=theme)
    app.state.now = lambda: 1000.0
    app.state.wall_ms = lambda: 1_700_000_000_000 + 3 * 3_600_000

    async def before(pilot: Pilot[int]) -> None:
        shown = Shown(app, pilot, gateway, [])
        await shown.ready()
        await act(shown)
        await shown.calm()

    assert snap_compare(app, terminal_size=size, run_before=before)


async def nothing(s: Shown) -> None:
    """Only what is there at the start."""


async def whole_scene(s: Shown) -> None:
    s.gateway.script = fix_parser
    await s.send("The parser crashes on a closing bracket. Fix it and show that it holds.")
    await s.until(lambda: "done" in s.transcript())


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=named)
def test_first_run(snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    picture(snap_compare, FakeGateway(uncommitted=3), size, theme, nothing)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=named)
def test_a_finished_turn(snap_compare: Any, size: tuple[int, int], theme: str) -> None:
    picture(snap_compare, furnished(), size, theme, whole_scene)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=named)
def test_a_running_turn(snap_compare: Any, size: tuple[int, int]) -> None:
    async def act(s: Shown) -> None:
        await s.send("build it")
        await s.until(lambda: s.gateway.turns)
        turn = next(iter(s.gateway.turns.values()))
        await turn.say("The build needs the headers first.", "thinking")
        await turn.say("Building with `make`:")
        turn.reply(calls=("run",))
        call = turn.call("run", True, command="make -j2 all")
        for number in range(12):
            turn.delta("output", f"cc -O2 -c engine/part{number}.c\n", call)
        await s.send("and run the tests")
        await s.until(lambda: "part11.c" in s.transcript() and not s.view.pending)
        await s.calm()
        s.desk.composer.still()

    picture(snap_compare, furnished(), size, "thetis-dark", act)


@pytest.mark.parametrize("size", [(80, 24), (20, 5)], ids=named)
def test_the_walls_question(snap_compare: Any, size: tuple[int, int]) -> None:
    async def act(s: Shown) -> None:
        s.gateway.tell(c.WallsQuestion(hint="sudo apt install bubblewrap"))
        await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed)

    picture(snap_compare, FakeGateway(walls="none"), size, "thetis-dark", act)


@pytest.mark.parametrize("what", ["command", "patch"])
@pytest.mark.parametrize("size", [(80, 24), (120, 36), (20, 6)], ids=named)
def test_the_form_of_consent(snap_compare: Any, size: tuple[int, int], what: str) -> None:
    gateway = furnished()
    session = gateway.make("Fix the parser", branch="conv/0a0b0c0d", mode="agent")
    gateway.store(session, e.User("Make the tests pass."))
    gateway.turns[session] = gateway.begin(session)
    offers = ["allow-once", "allow-session", "allow-rule", "deny"]
    if what == "patch":
        fields: dict[str, Any] = {"capability": "write", "what": "Change engine/parser.py", "detail": CHANGE, "parts": [
            Part("engine/parser.py", "engine/parser.py", "**")]}
    else:
        fields = {"detail": "cd engine && make test 2>&1 | tail -5", "where": "in the checkout", "parts": [
            Part("cd engine", allowed=True), Part("make test", "make test *", "make test *"),
            Part("tail -5", "tail *", "tail *")]}
    fields = {"id": "q1", "capability": "exec", "what": "Run a command", "offers": offers, **fields}
    gateway.requests[session] = {"q1": e.Approval(**fields)}

    async def act(s: Shown) -> None:
        await s.until(lambda: isinstance(s.app.screen, Dialog) and s.app.screen.armed)

    picture(snap_compare, gateway, size, "thetis-dark", act, session)


@pytest.mark.parametrize("theme", THEMES)
def test_what_went_wrong(snap_compare: Any, theme: str) -> None:
    gateway = FakeGateway()
    session = gateway.make("All that can go wrong", branch="conv/badbadba")
    gateway.store(session, e.User("try everything"))
    turn = gateway.turns[session] = gateway.begin(session)
    call = turn.call("run", True, command="make deploy")
    turn.result(call, "\n".join(f"step {n} of 20" for n in range(20)) + "\nError: no such host", "error", exit=2)
    call = turn.call("write", True, path="/etc/hosts")
    turn.result(call, "Writing outside the worktree is not allowed.", "refused", title="refused")
    call = turn.call("run", True, command="sleep 1000")
    turn.result(call, "", "cancelled", title="stopped")
    gateway.store(session, e.Incident("worker-died", "The worker of this conversation died and was started again."))
    gateway.store(session, e.SystemNote("The limit of 40 iterations was reached.", about="limit"))
    gateway.store(session, e.SettingChanged("mode", "plan"))
    turn.finish("error", "The model did not answer.")

    async def act(s: Shown) -> None:
        s.gateway.vanish()
        await s.until(lambda: "gone" in s.text())

    picture(snap_compare, gateway, (100, 40), theme, act, session)
