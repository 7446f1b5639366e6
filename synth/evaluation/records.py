"""Data frames as numbers: every frame coded by one rule, whatever it holds.

Evaluation reads confidential records. What it gives back follows from them: it stays inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from footing.arrays import Flags, Floats
from footing.messages import Argument, Message, Name
from synth.errors import EvaluationError

_SCHEMA = "ckm-synth-schema"
_HUGE = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a column holds: categories, or numbers.

    Parameters
    ----------
    categories
        The categories in their order; None for numbers. An empty tuple takes them from the
        frames, in the order of their texts.
    low, high
        Declared bounds of numbers; None where there is none.
    is_whole
        Whether the numbers are whole.
    is_date
        Whether the numbers are days, which may be written as text.
    missing
        Numbers or texts that stand for a missing number.

    Examples
    --------
    >>> Kind(categories=("F", "M")).is_category
    True
    """

    categories: tuple[Any, ...] | None = None
    low: float | None = None
    high: float | None = None
    is_whole: bool = False
    is_date: bool = False
    missing: tuple[Any, ...] = ()

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories."""
        return self.categories is not None


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """A frame as numbers: one column each, categories as codes, missing as NaN.

    Parameters
    ----------
    names
        Of the columns.
    kinds
        One per column; categories are listed in the order of their codes.
    values
        Rows by columns.

    Examples
    --------
    >>> import pandas as pd
    >>> (records,) = encode(pd.DataFrame({"sex": ["F", "M", None], "age": [3, 5, 4]}))
    >>> records.values.tolist()
    [[0.0, 3.0], [1.0, 5.0], [nan, 4.0]]
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    values: Floats

    def __repr__(self) -> str:
        return f"Records({len(self.names)} columns)"

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def is_category(self) -> Flags:
        """Whether each column holds categories."""
        return np.array([kind.is_category for kind in self.kinds], dtype=bool)

    def place(self, name: str) -> int:
        """Give the place of a column.

        Examples
        --------
        >>> import pandas as pd
        >>> encode(pd.DataFrame({"sex": ["F"], "age": [3]}))[0].place("age")
        1
        """
        if name not in self.names:
            names = Name.each(self.names[:20])
            raise EvaluationError(
                Message(
                    "Column {name!r} is not in the data; it has {names!r}.",
                    name=Argument(name),
                    names=names,
                )
            )
        return self.names.index(name)

    def take(self, rows: NDArray[Any]) -> Records:
        """Give some of the rows.

        Examples
        --------
        >>> import pandas as pd
        >>> len(encode(pd.DataFrame({"age": [3, 4, 5]}))[0].take(np.array([0, 2])))
        2
        """
        return Records(names=self.names, kinds=self.kinds, values=self.values[rows])

    def some(self, size: int, rng: np.random.Generator) -> Records:
        """Give rows at random; all of them, as they are, where there are no more."""
        if size >= len(self):
            return self
        return self.take(rng.choice(len(self), size=size, replace=False))

    def with_values(self, values: Floats) -> Records:
        """Give other rows under the same columns.

        Examples
        --------
        >>> import pandas as pd
        >>> (records,) = encode(pd.DataFrame({"age": [3, 4, 5]}))
        >>> len(records.with_values(np.zeros((7, 1))))
        7
        """
        return Records(names=self.names, kinds=self.kinds, values=values)


def encode(
    *frames: pd.DataFrame, kinds: Mapping[str, Kind] | None = None
) -> tuple[Records, ...]:
    """Code frames with the same columns as numbers, all by the same rule.

    Parameters
    ----------
    frames
        The first one says which columns count, and in which order.
    kinds
        Name of a column → its kind. Columns that are not named take the kind of their type in
        the first frame.

    Notes
    -----
    A category that no kind declares gets a code of its own behind the declared ones. Infinite
    numbers count as missing. Dates become days.

    Examples
    --------
    >>> import pandas as pd
    >>> real = pd.DataFrame({"sex": ["F", "M"]})
    >>> made = pd.DataFrame({"sex": ["X", "F"]})
    >>> [r.values.ravel().tolist() for r in encode(real, made)]
    [[0.0, 1.0], [2.0, 0.0]]
    """
    if not frames:
        raise EvaluationError(Message("There is nothing to code: give at least one frame."))
    names = _checked_names(frames)
    declared = {**kinds_of(frames[0]), **(kinds or {})}
    unknown = [name for name in kinds or {} if name not in names]
    if unknown:
        raise EvaluationError(
            Message(
                "A kind is declared for {names!r}, which is no column of the data.",
                names=Name(unknown[0]),
            ),
            hint=Message("leave it out, or correct the name"),
        )
    coded = [np.empty((len(frame), len(names))) for frame in frames]
    final_kinds = []
    for place, name in enumerate(names):
        columns = [frame[name] for frame in frames]
        kind, values = _coded(columns, declared[name], name)
        final_kinds.append(kind)
        for target, some in zip(coded, values, strict=True):
            target[:, place] = some
    return tuple(
        Records(names=tuple(names), kinds=tuple(final_kinds), values=values) for values in coded
    )


def kinds_of(frame: pd.DataFrame) -> dict[str, Kind]:
    """Give the kind of each column by its type alone.

    Parameters
    ----------
    frame
        Any frame.

    Examples
    --------
    >>> import pandas as pd
    >>> kinds = kinds_of(pd.DataFrame({"sex": ["F"], "age": [3], "pay": [1.5]}))
    >>> [(k.is_category, k.is_whole) for k in kinds.values()]
    [(True, False), (False, True), (False, False)]
    """
    from pandas.api import types

    kinds = {}
    for name in frame.columns:
        column = frame[name]
        is_number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
        if is_number or types.is_datetime64_any_dtype(column):
            kinds[name] = Kind(is_whole=types.is_integer_dtype(column))
        elif isinstance(column.dtype, types.CategoricalDtype):
            kinds[name] = Kind(categories=tuple(column.cat.categories))
        else:
            kinds[name] = Kind(categories=())
    return kinds


def read_kinds(declared: Mapping[str, Any]) -> dict[str, Kind]:
    """Read kinds from a schema, as its JSON says them.

    Parameters
    ----------
    declared
        Either a schema of this package, or a mapping with ``categories`` (name → list) and
        ``integer_bounds`` (name → lowest and highest).

    Examples
    --------
    >>> kinds = read_kinds({"categories": {"sex": ["F"]}, "integer_bounds": {"age": [0, 9]}})
    >>> kinds["sex"].categories, kinds["age"].high
    (('F',), 9)
    """
    try:
        if declared.get("format") == _SCHEMA:
            return dict(map(_of_column, declared["columns"]))
        kinds = {
            name: Kind(categories=tuple(some))
            for name, some in declared.get("categories", {}).items()
        }
        for name, (low, high) in declared.get("integer_bounds", {}).items():
            kinds[name] = Kind(low=low, high=high, is_whole=True)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EvaluationError(
            Message("The schema must list columns, or categories and integer_bounds."),
            hint=Message("take the file that was given to `ckm synth fit`"),
        ) from error
    return kinds


def _of_column(column: Mapping[str, Any]) -> tuple[str, Kind]:
    """Read one column of a schema."""
    name = str(column["name"])
    missing = tuple(one for one in column.get("missing", {}).values() if one is not None)
    if column["kind"] == "category":
        return name, Kind(categories=(*column.get("values", ()), *missing))
    if column["kind"] == "date":
        return name, Kind(is_date=True, missing=missing)
    low, high = column.get("low"), column.get("high")
    is_number = all(isinstance(bound, (int, float)) for bound in (low, high))
    return name, Kind(
        low=low if is_number else None,
        high=high if is_number else None,
        is_whole=column["kind"] == "whole",
        missing=missing,
    )


def _checked_names(frames: Sequence[pd.DataFrame]) -> list[str]:
    names = list(frames[0].columns)
    if not names:
        raise EvaluationError(Message("The data have no columns."))
    twins = sorted({str(name) for name in names if names.count(name) > 1})
    if twins:
        raise EvaluationError(
            Message("Column {twins!r} stands twice in the data.", twins=Name(twins[0]))
        )
    for frame in frames:
        if not len(frame):
            raise EvaluationError(
                Message("Every frame needs at least one record; one has none.")
            )
        missing = [name for name in names if name not in set(frame.columns)]
        if missing:
            raise EvaluationError(
                Message(
                    "Column {names!r} is missing in one of the frames.", names=Name(missing[0])
                ),
                hint=Message("real and synthetic data must have the same columns"),
            )
    return names


def _coded(columns: Sequence[pd.Series], kind: Kind, name: str) -> tuple[Kind, list[Floats]]:
    if kind.categories is None:
        return kind, [_numbers(column, name, kind) for column in columns]

    # A frame of texts and one of numbers must agree on what they call a category.
    texts = [column.astype(object).where(column.notna(), None) for column in columns]
    labels = [_text(category) for category in kind.categories]
    uniques = {_text(v) for column in texts for v in pd.unique(column) if v is not None}
    order = list(dict.fromkeys([*labels, *sorted(uniques - set(labels))]))
    code = {category: float(place) for place, category in enumerate(order)}
    final_kind = Kind(categories=tuple(order))
    values = []
    for column in texts:
        distinct, where = np.unique(
            np.array(["\x00" if v is None else "v" + _text(v) for v in column], dtype=object),
            return_inverse=True,
        )
        numbers = np.array([code[v[1:]] if v != "\x00" else np.nan for v in distinct])
        values.append(numbers[where])
    return final_kind, values


def _text(category: Any) -> str:
    """Write a category the same way whatever type it came in: 1 and 1.0 are one."""
    if isinstance(category, float) and category.is_integer():
        return str(int(category))
    return str(category)


def _numbers(column: pd.Series, name: str, kind: Kind) -> Floats:
    from pandas.api import types

    if kind.missing:
        codes = {_text(one) for one in kind.missing}
        column = column.astype(object)
        column = column.mask(column.map(_text).isin(codes), None)
    if kind.is_date and not types.is_datetime64_any_dtype(column):
        column = _days(column, name)
    if types.is_datetime64_any_dtype(column):
        days = pd.to_datetime(column, utc=True).to_numpy("datetime64[s]").astype(np.int64)
        return np.where(column.isna(), np.nan, days / 86_400.0)
    try:
        numbers = pd.to_numeric(column).to_numpy(np.float64, na_value=np.nan).copy()
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            Message(
                "Column {name!r} must hold numbers in every frame, and does not in one.",
                name=Name(name),
            ),
            hint=Message("declare it as categories, or convert it"),
        ) from error
    # Numbers whose sums leave the range of floating point are as good as infinite.
    numbers[~(np.abs(numbers) <= _HUGE)] = np.nan
    return numbers


def _days(column: pd.Series, name: str) -> pd.Series:
    try:
        return pd.to_datetime(column.map(str, na_action="ignore"), format="ISO8601", utc=True)
    except (TypeError, ValueError) as error:
        raise EvaluationError(
            Message(
                "Column {name!r} must hold days in every frame, and does not in one.",
                name=Name(name),
            ),
            hint=Message("write them as 2027-01-31"),
        ) from error
