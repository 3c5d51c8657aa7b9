"""What a person attaches: read from their disk, judged by its content, kept as a blob before any event names it.

Must not know models: whether one takes pictures is the model host's to say.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from thetis_kernel.errors import UsageError
from thetis_kernel.protocol import media
from thetis_kernel.protocol.events import BlobRef
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.store.blobs import Blobs

MAX_ATTACHMENTS = 20
"""Of one message; the Messages API takes 100 images a request."""
MAX_NAME = 120


class Attachments:
    """The blobs of one root, as far as clients and workers may add to them."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def take(self, path: str) -> BlobRef:
        """Keep the picture or PDF at an absolute path. Raises UsageError that names the file and what is wrong."""
        return await asyncio.to_thread(self._take, path)

    async def keep(self, content: bytes, name: str) -> BlobRef:
        """Keep a picture or PDF a worker has read. Raises UsageError for content that is neither."""
        return await asyncio.to_thread(self._keep, content, name)

    async def checked(self, given: Sequence[BlobRef]) -> list[BlobRef]:
        """The same ones when each is there and is what it says; raises UsageError."""
        if len(given) > MAX_ATTACHMENTS:
            raise UsageError(f"{len(given)} files are attached; a message takes {MAX_ATTACHMENTS}.")
        return await asyncio.to_thread(lambda: [self._checked(one) for one in given])

    def _take(self, path: str) -> BlobRef:
        name = os.path.basename(path)
        if not os.path.isabs(path):
            raise UsageError(f"The path {path!r} is not absolute.")
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "no path"
            raise UsageError(f"{name} cannot be attached: {why}.", hint="Nothing was sent.") from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise UsageError(f"{name} cannot be attached: it is no ordinary file.")
        with os.fdopen(descriptor, "rb") as file:
            head = file.read(media.HEAD)
            if why := media.too_large(media.media_type(head), found.st_size) if media.media_type(head) else "":
                raise UsageError(f"{name} cannot be attached: it {why}.")
            content = head + file.read(media.MAX_PDF + 1)
        return self._keep(content, name)

    def _keep(self, content: bytes, name: str) -> BlobRef:
        shown = clean_line(Path(name).name)[:MAX_NAME] or "file"
        if why := media.problem(content):
            raise UsageError(f"{shown} cannot be attached: it {why}.", hint="Name a text file in your message instead.")
        return self._blobs.put(content, media_type=media.media_type(content[: media.HEAD]), name=shown)

    def _checked(self, given: BlobRef) -> BlobRef:
        path = self._blobs.path(given.digest)
        try:
            with path.open("rb") as file:
                found = media.media_type(file.read(media.HEAD))
                size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise UsageError(f"The attachment {given.name!r} is not there any more.", hint="Attach it again.") from error
        if not found or found != given.media_type or size != given.size:
            raise UsageError(f"The attachment {given.name!r} is not what it says.")
        return BlobRef(given.digest, size, found, clean_line(given.name)[:MAX_NAME])
