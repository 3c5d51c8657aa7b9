"""Pictures and PDFs small enough to write down, real enough to be told by their content."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 2, height: int = 2, shade: int = 200) -> bytes:
    """A grey picture."""
    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


def pdf(pages: int = 1) -> bytes:
    """A document of empty pages."""
    kids = " ".join(f"{n + 3} 0 R" for n in range(pages))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
               *[b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"] * pages]
    body = b"".join(f"{n} 0 obj\n".encode() + data + b"\nendobj\n" for n, data in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n"
