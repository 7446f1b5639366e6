"""What is public before anything is measured: rules, published tables, what matters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from footing.arrays import Columns, Flags, Floats, Integers
from footing.messages import Argument, Message, Name
from synth.errors import SynthError
from synth.frames import to_records
from synth.schema.coding import encode_column
from synth.schema.schema import Schema

_MAX_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rule:
    """Combinations of codes that no record has, and none shall have.

    Parameters
    ----------
    columns
        Their columns, ascending.
    forbidden
        A truth value for each combination, one axis a column.

    Examples
    --------
    A child is not married:

    >>> rule = Rule(columns=(0, 1), forbidden=np.array([[False, True], [False, False]]))
    >>> int(rule.forbidden.sum())
    1
    """

    columns: Columns
    forbidden: Flags

    def __post_init__(self) -> None:
        _check_columns(self.columns, np.ndim(self.forbidden))
        object.__setattr__(self, "forbidden", np.asarray(self.forbidden, bool))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Published:
    """A table that is public already. To use it costs nothing.

    Parameters
    ----------
    columns
        Its columns, ascending.
    counts
        Its counts, one axis a column.
    deviation
        Standard deviation of the noise that it was published with, 0 for none.

    Examples
    --------
    >>> Published(columns=(2,), counts=np.array([10, 20])).deviation
    0.0
    """

    columns: Columns
    counts: Floats
    deviation: float = 0.0

    def __post_init__(self) -> None:
        _check_columns(self.columns, np.ndim(self.counts))
        counts = np.asarray(self.counts, np.float64)
        if not np.isfinite(counts).all() or not 0 <= self.deviation < np.inf:
            raise SynthError(
                Message("A published table has finite counts and a finite deviation.")
            )
        object.__setattr__(self, "counts", counts)


def patterns_of(column: int, *, size: int, rules: Sequence[Rule]) -> Integers:
    """Return equal numbers for codes that all rules treat alike."""
    kinds = np.zeros(size, np.int64)
    for rule in rules:
        if column in rule.columns:
            axis = rule.columns.index(column)
            rows = np.moveaxis(rule.forbidden, axis, 0).reshape(size, -1)
            _, kind = np.unique(rows, axis=0, return_inverse=True)
            _, kinds = np.unique(kinds * size + kind.ravel(), return_inverse=True)
    return kinds


def coarse_table(table: Floats, groups: Sequence[Integers]) -> Floats:
    """Sum a table over the groups of each axis."""
    for axis, group in enumerate(groups):
        front = np.moveaxis(table, axis, 0)
        summed = np.zeros((int(group.max()) + 1, *front.shape[1:]))
        np.add.at(summed, group, front)
        table = np.moveaxis(summed, 0, axis)
    return table


def workload_weights(
    columns: int, *, workload: Mapping[Columns, float] | None = None, label: int | None = None
) -> dict[Columns, float]:
    """Return the weight of each table that the model should get right."""
    if workload is None:
        pairs = combinations(range(columns), 2)
        return {pair: 2.0 if label in pair else 1.0 for pair in pairs}
    weights: dict[Columns, float] = {}
    for names, weight in workload.items():
        one = tuple(sorted(set(names)))
        if len(one) < 2 or not 0 <= one[0] <= one[-1] < columns or not 0 < weight < 1e6:
            raise SynthError(
                Message(
                    "A table of the workload has 2 or more of the columns 0 to {columns} and a "
                    "positive weight, not {value} with {weight:g}.",
                    columns=columns - 1,
                    value=Argument(names),
                    weight=weight,
                ),
            )
        for part in dict.fromkeys([one, *combinations(one, 2)]):
            weights[part] = weights.get(part, 0.0) + float(weight)
    return weights


def _check_columns(columns: Columns, axes: int) -> None:
    if len(columns) != axes or list(columns) != sorted(set(columns)) or not columns:
        raise SynthError(
            Message(
                "Columns are ascending, one for each axis of the table; {columns} has "
                "{axes} axes.",
                columns=Argument(columns),
                axes=axes,
            )
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prior:
    """A published table of counts.

    Using it costs nothing, because it is public; what its publication gave away is not part
    of the guarantee.

    Parameters
    ----------
    table
        A frame with a column for each dimension and one with counts. Finer values are summed
        into the cells of the schema; combinations that are not in it count zero.
    count
        The name of the column with counts.
    deviation
        Standard deviation of the noise it was published with.
    source
        Where it was published, for the certificate.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Category, Schema
    >>> schema = Schema(columns=[Category(name="sex", values=["F", "M"])])
    >>> table = pd.DataFrame({"sex": ["M", "F"], "count": [40, 60]})
    >>> Prior(table=table, source="yearbook 2026").published(schema).counts
    array([60., 40.])
    """

    table: Any
    count: str = "count"
    deviation: float = 0.0
    source: str = ""

    def published(self, schema: Schema) -> Published:
        """Return the table on the codes of a schema.

        Parameters
        ----------
        schema
            A schema whose domains are declared.
        """
        frame, _ = to_records(self.table)
        names = [str(name) for name in frame.columns if name != self.count]
        if self.count not in frame.columns or not names:
            raise SynthError(
                Message(
                    "A published table has dimensions and a column {count!r}.",
                    count=Name(self.count),
                ),
                hint=Message("name the column with counts: Prior(count=…)"),
            )
        unknown = sorted({*names} - {*schema.names})
        if unknown:
            raise SynthError(
                Message(
                    "Dimensions of a published table are not declared: {names}.",
                    names=Argument(unknown),
                )
            )
        names.sort(key=schema.names.index)
        counts = frame[self.count].to_numpy(np.float64, na_value=np.nan)
        if not np.isfinite(counts).all():
            raise SynthError(Message("A published table has a count that is no number."))
        shape = tuple(schema.column(name).size for name in names)
        if np.prod(shape, dtype=float) > _MAX_CELLS:
            raise SynthError(
                Message(
                    "A published table has {max_cells} cells at most.", max_cells=_MAX_CELLS
                )
            )
        cells = tuple(encode_column(frame[name], schema.column(name)) for name in names)
        table = np.zeros(shape)
        np.add.at(table, cells, counts)
        columns = tuple(schema.names.index(name) for name in names)
        return Published(columns=columns, counts=table, deviation=self.deviation)

    def to_dict(self) -> dict[str, Any]:
        """Return what the certificate says of it.

        Examples
        --------
        >>> import pandas as pd
        >>> Prior(table=pd.DataFrame({"sex": ["M"], "count": [40]})).to_dict()["columns"]
        ['sex']
        """
        frame, _ = to_records(self.table)
        names = [str(name) for name in frame.columns if name != self.count]
        return {"columns": names, "deviation": self.deviation, "source": self.source}
