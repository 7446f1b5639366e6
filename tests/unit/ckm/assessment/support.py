"""Small registers and releases whose numbers are known, for tests of the assessment."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from ckm.assessment.assessor import Assessor
from ckm.assessment.facts import findings
from ckm.config import Job
from ckm.config.job.data import JobData, JobKeys
from ckm.config.job.report import JobReport
from ckm.config.job.table import JobTable
from ckm.engine.perturbation import perturb
from ckm.engine.protection import Protected
from ckm.engine.published_table import publish
from ckm.engine.request import TableRequest
from ptable import PTable
from tables import HashedKeys, Request, Secret, StoredKeys, cube, open_source
from tables.quality import KeyQuality

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


def observed(
    tables,
    ptable=GENTLE,
    *,
    is_mixed=True,
    change=None,
    spoil=None,
    empty_cells="drop",
    measures=("count",),
    **options,
):
    """An assessor that saw tables; `change` spoils published counts, `spoil` a table."""
    assessor = Assessor(ptable, is_mixed=is_mixed, **options)
    for name, cells in tables.items():
        published = perturb(cells, ptable=ptable, secret=SECRET if is_mixed else None)
        if change is not None:
            published = change(name, cells, published)
        request = TableRequest(
            dimensions=[axis.columns[-1] for axis in cells.axes],
            measures=measures,
            empty_cells=empty_cells,
        )
        table = publish(
            cells,
            published,
            measures=measures,
            empty_cells=empty_cells,
            round_weighted=True,
        )
        if spoil is not None:
            table = spoil(name, table)
        assessor.add(
            Protected(name=name, request=request, cells=cells, table=table, counts=published)
        )
    return assessor


def job_of(tables, *, checks="stop", mix=True, **report):
    """A job for these tables, with what its report asks for."""
    return Job(
        schema=1,
        data=JobData(path=Path("people.parquet"), id="id"),
        keys=JobKeys(checks=checks, mix=mix),
        ptable=Path("pt.parquet"),
        table=[
            JobTable(name=name, dimensions=["sex"]) for name in tables or ("none",)
        ],  # a job has one
        report=JobReport(**report),
    )


SOUND = KeyQuality(
    problems=(), missing_share=0.0, repeated_share=0.0, uniformity_p=None, slice=1
)


def found_in(assessor, *, quality=SOUND, designs=None, **job):
    """The findings of what an assessor saw."""
    plan = job_of(assessor.tables, mix=assessor.is_mixed, **job)
    return findings(assessor, plan, quality=quality, designs=designs)


def outcomes(found):
    """Name of a check → how it ended."""
    return {check.name: check.outcome for check in found.checks}


def check(found, name):
    """One check."""
    (only,) = (one for one in found.checks if one.name == name)
    return only
