"""Listen to what the engine warns of, so that a report can repeat it, and time what it does."""

import contextlib
import logging
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from ckm._packages import PACKAGES, is_own
from footing.messages import logged, text_of

logger = logging.getLogger(__name__)


class Notes:
    """What a run warned of, each text once, in order.

    Parameters
    ----------
    texts
        What was warned of already; it grows.
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def add(self, texts: Sequence[str]) -> None:
        """Take note of texts, without a log."""
        self.texts += [text for text in texts if text not in self.texts]

    def note_warning(self, text: str, **extra: str) -> None:
        """Log a text, and take note of it; also where nobody wants logs."""
        logger.warning(text, extra=extra)
        self.add([text])

    def note_once(self, text: str, **extra: str) -> None:
        """Warn, unless the run did so before."""
        if text not in self.texts:
            self.note_warning(text, **extra)


class Stages:
    """How long the stages of a run took, in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Time a stage that ends without an error."""
        started = time.monotonic()
        yield
        self.seconds[stage] = round(time.monotonic() - started, 3)


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
                _add(captured, text_of(message))
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
            _add(self.captured, logged(record))


def _categories() -> tuple[type[Warning], ...]:
    from ptable import PTableWarning
    from tables import DataWarning

    return (PTableWarning, DataWarning)


def _add(captured: list[str], text: str) -> None:
    if text not in captured:
        captured.append(text)
