"""Pictures and PDFs of a history, put in where a request is made: the only place that reads their bytes.

The log and the agent know digests. What a model does not take, what is gone, and what would make the request too large is
a sentence instead, so that a history stays valid for every model. Must not know any provider.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Any

from thetis_kernel.models.catalog import Model
from thetis_kernel.protocol.media import IMAGES, PDF, media_type, size_words

KINDS = frozenset({"image", "document"})
MAX_BYTES = 20 * 1024 * 1024
"""Of all pictures and PDFs of one request, before base64: the API takes 32 MB a request. The newest come first."""
KEPT = 16
"""Encoded contents kept for the next request."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Media:
    """The blobs of one root, read-only; "" as their directory means there are none."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory) if directory else None
        self._encoded: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def resolved(self, messages: list[dict[str, Any]], model: Model) -> list[dict[str, Any]]:
        """The history with content in the place of digests; messages without any are the same objects."""
        room = MAX_BYTES
        told: list[dict[str, Any]] = []
        for message in reversed(messages):
            content, room = self._blocks(message["content"], model, room)
            told.append(message if content is message["content"] else {**message, "content": content})
        return told[::-1]

    def _blocks(self, blocks: list[dict[str, Any]], model: Model, room: int) -> tuple[list[dict[str, Any]], int]:
        if not any(_holds(block) for block in blocks):
            return blocks, room
        told: list[dict[str, Any]] = []
        for block in reversed(blocks):
            if block.get("type") in KINDS:
                block, room = self._block(block, model, room)
            elif _holds(block):
                inner, room = self._blocks(block["content"], model, room)
                block = {**block, "content": inner}
            told.append(block)
        return told[::-1], room

    def _block(self, block: dict[str, Any], model: Model, room: int) -> tuple[dict[str, Any], int]:
        source = block.get("source")
        source = source if isinstance(source, dict) else {}
        digest, media, size = source.get("digest"), source.get("media_type"), source.get("size")
        picture = block.get("type") == "image"
        if source.get("type") != "blob" or not isinstance(digest, str) or not isinstance(size, int):
            return _instead("a picture or PDF", "what it refers to is not fetched"), room
        name = f"{source.get('name') or ('picture' if picture else 'PDF')} ({media}, {size_words(size)})"
        if not (model.pictures if picture else model.documents):
            return _instead(name, f"{model.label} takes no {'pictures' if picture else 'PDFs'}"), room
        if size > room:
            return _instead(name, "left out, the newer ones fill the request"), 0
        content = self._content(digest, str(media), picture)
        if content is None:
            return _instead(name, "its content is not there any more"), room
        told = {"type": block["type"], "source": {"type": "base64", "media_type": media, "data": content}}
        if not picture and source.get("name"):
            told["title"] = str(source["name"])
        return told, room - size

    def _content(self, digest: str, media: str, picture: bool) -> str | None:
        """base64 of a blob that is what it says; None for any other."""
        if self._directory is None or not _DIGEST.fullmatch(digest) or media not in (IMAGES if picture else {PDF}):
            return None
        with self._lock:
            if digest in self._encoded:
                self._encoded.move_to_end(digest)
                return self._encoded[digest]
        try:
            content = (self._directory / digest[:2] / digest[2:]).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content).hexdigest() != digest or media_type(content) != media:
            return None
        encoded = base64.b64encode(content).decode()
        with self._lock:
            self._encoded[digest] = encoded
            while len(self._encoded) > KEPT:
                self._encoded.popitem(last=False)
        return encoded


def _holds(block: dict[str, Any]) -> bool:
    """Whether a block is, or holds, a picture or PDF."""
    inner = block.get("content")
    return block.get("type") in KINDS or (
        isinstance(inner, list) and any(isinstance(part, dict) and part.get("type") in KINDS for part in inner))


def _instead(name: str, why: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[{name}: {why}]"}
