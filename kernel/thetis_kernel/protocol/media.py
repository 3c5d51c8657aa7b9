"""Pictures and PDFs a model may be shown: told by their first bytes, never by their name, and within the API's sizes.

Limits are those of the Messages API: 5 MB an image; 32 MB and 100 pages a PDF (its vision and PDF guides). Must not know
files, logs or requests.
"""

from __future__ import annotations

import re

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
MAX_IMAGE = 5 * 1000 * 1000
MAX_PDF = 32 * 1000 * 1000
MAX_PAGES = 100
HEAD = 1024
"""Bytes that are enough to tell what something is; a PDF may begin with other things."""
_PAGES = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,7})")


def media_type(head: bytes) -> str:
    """The media type of content that begins with `head`; "" for what is neither a picture nor a PDF."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return PDF if b"%PDF-" in head[:HEAD] else ""


def limit_of(media: str) -> int:
    """Bytes allowed."""
    return MAX_PDF if media == PDF else MAX_IMAGE


def kind_of(media: str) -> str:
    """What a person calls it."""
    return "PDF" if media == PDF else "picture"


def too_large(media: str, size: int) -> str:
    """Why something of that size cannot be shown to a model, as the rest of a sentence; "" when it can."""
    if size > limit_of(media):
        return f"has {size / 1e6:.1f} MB; a {kind_of(media)} may have {limit_of(media) // 10**6} MB"
    return ""


def problem(content: bytes) -> str:
    """Why the content cannot be shown to a model, as the rest of a sentence about it; "" when it can."""
    media = media_type(content[:HEAD])
    if not media:
        return "is neither a picture (PNG, JPEG, GIF, WebP) nor a PDF"
    if why := too_large(media, len(content)):
        return why
    # Pages inside compressed objects are not counted here; the provider then says so itself.
    pages = max([len(_PAGES.findall(content)), *map(int, _COUNT.findall(content))], default=0) if media == PDF else 0
    return f"has {pages} pages; a PDF may have {MAX_PAGES}" if pages > MAX_PAGES else ""


def size_words(size: int) -> str:
    """Bytes for people: 512 B, 12 KB, 3.4 MB."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} KB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"
