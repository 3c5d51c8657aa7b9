"""The operations of terminals on real shells without walls: arguments, answers, the table of the living, the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.protocol.events import StateChanged, SystemNote
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.toolhost.terminals.calls import KEYS
from thetis_kernel.toolhost.terminals.pool import MOST, OPEN, SCOPE, Pool

from tests.support.terminals import Turn
from tests.support.walls import BARE, children, helpers_of, nursery, wait_until


@pytest.fixture
def turn(tmp_path: Path) -> Any:
    made = Turn(tmp_path, BARE)
    yield made
    made.close()


def test_a_terminal_keeps_its_directory_and_variables(turn: Turn, tmp_path: Path) -> None:
    (tmp_path / "wt/src").mkdir()
    assert turn.do("open", name="build", cwd="src", env={"GREETING": "it's $HOME"}) == {
        "terminal": "t1",
        "name": "build",
        "cwd": "src",
    }
    assert turn.do("run", id="build", command="echo $GREETING; cd ..; x=1")["output"] == "it's $HOME\n"
    ran = turn.do("run", id="t1", command="echo $x; exit 3")
    assert (ran["output"], ran["exit"], ran["cwd"], ran["running"]) == ("1\n", 3, ".", False)
    assert turn.do("list")["terminals"] == [
        {"terminal": "t1", "name": "build", "cwd": ".", "running": False, "command": "echo $x; exit 3", "exit_code": 3}
    ]
    assert turn.do("close", id="t1") == {"terminal": "t1", "closed": True}
    with pytest.raises(ThetisError, match="Terminal t1 is closed: it was closed"):
        turn.do("run", id="t1", command="true")


def test_a_background_command_is_talked_to_and_its_end_is_told_once(turn: Turn) -> None:
    turn.do("open", name="talk")
    started = turn.do("run", id="t1", command="read a; echo got $a; read b", background=True)
    assert started["running"] and started["exit"] is None and "ended" not in started
    with pytest.raises(ThetisError, match="busy with 'read a; echo got"):
        turn.do("run", id="t1", command="true")
    answered = turn.do("send", id="t1", text="word")
    assert "got word" in answered["output"]
    assert turn.do("list")["terminals"][0]["running"] is True
    ended = turn.do("send", id="t1", key="ctrl-d")
    assert ended["running"] is False and ended["ended"]["exit"] == 1
    assert turn.notices == []  # the answer told it
    turn.do("run", id="t1", command="sleep 2; exit 5", background=True)
    assert wait_until(lambda: turn.notices)
    assert turn.notices == [
        "Terminal t1 (talk): 'sleep 2; exit 5' ended with exit 5 after 2 s. terminal_read t1 shows its output."
    ]


def test_a_signal_and_what_is_not_one(turn: Turn) -> None:
    turn.do("open")
    turn.do("run", id="t1", command="sleep 60", background=True)
    assert turn.do("signal", id="t1", signal="int")["ended"]["signal"] == 2
    with pytest.raises(ThetisError, match="There is no signal 'STOP'"):
        turn.do("signal", id="t1", signal="STOP")
    with pytest.raises(ThetisError, match="nothing to signal"):
        turn.do("signal", id="t1", signal="INT")


@pytest.mark.parametrize(
    ("op", "arguments", "words"),
    [
        ("open", {"name": "a/b"}, "cannot be a terminal's name"),
        ("open", {"cwd": "../"}, "outside"),
        ("open", {"cwd": "nowhere"}, "does not exist"),
        ("open", {"env": {"A B": "x"}}, "cannot be a variable's name"),
        ("open", {"env": {"LD_PRELOAD": 1}}, "not a text"),
        ("open", {"env": {"A": "\0"}}, "not a text"),
        ("open", {"env": {"A": "x" * 20_000}}, "more than"),
        ("open", {"env": "A=1"}, "must be an object"),
        ("run", {"id": "t9", "command": "true"}, "There is no terminal 't9'"),
        ("run", {"id": "t1", "command": " "}, "empty"),
        ("run", {"id": "t1", "command": "a\0b"}, "NUL"),
        ("run", {"id": "t1", "command": "echo \ud800"}, "Unicode"),
        ("run", {"id": "t1", "command": "x" * 40_000}, "longer than"),
        ("run", {"id": "t1", "command": "true", "sandbox": False}, "no argument 'sandbox'"),
        ("send", {"id": "t1", "text": "x"}, "nobody to type to"),
        ("send", {"id": "t1", "key": "hyper"}, "There is no key"),
        ("send", {"id": "t1", "text": "", "submit": False}, "nothing to type"),
    ],
)
def test_what_does_not_fit_is_named(turn: Turn, op: str, arguments: dict[str, Any], words: str) -> None:
    turn.do("open")
    with pytest.raises(ThetisError, match=words):
        turn.do(op, **arguments)


def test_the_whole_output_is_kept_where_it_belongs_whatever_the_calls_id_is(turn: Turn, tmp_path: Path) -> None:
    turn.do("open")
    for call in ("../../escaped", f"{tmp_path}/escaped", "a/b", ".."):
        answer = perform(turn.context, "terminals.run", call, {"id": "t1", "command": "head -c 300000 /dev/zero | tr '\\0' x"})
        assert (tmp_path / "spill" / answer["spill"].removeprefix("/spill/")).stat().st_size == 300_000
    assert not list(tmp_path.rglob("*escaped*"))


def test_a_variable_never_reaches_the_program_that_builds_the_walls(turn: Turn) -> None:
    """LD_PRELOAD in the environment of bubblewrap itself would be loaded outside of them; the shell sets it inside."""
    turn.do("open", env={"THETIS_X": "1"})
    [helper] = helpers_of(nursery())
    inside = children(helper)
    assert inside and all(b"THETIS_X" not in Path(f"/proc/{child}/environ").read_bytes() for child in inside)
    assert turn.do("run", id="t1", command="echo $THETIS_X")["output"] == "1\n"


def test_there_is_an_end_to_how_many(turn: Turn) -> None:
    turn.pool._terminals = {f"x{n}": turn.pool for n in range(MOST)}  # type: ignore[misc]
    turn.pool._sweep = lambda: None  # type: ignore[method-assign]
    with pytest.raises(ThetisError, match=f"{MOST} terminals are open"):
        turn.do("open")
    turn.pool._terminals = {}


def test_126_a_read_only_mode_has_no_terminals_and_ends_those_there_are(tmp_path: Path) -> None:
    """opencode#2142, #25335: plan mode writes through the shell."""
    turn = Turn(tmp_path, BARE)
    turn.do("open")
    turn.do("run", id="t1", command="sleep 60", background=True)
    reading = Turn(tmp_path, BARE, turn.pool, turn.context.journal, read_only=True)
    turn.pool.begin_turn("there", True, reading.context.journal)
    assert turn.pool.list() == [] and not turn.pool.busy
    for op, arguments in (
        ("open", {}),
        ("run", {"id": "t1", "command": "true"}),
        ("send", {"id": "t1", "text": "x"}),
        ("signal", {"id": "t1", "signal": "KILL"}),
        ("close", {"id": "t1"}),
    ):
        with pytest.raises(Refused, match="read-only"):
            reading.do(op, **arguments)
    [note] = [body for body in reading.context.journal.bodies if isinstance(body, SystemNote)]  # type: ignore[attr-defined]
    assert "t1" in note.text and "the conversation became read-only" in note.text
    turn.close()


def test_a_new_worker_tells_what_is_gone(tmp_path: Path) -> None:
    turn = Turn(tmp_path, BARE)
    journal: Any = turn.context.journal
    turn.do("open", name="server")
    turn.do("open")
    turn.do("close", id="t2")
    turn.close()
    fresh = Pool(lambda text: None)
    fresh.begin_turn("there", False, journal)
    [note] = [body for body in journal.bodies if isinstance(body, SystemNote)]
    assert (
        note.about == "terminals"
        and "t1 (server)" in note.text
        and "process was replaced" in note.text
        and "t2" not in note.text
    )
    assert journal.state(SCOPE) == {}
    before = len(journal.bodies)
    fresh.begin_turn("there", False, journal)
    assert len(journal.bodies) == before  # told once


def test_another_boundary_ends_the_old_terminals(turn: Turn) -> None:
    journal: Any = turn.context.journal
    turn.pool.begin_turn("network off", False, journal)
    turn.do("open")
    turn.pool.begin_turn("network off", False, journal)
    assert len(turn.pool.list()) == 1
    turn.pool.begin_turn("network on", False, journal)
    assert turn.pool.list() == []
    assert (
        "what commands may see and write has changed"
        in [b for b in journal.bodies if isinstance(b, SystemNote)][-1].text
    )


def test_the_record_is_a_fold_value(turn: Turn) -> None:
    turn.do("open", name="a")
    assert turn.context.journal.state(SCOPE) == {OPEN: '{"t1":"a"}'}
    assert isinstance(turn.context.journal.bodies[-1], StateChanged)  # type: ignore[attr-defined]


def test_every_key_is_named_as_it_is_documented() -> None:
    assert KEYS["ctrl-c"] == b"\x03" and KEYS["ctrl-z"] == b"\x1a" and KEYS["enter"] == b"\r"
