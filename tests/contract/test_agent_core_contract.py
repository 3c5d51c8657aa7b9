"""The shipped agent with the rehearsal model over the host's real operations: one body, natively and inside wasm."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.models.rehearsal.backend import reply_to
from thetis_kernel.paths import builtin_root
from thetis_kernel.protocol.models import ModelRequest
from thetis_kernel.toolhost.operations import perform
from thetis_kernel.wasm.call import GuestCall
from thetis_kernel.wasm.compiler import compile_bundle
from thetis_kernel.wasm.limits import AGENT_LIMITS

from tests.support.agent_host import AgentHost, Reply
from tests.support.history import check
from tests.support.native_guest import native_guest
from tests.support.runtimes import runtime
from tests.support.turns import turn_context

AGENT = builtin_root() / "aspects" / "agent_core"
Export = Callable[..., Any]


@cache
def bundle() -> str:
    return compile_bundle(runtime("compiler"), {path.stem: path.read_text() for path in AGENT.glob("*.py")})


class Shell:
    """Commands for real, in the checkout, without walls: only what a test says is run."""

    def run(self, command: Any, on_output: Any, cancel: Any) -> dict[str, Any]:
        done = subprocess.run(["sh", "-c", command.text], cwd=command.cwd, capture_output=True, text=True)
        return {"exit": done.returncode, "signal": 0, "output": done.stdout + done.stderr, "truncated": False,
                "timed_out": False, "cancelled": False, "spill": "", "duration_ms": 1}  # fmt: skip


class Conversation:
    """A checkout, a log, and the agent in one of its two forms."""

    def __init__(self, tmp_path: Path, wasm: bool) -> None:
        self.checkout = tmp_path / "wt"
        self.wasm = wasm
        self.host = AgentHost(self._model, self._perform)
        self._tmp = tmp_path
        self._turns = 0
        self._use(read_only=False)

    def _use(self, read_only: bool) -> None:
        self._context = turn_context(self._tmp, read_only=read_only)
        self._context.commands = Shell()

    def _model(self, request: dict[str, Any]) -> Reply:
        check(request["messages"])
        known = {key: request[key] for key in ("system", "messages", "tools", "max_tokens")}
        answer = reply_to(msgspec.convert({**known, "model": "m1"}, ModelRequest))
        blocks = [{"type": "text", "text": answer.words}] if answer.words else []
        return {"end": answer.end, "blocks": blocks + answer.calls, "detail": answer.detail}

    def _perform(self, call: dict[str, Any]) -> tuple[str, str]:
        try:
            data = perform(self._context, call["op"], call["id"], call["op-args"])
        except Refused as error:
            return "refused", str(error)
        except ThetisError as error:
            return "error", str(error)
        return ("error" if data.get("exit") else "ok"), msgspec.json.encode(data).decode()

    def call(self, export: str, *args: Any) -> Any:
        """An export of the agent; arguments and answer as values."""
        if self.wasm:
            words = [arg if isinstance(arg, str) else json.dumps(arg) for arg in args]
            call = GuestCall(runtime("agent"), bundle(), self.host.imports(), AGENT_LIMITS)
            return json.loads(call.run(export, *words))
        with native_guest(AGENT, self.host.imports()) as agent:
            return getattr(agent, export.replace("-", "_"))(*args)

    def say(self, words: str, mode: str = "agent", **turn: Any) -> tuple[dict[str, Any], str]:
        """A turn: (its outcome, the last reply's text)."""
        self._turns += 1
        read_only = mode != "agent"
        self._use(read_only)
        started = self.host.start(words, f"t{self._turns}")
        described = {**started, "mode": {"id": mode, "label": mode, "read_only": read_only, "prompt": ""}, **turn}
        outcome = self.call("handle-turn", described)
        self.host.finish(outcome)
        replies = [event["body"]["blocks"] for event in self.host.events if event["kind"] == "assistant"]
        return outcome, "".join(block.get("text", "") for block in replies[-1])


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.runtimes)], ids=["native", "wasm"])
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Conversation]:
    made = Conversation(tmp_path, wasm=request.param)
    files = {
        "README.md": "# Harbour\n\nnonce-a1 ☃\n",
        "pyproject.toml": '[project]\nname = "nonce-b2"\n',
        "src/nonce-c3.py": "x = 1\n",
    }
    for name, content in files.items():
        (made.checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (made.checkout / name).write_text(content)
    yield made


def test_what_is_in_this_repository(talk: Conversation) -> None:
    outcome, answer = talk.say("what is in this repository?")
    assert outcome == {"stopped_by": "stop", "detail": "", "iterations": 3}
    for nonce in ("nonce-a1 ☃", "nonce-b2", "nonce-c3.py"):
        assert nonce in answer


def test_the_tour_changes_the_checkout_and_runs_a_command(talk: Conversation) -> None:
    outcome, answer = talk.say("tour")
    assert outcome["stopped_by"] == "stop" and (talk.checkout / "thetis-tour.md").is_file()
    assert "3 thetis-tour.md" in answer and "[exit 0]" in answer


def test_a_conversation_goes_on_from_its_log(talk: Conversation) -> None:
    talk.say("create notes.txt with nonce-d4")
    talk.say("replace nonce-d4 with nonce-e5 in notes.txt")
    assert "nonce-e5" in talk.say("read notes.txt")[1]
    assert "nonce-f6" in talk.say("run echo nonce-f6; exit 3")[1]
    assert "exit 3" in talk.say("run exit 3")[1]
    talk.say("remember berth: nonce-g7")
    assert talk.say("search nonce-e5")[1].count("notes.txt:1") == 1
    first, *later = talk.host.requests
    assert all(request["system"] == first["system"] and request["tools"] == first["tools"] for request in later)


def test_a_read_only_mode_changes_nothing(talk: Conversation) -> None:
    outcome, answer = talk.say("create x.txt with y", mode="plan")
    assert outcome["stopped_by"] == "stop" and "not offered" in answer and not (talk.checkout / "x.txt").exists()
    assert "read-only" in talk.say("tour", mode="unheard-of")[1]


def test_limits_failures_and_repetition_end_a_turn_with_their_reason(talk: Conversation) -> None:
    limits = {"iterations": 4, "tokens": 10**9, "wall_ms": 10**9}
    outcome, _ = talk.say("rehearse: loop 99 calls", limits=limits)
    assert outcome["stopped_by"] == "limit" and "4 model calls" in outcome["detail"]
    assert talk.say("rehearse: stuck")[0]["stopped_by"] == "repeated-failure"
    assert talk.say("rehearse: fail")[0]["stopped_by"] == "model-error"
    assert talk.say("rehearse: overflow")[0]["detail"].startswith("The conversation is too long")
    assert talk.say("rehearse: cut")[0]["stopped_by"] == "limit"
    assert talk.say("list")[0]["stopped_by"] == "stop"


def test_errors_of_the_host_come_out_as_errors_of_the_turn(talk: Conversation) -> None:
    def full(kind: str, body: str) -> str:
        raise ThetisError("No space left.", code="store-full")

    talk.host._append = full  # type: ignore[method-assign]
    with pytest.raises(Exception, match="No space left"):
        talk.say("rehearse: stuck")


def test_the_small_exports(talk: Conversation) -> None:
    assert talk.call("describe")["name"] == "agent_core"
    assert talk.call("health")["ok"] is True
    offered = {mode: [tool["name"] for tool in talk.call("list-tools", mode)] for mode in ("agent", "plan")}
    changing = {"edit", "write", "run", "terminal_open", "terminal_run", "terminal_send", "terminal_signal", "terminal_close",
                "new_tool", "write_code", "patch_code", "remove_code", "roll_back", "add_dependency",
                "remove_dependency", "update_code", "git_clone", "write_skill", "branch_commit", "update_from_trunk",
                "complete_merge", "abort_merge", "reset_branch", "set_config", "ssh_host_set", "ssh_host_list", "ssh_host_get",
                "ssh_host_remove", "ssh_host_rename"}  # fmt: skip
    assert set(offered["agent"]) - set(offered["plan"]) == changing


@pytest.mark.runtimes
def test_both_forms_log_the_same_events_and_ask_the_same(tmp_path: Path) -> None:
    forms = []
    for wasm in (False, True):
        (tmp_path / str(wasm)).mkdir()
        talk = Conversation(tmp_path / str(wasm), wasm)
        (talk.checkout / "README.md").write_text("# Harbour\n")
        talk.say("tour")
        talk.say("rehearse: stuck")
        forms.append((talk.host.events, talk.host.requests))
    assert forms[0] == forms[1]
