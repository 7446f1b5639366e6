"""Structured logs: one JSON object per line on stderr, numbers of requests and seconds only."""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "event", "is_step"}
_OURS = ("ckm", "ptable", "tables")
_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio")


class JsonHandler(logging.Handler):
    """Writes records as JSON; texts of exceptions, which may quote data, are left out."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        moment = dt.datetime.fromtimestamp(record.created, dt.UTC)
        fields = {
            name: value
            for name, value in vars(record).items()
            if name not in _STANDARD and isinstance(value, (bool, int, float, str))
        }
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.msg),
            "message": record.getMessage(),
            **fields,
        }
        try:
            sys.stderr.write(json.dumps(line, default=str) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # a log decides nothing


def log_as_json() -> None:
    """Send the events of this process to stderr; for processes that no command line began."""
    handler = JsonHandler()
    for name in _OURS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    quiet_others()


def quiet_others() -> None:
    """Keep the loggers of the web server from writing what requests or errors hold."""
    for name in _FOREIGN:
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
