"""Figures about the service itself, for Prometheus: one total over all its processes."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

#: The variable of the environment that names the folder in which processes add up figures; the
#: library reads it when it is imported.
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_COUNTERS = {
    "ckm_requests_total": ("Requests by route, method and status.", "route method status"),
    "ckm_tables_total": (
        "Tables by outcome: published, or the rule that refused them.",
        "outcome",
    ),
}
#: Those of a receiver of reports.
RECEIVER_COUNTERS = {
    "ckm_requests_total": _COUNTERS["ckm_requests_total"],
    "ckm_reports_total": (
        "Reports by outcome: accepted, repeated, or beyond the limit of clients.",
        "outcome",
    ),
    "ckm_sendings_refused_total": ("Sendings refused whole, by reason.", "reason"),
}


class Metrics:
    """Counts what happens, in this process and those that share its folder.

    Parameters
    ----------
    counters
        Name → what it counts, and its labels with spaces between.
    """

    def __init__(self, counters: Mapping[str, tuple[str, str]] = _COUNTERS) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call,unused-ignore]
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(name, text, labels.split(), registry=self._registry)
            for name, (text, labels) in counters.items()
        }
        self._seconds = Histogram(
            "ckm_request_seconds",
            "Time to answer.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._gauges: list[tuple[Gauge, Callable[[], float]]] = []
        started = Gauge(
            "ckm_start_time_seconds",
            "When the first process started.",
            registry=self._registry,
            multiprocess_mode="min",
        )
        started.set(time.time())

    def watch(
        self, name: str, text: str, figure: Callable[[], float], *, is_total: bool = False
    ) -> None:
        """Show a figure of this moment, summed over processes."""
        gauge = Gauge(
            name,
            text,
            registry=self._registry,
            multiprocess_mode="sum" if is_total else "livesum",
        )
        self._gauges.append((gauge, figure))
        gauge.set(figure())

    def count(self, name: str, *, by: int = 1, **labels: str) -> None:
        """Add to a counter, one where nothing else is said."""
        self._counters[name].labels(**labels).inc(by)

    def took(self, route: str, seconds: float) -> None:
        """Note how long an answer took."""
        self._seconds.labels(route=route).observe(seconds)
        self._refresh()

    def text(self) -> str:
        """Return all figures."""
        self._refresh()
        registry = self._registry
        if SHARED_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call,unused-ignore]
        return generate_latest(registry).decode()

    def _refresh(self) -> None:
        for gauge, figure in self._gauges:
            gauge.set(figure())


def forget_process(process: int, folder: Path) -> None:
    """Take a process that ended out of the figures of this moment; its counts stay."""
    mark_process_dead(process, path=str(folder))  # type: ignore[no-untyped-call,unused-ignore]
