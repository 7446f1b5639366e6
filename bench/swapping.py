"""Target record swapping of households in three levels of geography."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, peak_mb, show


def register(people: int) -> Any:
    """Draw households of one to five people in 12 regions, 240 districts, 4,800 towns."""
    import pyarrow as pa

    rng = np.random.default_rng(6)
    homes = people * 10 // 23
    size = rng.choice(5, homes, p=[0.36, 0.31, 0.14, 0.13, 0.06]) + 1
    town = np.floor(4_800 * rng.random(homes) ** 1.3).astype(np.int64)
    kind = np.minimum(size, 3) * 2 + rng.integers(0, 2, homes)
    home = np.repeat(np.arange(homes), size)
    n = len(home)
    return pa.table(
        {
            "home": home,
            "region": (town // 400)[home],
            "district": (town // 20)[home],
            "town": town[home],
            "kind": kind[home],
            "age": np.minimum(rng.gamma(2.5, 17, n).astype(np.int64) // 5, 19),
            "sex": rng.integers(0, 2, n),
            "country": np.minimum(rng.zipf(2.2, n), 30),
        }
    )


def swap(people: int, k: int) -> dict[str, Any]:
    """Time one swap."""
    from tables import open_source
    from tables.swapping import swap_records

    table = register(people)
    with tempfile.TemporaryDirectory() as folder, open_source(table) as source:
        seconds, report = best_cpu(
            lambda: swap_records(
                source,
                household="home",
                geography=["region", "district", "town"],
                risk=["age", "sex", "country"],
                similar=[["kind"], []],
                k=k,
                rate=0.1,
                seed=1,
                path=Path(folder) / "swapped.parquet",
                overwrite=True,
            ),
            1,
        )
    return {
        "records": report.records,
        "homes": report.households,
        "cpu": seconds,
        "share": report.share,
        "needed": sum(report.needed) / report.households,
        "stuck": sum(report.not_moved),
        "mb": peak_mb(),
    }


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", people=1_000_000)
    rows = []
    for k in (0, 2, 3, 10):
        a = in_process(swap, given.people, k)
        rows.append(
            [
                k,
                a["records"],
                a["homes"],
                a["cpu"],
                a["needed"],
                a["share"],
                a["stuck"],
                a["mb"],
            ]
        )
    columns = ["k", "records", "households", "CPU s", "at risk", "moved", "stuck", "peak MB"]
    show("Target record swapping, three levels, rate 0.1", columns, rows)


if __name__ == "__main__":
    main()
