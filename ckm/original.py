"""The cells of a job before any protection, for methods that hide cells and change none."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckm.engine import _categories, _hierarchy, _open_spark
from ckm.errors import ConfigError
from tables import (
    Filter,
    HashedKeys,
    Request,
    RequestError,
    Secret,
    StoredKeys,
    check_keys,
    cube,
    open_source,
    require_fit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ckm.config.job import Job
    from ckm.request import TableRequest
    from tables import Cells, Source

__all__ = ["Originals", "open_originals"]

_KEPT_LARGEST = 2


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

    def cells(
        self, *, progress: Callable[[str, int, int], None] | None = None
    ) -> dict[str, Cells]:
        """Tabulate; what comes out is disclosive and stays inside.

        Parameters
        ----------
        progress
            Called with a stage, the steps done and the steps in all.

        Returns
        -------
        dict
            Name of a table → its cells.

        Raises
        ------
        tables.TablesError
            If the data do not fit the job.

        Examples
        --------
        >>> from ckm.config import read_job
        >>> with open_originals(read_job("job.toml")) as found:  # doctest: +SKIP
        ...     found.cells()
        {'people': Cells(1 dimensions, 2 margins)}
        """
        tell = progress or (lambda _stage, _done, _total: None)
        tell("keys", 0, 1)
        check_keys(self.source, self.keys, action=self.job.keys.checks)
        tell("keys", 1, 1)
        found = cube(
            self.source,
            self.keys,
            list(self.requests.values()),
            tolerate_missing_keys=self.job.keys.checks == "warn",
            progress=lambda share: tell("scan", int(100 * share), 100),
        )
        tell("scan", 100, 100)
        return dict(zip(self.requests, found, strict=True))

    def __repr__(self) -> str:
        return f"Originals({len(self.requests)} tables)"


@contextlib.contextmanager
def open_originals(
    job: Job, *, memory_limit: str | None = None, threads: int | None = None
) -> Iterator[Originals]:
    """Open the records of a job for the time of a block, and check that its tables fit.

    Parameters
    ----------
    job
        The job; it needs neither a p-table nor a secret.
    memory_limit, threads
        Limits of the tabulation; they never change a result.

    Yields
    ------
    Originals
        What can be tabulated.

    Raises
    ------
    ConfigError, tables.TablesError
        If the data cannot be opened, or do not have what the tables ask for.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> with open_originals(read_job("job.toml")) as found:  # doctest: +SKIP
    ...     list(found.requests)
    ['people']
    """
    data = job.data
    if data.engine == "spark":
        source = _open_spark(str(data.path), data.engine, data.master)
    else:
        source = open_source(
            str(data.path), table=data.table, memory_limit=memory_limit, threads=threads
        )
    with source:
        keys: HashedKeys | StoredKeys
        if data.id is not None:
            # Nothing depends on these keys: they show records that are there twice.
            keys = HashedKeys(column=data.id, secret=Secret.generate())
        else:
            keys = StoredKeys(column=str(data.record_key), key_range=data.key_range)
        source.require(keys.column)
        yield Originals(
            job=job, source=source, requests=_requests(job, source, keys.column), keys=keys
        )


def _requests(job: Job, source: Source, identity: str) -> dict[str, Request]:
    """Build the requests; raise one error with the problems of all of them."""
    hierarchies = {name: _hierarchy(name, h) for name, h in job.hierarchies.items()}
    categories = {
        name: _categories(name, given, hierarchies.get(name))
        for name, given in job.categories.items()
    }
    built, errors = {}, []
    for name, asked in job.tables.items():
        try:
            built[name] = request = Request(
                dimensions=asked.dimensions,
                hierarchies=hierarchies,
                margins=asked.margins,
                where=asked.where,
                weight=job.data.weight
                if "weighted" in asked.measures or asked.variables
                else None,
                sums=asked.variables,
                top=_top(job) if asked.variables else 0,
                missing_values=asked.missing_values,
                categories=categories,
                total_label=job.output.total_label,
                missing_label=job.output.missing_label,
            )
            require_fit([request], source)
            _require_groups(request, asked, identity)
        except (RequestError, ConfigError) as error:
            problem = f"table {name!r}: {error.problem}"
            errors.append(type(error)(problem, hint=error.hint))
    if len(errors) > 1:
        lines = [str(error).replace("\n", "\n  ") for error in errors]
        raise RequestError("\n  - ".join([f"{len(errors)} tables have problems:", *lines]))
    if errors:
        raise errors[0]
    return built


def _top(job: Job) -> int:
    """Return how many of the largest contributions the rules read."""
    rules = job.suppression
    if rules is None or rules.dominance is None:
        return _KEPT_LARGEST
    return max(_KEPT_LARGEST, rules.dominance[0])


def _require_groups(request: Request, asked: TableRequest, identity: str) -> None:
    """Refuse tables that tell persons apart, or sum what they are made of."""
    filtered = request.where.columns if isinstance(request.where, Filter) else ()
    if identity in {*request.columns, *filtered, *asked.variables}:
        raise RequestError(
            f"Column {identity!r} tells persons apart: it is no dimension, no filter and no "
            "variable.",
            hint="ask for groups of people",
        )
    own = [name for name in asked.variables if name in request.columns]
    if own:
        raise RequestError(
            f"Column {own[0]!r} is a dimension of the table: its sum would give the number of "
            "records away.",
            hint="sum another variable, or leave the dimension out",
        )
