"""RAPPOR: values encoded a second, and ten million reports summed as a stream."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, peak_mb, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rappor.encoded import Reports
    from rappor.parameters import Parameters

_LABELS = ("permanent, f = 1/2", "permanent, f = 0.3", "one-time", "basic, permanent")
_PIECE = 100_000


def design(label: str) -> Parameters:
    """Give the parameters behind a label: those of the paper, and variants."""
    from rappor.parameters import Parameters

    if label.startswith("basic"):
        return Parameters.basic(128, f=0.5, p=0.5, q=0.75)
    f = {"permanent, f = 1/2": 0.5, "permanent, f = 0.3": 0.3, "one-time": 0.0}[label]
    return Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=f, p=0.5, q=0.75)


def encoding(label: str, values: int) -> dict[str, Any]:
    """Time the encoding of one value a client."""
    from rappor.client.client import encode
    from tables.secret import Secret

    parameters = design(label)
    rng = np.random.default_rng(1)
    held: Any = rng.integers(0, 128, values)
    if parameters.hash != "index":
        held = [f"v{number}" for number in held]
    secret, clients = Secret(b"a secret of the benchmarks"), list(range(values))
    cpu, reports = best_cpu(
        lambda: encode(held, clients, parameters=parameters, secret=secret, metric="m"), 5
    )
    return {"rate": values / cpu, "cpu": cpu, "mb": peak_mb(), "n": len(reports)}


def some_reports(parameters: Parameters, reports: int) -> Iterator[Reports]:
    """Draw reports whose bits are fair coins."""
    from rappor.encoded import Reports

    rng = np.random.default_rng(2)
    for _ in range(0, reports, _PIECE):
        yield Reports(
            cohorts=rng.integers(0, parameters.n_cohorts, _PIECE),
            packed=rng.integers(0, 256, (_PIECE, 16), np.uint8),
            parameters=parameters,
        )


def summing(file: str) -> dict[str, Any]:
    """Time the sum of a file, in a process that only sums."""
    from rappor.report_files import sum_files

    cpu, counts = best_cpu(lambda: sum_files([file], parameters=design(_LABELS[0])), 1)
    return {"n": counts.total, "cpu": cpu, "rate": counts.total / cpu, "mb": peak_mb()}


def main() -> None:
    """Run the benchmark."""
    from rappor.report_files import write_reports

    given = arguments(__doc__ or "", values=200_000, reports=10_000_000)
    rows: list[list[object]] = []
    for label in _LABELS:
        a = in_process(encoding, label, given.values)
        rows.append([label, a["n"], a["cpu"], round(a["rate"]), a["mb"]])
    columns = ["client", "values", "CPU s", "values a second", "peak MB"]
    show("Encode, 128 bits", columns, rows)
    rows = []
    parameters = design(_LABELS[0])
    with tempfile.TemporaryDirectory() as folder:
        for ending, share in (("rappor", 1), ("csv", 10)):
            file = Path(folder) / f"reports.{ending}"
            pieces = some_reports(parameters, given.reports // share)
            write_reports(pieces, file, parameters=parameters)
            a = in_process(summing, str(file))
            size = file.stat().st_size / 1e6
            rows.append([ending, a["n"], size, a["cpu"], round(a["rate"]), a["mb"]])
            file.unlink()
    columns = ["file", "reports", "MB", "CPU s", "reports a second", "peak MB"]
    show("Sum a stream, 128 bits, 16 cohorts", columns, rows)


if __name__ == "__main__":
    main()
