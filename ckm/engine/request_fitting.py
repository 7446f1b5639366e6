"""Table requests, fitted to the records of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from tables import Filter, Request, RequestError, require_fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.engine.magnitudes.variables import VariableNoises
    from ckm.engine.request import TableRequest
    from tables import HashedKeys, Hierarchy, Source, StoredKeys

_LOOKED_AT = 2  # reports tell what the second largest contributor finds out


@dataclass(frozen=True, kw_only=True)
class RequestFitter:
    """Turn table requests into requests of cells, for one source of records.

    Parameters
    ----------
    source
        The records.
    keys
        Where record keys come from; their column tells persons apart.
    noises
        Variable → how its sums are perturbed.
    weight
        The column of weights, or None.
    hierarchies
        Dimension → its hierarchy.
    categories
        Dimension → declared categories.
    labels
        What totals and missing categories are called.
    """

    source: Source
    keys: HashedKeys | StoredKeys
    noises: VariableNoises
    weight: str | None = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    categories: Mapping[str, Sequence[object]] | None = None
    labels: tuple[str, str] = ("Total", "(missing)")

    def fit(self, requests: Mapping[str, TableRequest]) -> dict[str, Request]:
        """Build the requests; raise one error with the problems of all of them."""
        built, errors = {}, []
        for name, request in requests.items():
            prefix = f"table {name!r}: " if name else ""
            try:
                built[name] = self._build(request)
                require_fit([built[name]], self.source)
            except (RequestError, ConfigError) as error:
                errors.append(type(error)(prefix + error.problem, hint=error.hint))
        if len(errors) > 1:
            lines = [str(error).replace("\n", "\n  ") for error in errors]
            raise RequestError("\n  - ".join([f"{len(errors)} tables have problems:", *lines]))
        if errors:
            raise errors[0]
        return built

    def _build(self, request: TableRequest) -> Request:
        is_weighted = "weighted" in request.measures
        sums = request.variables
        if is_weighted and self.weight is None:
            raise ConfigError(
                "The measure 'weighted' needs a weight.", hint='name its column: weight = "w"'
            )
        built = Request(
            dimensions=request.dimensions,
            hierarchies=self.hierarchies or {},
            margins=request.margins,
            where=request.where,
            weight=self.weight if is_weighted or sums else None,
            sums=sums,
            top=max((_LOOKED_AT, *(self.noises[name].n_top for name in sums))) if sums else 0,
            missing_values=request.missing_values,
            categories=self.categories or {},
            total_label=self.labels[0],
            missing_label=self.labels[1],
        )
        self._require_groups(built)
        return built

    def _require_groups(self, built: Request) -> None:
        """Refuse the column that tells persons apart, and sums of a dimension."""
        identity = self.keys.column
        filtered = built.where.columns if isinstance(built.where, Filter) else ()
        if identity in {*built.columns, *filtered, *built.sums}:
            raise RequestError(
                f"Column {identity!r} tells persons apart: it is no dimension, no filter and "
                "no variable.",
                hint="ask for groups of people",
            )
        own = [name for name in built.sums if name in built.columns]
        if own:
            raise RequestError(
                f"Column {own[0]!r} is a dimension of the table: in each of its cells all "
                "amounts are the same, and their sum would give the number of records away.",
                hint="sum another variable, or leave the dimension out",
            )
