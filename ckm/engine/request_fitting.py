"""Table requests, fitted to the records of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.engine.inputs import as_hierarchy, find_categories
from ckm.errors import ConfigError
from footing.messages import Argument, Message, Name
from tables import Request, RequestError
from tables.cells.continuous import is_amount
from tables.filtering.filters import Filter
from tables.recoding.derive import root_of
from tables.request import of_table, require_fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckm.engine.magnitudes.settings import VariableNoises
    from ckm.engine.request import TableRequest
    from tables import HashedKeys, Hierarchy, StoredKeys
    from tables.source.source import Source

_LOOKED_AT = 2  # reports tell what the second largest contributor finds out


class RequestFitter:
    """Turn table requests into requests of cells, for one source of records.

    Parameters
    ----------
    source
        The records.
    keys
        Where record keys come from; their column tells persons apart.
    noises
        Variable → how its sums are perturbed; None where they are not.
    weight
        The column of weights, or None.
    hierarchies, categories
        Dimension → its hierarchy, its declared categories, as `Engine` takes them.
    labels
        What totals and missing categories are called.
    """

    def __init__(
        self,
        source: Source,
        keys: HashedKeys | StoredKeys,
        *,
        noises: VariableNoises | None,
        weight: str | None,
        hierarchies: Mapping[str, object],
        categories: Mapping[str, object],
        labels: tuple[str, str],
    ) -> None:
        self._source, self._keys = source, keys
        self._noises, self._weight, self._labels = noises, weight, labels
        self._hierarchies = {n: as_hierarchy(n, value) for n, value in hierarchies.items()}
        self._categories = {
            n: find_categories(n, value, nested=self._hierarchies.get(n))
            for n, value in categories.items()
        }
        self._discrete = tuple(_codes(source, self._hierarchies.values()))

    def allow_continuous(self, columns: Iterable[str]) -> None:
        """Take columns for categories that somebody allowed as they are."""
        self._discrete = (*self._discrete, *columns)

    def fit(self, requests: Mapping[str, TableRequest]) -> dict[str, Request]:
        """Build the requests; raise one error with the problems of all of them."""
        cell_requests, errors = {}, []
        for name, request in requests.items():
            try:
                cell_requests[name] = self._build(request)
                require_fit([cell_requests[name]], self._source)
            except (RequestError, ConfigError) as error:
                errors.append(of_table(name, error) if name else error)
        raise_together(errors)
        return cell_requests

    def _build(self, request: TableRequest) -> Request:
        is_weighted = "weighted" in request.measures
        sums = request.variables
        noises = self._noises
        looked_at = [] if noises is None else [noises[name].n_top for name in sums]
        if is_weighted and self._weight is None:
            raise ConfigError(
                Message("The measure 'weighted' needs a weight."),
                hint=Message('name its column: weight = "w"'),
            )
        if request.quantiles and self._weight is not None:
            raise ConfigError(
                Message(
                    "The measure {next!r} would be one of records, and the data have the "
                    "weight {weight!r}: there are no weighted quantiles.",
                    next=Argument(next(iter(request.quantiles))),
                    weight=Argument(self._weight),
                ),
                hint=Message(
                    "publish them in a job without a weight, and say that they are unweighted"
                ),
            )
        cell_request = Request(
            dimensions=request.dimensions,
            hierarchies=self._hierarchies,
            margins=request.margins,
            where=request.where,
            weight=self._weight if is_weighted or sums else None,
            sums=sums,
            top=max((_LOOKED_AT, *looked_at)) if sums else 0,
            ordered=tuple(dict.fromkeys(column for column, _ in request.quantiles.values())),
            missing_values=request.missing_values,
            categories=self._categories,
            total_label=self._labels[0],
            missing_label=self._labels[1],
            discrete=self._discrete,
        )
        self._require_groups(cell_request)
        return cell_request

    def _require_groups(self, cell_request: Request) -> None:
        """Refuse the column that tells persons apart, and sums of a dimension."""
        identity = self._keys.column
        filtered = cell_request.where.columns if isinstance(cell_request.where, Filter) else ()
        used = {*cell_request.columns, *filtered, *cell_request.sums, *cell_request.ordered}
        if identity in {root_of(self._source, name) for name in used}:
            raise RequestError(
                Message(
                    "Column {identity!r} tells persons apart: it is no dimension, no filter "
                    "and no variable.",
                    identity=Argument(identity),
                ),
                hint=Message("ask for groups of people"),
            )
        own = [name for name in cell_request.sums if name in cell_request.columns]
        if own:
            raise RequestError(
                Message(
                    "Column {own!r} is a dimension of the table: in each of its cells all "
                    "amounts are the same, and their sum would give the number of records "
                    "away.",
                    own=Name(own[0]),
                ),
                hint=Message("sum another variable, or leave the dimension out"),
            )


def table_measures(tables: Mapping[str, TableRequest]) -> list[tuple[str, str]]:
    """Return the measures of all tables, each behind the name of its table."""
    return [(name, measure) for name, request in tables.items() for measure in request.measures]


def raise_together(errors: Sequence[RequestError | ConfigError]) -> None:
    """Raise the one error of several tables that has all their problems; none for none."""
    if len(errors) > 1:
        heading = Message("{number} tables have problems:", number=len(errors))
        raise RequestError.of_several(heading, errors)
    if errors:
        raise errors[0]


def _codes(source: Source, hierarchies: Iterable[Hierarchy]) -> Iterator[str]:
    """Return the columns of hierarchies that hold codes, not amounts or dates."""
    for nested in hierarchies:
        for column in nested_columns([nested]):
            if column not in source.kinds or not is_amount(source, column, nested):
                yield column


def nested_columns(hierarchies: Iterable[Hierarchy]) -> Iterator[str]:
    """Return the columns that lie in hierarchies, which one column alone is not."""
    for nested in hierarchies:
        if nested.tree is not None or len(nested.columns) > 1:
            yield from nested.columns
