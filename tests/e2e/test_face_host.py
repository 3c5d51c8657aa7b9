"""The face host as a real process: events drawn by a guest, and every way it can fail as something to fall back from."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator

import msgspec
import pytest
from thetis_kernel.errors import DeadlineExceeded, RemoteError
from thetis_kernel.forge.fakes.log import specimens
from thetis_kernel.protocol.blocks import bounded
from thetis_kernel.protocol.face import FaceEvent, RenderEvents
from thetis_kernel.protocol.lifecycle import ShutdownIfIdle
from thetis_kernel.supervise.handle import Child
from thetis_kernel.supervise.spawn import Plan, spawn

from tests.e2e.gates import compiled, fds
from tests.unit.forge.guests import good

pytestmark = pytest.mark.runtimes

GOOD = good("gateway/tui").modules["main"]


def events(*bodies: object, first: int = 1) -> list[FaceEvent]:
    return [FaceEvent(first + n, "user", 0, msgspec.json.encode(body)) for n, body in enumerate(bodies)]


@pytest.fixture
async def face() -> AsyncIterator[Child]:
    child = await spawn(Plan("face", fds=fds("gateway")))
    yield child
    child.kill()
    await child.wait()


async def rendered(face: Child, found: list[FaceEvent], main: str = GOOD, key: str = "k", **more: float):
    return await face.peer.call(RenderEvents(key, found, compiled(main)), **more)


def drawing(body: str) -> str:
    return f"import json\ndef render_events(events):\n{body}\n"


async def test_one_event_of_every_kind(face):
    found = [FaceEvent(e["seq"], e["kind"], e["ts_ms"], msgspec.json.encode(e["body"])) for e in specimens().events]
    answer = await rendered(face, found)
    assert [r.seq for r in answer] == [e.seq for e in found]
    assert [r.blocks[0].title for r in answer] == [e.kind for e in found]
    assert all(bounded(r) == r for r in answer)


async def test_a_long_log_is_drawn_in_order(face):
    found = events(*({"text": str(n)} for n in range(500)))
    answer = await rendered(face, found)
    assert [json.loads(r.blocks[0].body)["text"] for r in answer] == [str(n) for n in range(500)]


async def test_the_bundle_is_sent_once_for_its_key(face):
    found = events({"text": "x"})
    with pytest.raises(RemoteError) as caught:
        await face.peer.call(RenderEvents("k", found))
    assert caught.value.code == "unknown-bundle"
    await rendered(face, found)
    assert len(await face.peer.call(RenderEvents("k", found))) == 1
    with pytest.raises(RemoteError):
        await face.peer.call(RenderEvents("other", found))


async def test_a_key_keeps_its_bundle(face):
    found = events({"text": "x"})
    await rendered(face, found)
    answer = await rendered(face, found, drawing("    return [{'seq': 1, 'blocks': []}]"))
    assert answer[0].blocks


async def test_old_bundles_make_room(face):
    found = events({"text": "x"})
    for number in range(10):
        await rendered(face, found, key=str(number))
    with pytest.raises(RemoteError) as caught:
        await face.peer.call(RenderEvents("0", found))
    assert caught.value.code == "unknown-bundle"


FAILING = {
    "raises": ("    return 1 / 0", "ZeroDivisionError"),
    "wrong type": ("    return 'x'", "not list"),
    "no JSON": ("    return [object()]", "JSON"),
    "exit": ("    raise SystemExit", "SystemExit"),
    "abort": ("    import os; os.abort()", ""),
    "recursion": ("    return render_events(events)", "RecursionError"),
    "memory bomb": ("    return ['x' * (1 << 30)]", "MemoryError"),
    "endless list": ("    return ['x'] * 5_000_000", ""),
    "deep answer": ("    x = []\n    for _ in range(50_000): x = [x]\n    return x", ""),
    "nothing fits": ("    return [{'seq': 99, 'blocks': []}]", "drew none"),
    "not defined": ("    return undefined", "NameError"),
}


@pytest.mark.parametrize("name", FAILING)
async def test_a_failing_guest_is_a_typed_error_and_the_host_lives(face, name):
    body, words = FAILING[name]
    with pytest.raises(RemoteError) as caught:
        await rendered(face, events({"text": "x"}), drawing(body), key="bad")
    assert caught.value.code == "guest", caught.value
    assert words in caught.value.message, caught.value
    assert len(await rendered(face, events({"text": "x"}))) == 1
    assert face.alive


async def test_a_guest_without_the_function_is_a_typed_error(face):
    with pytest.raises(RemoteError) as caught:
        await rendered(face, events({"text": "x"}), "x = 1")
    assert "render_events" in caught.value.message


async def test_a_bundle_that_is_none_is_a_typed_error(face):
    for junk in ("AAAA", "not base64 at all!", "YQ=="):
        with pytest.raises(RemoteError) as caught:
            await face.peer.call(RenderEvents(junk, events({"text": "x"}), junk))
        assert caught.value.code == "guest"


@pytest.mark.parametrize("body", ["    while True: pass", "    import time; time.sleep(1000)"])
async def test_a_guest_that_does_not_end_is_stopped_by_the_callers_deadline(face, body):
    with pytest.raises((DeadlineExceeded, RemoteError)):
        await rendered(face, events({"text": "x"}), drawing(body), key="stuck", timeout=0.5)
    assert len(await rendered(face, events({"text": "x"}))) == 1


async def test_one_poisoned_event_is_left_out_alone(face):
    main = drawing(
        "    if any(e['body'].get('text') == 'poison' for e in events): raise KeyError('poison')\n"
        "    return [{'seq': e['seq'], 'blocks': [{'kind': 'user', 'body': e['body']['text']}]} for e in events]"
    )
    bodies = [{"text": str(n)} for n in range(50)]
    bodies[20] = {"text": "poison"}
    answer = await rendered(face, events(*bodies), main)
    assert [r.seq for r in answer] == [n for n in range(1, 51) if n != 21]


async def test_hostile_events_do_not_reach_the_guest(face):
    hostile = [
        FaceEvent(2, "user", 0, b"[" * 100_000),
        FaceEvent(3, "user", 0, b"{" * 50 + b"}" * 50),
        FaceEvent(4, "user", 0, b'{"a":' * 5000 + b"1" + b"}" * 5000),
        FaceEvent(5, "user", 0, b'{"text": "\\ud800"}'),
        FaceEvent(6, "user", 0, b'{"text": NaN}'),
        FaceEvent(7, "user", 0, b"\xff"),
    ]
    answer = await rendered(face, [*events({"text": "x"}), *hostile, *events({"text": "y"}, first=8)])
    assert [r.seq for r in answer] == [1, 8]


async def test_what_a_guest_draws_is_bounded_and_clean(face):
    evil = "\\x1b]52;c;eA==\\x07\\x1b[2Jx\\u202ey\\ud800"
    block = f"{{'kind': 'script', 'title': '{evil}', 'body': '{evil}' * 9_000, 'fields': [['{evil}', '{evil}']] * 99}}"
    answer = await rendered(face, events({"text": "x"}), drawing(f"    return [{{'seq': 1, 'blocks': [{block}] * 20}}]"))
    assert len(answer[0].blocks) == 16
    assert bounded(answer[0]) == answer[0]
    assert not any(c in repr(answer[0]) for c in ("\\x1b", "\\u202e", "\\x07"))
    assert answer[0].blocks[0].kind == "note"


async def test_the_host_without_its_runtime_says_so():
    child = await spawn(Plan("face"))
    try:
        with pytest.raises(RemoteError) as caught:
            await rendered(child, events({"text": "x"}))
        assert "was not handed the gateway runtime" in caught.value.message
    finally:
        child.kill()
        await child.wait()


async def test_an_idle_host_says_that_it_is_idle(face):
    assert await face.peer.call(ShutdownIfIdle())
    await rendered(face, events({"text": "x"}))
    assert await face.peer.call(ShutdownIfIdle())


async def test_the_host_holds_nothing_but_the_runtime(face):
    """Descriptors of its process: the channel, the sealed runtime, standard streams; no file of the person's."""
    await rendered(face, events({"text": "x"}))
    targets = [os.readlink(f"/proc/{face.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{face.pid}/fd")]
    files = [target for target in targets if target.startswith("/") and not target.startswith(("/dev/", "/memfd:"))]
    assert files == []
