"""CPU seconds and drift of p-tables in few keys, all rows."""

from __future__ import annotations

import time

from bench.measure import arguments, show
from ptable import NoiseSpec, solve
from ptable.quantisation.quantise import quantise

SIZES = (2, 5, 10, 20, 30)
KEYS = (256, 4096, 65536)


def main() -> None:
    chosen = arguments(__doc__ or "", largest=max(SIZES))
    quantise(solve(NoiseSpec(max_noise=2, variance=1.0)), 64)
    rows: list[list[object]] = []
    for max_noise in (size for size in SIZES if size <= chosen.largest):
        table = solve(NoiseSpec(max_noise=max_noise, variance=max_noise / 2))
        proof = [0.0, *(row.entropy for row in table.certificate.rows)]
        for key_range in KEYS:
            began = time.process_time()
            answer = quantise(table, key_range)
            spent = time.process_time() - began
            losses = zip(proof, answer.rows, strict=True)
            rows.append(
                [
                    max_noise,
                    key_range,
                    spent,
                    sum(row.is_exact for row in answer.rows),
                    len(answer.rows),
                    float(max(abs(row.mean_drift) for row in answer.rows)),
                    float(max(abs(row.variance_drift) for row in answer.rows)),
                    max(row.total_variation for row in answer.rows),
                    max(best - row.entropy for best, row in losses),
                    max(row.gap for row in answer.rows),
                ]
            )
    columns = ["D", "keys", "CPU s", "exact", "rows", "mean drift", "variance drift"]
    columns += ["total variation", "entropy lost", "gap"]
    show("p-tables in few keys, variance D / 2", columns, rows)


if __name__ == "__main__":
    main()
