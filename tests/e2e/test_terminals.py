"""A terminal on a real pty, in bubblewrap, in Landlock and without walls: commands end when they end, whatever they leave."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.walls.command import Limits
from thetis_kernel.walls.tier import Tier

from tests.support.terminals import Opened, terminal
from tests.support.walls import SYSTEM_PYTHON, alive, every_tier, every_wall, helpers_of, mark, nursery, wait_until

__all__ = ["mark"]

EDITOR = next((path for path in ("/usr/bin/vim", "/usr/bin/vi") if Path(path).exists()), "")
PAGER = next((path for path in ("/usr/bin/less", "/bin/less") if Path(path).exists()), "")

ENDS = {
    "exit 3": 3,
    "exec false": 1,
    "set -e; false; echo no": 1,
    "kill -9 $$": 137,
    "if": 2,
    "set -u; echo $no": 127,
    "trap 'exit 9' EXIT; true": 9,
    "exec >/dev/null; echo gone": 0,
    "readonly PATH; exit 7": 7,
    "set -n; false": 0,
    "enable -n printf; trap - EXIT; exit 4": 4,
}
"""Commands that end, replace or spoil the shell they run in, and their exit codes in bash."""


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "state" / "wt"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def opened(tier: Tier, worktree: Path) -> Iterator[Opened]:
    with terminal(tier, worktree) as made:
        yield made


@every_tier
def test_state_survives_from_command_to_command(opened: Opened, worktree: Path) -> None:
    opened.says(
        "mkdir d; cd d; export A='x y'; b=2; f() { echo f $1; }; alias g='echo aliased'; umask 027; shopt -s nullglob"
    )
    assert opened.says("pwd; echo $A $b; f 1; g; umask; echo *.none") == f"{worktree}/d\nx y 2\nf 1\naliased\n0027\n\n"
    assert opened.terminal.cwd == f"{worktree}/d"
    assert opened.says("unset A; unset -f f; unalias g") == ""
    assert opened.says('echo "[$A]"; type f g 2>&1 | wc -l') == "[]\n2\n"


@every_tier
def test_the_shell_outlives_what_a_command_does_to_its_own(opened: Opened) -> None:
    for text, code in ENDS.items():
        assert opened.run(text).code == code, text
        assert opened.says("set +eu; echo still here") == "still here\n", text


@every_tier
def test_96_a_background_child_that_holds_the_terminal_does_not_hold_the_command(opened: Opened, mark: str) -> None:
    """opencode#47350, #22012; pi#9460: a background child holding stdout blocked the tool for 81 minutes."""
    run = opened.run(f"sleep {mark} & setsid sleep {mark} & (sleep {mark} &) ; echo started")
    assert run.code == 0 and run.output()["output"] == "started\n" and run.ended - run.started < 20
    assert run.left == 3 and "3 process(es) it started still run" in run.trouble()[0]
    assert wait_until(lambda: len(alive(mark)) == 3)  # the last may not have become `sleep` yet
    opened.terminal.close()
    assert wait_until(lambda: not alive(mark))


@every_tier
def test_97_what_waits_for_input_has_none_and_time_ends_it(opened: Opened) -> None:
    """claude-code#79175, #67234; crush#3025: a command waiting on stdin hangs and the timeout never fires."""
    run = opened.run("cat; read x; echo read=$?; sort")
    assert run.code == 0 and run.output()["output"] == "read=1\n"
    asked = opened.run("read x </dev/tty; echo never", timeout_s=0.5)
    assert asked.timed_out and asked.code == 137 and asked.output()["output"] == ""


@every_tier
def test_a_timeout_ends_the_commands_tree_and_neither_the_shell_nor_older_work(opened: Opened, mark: str) -> None:
    old, new = mark + "1", mark + "2"
    opened.says(f"sleep {old} & sleep {old} & x=kept")
    escaping = f"setsid sleep {new} & (setsid sh -c 'trap \"\" TERM INT HUP; sleep {new}; sleep {new}' &) ; sleep {new}"
    run = opened.run(escaping, timeout_s=1.0)
    assert run.timed_out and run.left == 0
    assert alive(new) == [] and len(alive(old)) == 2
    assert opened.says("echo $x") == "kept\n"
    looping = opened.run("trap '' INT TERM HUP; while :; do :; done", timeout_s=0.5)
    assert looping.timed_out and opened.says("echo $x") == "kept\n" and len(alive(old)) == 2


@every_tier
def test_a_stop_ends_the_command_and_the_terminal_stays(opened: Opened, mark: str) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    run = opened.run(f"setsid sleep {mark} & sleep {mark}", stop=stop)
    assert run.cancelled and not run.timed_out and alive(mark) == []
    assert opened.says("echo on") == "on\n"


@every_tier
def test_98_a_directory_that_is_gone_falls_back(opened: Opened, worktree: Path) -> None:
    """claude-code#26136: a command deletes its own cwd, and everything fails after."""
    run = opened.run("mkdir gone; cd gone; rmdir ../gone")
    assert run.code == 0 and "Its directory is gone" in run.trouble()[0]
    assert opened.says("pwd") == f"{worktree}\n"
    opened.says("mkdir -p a/b; cd a/b")
    (worktree / "a/b").rmdir()
    assert opened.says("pwd") == f"{worktree}\n"


@every_tier
def test_100_an_ended_shell_costs_no_time_and_is_started_anew(opened: Opened, worktree: Path) -> None:
    """CC 2.1.166, 2.1.154: an orphaned pty host spins at 100 %; here the end of the terminal ends its thread."""
    opened.says("x=kept; mkdir d; cd d")
    thread = opened.terminal._thread
    assert thread is not None
    [helper] = helpers_of(nursery())
    os.kill(helper, signal.SIGKILL)
    thread.join(10)
    assert not thread.is_alive()
    run = opened.run("echo $x; pwd")
    assert run.output()["output"] == f"kept\n{worktree}/d\n" and "a new one was started" in run.trouble()[0]
    before = time.thread_time_ns(), time.process_time_ns()
    threading.Event().wait(0.5)
    assert time.process_time_ns() - before[1] < 100_000_000  # idle is idle


@every_tier
def test_several_side_by_side(tier: Tier, worktree: Path) -> None:
    with terminal(tier, worktree) as one, terminal(tier, worktree) as two:
        slow = threading.Thread(target=one.run, args=("sleep 1; echo a > done",))
        slow.start()
        assert two.says("cd /; x=2; pwd") == "/\n"
        assert not (worktree / "done").exists()
        slow.join()
        assert two.says("echo $x; cat " + str(worktree / "done")) == "2\na\n"
        assert one.says("echo [$x]") == "[]\n"


@every_tier
def test_terminal_modes_are_given_back(opened: Opened) -> None:
    opened.start("stty raw -echo -opost ixon; printf '\\033[?1049h\\033[31m'")
    opened.end()
    assert opened.says("echo one; echo two") == "one\ntwo\n"
    opened.start("stty -a")
    shown = opened.end()["new_output"]
    assert all(word in shown.split() for word in ("isig", "icanon", "echo", "opost", "-ixon")), shown


@every_tier
def test_output_held_back_does_not_hold_the_end(opened: Opened) -> None:
    """TCOOFF stops the terminal: nothing can be written to it any more, and still the command's end is heard."""
    if not SYSTEM_PYTHON:
        pytest.skip("no system python")
    run = opened.start(f"{SYSTEM_PYTHON} -c 'import termios; termios.tcflow(0, termios.TCOOFF)'")
    opened.end()
    assert run.code == 0
    assert opened.says("echo goes on") == "goes on\n"


@every_tier
def test_a_repl_is_talked_to(opened: Opened) -> None:
    if not SYSTEM_PYTHON:
        pytest.skip("no system python")
    opened.start(f"{SYSTEM_PYTHON} -q")
    opened.until(">>> ")
    opened.terminal.type(b"6*7\r")
    opened.until("42")
    opened.terminal.signal(2)
    opened.until("KeyboardInterrupt")
    opened.terminal.type(b"\x04")
    assert opened.end()["ended"]["exit"] == 0


@every_tier
def test_a_password_prompt_does_not_echo(opened: Opened) -> None:
    opened.start("IFS= read -rs -p 'Password: ' word </dev/tty; echo; echo ${#word} signs")
    opened.until("Password: ")
    opened.terminal.type(b"hunter2\r")
    heard = opened.until("7 signs")
    assert "hunter2" not in heard


@pytest.mark.skipif(not PAGER, reason="no less here")
@every_tier
def test_a_pager(opened: Opened) -> None:
    opened.start(f"seq 1000 | {PAGER}")
    opened.until("29")
    opened.terminal.type(b"G")
    opened.until("1000")
    opened.terminal.type(b"q")
    assert opened.end()["ended"]["exit"] == 0
    # without an input nobody could leave it: what pages by itself does not
    assert opened.says("git --version >/dev/null; echo $PAGER $TERM") == "cat dumb\n"


@pytest.mark.skipif(not EDITOR, reason="no vi here")
@every_tier
def test_an_editor(opened: Opened, worktree: Path) -> None:
    opened.start(f"{EDITOR} -u NONE letter.txt")
    opened.until("~")
    opened.terminal.type(b"iDear Ada,\rhello.\x1b")
    opened.until("hello.")
    opened.terminal.type(b":wq\r")
    assert opened.end()["ended"]["exit"] == 0
    assert (worktree / "letter.txt").read_text() == "Dear Ada,\nhello.\n"


@every_tier
def test_a_background_commands_end_is_told_and_its_time_is_kept(opened: Opened, mark: str) -> None:
    opened.start("echo early; exit 6")
    assert wait_until(lambda: opened.ended) and opened.ended[0].code == 6
    opened.start(f"sleep {mark}", timeout_s=0.5)
    assert wait_until(lambda: len(opened.ended) == 2) and opened.ended[1].timed_out and alive(mark) == []
    with pytest.raises(ThetisError, match="nobody to type to"):
        opened.terminal.type(b"x")


@every_tier
def test_signals(opened: Opened, mark: str) -> None:
    for number, code in ((15, 143), (1, 129), (9, 137), (3, 131)):
        run = opened.start(f"sleep {mark}")
        assert wait_until(lambda: alive(mark))
        opened.terminal.signal(number)
        opened.end()
        assert run.code == code
    run = opened.start(f"sleep {mark}")
    assert wait_until(lambda: alive(mark))
    opened.terminal.signal(20)
    assert "suspended, not ended" in opened.end()["notes"][0] and len(alive(mark)) == 1
    opened.terminal.signal(9)
    assert wait_until(lambda: not alive(mark))


@every_tier
def test_too_many_threads_end_the_command_alone(tier: Tier, worktree: Path, mark: str) -> None:
    """Finite on purpose: the limit has to hold before anything endless is tried (test_nasty_commands)."""
    with terminal(tier, worktree, Limits(threads=60)) as opened:
        opened.says("x=kept")
        run = opened.run(f"for i in $(seq 150); do sleep {mark} & done; wait")
        assert run.code != 0 and (run.crowded or "ork" in run.output()["output"])
        assert wait_until(lambda: not alive(mark) or not run.crowded)
        opened.run("true")
        assert opened.says("echo $x") == "kept\n"


@every_tier
def test_at_a_limit_a_command_keeps_what_was_kept_before(opened: Opened) -> None:
    """What lists the variables must not fail alone: a process of its own did, at a limit, and all of them were gone."""
    opened.says("x=kept")
    for limit in range(6, 12):
        opened.run(f"ulimit -n {limit}; true")
        assert opened.says("echo $x") == "kept\n", limit


@every_tier
def test_only_the_shell_itself_keeps_its_variables_and_only_whole(opened: Opened) -> None:
    """Copies of it that were killed before they became a command wrote over each other: all variables were gone."""
    opened.says("x=kept")
    assert opened.run("x=lost; (__thetis_keep); kill -9 $$").code == 137
    assert opened.says("echo $x") == "kept\n"
    kept = opened.terminal._place / "shell"
    (kept / "new").symlink_to("/dev/full")
    opened.run("x=lost")
    assert (kept / "state").is_file() and not (kept / "state").is_symlink()
    (kept / "new").unlink()
    assert opened.says("echo $x") == "kept\n"


@every_wall
def test_93_nothing_outlives_the_worker(tier: Tier, worktree: Path, mark: str) -> None:
    """claude-code#33947, #42881: helper processes outlive the session. Here the worker is killed and has no say in it."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            with terminal(tier, worktree) as opened:
                opened.says(f"sleep {mark} & setsid sleep {mark} &")
                opened.start(f"sleep {mark}")
                os.write(told, b"x")
                threading.Event().wait(60)
        finally:
            os._exit(1)
    os.close(told)
    assert os.read(ready, 1) == b"x"
    assert wait_until(lambda: len(alive(mark)) == 3)
    os.kill(child, 9)
    os.waitpid(child, 0)
    os.close(ready)
    assert wait_until(lambda: not alive(mark))


@every_wall
def test_the_walls_hold_in_a_terminal(tier: Tier, worktree: Path) -> None:
    outside = worktree.parent.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (worktree / ".git").write_text("gitdir: /elsewhere\n")
    with terminal(tier, worktree, env={"LD_PRELOAD": str(worktree / "evil.so"), "GIT_DIR": "/elsewhere"}) as opened:
        said = opened.says(f"cat {outside}/secret; echo x > {outside}/new; cat /etc/shadow | head -1")
        opened.says("echo x > .git; rm -f .git; touch inside")
        assert "secret\n" not in said.replace("/secret", "") and "root:" not in said
        assert "sleep" not in opened.says("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c THETIS")
        opened.says("echo 'echo typed' > x; python3 -c 'import fcntl; fcntl.ioctl(0, 0x5412, b\"x\")'")
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (worktree / ".git").read_text() == "gitdir: /elsewhere\n" and (worktree / "inside").exists()


@every_tier
def test_closed_terminals_leave_no_descriptor_and_no_process(tier: Tier, worktree: Path) -> None:
    def once() -> None:
        with terminal(tier, worktree) as opened:
            assert opened.says("echo x") == "x\n"

    once()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        once()
    assert len(os.listdir("/proc/self/fd")) == before and threading.active_count() < 20
