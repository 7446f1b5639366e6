"""Figures about the service itself, in the text format of Prometheus."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Metrics"]

_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_HELP = {
    "ckm_requests_total": "Requests by route, method and status.",
    "ckm_tables_total": "Tables by outcome: published, or the rule that refused them.",
    "ckm_cells_found_total": "How cells were found.",
    "ckm_request_seconds": "Time to answer.",
}


class Metrics:
    """Counts what happens.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count("ckm_tables_total", outcome="published")
    >>> 'ckm_tables_total{outcome="published"} 1' in metrics.text({})
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._sums: Counter[str] = Counter()
        self._started = time.time()

    def count(self, name: str, **labels: str) -> None:
        """Add one to a counter.

        Parameters
        ----------
        name, labels
            The counter, and its labels.
        """
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += 1

    def took(self, route: str, seconds: float) -> None:
        """Note how long an answer took.

        Parameters
        ----------
        route, seconds
            Which, and how long.
        """
        with self._lock:
            for bucket in (*_BUCKETS, float("inf")):
                self._buckets[route, bucket] += seconds <= bucket
            self._sums[route] += seconds  # type: ignore[assignment]

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all figures.

        Parameters
        ----------
        gauges
            Name → a figure of this moment.
        """
        with self._lock:
            counts, buckets = dict(self._counts), dict(self._buckets)
            sums = dict(self._sums)
        lines = []
        for name in sorted({name for name, _ in counts}):
            lines += [f"# HELP {name} {_HELP.get(name, name)}", f"# TYPE {name} counter"]
            lines += [
                f"{name}{_labels(dict(labels))} {count}"
                for (other, labels), count in sorted(counts.items())
                if other == name
            ]
        if buckets:
            name = "ckm_request_seconds"
            lines += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} histogram"]
            for (route, bucket), count in sorted(buckets.items()):
                edge = "+Inf" if bucket == float("inf") else f"{bucket:g}"
                lines.append(f"{name}_bucket{_labels({'route': route, 'le': edge})} {count}")
            for route, seconds in sorted(sums.items()):
                total = buckets[route, float("inf")]
                lines.append(f"{name}_sum{_labels({'route': route})} {seconds:.6f}")
                lines.append(f"{name}_count{_labels({'route': route})} {total}")
        for name, figure in {"ckm_start_time_seconds": self._started, **gauges}.items():
            lines += [f"# TYPE {name} gauge", f"{name} {figure:g}"]
        return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    escaped = {
        k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for k, v in labels.items()
    }
    return "{" + ",".join(f'{k}="{v}"' for k, v in escaped.items()) + "}"
