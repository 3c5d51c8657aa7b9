"""What a guest can reach beside its imports: nothing, and /workspace when it is given."""

from __future__ import annotations

import json
import os
import socket
import threading
import time

import pytest
from thetis_kernel.errors import GuestError
from thetis_kernel.wasm import ticker
from thetis_kernel.wasm.call import GuestCall, stuck_calls
from thetis_kernel.wasm.limits import Limits

from tests.support.runtimes import bundle, call, runtime

# Runs an expression and answers its value or the exception's name.
GUEST = """
import json, os, sys, pathlib

def describe(): return {}
def invoke(session_id, args, config):
    try:
        return json.dumps(["value", eval(args["do"], globals())])
    except Exception as error:
        return json.dumps([type(error).__name__, str(error)])
"""


def do(expression: str, **options):
    return json.loads(call("tool", GUEST, "invoke", "s", json.dumps({"do": expression}), "{}", **options))


def refused(answer):
    return answer[0] in ("FileNotFoundError", "PermissionError", "OSError", "NotADirectoryError", "IsADirectoryError")


@pytest.fixture
def places(tmp_path):
    """A workspace with things in it, and a secret beside it."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "inner").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("secret nonce 4711")
    (workspace / "inside").write_text("inside")
    (workspace / "link").symlink_to(outside / "secret")
    (workspace / "dirlink").symlink_to(outside)
    (workspace / "uplink").symlink_to("..")
    return workspace, outside


def test_environment_arguments_and_stdin_are_empty(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-nonce")
    assert do("dict(os.environ)") == ["value", {}]
    assert do("[a for a in sys.argv if a]") == ["value", []]
    assert do("sys.stdin.read()") == ["value", ""]
    assert do("os.read(0, 100).decode()") == ["value", ""]


@pytest.mark.parametrize("path", ["/", "/etc/passwd", ".", "..", "/proc/self/environ", "/workspace", "/tmp", "/dev/null"])
def test_without_a_workspace_there_are_no_files(path):
    assert refused(do(f"open({path!r}).read()"))
    assert refused(do(f"os.listdir({path!r})"))
    assert refused(do(f"open({path!r} + '/new', 'w').write('x')"))


def test_the_workspace_can_be_read(places):
    workspace, _ = places
    assert do("open('/workspace/inside').read()", workspace=workspace) == ["value", "inside"]
    assert "inner" in do("sorted(os.listdir('/workspace'))", workspace=workspace)[1]


ESCAPES = [
    "/workspace/../outside/secret",
    "/workspace/inner/../../outside/secret",
    "/workspace/./../outside/secret",
    "/workspace//..//outside/secret",
    "/workspace/link",
    "/workspace/link/",
    "/workspace/dirlink/secret",
    "/workspace/uplink/outside/secret",
    "/workspace/inner/../uplink/outside/secret",
    "../outside/secret",
    "OUTSIDE/secret",
    "/workspace/OUTSIDE/secret",
]


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("writable", [False, True])
def test_nothing_outside_of_the_workspace_is_reached(places, path, writable):
    workspace, outside = places
    path = path.replace("OUTSIDE", str(outside))
    for mode in ("r", "w", "a"):
        answer = do(f"open({path!r}, {mode!r}).read()", workspace=workspace, workspace_writable=writable)
        assert refused(answer) or answer[0] == "UnsupportedOperation", answer
    assert (outside / "secret").read_text() == "secret nonce 4711"
    assert refused(do(f"os.listdir(os.path.dirname({path!r}) + '/../..')", workspace=workspace))


@pytest.mark.parametrize("target", ["../outside/secret", "OUTSIDE/secret", "/etc/passwd", ".."])
def test_a_link_the_guest_makes_does_not_lead_out(places, target):
    workspace, outside = places
    target = target.replace("OUTSIDE", str(outside))
    made = f"(os.symlink({target!r}, '/workspace/made'), open('/workspace/made').read())"
    assert refused(do(made, workspace=workspace, workspace_writable=True))
    assert refused(do("open('/workspace/made/outside/secret').read()", workspace=workspace))
    rename = "os.rename('/workspace/dirlink/secret', '/workspace/taken')"
    assert refused(do(rename, workspace=workspace, workspace_writable=True))
    assert refused(do("os.link('/workspace/dirlink/secret', '/workspace/taken')", workspace=workspace, workspace_writable=True))
    assert not (workspace / "taken").exists() and (outside / "secret").exists()


CHANGES = [
    "open('/workspace/new', 'w').write('x')",
    "open('/workspace/inside', 'r+').write('x')",
    "open('/workspace/inside', 'a').write('x')",
    "os.truncate('/workspace/inside', 0)",
    "os.mkdir('/workspace/dir')",
    "os.unlink('/workspace/inside')",
    "os.rename('/workspace/inside', '/workspace/other')",
    "os.symlink('inside', '/workspace/sym')",
    "os.link('/workspace/inside', '/workspace/hard')",
    "os.rmdir('/workspace/inner')",
    "os.utime('/workspace/inside', (1, 1))",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_read_only_workspace_cannot_be_changed(places, change):
    workspace, _ = places

    def state():
        return sorted((str(p), p.lstat().st_mtime_ns, p.is_file() and p.read_bytes()) for p in workspace.rglob("*"))

    before = state()
    assert refused(do(change, workspace=workspace))
    assert state() == before


@pytest.mark.parametrize("change", CHANGES)
def test_a_writable_workspace_can(places, change):
    workspace, _ = places
    answer = do(change, workspace=workspace, workspace_writable=True)
    assert answer[0] == "value" or "utime" in change, answer


def test_no_socket_opens():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    port = listener.getsockname()[1]
    expression = f"(__import__('socket').create_connection(('127.0.0.1', {port}), 1), 1)[1]"
    assert do(expression)[0] in ("ModuleNotFoundError", "ImportError", "PermissionError", "OSError")
    raw = f"__import__('_socket').socket(1, 1).connect(('127.0.0.1', {port}))"
    assert do(raw)[0] in ("ModuleNotFoundError", "ImportError", "PermissionError", "OSError", "AttributeError")
    with pytest.raises(BlockingIOError):
        listener.accept()
    listener.close()


def test_no_name_is_looked_up():
    answer = do("__import__('_socket').getaddrinfo('localhost', 80)")
    assert answer[0] != "value"


STARTS = ["os.fork()", "os.system('id')", "os.kill(1, 9)", "__import__('_thread').start_new_thread(print, ())"]


@pytest.mark.parametrize("expression", STARTS)
def test_no_process_and_no_thread_is_started(expression):
    assert do(expression)[0] in ("AttributeError", "OSError", "RuntimeError", "NotImplementedError", "ImportError")


def test_randomness_differs_between_stores():
    for expression in ("os.urandom(8).hex()", "__import__('random').random()", "__import__('uuid').uuid4().hex"):
        first, second = do(expression), do(expression)
        assert first[0] == "value" and first != second, expression


def test_a_guest_that_waits_where_nothing_stops_it_is_given_up(places, monkeypatch):
    workspace, _ = places
    monkeypatch.setattr(ticker, "GRACE_S", 0.2)
    os.mkfifo(workspace / "pipe")
    args = json.dumps({"do": "open('/workspace/pipe').read()"})
    limits = Limits(memory_mib=128, cpu_ms=100)  # so it is overdue after a second of waiting
    stuck = GuestCall(runtime("tool"), bundle(GUEST), {}, limits, workspace=workspace)
    with pytest.raises(GuestError, match="process should be replaced") as caught:
        stuck.run("invoke", "s", args, "{}")
    assert caught.value.kind == "timeout"
    assert stuck_calls() == 1
    writer = os.open(workspace / "pipe", os.O_WRONLY | os.O_NONBLOCK)  # lets it go
    os.close(writer)
    until(lambda: not stuck_calls())
    assert do("1") == ["value", 1]


def until(condition, seconds=60):
    """The first true value of `condition`, looked at every few milliseconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        threading.Event().wait(0.01)
    raise AssertionError("not in time")

