"""The rehearsal model behind the seam every model stands behind: its reply, streamed in small pieces.

Owns the pace, the label and the estimated usage. Must not know any instruction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from thetis_kernel.models.rehearsal import steering
from thetis_kernel.models.rehearsal.answers import NOTICE, labelled
from thetis_kernel.models.rehearsal.drills import Drill
from thetis_kernel.models.rehearsal.scene import Scene, scene_of
from thetis_kernel.models.rehearsal.script import Step, Unavailable, play
from thetis_kernel.models.rehearsal.verbs import understood, what_is_understood
from thetis_kernel.protocol.events import Usage
from thetis_kernel.protocol.models import End, Finished, ModelInfo, ModelRequest, StreamItem, TextDelta, ToolCallDelta

INFO = ModelInfo(id="rehearsal", provider="rehearsal", label="Rehearsal", window=200_000, max_output=8192, notice=NOTICE)
DELAY_SETTING = "THETIS_REHEARSAL_DELAY_MS"
DEFAULT_DELAY_MS = 8
"""Between two pieces: quick to watch, slow enough to be seen as a stream."""
PIECE = 14
"""Characters of a piece, about two words."""
MAX_PIECES = 120
"""Longer replies come in larger pieces, so that no reply takes longer than about a second."""
CHARACTERS_A_TOKEN = 4
SLOW_PIECE_MS = 20


class Reply(msgspec.Struct, frozen=True):
    """What the request is answered with."""

    words: str
    calls: list[dict[str, Any]]
    end: End
    detail: str = ""
    slow_ms: int = 0


def delay_ms(settings: Mapping[str, str]) -> int:
    """The pace the settings ask for; the default when they ask for nothing usable."""
    asked = settings.get(DELAY_SETTING, "")
    return min(int(asked), 1000) if asked.isascii() and asked.isdigit() else DEFAULT_DELAY_MS


def reply_to(request: ModelRequest) -> Reply:
    """The reply, a function of the request alone."""
    scene = scene_of(request)
    if summed := steering.summary(scene.instruction):
        return Reply(summed, [], "stop")
    found = understood(scene.instruction)
    if found is None:
        return _answer(what_is_understood())
    verb, arguments = found
    try:
        step = play(verb.script(scene, *arguments), scene)
    except Unavailable as missing:
        return _answer(
            f"For this I need the tool `{missing}`, which I am not offered here. In a read-only mode nothing can be "
            "changed or run; you can switch the mode."
        )
    except Drill as drill:
        return Reply(drill.words, [], drill.end, drill.detail, drill.slow_ms)
    return _calling(step, scene) if isinstance(step, Step) else _answer(step)


def _answer(words: str) -> Reply:
    return Reply(labelled(words), [], "stop")


def _calling(step: Step, scene: Scene) -> Reply:
    calls = [
        {"type": "tool_use", "id": f"rehearsal_{scene.calls + n}", "name": wanted.name, "input": wanted.args}
        for n, wanted in enumerate(step.calls, 1)
    ]
    return Reply(step.words, calls, "tool-use")


class Rehearsal:
    """The backend. `delay`: milliseconds between two pieces; 0 streams as fast as it can."""

    def __init__(self, delay: int = DEFAULT_DELAY_MS) -> None:
        self._delay = delay / 1000

    def stream(self, request: ModelRequest, cancel: threading.Event) -> Iterator[StreamItem]:
        """The reply in pieces: words first, then each call's arguments."""
        reply = reply_to(request)
        sent = ""
        for _ in range(reply.slow_ms // SLOW_PIECE_MS):
            if cancel.wait(SLOW_PIECE_MS / 1000):
                break
        for item in _pieces(reply):
            if cancel.is_set() or (self._delay and cancel.wait(self._delay)):
                blocks = [{"type": "text", "text": sent}] if sent.strip() else []
                yield Finished(end="cancelled", blocks=blocks, detail="Stopped.", model=request.model)
                return
            if isinstance(item, TextDelta):
                sent += item.text
            yield item
        blocks = ([{"type": "text", "text": reply.words}] if reply.words else []) + reply.calls
        usage = Usage(input=_tokens(request), output=_tokens(blocks), estimated=True)
        yield Finished(end=reply.end, blocks=blocks, usage=usage, detail=reply.detail, model=request.model)


def _pieces(reply: Reply) -> Iterator[StreamItem]:
    for piece in _cut(reply.words):
        yield TextDelta(piece)
    for call in reply.calls:
        yield ToolCallDelta(call=call["id"], name=call["name"])
        for piece in _cut(msgspec.json.encode(call["input"]).decode()):
            yield ToolCallDelta(call=call["id"], json=piece)


def _cut(text: str) -> Iterator[str]:
    size = max(PIECE, -(-len(text) // MAX_PIECES))
    for at in range(0, len(text), size):
        yield text[at : at + size]


def _tokens(value: Any) -> int:
    return len(msgspec.json.encode(value)) // CHARACTERS_A_TOKEN
