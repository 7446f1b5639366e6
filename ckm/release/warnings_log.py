"""Listen to what the engine warns of, so that a report can repeat it."""

import contextlib
import logging
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from ckm._packages import PACKAGES, is_own


@contextlib.contextmanager
def captured_warnings() -> Iterator[list[str]]:
    """Collect our own warnings, each once; whoever else listens hears them as well.

    Warnings of other libraries are left out: they speak to programmers, and may quote data.
    """
    captured: list[str] = []
    handler = _Listener(captured)
    loggers = [logging.getLogger(name) for name in PACKAGES]
    with warnings.catch_warnings():
        # After all other filters: once per run instead of once per process.
        for category in _categories():
            warnings.filterwarnings("always", category=category, append=True)
        show = warnings.showwarning

        def listen(message: Warning | str, category: type[Warning], *rest: Any) -> None:
            if is_own(category.__module__):
                _add(captured, str(message))
            show(message, category, *rest)

        warnings.showwarning = listen  # type: ignore[assignment]
        for logger in loggers:
            logger.addHandler(handler)
        try:
            yield captured
        finally:
            for logger in loggers:
                logger.removeHandler(handler)


class _Listener(logging.Handler):
    """Keep the warnings that its own thread logs: another may make another release."""

    def __init__(self, captured: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.captured = captured
        self.thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self.thread:
            _add(self.captured, record.getMessage())


def _categories() -> tuple[type[Warning], ...]:
    from ptable import PTableWarning
    from tables import DataWarning

    return (PTableWarning, DataWarning)


def _add(captured: list[str], text: str) -> None:
    if text not in captured:
        captured.append(text)
