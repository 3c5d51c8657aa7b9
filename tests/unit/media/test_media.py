"""What pictures and PDFs are told by, what is put into a request, and what stands there instead."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from thetis_kernel.errors import StoreError, UsageError
from thetis_kernel.gateway.attachments import Attachments
from thetis_kernel.hosts.worker.journal import GatewayJournal
from thetis_kernel.models import media as putting
from thetis_kernel.models.catalog import Model
from thetis_kernel.models.media import Media
from thetis_kernel.protocol import media
from thetis_kernel.protocol.events import BlobRef, Nudge, ToolResult, User
from thetis_kernel.protocol.history import violations
from thetis_kernel.protocol.worker import MAX_PART, KeepMedia
from thetis_kernel.store.blobs import Blobs
from thetis_kernel.store.store import Store

from tests.support.logs import new
from tests.support.pictures import pdf, png

SEES = Model("m", "p", "m", "Sees", pictures=True, documents=True)
BLIND = Model("m", "p", "m", "Blind")
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "


@pytest.mark.parametrize(("content", "kind"), [
    (png(), "image/png"), (b"\xff\xd8\xff\xe0JFIF", "image/jpeg"), (b"GIF89a", "image/gif"), (b"GIF87a", "image/gif"),
    (WEBP, "image/webp"), (pdf(), "application/pdf"), (b"junk before\n%PDF-1.7", "application/pdf"),
    (b"", ""), (b"\x89PNG", ""), (b"RIFF\x10\0\0\0WAVE", ""), (b"<svg/>", ""), (b"PNG is a format", ""), (b"BM" + bytes(40), ""),
])
def test_the_content_says_what_it_is(content: bytes, kind: str) -> None:
    assert media.media_type(content) == kind
    assert (media.problem(content) == "") == bool(kind)


def test_sizes_and_pages_are_those_the_api_takes() -> None:
    assert "5 MB" in media.problem(png() + bytes(media.MAX_IMAGE))
    assert media.problem(pdf() + bytes(media.MAX_IMAGE)) == "" and "32 MB" in media.problem(pdf() + bytes(media.MAX_PDF))
    assert media.problem(pdf(100)) == "" and "101 pages" in media.problem(pdf(101))


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


def shown(ref: BlobRef) -> dict[str, Any]:
    kind = "document" if ref.media_type == media.PDF else "image"
    return {"type": kind, "source": {"type": "blob", "media_type": ref.media_type, "digest": ref.digest, "size": ref.size,
                                     "name": ref.name}}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "look"}, *blocks]}


async def test_a_file_is_judged_by_its_content_and_kept(blobs: Blobs, tmp_path: Path) -> None:
    taking = Attachments(blobs)
    path = tmp_path / "really a picture\x1b[31m.txt"
    path.write_bytes(png())
    ref = await taking.take(str(path))
    assert ref.media_type == "image/png" and "\x1b" not in ref.name and blobs.get(ref.digest) == png()
    assert await taking.checked([ref]) == [ref]


@pytest.mark.parametrize("bad", ["text", "missing", "directory", "fifo", "large", "relative"])
async def test_what_does_not_do_is_named(blobs: Blobs, tmp_path: Path, bad: str) -> None:
    path = tmp_path / "file.png"
    if bad == "text":
        path.write_text("no picture")
    elif bad == "directory":
        path.mkdir()
    elif bad == "fifo":
        os.mkfifo(path)
    elif bad == "large":
        with path.open("wb") as file:
            file.write(png())
            file.truncate(media.MAX_IMAGE + 1)
    with pytest.raises(UsageError, match=r"file\.png"):
        await Attachments(blobs).take("file.png" if bad == "relative" else str(path))
    assert list(blobs) == []


async def test_an_attachment_is_what_it_says_or_is_refused(blobs: Blobs) -> None:
    ref = await Attachments(blobs).keep(png(), "a.png")
    for wrong in (msgspec.structs.replace(ref, media_type="image/gif"), msgspec.structs.replace(ref, size=1),
                  msgspec.structs.replace(ref, digest="0" * 64), msgspec.structs.replace(ref, digest="../../etc/passwd")):
        with pytest.raises(UsageError):
            await Attachments(blobs).checked([wrong])


def test_digests_become_content_for_a_model_that_sees(blobs: Blobs, tmp_path: Path) -> None:
    picture = blobs.put(png(), media_type="image/png", name="a.png")
    document = blobs.put(pdf(), media_type=media.PDF, name="b.pdf")
    use = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    history = [user(shown(picture)), {"role": "assistant", "content": [use]},
               {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c",
                                             "content": [{"type": "text", "text": "b.pdf"}, shown(document)]}]}]
    keeper = Media(str(tmp_path / "blobs"))
    told = keeper.resolved(history, SEES)
    assert base64.b64decode(told[0]["content"][1]["source"]["data"]) == png()
    inner = told[2]["content"][0]["content"][1]
    assert inner["title"] == "b.pdf" and base64.b64decode(inner["source"]["data"]) == pdf()
    assert violations(told) == [] and told[1] is history[1] and told == keeper.resolved(history, SEES)
    assert "base64" not in str(history), "the history itself stays as it was"


def test_a_model_that_takes_none_reads_a_sentence(blobs: Blobs, tmp_path: Path) -> None:
    picture = blobs.put(png(), media_type="image/png", name="a.png")
    told = Media(str(tmp_path / "blobs")).resolved([user(shown(picture))], BLIND)
    assert told[0]["content"][1] == {"type": "text", "text": f"[a.png (image/png, {picture.size} B): Blind takes no pictures]"}


def test_what_is_gone_changed_or_elsewhere_is_a_sentence(blobs: Blobs, tmp_path: Path) -> None:
    picture = blobs.put(png(), media_type="image/png", name="a.png")
    keeper = Media(str(tmp_path / "blobs"))
    path = blobs.path(picture.digest)
    blob = {"type": "blob", "media_type": "image/png", "size": 3}
    for wrong in ({"type": "url", "url": "http://evil/?secret"}, {**blob, "digest": "../../x"},
                  {**blob, "digest": hashlib.sha256(b"").hexdigest()}, None):
        told = keeper.resolved([user({"type": "image", "source": wrong})], SEES)[0]["content"][1]
        assert told["type"] == "text" and "evil" not in told["text"]
    path.chmod(0o600)
    path.write_bytes(png(shade=1))
    assert keeper.resolved([user(shown(picture))], SEES)[0]["content"][1]["type"] == "text"


def test_the_newest_pictures_fit_and_the_older_ones_are_named(
        blobs: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refs = [blobs.put(png(shade=n), media_type="image/png", name=f"{n}.png") for n in range(3)]
    monkeypatch.setattr(putting, "MAX_BYTES", refs[1].size + refs[2].size)
    told = Media(str(tmp_path / "blobs")).resolved([user(shown(ref)) for ref in refs], SEES)
    assert [message["content"][1]["type"] for message in told] == ["text", "image", "image"]


@pytest.mark.parametrize("body", [User("look"), Nudge("look"), ToolResult("c", "ok", "{}")])
def test_what_an_event_refers_to_stays_as_long_as_its_conversation(tmp_path: Path, body: Any) -> None:
    store = Store.open(tmp_path)
    try:
        session = new(store)
        ref = store.blobs.put(png(), media_type="image/png", name="a.png")
        store.append(session, msgspec.structs.replace(body, attachments=[ref])).result(10)
        os.utime(store.blobs.path(ref.digest), (0, 0))
        assert store.sweep() == 0 and ref.digest in store.blobs
        store.delete(session)
        store.kv_put("x", "y", b"z")  # the writer has been through the trash
        assert ref.digest not in store.blobs
        gone = store.append(new(store), msgspec.structs.replace(body, attachments=[ref]))
        with pytest.raises(StoreError, match="missing"):
            gone.result(10)
    finally:
        store.close()


def test_a_large_pdf_crosses_the_channel_in_parts() -> None:
    """A frame holds 8 MiB; the parts add up to the file, and the last one is answered."""
    parts: list[KeepMedia] = []
    ref = BlobRef("0" * 64, 1)

    class Peer:
        def call(self, ask: KeepMedia, timeout: float | None) -> BlobRef | None:
            parts.append(ask)
            return ref if ask.last else None

    content = pdf() + os.urandom(2 * MAX_PART)
    assert GatewayJournal(Peer()).keep(content, "b.pdf") == ref  # type: ignore[arg-type]
    assert b"".join(part.part for part in parts) == content and [part.last for part in parts] == [False, False, True]
    assert max(len(part.part) for part in parts) <= MAX_PART < 8 * 1024 * 1024
