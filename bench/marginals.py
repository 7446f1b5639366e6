"""Seven marginals of a three-way table from Parquet, beside seven calls of the ONS package.

Both read the same file and apply the same 256-key p-table; every published count is compared.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bench.measure import DATA, arguments, best_cpu, in_process, peak_mb, show

LAYOUTS = {"small": (10, 20, 2), "medium": (331, 101, 2), "sparse": (7201, 18, 9)}
TARGETS = {"small": 12, "medium": 9, "sparse": 4}
SUBSETS = [list(s) for n in (3, 2, 1) for s in itertools.combinations(["a", "b", "c"], n)]


def write_records(layout: str, rows: int) -> str:
    """Write the records of a layout: areas of uneven size, sparse areas for `sparse`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    DATA.mkdir(exist_ok=True)
    path = DATA / f"marginals_{layout}_{rows}.parquet"
    if path.exists():
        return str(path)
    rng = np.random.default_rng(20211)
    sizes = LAYOUTS[layout]
    if layout == "sparse":  # about 85,000 of 1.17 million cells are not empty
        filled = rng.choice(int(np.prod(sizes)), 85_000, replace=False)
        cells = filled[(len(filled) * rng.random(rows) ** 1.5).astype(np.int64)]
        columns = np.unravel_index(cells, sizes)
    else:
        columns = [rng.integers(0, size, rows) for size in sizes]
    keys = rng.integers(0, 256, rows)
    names = {n: pa.array(c.astype(np.int64)) for n, c in zip("abc", columns, strict=True)}
    pq.write_table(pa.table({**names, "key": pa.array(keys)}), path)
    return str(path)


def key_table() -> Any:
    """Return a p-table of the ONS layout: noise -2..2 for counts 1..750 and keys 0..255."""
    import pandas as pd

    steps = np.repeat([-2, -1, 0, 1, 2], [16, 56, 112, 56, 16])
    grid = np.stack(np.meshgrid(np.arange(1, 751), np.arange(256), indexing="ij"), -1)
    frame = pd.DataFrame(grid.reshape(-1, 2), columns=["pcv", "ckey"])
    noise = np.random.default_rng(5).permutation(steps)[frame["ckey"]]
    frame["pvalue"] = np.maximum(noise, -frame["pcv"])
    return frame


def run_ons(path: str, repeats: int) -> dict[str, Any]:
    """Time the ONS package; its records are read once and serve all seven calls."""
    import pandas as pd
    from cell_key_perturbation.create_perturbed_table import create_perturbed_table

    table = key_table()
    reading, frame = best_cpu(lambda: pd.read_parquet(path), 1)

    def calls() -> list[pd.DataFrame]:
        return [
            create_perturbed_table(
                frame, table, [], s, "key", use_existing_ons_id=False, threshold=0
            )
            for s in SUBSETS
        ]

    seconds, answers = best_cpu(calls, repeats)
    peak = peak_mb()
    return {
        "cpu": seconds,
        "reading": reading,
        "peak": peak,
        "checksums": [_checksum(a, s, "count") for a, s in zip(answers, SUBSETS, strict=True)],
    }


def run_ours(path: str, repeats: int, opening: str) -> dict[str, Any]:
    """Time one request with margins; a fresh one opens the file and checks the keys anew."""
    import ckm
    from ptable import PTable

    table = PTable.from_key_table(key_table(), large_counts="cycle:250")
    margins = [s for s in SUBSETS if len(s) < 3]

    def open_engine() -> ckm.Engine:
        return ckm.Engine(path, record_key="key", key_range=256, ptable=table, mix=False)

    warm = open_engine()
    fresh = opening == "fresh"
    if not fresh:
        warm.check_keys()

    def call() -> ckm.PublishedTable:
        engine = open_engine() if fresh else warm
        return engine.tabulate(["a", "b", "c"], margins=margins)

    seconds, answer = best_cpu(call, repeats)
    peak = peak_mb()
    frame = answer.to_pandas()
    sums = []
    for subset in SUBSETS:
        part = frame
        for name in "abc":
            part = part[(part[name] != "Total") == (name in subset)]
        part = part.astype(dict.fromkeys(subset, "int64"))
        sums.append(_checksum(part, subset, "count"))
    return {"cpu": seconds, "reading": 0.0, "peak": peak, "checksums": sums}


def _checksum(frame: Any, subset: list[str], measure: str) -> str:
    """Digest the cells whose published count is not zero, with their categories."""
    import hashlib

    frame = frame[frame[measure] != 0]
    kept = frame[[*subset, measure]].to_numpy(dtype="int64")
    kept = kept[np.lexsort(kept.T[::-1])]
    return hashlib.sha256(kept.tobytes()).hexdigest()


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=5_000_000, repeats=5)
    rows = []
    for layout in LAYOUTS:
        path = write_records(layout, given.rows)
        ons = in_process(run_ons, path, max(2, given.repeats // 2))
        warm = in_process(run_ours, path, given.repeats, "warm")
        fresh = in_process(run_ours, path, given.repeats, "fresh")
        same = ons["checksums"] == warm["checksums"] == fresh["checksums"]
        rows.append(
            [
                layout,
                ons["cpu"],
                ons["reading"],
                warm["cpu"],
                fresh["cpu"],
                ons["cpu"] / warm["cpu"],
                (ons["cpu"] + ons["reading"]) / fresh["cpu"],
                1 / TARGETS[layout],
                "identical" if same else "DIFFERENT",
                ons["peak"],
                max(warm["peak"], fresh["peak"]),
            ]
        )
    show(
        f"Seven marginals of a three-way table, {given.rows:,} rows (CPU s, MB)",
        [
            "layout",
            "ONS",
            "ONS reading",
            "ours",
            "ours, opening and checks",
            "ratio",
            "ratio with reading",
            "goal",
            "counts",
            "ONS peak",
            "our peak",
        ],
        rows,
        ours="ours",
        theirs="ONS",
        goal="goal",
    )


if __name__ == "__main__":
    main()
