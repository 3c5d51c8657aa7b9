"""Pictures and PDFs of the log as blocks of a request: a digest and what people call it, never the content.

The host puts the content in, or a sentence where a model takes none. Must not know events.
"""

from __future__ import annotations

from typing import Any

from thetis_guest.lenient import number, objects, text

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
DOCUMENTS = ("application/pdf",)


def attached(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A block for each attachment of an event's body that a model can be shown."""
    blocks: list[dict[str, Any]] = []
    for attachment in objects(body, "attachments"):
        media, digest = text(attachment, "media_type"), text(attachment, "digest")
        kind = "image" if media in IMAGES else "document" if media in DOCUMENTS else ""
        if kind and digest:
            source: dict[str, Any] = {"type": "blob", "media_type": media, "digest": digest, "size": number(attachment, "size")}
            if text(attachment, "name"):
                source["name"] = text(attachment, "name")
            blocks.append({"type": kind, "source": source})
    return blocks
