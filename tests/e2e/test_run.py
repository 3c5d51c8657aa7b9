"""`thetis run` end to end on a real repository: the console script, every process, git, walls and the rehearsal model."""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
from pathlib import Path

import pytest

from tests.support.thetis import World, answer, fingerprint, kinds

pytestmark = pytest.mark.runtimes


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.make_repository({"README.md": "# Harbour\n\nShips and berths.\n",
                          "src/harbour.py": "def berth():\n    return 'pier 1'\n"})
    return made


def test_what_is_in_this_repository(world: World) -> None:
    name, content = f"note_{secrets.token_hex(4)}.txt", secrets.token_hex(8)
    world.write({name: f"the word is {content}\n"})
    world.git("add", "-A")
    world.git("commit", "-qm", "nonce")
    events = world.events("what is in this repository?")
    assert kinds(events)[:2] == ["session-started", "user"] and kinds(events)[-1] == "turn-finished"
    assert events[-1]["body"]["stopped_by"] == "stop"
    assert name in answer(events) and "Harbour" in answer(events)
    told = answer(world.events("--conversation", events[0]["session"], f"read {name}"))
    assert content in told


def test_output_of_a_command_reaches_the_answer(world: World) -> None:
    nonce = secrets.token_hex(8)
    assert nonce in answer(world.events(f"run echo {nonce} | tr a-f A-F | tr A-F a-f"))


def test_plain_output_is_the_answer_and_the_way_to_go_on(world: World) -> None:
    done = world.run("run", "read README.md")
    assert "Ships and berths" in done.stdout
    assert "--conversation" in done.stderr
    identifier = done.stderr.split("--conversation ")[1].split()[0]
    listed = json.loads(world.run("ls", "--json").stdout)
    assert [c["id"][:8] for c in listed] == [identifier]
    shown = world.run("show", identifier).stdout
    assert "read README.md" in shown


def test_the_checkout_is_untouched_and_the_work_is_on_its_branch(world: World) -> None:
    world.write({"dirty.txt": "not committed\n"})
    world.git("stash", "push", "-u", "-q")
    world.write({"dirty2.txt": "not committed either\n"})
    before = fingerprint(world.repository)
    events = world.events("replace pier 1 with pier 9 in src/harbour.py")
    world.events("--conversation", events[0]["session"], "create notes/log.md with all well")
    assert fingerprint(world.repository) == before
    branch = events[0]["body"]["branch"]
    assert "pier 9" in world.git("show", f"{branch}:src/harbour.py")
    assert world.git("show", f"{branch}:notes/log.md").strip() == "all well"
    subjects = world.git("log", "--format=%s", f"main..{branch}").splitlines()
    assert len(subjects) == 2
    diff = world.run("show", events[0]["session"], "--diff").stdout
    assert "+    return 'pier 9'" in diff and "+all well" in diff


def test_two_conversations_edit_one_file_at_once(world: World) -> None:
    with world.started("run", "--json", "replace pier 1 with pier A in src/harbour.py") as one, \
            world.started("run", "--json", "replace pier 1 with pier B in src/harbour.py") as two:
        outputs = [child.communicate(timeout=90)[0] for child in (one, two)]
    branches = []
    for output, pier in zip(outputs, ("pier A", "pier B"), strict=True):
        events = [json.loads(line) for line in output.splitlines()]
        assert events[-1]["body"]["stopped_by"] == "stop"
        branch = events[0]["body"]["branch"]
        branches.append(branch)
        assert pier in world.git("show", f"{branch}:src/harbour.py")
    assert len(set(branches)) == 2
    assert "pier 1" in (world.repository / "src/harbour.py").read_text()


def test_plan_mode_changes_nothing(world: World) -> None:
    events = world.events("--mode", "plan", "create x.txt with y")
    assert not [e for e in events if e["kind"] == "tool-result" and e["body"]["outcome"] == "ok"
                and e["body"].get("data", {}).get("path") == "x.txt"]
    branch = events[0]["body"]["branch"]
    assert world.git("log", "--format=%s", f"main..{branch}") == ""


def test_notes_survive_in_the_next_process(world: World) -> None:
    session = world.events("remember berth: pier seven")[0]["session"]
    assert "pier seven" in answer(world.events("--conversation", session, "recall berth"))


def test_uncommitted_changes_come_along_when_asked(world: World) -> None:
    world.write({"src/harbour.py": "changed = True\n", "new.txt": "fresh\n"})
    before = fingerprint(world.repository)
    without = world.run("run", "read src/harbour.py")
    assert "pier 1" in without.stdout and "--with-changes" in without.stderr
    assert "changed = True" in world.run("run", "--with-changes", "read src/harbour.py").stdout
    assert fingerprint(world.repository) == before


@pytest.mark.parametrize(("arguments", "words"), [
    (["run", "--mode", "agnet", "x"], "agent, ask, plan, chat"), (["run", "--model", "gpt", "x"], "rehearsal"),
    (["run", "--conversation", "deadbeef", "x"], "deadbeef"), (["run", " "], "nothing to say"), (["log", "ffff"], "ffff"),
    (["run", "--root", "/", "x"], "not inside a git repository"),
])
def test_bad_usage_is_status_2_with_a_way_out(world: World, arguments: list[str], words: str) -> None:
    done = world.run(*arguments, check=False)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_interrupted_is_130_with_one_end_and_the_conversation_goes_on(world: World) -> None:
    with world.started("run", "--json", "run sleep 60") as child:
        session = ""
        for line in child.stdout or ():
            event = json.loads(line)
            session = event["session"]
            if event["kind"] == "tool-invocation":
                child.send_signal(signal.SIGINT)
                break
        _, err = child.communicate(timeout=30)
    assert child.returncode == 130 and session[:8] in err
    log = world.log(session)
    assert kinds(log).count("turn-finished") == 1 and log[-1]["body"]["stopped_by"] == "cancelled"
    assert kinds(log).count("tool-result") == kinds(log).count("tool-invocation")
    assert world.events("--conversation", session, "list")[-1]["body"]["stopped_by"] == "stop"


def test_json_mode_prints_events_only_and_the_chain_is_whole(world: World) -> None:
    """complaints 133: standard output is protocol alone, one event a line, and its text is not escaped."""
    done = world.run("run", "--json", "list ./ü")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert "ü" in done.stdout and "\\u00fc" not in done.stdout
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert len({e["hash"] for e in events}) == len(events)
    assert events == world.log(events[0]["session"])


def test_without_walls_nothing_runs_unless_allowed(world: World) -> None:
    events = world.events("run echo here", THETIS_WALLS="none")
    [result] = [e["body"] for e in events if e["kind"] == "tool-result"]
    assert result["outcome"] == "error" and "cannot be confined" in result["content"]
    assert "here" in answer(world.events("--unwalled", "run echo here", THETIS_WALLS="none"))


def test_runs_side_by_side_all_finish(world: World) -> None:
    """The first holds the root, the others are attached to it and outlast it."""
    prompts = ["list", "run sleep 2", "read README.md", "run sleep 1", "rehearse: slow 2500 ms"]
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(world.started("run", "--json", prompt)) for prompt in prompts]
        outputs = [child.communicate(timeout=90) for child in children]
    for child, (out, err) in zip(children, outputs, strict=True):
        assert child.returncode == 0, err
        events = [json.loads(line) for line in out.splitlines()]
        assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
        assert events[-1]["kind"] == "turn-finished" and events[-1]["body"]["stopped_by"] == "stop"


def test_a_run_outlives_the_kernel_it_was_attached_to(world: World) -> None:
    with world.started("run", "--json", "run sleep 30") as holder:
        for line in holder.stdout or ():
            if json.loads(line)["kind"] == "tool-invocation":
                break
        with world.started("run", "--json", "rehearse: slow 4000 ms") as attached:
            lines = []
            for line in attached.stdout or ():
                lines.append(line)
                if json.loads(line)["kind"] == "turn-started":
                    break
            holder.kill()
            out, err = attached.communicate(timeout=60)
    assert attached.returncode == 0, err
    events = [json.loads(line) for line in [*lines, *out.splitlines()]]
    assert kinds(events).count("user") == 1 and events[-1]["body"]["stopped_by"] == "stop"
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
