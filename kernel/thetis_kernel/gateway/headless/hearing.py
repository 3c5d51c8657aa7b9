"""What of a gateway's life goes into the daemon's log: turns and their ends by id, notices, incidents, clients.

Fields from an allow-list only, and nothing of what anybody said: a log is copied into bug reports. What libraries and the
kernel log goes there too, an exception by its type and place, without its text. Must not know the file.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any

from thetis_kernel.gateway.headless.logfile import LogFile
from thetis_kernel.protocol.client import EventStored, Notice
from thetis_kernel.protocol.events import Incident, TurnFinished, TurnStarted
from thetis_kernel.protocol.ids import short
from thetis_kernel.protocol.wire import Tell
from thetis_kernel.scrub.scrubber import Scrubber

_LEVELS = {"info": "info", "warn": "warn", "error": "error"}


class Hearing:
    """A client's listener that writes lines."""

    def __init__(self, file: LogFile) -> None:
        self._file = file

    def heard(self, tell: Tell) -> None:
        """Something the gateway told everybody."""
        match tell:
            case EventStored(event=event):
                where = short(event.session)
                match event.body:
                    case TurnStarted(turn=turn, attempt=attempt):
                        self._file.write("info", "turn began", conversation=where, turn=turn, attempt=attempt)
                    case TurnFinished(turn=turn, stopped_by=by, duration_ms=took):
                        self._file.write("info", "turn ended", conversation=where, turn=turn, by=by, ms=took)
                    case Incident(code=code):
                        self._file.write("warn", "incident", conversation=where, code=code)
            case Notice(level=level, message=message, hint=hint):
                self._file.write(_LEVELS.get(level, "info"), message, hint=hint)


class Handler(logging.Handler):
    """Warnings of libraries and of the kernel itself, scrubbed; never the text of an exception."""

    def __init__(self, file: LogFile, scrubber: Scrubber) -> None:
        super().__init__(logging.WARNING)
        self._file = file
        self._scrubber = scrubber

    def emit(self, record: logging.LogRecord) -> None:
        try:
            words = self._scrubber.text(record.getMessage())
        except (TypeError, ValueError):
            words = "a message that does not fit its arguments"
        told: dict[str, Any] = {"by": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            told["error"] = place_of(record.exc_info[1])
        self._file.write("error" if record.levelno >= logging.ERROR else "warn", words, **told)


def place_of(error: BaseException) -> str:
    """An exception by its type and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    return f"{type(error).__name__}{where}"
