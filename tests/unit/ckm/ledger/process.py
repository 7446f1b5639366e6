"""A program that publishes tables one after the other, to be killed or run beside another."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

from ckm.ledger import Definition, Ledger, ThinDifferenceError
from tables import Request, Secret, StoredKeys, cube, open_source

SECRET = Secret(bytes(16))


def register(size=900):
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "number": list(range(size)),
            "area": [n % 3 for n in range(size)],
            "key": rng.integers(0, 2**64, size, dtype=np.uint64),
        }
    )


def entry(ledger, source, where):
    request = Request(dimensions=["area"], where=where)
    (cells,) = cube(source, StoredKeys(column="key"), [request], sketch=ledger.width)
    return ledger.entry(cells, Definition.of(request, name=where, where=where))


def report_progress(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(target, policy, filters):
    with (
        open_source(register(), threads=1) as source,
        Ledger.open(target, secret=SECRET) as ledger,
    ):
        entries = {where: entry(ledger, source, where) for where in filters}
        report_progress("ready")
        sys.stdin.readline()
        for where, one in entries.items():
            try:
                ledger.publish([one], policy=policy)
            except ThinDifferenceError:
                report_progress(f"refused {where}")
            else:
                report_progress(f"answered {where}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
