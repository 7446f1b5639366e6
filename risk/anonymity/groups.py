"""Records as groups: the same quasi-identifiers, the same number."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Argument, Message, Shape
from risk.errors import RiskError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Column:
    """Hold a column as small integers.

    Parameters
    ----------
    codes
        Per record the place of its category.
    categories
        The categories found, in rising order where they have one; None, for missing, last.
    has_order
        Whether the categories but missing are numbers, dates or ordered categories.

    Examples
    --------
    >>> import pandas as pd
    >>> (column,) = columns_of(pd.DataFrame({"sex": ["M", None, "F"]}), ["sex"])
    >>> column.codes, column.categories
    (array([1, 2, 0]), ('F', 'M', None))
    """

    codes: NDArray[np.int64]
    categories: tuple[Any, ...]
    has_order: bool

    def __repr__(self) -> str:
        return f"Column(n_categories={len(self.categories)})"


def as_pandas(frame: Any) -> pd.DataFrame:
    """Turn a data frame, an Arrow table or a mapping of columns into pandas."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        try:
            return pd.DataFrame(dict(frame))
        except ValueError:
            raise RiskError(
                Message("Records need columns of one length each."),
                hint=Message("one value per record"),
            ) from None
    if hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as pa

        result: pd.DataFrame = pa.table(frame).to_pandas()
        return result
    raise RiskError(
        Message("Records cannot be read from {name!r}.", name=Shape(type(frame))),
        hint=Message("give a pandas, polars or Arrow table, or a mapping of columns"),
    )


def columns_of(frame: Any, names: Sequence[str]) -> list[Column]:
    """Read columns; every kind of missing value is one category of its own."""
    import pandas as pd

    table = as_pandas(frame)
    column_names: list[Any] = [[names]] if isinstance(names, str) else list(names)
    odd = [name for name in column_names if not isinstance(name, Hashable)]
    if odd:
        raise RiskError(
            Message(
                "Columns are given by name, in a list where there may be several, not {odd!r}.",
                odd=Argument(odd[0]),
            ),
            hint=Message("for example quasi_identifiers=['age', 'sex'], sensitive='income'"),
        )
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise RiskError(
            Message(
                "Columns {absent} are not in the data; it has {columns}.",
                absent=Argument(absent),
                columns=Argument(list(table.columns)),
            ),
        )
    twice = sorted({str(name) for name in names if list(table.columns).count(name) > 1})
    if twice:
        raise RiskError(
            Message("The data have several columns called {twice}.", twice=Argument(twice))
        )
    if not len(table):
        raise RiskError(Message("There must be at least one record; there is none."))
    return [_column(table[name], pd) for name in names]


def _column(series: Any, pd: Any) -> Column:
    is_categorical = isinstance(series.dtype, pd.CategoricalDtype)
    if is_categorical:
        raw, labels = np.asarray(series.cat.codes, dtype=np.int64), list(series.cat.categories)
        present = np.unique(raw[raw >= 0])
        codes = np.where(raw >= 0, np.searchsorted(present, raw), -1)
        labels = [labels[place] for place in present.tolist()]
        has_order = bool(series.cat.ordered)
    else:
        codes, categories = pd.factorize(series, use_na_sentinel=True)
        labels = list(categories)
        try:
            order = sorted(range(len(labels)), key=labels.__getitem__)
        except TypeError:  # of several kinds: any order that does not depend on the rows
            order = sorted(
                range(len(labels)), key=lambda i: (type(labels[i]).__name__, str(labels[i]))
            )
        place = np.empty(len(labels) + 1, dtype=np.int64)
        place[order], place[-1] = np.arange(len(labels)), -1
        codes, labels = place[codes], [labels[i] for i in order]
        kinds = pd.api.types
        has_order = bool(
            kinds.is_numeric_dtype(series.dtype)
            or kinds.is_datetime64_any_dtype(series.dtype)
            or all(isinstance(label, int | float | np.number) for label in labels)
        )
    codes = codes.astype(np.int64)
    if (codes < 0).any():
        codes[codes < 0] = len(labels)
        labels.append(None)
    return Column(codes=codes, categories=tuple(labels), has_order=has_order)


def group_numbers(
    codes: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give a number to every combination of several columns of codes."""
    import pandas as pd

    combination = codes[0]
    for column in codes[1:]:
        size = int(column.max()) + 1
        if int(combination.max()) >= 2**62 // size:
            combination = pd.factorize(combination)[0]
        combination = combination * size + column
    numbers = np.asarray(pd.factorize(combination)[0], dtype=np.int64)
    first = np.empty(int(numbers.max()) + 1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return numbers, first
