"""Small registers and releases whose numbers are known, for tests of the assessment."""

import numpy as np
import pyarrow as pa

from ckm.assess.assessor import Assessor
from ckm.perturb import perturb
from ckm.published import publish
from ckm.request import TableRequest
from ptable import PTable
from tables import HashedKeys, Request, Secret, StoredKeys, cube, open_source

SECRET = Secret(bytes(range(16)))

#: Counts stay, or go up or down by one; the noise of 1 never leads to 0.
GENTLE = PTable.from_units([{0: 8}, {0: 6, 1: 2}, {-1: 2, 0: 4, 1: 2}], key_range=8)


def people(n, *, seed=1, **sizes):
    """A register with columns of categories, by number of categories."""
    rng = np.random.default_rng(seed)
    columns = {
        name: [f"{name}{c}" for c in rng.integers(0, size, n)] for name, size in sizes.items()
    }
    return pa.table({"id": list(range(n)), **columns, "w": rng.integers(0, 4, n) / 2})


def cells_of(records, dimensions, *, key=None, **options):
    """The cells of one table of a register."""
    keys = StoredKeys(column=key) if key else HashedKeys(column="id", secret=SECRET)
    with open_source(records) as source:
        (cells,) = cube(source, keys, [Request(dimensions=dimensions, **options)])
    return cells


def observed(tables, ptable=GENTLE, *, is_mixed=True, change=None, **options):
    """An assessor that saw tables; `change` may spoil what is published of one of them."""
    assessor = Assessor(ptable, is_mixed=is_mixed, **options)
    for name, cells in tables.items():
        published = perturb(cells, ptable=ptable, secret=SECRET if is_mixed else None)
        if change is not None:
            published = change(name, cells, published)
        request = TableRequest(dimensions=[axis.columns[-1] for axis in cells.axes])
        table = publish(
            cells, published, measures=["count"], empty_cells="drop", round_weighted=True
        )
        assessor.observe(name, request, cells, published, table)
    return assessor
