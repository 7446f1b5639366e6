"""The cells of a job before any protection, for methods that hide cells and change none."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ckm.engine.inputs import given_cells, open_records
from ckm.engine.request_fitting import RequestFitter
from ckm.errors import CheckFailedError, ConfigError
from tables import (
    HashedKeys,
    RequestError,
    Secret,
    StoredKeys,
    check_keys,
    cube,
    record_groups,
)
from tables.magnitudes.variables import largest_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckm.config.job.job import Job
    from ckm.engine.engine import Progress
    from footing.arrays import Codes, Flags
    from tables import Cells, Request, Source

    Groups = tuple[Flags, tuple[Codes, ...]]

_KEPT_LARGEST = 2
_MAX_GROUPS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Originals:
    """The records of a job, ready to be tabulated as they are.

    Made by `open_originals`.

    Parameters
    ----------
    job
        The job.
    source
        Its records.
    requests
        Name of a table → what is tabulated for it.
    keys
        The identifiers; what is made of them goes nowhere.
    """

    job: Job
    source: Source
    requests: Mapping[str, Request]
    keys: HashedKeys | StoredKeys

    def cells(self, *, progress: Progress | None = None) -> dict[str, Cells]:
        """Tabulate; what comes out is disclosive and stays inside."""
        report_progress = progress or (lambda _stage, _done, _total: None)
        report_progress("keys", 0, 1)
        check_keys(self.source, self.keys, action=self.job.checks)
        report_progress("keys", 1, 1)
        found = cube(
            self.source,
            self.keys,
            list(self.requests.values()),
            tolerate_missing_keys=self.job.checks == "warn",
            progress=lambda share: report_progress("scan", int(100 * share), 100),
        )
        report_progress("scan", 100, 100)
        return dict(zip(self.requests, found, strict=True))

    def groups(self) -> list[Groups]:
        """Find, for each table, the groups of records that its cells are made of."""
        requests = list(self.requests.values())
        if len(requests) == 1 and requests[0].margins == "all":
            return []
        found = record_groups(self.source, requests, most=_MAX_GROUPS)
        if found is None:
            names = " and ".join(map(repr, self.requests))
            raise CheckFailedError(
                f"How the tables {names} are linked cannot be settled: their columns and "
                f"filters tell more than {_MAX_GROUPS:,} groups of records apart.",
                hint="release fewer tables together, or tables of fewer categories",
            )
        return found

    def whole(self) -> list[tuple[str, Cells]]:
        """Tabulate the margins between cells, shown by no table; inside use only."""
        tolerate = self.job.checks == "warn"
        wider = {n: _wider(n, r) for n, r in self.requests.items() if r.margins != "all"}
        if not wider:
            return []
        requests = list(wider.values())
        found = cube(self.source, self.keys, requests, tolerate_missing_keys=tolerate)
        return list(zip(wider, found, strict=True))


@contextlib.contextmanager
def open_originals(
    job: Job, *, memory_limit: str | None = None, threads: int | None = None
) -> Iterator[Originals]:
    """Open the records of a job for the time of a block, and check that its tables fit."""
    data = job.data.local
    cells = None
    if data.cells is not None:
        cells = given_cells(
            data.cells,
            count=data.count,
            cell_key=data.cell_key,
            key_range=data.key_range,
            hierarchies=job.hierarchies,
            labels=(job.output.total_label, job.output.missing_label),
        )
    source = open_records(
        data.paths,
        engine=data.engine,
        master=data.master,
        table=data.table,
        cells=cells,
        memory_limit=memory_limit,
        threads=threads,
    )
    with source:
        keys: HashedKeys | StoredKeys
        if cells is not None:
            keys = cells.keys
        elif data.id is not None:
            # Nothing depends on these keys: they show records that are there twice.
            keys = HashedKeys(column=data.id, secret=Secret.generate())
        else:
            keys = StoredKeys(column=str(data.record_key), key_range=data.key_range)
        source.require(keys.column)
        requests = _requests(job, source, keys)
        yield Originals(job=job, source=source, requests=requests, keys=keys)


def _requests(job: Job, source: Source, keys: HashedKeys | StoredKeys) -> dict[str, Request]:
    """Build the requests, with as many of the largest contributions as the rules read."""
    fitter = RequestFitter(
        source,
        keys,
        noises=None,
        weight=job.data.weight,
        hierarchies=job.hierarchies,
        categories=job.categories,
        labels=(job.output.total_label, job.output.missing_label),
    )
    dominance = None if job.suppression is None else job.suppression.dominance
    top = _KEPT_LARGEST if dominance is None else max(_KEPT_LARGEST, dominance[0])
    fitted = fitter.fit(job.tables)
    if source.cells is not None:  # rules that read more of them refuse
        given = [len(largest_columns(source, v)) for r in fitted.values() for v in r.sums]
        top = min(top, *given, top)
    return {
        name: replace(request, top=top) if request.sums else request
        for name, request in fitted.items()
    }


def _wider(name: str, request: Request) -> Request:
    try:
        return replace(request, margins="all")
    except RequestError as error:
        raise ConfigError(
            f"Table {name!r}: suppression has to look at all margins, also those not shown. "
            f"{error.problem}",
            hint="ask for fewer dimensions",
        ) from None
