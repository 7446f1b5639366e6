"""The cells of a job before any protection, for methods that hide cells and change none."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ckm.engine.inputs import given_cells, open_records
from ckm.engine.published_table import rows_of
from ckm.engine.request_fitting import RequestFitter
from ckm.errors import CheckFailedError, ConfigError
from ckm.methods.suppression.costs import cost_variable
from ckm.methods.suppression.equations import Equation, implied_sums, known_equations
from ckm.methods.suppression.holdings import (
    HOLDING,
    held_by_cell,
    request_by_holding,
    with_holdings,
)
from footing.messages import Message, Name, said
from footing.progress import no_progress
from tables import (
    HashedKeys,
    RequestError,
    Secret,
    StoredKeys,
    check_keys,
    cube,
    record_groups,
)
from tables.cells.cube import record_groups_and_sizes
from tables.filtering.filters import Filter
from tables.magnitudes.derived import (
    asked_column,
    asked_columns,
    given_columns,
    holding_columns,
    size_column,
    size_columns,
)
from tables.magnitudes.variables import largest_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckm.config.job.job import Job
    from ckm.engine.request import TableRequest
    from footing.arrays import Codes, Flags, Floats, Integers
    from footing.progress import Progress
    from tables import Cells, Request
    from tables.cells.sketch import Sketch
    from tables.source.source import Source

    Groups = tuple[Flags, tuple[Codes, ...]]

logger = logging.getLogger(__name__)

_KEPT_LARGEST = 2
#: Not secret: keys made with it stay inside, where true numbers are.
_COMMON_SECRET = b"keys of releases without a ledger"
_MAX_GROUPS = 2_000_000
#: Groups of records that are cells of their own, which nobody sees.
_MAX_FINEST = 2_000


class Finest(NamedTuple):
    """A cell for each group of records, which nobody sees; disclosive."""

    cells: Cells
    #: as `Originals.groups` gives them, those of these cells last
    groups: list[Groups]
    #: variable → numbers of holdings, of these cells, and what each gave to each
    held: dict[str, tuple[Integers, Integers, Floats]]


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
        The identifiers; what is made of them goes nowhere, but into a ledger.
    sketch
        The width of the sketches of cells, for a ledger; 0 for none.
    equations
        Which variables belong together.
    implied
        Table → the variables whose sums it does not show and its others tell.
    """

    job: Job
    source: Source
    requests: Mapping[str, Request]
    keys: HashedKeys | StoredKeys
    sketch: int = 0
    equations: tuple[Equation, ...] = ()
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def cells(self, *, progress: Progress | None = None) -> dict[str, Cells]:
        """Tabulate; what comes out is disclosive and stays inside."""
        report_progress = progress or no_progress
        report_progress("keys", 0, 1)
        self.require_some()
        check_keys(self.source, self.keys, action=self.job.checks)
        report_progress("keys", 1, 1)
        tables = cube(
            self.source,
            self.keys,
            list(self.requests.values()),
            tolerate_missing_keys=self.job.checks == "warn",
            sketch=self.sketch,
            progress=lambda share: report_progress("scan", int(100 * share), 100),
        )
        report_progress("scan", 100, 100)
        self._require_whole_contributors()
        own_cells = self._by_holding(list(self.requests.values()), tables)
        if self.job.suppression is not None and self.job.suppression.zero_cost is not None:
            own_cells = list(map(_with_empty, own_cells))
        return dict(zip(self.requests, own_cells, strict=True))

    def known(self, requests: Mapping[str, TableRequest]) -> dict[str, TableRequest]:
        """Return tables with the sums that readers can work out from others of the table."""
        return {
            name: replace(
                request,
                measures=(
                    *request.measures,
                    *(f"sum:{variable}" for variable in self.implied.get(name, ())),
                ),
            )
            for name, request in requests.items()
        }

    @property
    def key_identity(self) -> str:
        """What keys depend on: those of two releases are compared where it is the same."""
        if isinstance(self.keys, HashedKeys):
            return f"{self.keys.version} {self.keys.secret.derive('release patterns').hex()}"
        return f"stored {self.keys.column}"

    @property
    def missing_label(self) -> str:
        """What missing values are called in the files."""
        return self.job.output.missing_label

    def require_some(self) -> None:
        """Refuse data without a record, unless the job expects them."""
        if not self.job.data.allow_empty:
            self.source.require_some()

    def _require_whole_contributors(self) -> None:
        """Refuse weights below 1 of amounts, wherever they are."""
        weight = self.job.data.weight
        if weight is None or not self.job.summed or self.source.cells is not None:
            return
        number = self.source.number_sql(weight)
        is_low = f"{number} > 0 AND {number} < 1"
        if self.source.fetch(f"SELECT 1 FROM {self.source.relation} WHERE {is_low} LIMIT 1"):  # noqa: S608
            raise ConfigError(
                Message(
                    "Some weights {weight!r} are below 1, and suppression of amounts needs "
                    "weights of 1 or more: a contributor stands for himself.",
                    weight=Name(weight),
                ),
                hint=Message("raise lower weights to 1, or leave the weight out"),
            )

    def _by_holding(self, requests: Sequence[Request], tables: Sequence[Cells]) -> list[Cells]:
        """Count holdings as contributors, where records or rows of cells have one."""
        if self.source.cells is not None and self.source.cells.shared:
            pairs = zip(requests, tables, strict=True)
            return [self._with_own_contributors(*each) for each in pairs]
        if HOLDING not in self.source.columns:
            return list(tables)
        places = [n for n, request in enumerate(requests) if request.sums]
        again = [request_by_holding(requests[n]) for n in places]
        tolerate = self.job.checks == "warn"
        apart = cube(self.source, self.keys, again, tolerate_missing_keys=tolerate)
        by_place = {
            n: with_holdings(tables[n], own) for n, own in zip(places, apart, strict=True)
        }
        return [by_place.get(n, cells) for n, cells in enumerate(tables)]

    def _with_own_contributors(self, request: Request, cells: Cells) -> Cells:
        """Take contributors as the rows of a table of cells have them, also those of totals."""
        rows, amounts = self.source.cells, dict(cells.magnitudes or {})
        if rows is None:
            return cells
        shared = [name for name in amounts if name in rows.shared]
        if shared and request.where is not None:
            raise ConfigError(
                Message(
                    "A table of {variable!r} has a filter, and the rows of the table of cells "
                    "tell the holdings of all cells alone.",
                    variable=Name(shared[0]),
                ),
                hint=Message("remove where, or give cells of what it keeps"),
            )
        for name in shared:
            own, top = amounts[name], amounts[name].top.shape[1]
            number, largest = rows.contributors(self.source, cells, name, top=top)
            amounts[name] = replace(
                own,
                contributors=number,
                top=largest,
                top_weight=(largest != 0).astype(np.float64),
            )
        return replace(cells, magnitudes=amounts or None)

    def groups(self) -> list[Groups]:
        """Find the groups that cells are made of; a table with all its margins has none."""
        requests = list(self.requests.values())
        if len(requests) == 1 and requests[0].margins == "all":
            return []
        return self.groups_and_sizes()[0]

    def groups_and_sizes(self) -> tuple[list[Groups], Integers]:
        """Find the groups of records that cells of all tables are made of, and their sizes."""
        requests = list(self.requests.values())
        groups = record_groups_and_sizes(self.source, requests, most=_MAX_GROUPS)
        if groups is None:
            names = " and ".join(map(repr, self.requests))
            raise CheckFailedError(
                Message(
                    "How the tables {names} are linked cannot be settled: their columns and "
                    "filters tell more than {max_groups:,} groups of records apart.",
                    names=Name(names),
                    max_groups=_MAX_GROUPS,
                ),
                hint=Message("release fewer tables together, or tables of fewer categories"),
            )
        return groups

    def finest(self) -> Finest | None:
        """Tabulate what is linked by all its columns; None where groups are too many."""
        requests, by_holding = list(self.requests.values()), HOLDING in self.source.columns
        filtered = [r.where.columns for r in requests if isinstance(r.where, Filter)]
        columns = dict.fromkeys(itertools.chain(*(r.columns for r in requests), *filtered))
        if len(requests) == 1 and not by_holding:
            return None
        request = replace(
            requests[0],
            dimensions=list(columns),
            discrete=list(columns),
            hierarchies={},
            categories={},
            margins="none",
            where=None,
            weight=next((r.weight for r in requests if r.weight is not None), None),
            sums=[*dict.fromkeys(name for r in requests for name in r.sums)],
            top=max(r.top for r in requests),
            missing_values="skip",
        )
        groups = record_groups(self.source, [*requests, request], most=_MAX_FINEST)
        if groups is None:
            logger.warning(
                "%s",
                Message(
                    "The columns and filters of all tables distinguish more than {number} "
                    "groups of records. There is no protection against readers who know "
                    "which of them are empty, or are in several tables. Release fewer "
                    "tables together, or tables of fewer categories.",
                    number=_MAX_FINEST,
                ),
                extra={"event": "groups left out"},
            )
            return None
        if not groups[0][0].size:
            return None
        tolerate, holdings = self.job.checks == "warn", {}
        cube_requests = [request, request_by_holding(request)] if by_holding else [request]
        cells, *apart = cube(
            self.source, self.keys, cube_requests, tolerate_missing_keys=tolerate
        )
        if apart and request.sums:
            cells, holdings = with_holdings(cells, *apart), held_by_cell(cells, *apart)
        places = np.concatenate([np.stack(cells.ranks), np.stack(groups.pop()[1])], axis=1)
        number = np.unique(places, axis=1, return_inverse=True)[1].ravel()
        own = np.full(len(number), -1, np.int32)  # there is none without a key
        own[number[: len(cells)]] = np.arange(len(cells))
        place = own[number[len(cells) :]]
        return Finest(cells, [*groups, (place >= 0, (place,))], holdings)

    def whole(self) -> list[tuple[str, Cells]]:
        """Tabulate the margins between cells, shown by no table; inside use only."""
        tolerate = self.job.checks == "warn"
        coarser = {n: _wider(n, r) for n, r in self.requests.items() if r.margins != "all"}
        if not coarser:
            return []
        requests = list(coarser.values())
        cells = cube(self.source, self.keys, requests, tolerate_missing_keys=tolerate)
        return list(zip(coarser, self._by_holding(requests, cells), strict=True))


@contextlib.contextmanager
def open_originals(
    job: Job,
    *,
    secret: Secret | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Originals]:
    """Open the records of a job for the time of a block, and check that its tables fit.

    No number depends on the secret; a ledger compares records by keys that are made with it.
    """
    data = job.data if job.data.is_distributed else job.data.local
    cells = None
    if data.cells is not None:
        cells = given_cells(
            data.cells,
            count=data.count,
            cell_key=data.cell_key,
            key_range=data.key_range,
            hierarchies=job.hierarchies,
            labels=(job.output.total_label, job.output.missing_label),
            shared=[name for name, amount in data.amounts.items() if amount.holdings],
        )
    source = open_records(
        data.place,
        engine=data.engine,
        master=data.master,
        settings=data.spark_settings,
        table=data.table,
        options=data.read_options,
        cells=cells,
        columns=functools.partial(_further_columns, job),
        variables=job.derived,
        memory_limit=memory_limit,
        threads=threads,
    )
    with source:
        keys: HashedKeys | StoredKeys
        if cells is not None:
            keys = cells.keys
        elif data.id is not None:
            # No number depends on these keys: they show records that are there twice, and that
            # two releases are of the same records.
            keys = HashedKeys(
                column=data.id,
                secret=secret or Secret(_COMMON_SECRET),
                version=job.keys.version,
            )
        else:
            keys = StoredKeys(column=str(data.record_key), key_range=data.key_range)
        source.require(keys.column)
        equations = _equations(job, source)
        implied = implied_sums(equations, job.tables)
        requests = _requests(job, source, keys, implied)
        yield Originals(
            job=job,
            source=source,
            requests=requests,
            keys=keys,
            equations=equations,
            implied=implied,
        )


def _equations(job: Job, source: Source) -> tuple[Equation, ...]:
    """Find which variables belong together, where cells of them are to be hidden."""
    if job.suppression is None or not job.summed:
        return ()
    if job.data.engine == "spark":
        return tuple(Equation.stated(job.suppression.settings.links))
    return known_equations(source, job.summed, job.suppression.settings.links)


def _further_columns(job: Job, source: Source) -> dict[str, str]:
    """Return the columns that are made of others, by their SQL."""
    rules, columns = job.suppression, dict[str, str]()
    for variable, amount in job.data.amounts.items():
        columns |= given_columns(
            source, variable, n=amount.n, largest=amount.largest, asked=amount.asked
        )
    if rules is None:
        return columns
    for variable in job.signed:
        columns |= size_columns(source, variable)
    if rules.request is not None and rules.request.column is not None:
        stated = [e.variables for e in Equation.stated(rules.settings.links)]
        for variable in dict.fromkeys([*job.summed, *itertools.chain(*stated)]):
            columns |= asked_columns(source, variable, rules.request.column)
    if rules.holding is not None:
        columns |= holding_columns(HOLDING, rules.holding, key=job.data.id)
    return columns


def _requests(
    job: Job,
    source: Source,
    keys: HashedKeys | StoredKeys,
    implied: Mapping[str, tuple[str, ...]],
) -> dict[str, Request]:
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
    requests = {
        n: replace(r, sums=(*r.sums, *implied[n])) if n in implied else r
        for n, r in fitter.fit(job.tables).items()
    }
    if job.suppression is not None and job.suppression.request is not None:
        requests = {
            n: replace(r, sums=_with_asked(r.sums, source)) for n, r in requests.items()
        }
    costs = None if job.suppression is None else cost_variable(job.suppression.costs)
    if costs is not None:  # whether or not a table shows it
        source.require(costs)
        requests = {
            n: r if costs in r.sums else replace(r, sums=(*r.sums, costs))
            for n, r in requests.items()
        }
    shadows = {} if job.suppression is None else job.suppression.shadow
    for variable, shadow in shadows.items():  # whether or not a table shows it
        source.require(shadow)
        requests = {
            n: replace(r, sums=(*r.sums, shadow))
            if variable in r.sums and shadow not in r.sums
            else r
            for n, r in requests.items()
        }
    sizes = {name: size_column(name) for name in job.signed if job.suppression is not None}
    if sizes:
        requests = {
            n: replace(r, sums=(*r.sums, *(sizes[v] for v in r.sums if v in sizes)))
            for n, r in requests.items()
        }
    if source.cells is not None:  # rules that read more of them refuse
        own = [v for t in job.tables.values() for v in t.variables]
        widths = [len(largest_columns(source, v)) for v in own]
        top = min(top, *widths, top)
    return {
        name: replace(request, top=top) if request.sums else request
        for name, request in requests.items()
    }


def _with_asked(sums: Sequence[str], source: Source) -> tuple[str, ...]:
    """Add what those contribute who asked."""
    for variable in sums:
        source.require(asked_column(variable))
    return (*sums, *map(asked_column, sums))


def _with_empty(cells: Cells) -> Cells:
    """Add the empty cells of a table, which may be hidden like others."""
    places = {"place": np.arange(1, len(cells) + 1)}
    ranks, numbers = rows_of(cells, cells.count, places, "grid")
    place = numbers["place"] - 1

    def spread(part: Any) -> dict[str, Any]:
        values = {f.name: getattr(part, f.name) for f in fields(part)}
        arrays = {n: v[place] for n, v in values.items() if isinstance(v, np.ndarray)}
        for array in arrays.values():
            array[place < 0] = 0
        return arrays

    amounts = {n: replace(m, **spread(m)) for n, m in (cells.magnitudes or {}).items()}
    sketch = None if cells.sketch is None else _spread_sketch(cells.sketch, place)
    return replace(
        cells, **spread(cells), ranks=tuple(ranks), magnitudes=amounts, sketch=sketch
    )


def _spread_sketch(sketch: Sketch, place: Integers) -> Sketch:
    """Give empty cells, whose place is -1, the sketch of no record."""
    there = np.flatnonzero(place >= 0)
    own_sketch = sketch.take(place[there])
    partitions = np.zeros((len(place), own_sketch.partitions.shape[1]), np.uint64)
    power_sums = np.zeros((len(place), own_sketch.power_sums.shape[1]), np.int64)
    partitions[there], power_sums[there] = own_sketch.partitions, own_sketch.power_sums
    return replace(
        own_sketch,
        partitions=partitions,
        power_sums=power_sums,
        member_cell=there[own_sketch.member_cell],
    )


def _wider(name: str, request: Request) -> Request:
    try:
        return replace(request, margins="all")
    except RequestError as error:
        raise ConfigError(
            Message(
                "Table {name!r}: suppression has to look at all margins, also those not "
                "shown. {problem}",
                name=Name(name),
                problem=said(error.problem),
            ),
            hint=Message("ask for fewer dimensions"),
        ) from None
