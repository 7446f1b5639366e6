"""What a table holds, as declared before anybody looks at it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dpsgd.errors import PlanError
from footing.messages import Message, Name
from footing.serialisation import plain_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A column of numbers between public bounds; values outside of them are moved to them.

    Parameters
    ----------
    name
        Name of the column.
    low, high
        The bounds, from common knowledge and never from the data.
    cuts
        Public values at which the model may treat the number differently, such as ages of
        majority and retirement. By default they are found in the records of a classifier
        by noisy counts, whose price is part of the plan; ``()`` is for none.
    may_be_missing
        Whether a value may be absent; absence becomes a feature of its own.
    reference
        A usual value, from common knowledge and never from the data, such as 40 for hours of
        work: the number is counted from it, so that usual records have short gradients, and
        less of them is clipped. By default the middle of the bounds.

    Examples
    --------
    >>> Number(name="age", low=0, high=100).high
    100.0
    """

    name: str
    low: float
    high: float
    cuts: tuple[float, ...] | None = None
    may_be_missing: bool = False
    reference: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        low, high = float(self.low), float(self.high)
        if not (0 < (high - low) / 2 < math.inf and math.isfinite(low + high)):
            raise PlanError(
                Message(
                    "The bounds of {name!r} must be finite and rise, not {low:g} to {high:g}.",
                    name=Name(self.name),
                    low=low,
                    high=high,
                ),
                hint=Message("take them from common knowledge, such as 0 to 100 for ages"),
            )
        cuts = tuple(float(cut) for cut in self.cuts or ())
        if list(cuts) != sorted(set(cuts)) or not all(low < cut <= high for cut in cuts):
            raise PlanError(
                Message(
                    "The cuts of {name!r} must rise and lie between {low:g} and {high:g}.",
                    name=Name(self.name),
                    low=low,
                    high=high,
                )
            )
        if self.reference is not None:
            is_number = isinstance(self.reference, int | float)
            if not is_number or not low <= self.reference <= high:
                raise PlanError(
                    Message(
                        "The reference of {name!r} must be a number from {low:g} to {high:g}.",
                        name=Name(self.name),
                        low=low,
                        high=high,
                    ),
                    hint=Message("a usual value, from common knowledge: 40 for hours of work"),
                )
            object.__setattr__(self, "reference", float(self.reference))
        object.__setattr__(self, "cuts", None if self.cuts is None else cuts)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A column of codes from a public list; a code outside of it counts as none of them.

    Parameters
    ----------
    name
        Name of the column.
    values
        The list, from a classification and never from the data.
    may_be_missing
        Whether a value may be absent; absence becomes a feature of its own.
    reference
        The usual value of the list, from common knowledge and never from the data: the others
        are set against it, and it has no feature of its own.

    Examples
    --------
    >>> len(Category(name="sex", values=["female", "male"]).values)
    2
    """

    name: str
    values: tuple[str | int | bool, ...]
    may_be_missing: bool = False
    reference: str | int | bool | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        values = tuple(self.values)
        if len(values) < 2 or len({*map(str, values)}) < len(values):
            raise PlanError(
                Message(
                    "The values of {name!r} must be two or more, each once.",
                    name=Name(self.name),
                ),
                hint=Message("take them from the classification that the survey uses"),
            )
        if not all(isinstance(value, (str, int)) for value in values):
            raise PlanError(
                Message(
                    "The values of {name!r} must be texts or whole numbers.",
                    name=Name(self.name),
                )
            )
        if self.reference is not None and str(self.reference) not in {*map(str, values)}:
            raise PlanError(
                Message(
                    "The reference of {name!r} must be one of its values.",
                    name=Name(self.name),
                ),
                hint=Message("the one that is usual, from common knowledge"),
            )
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns that a model may read, and the one it predicts.

    Parameters
    ----------
    columns
        What the model reads. Other columns of a table are ignored.
    target
        What it predicts: a `Category` for a classifier, a `Number` for a regressor.

    Examples
    --------
    >>> schema = Schema(
    ...     columns=[Number(name="age", low=0, high=100)],
    ...     target=Category(name="income", values=["low", "high"]),
    ... )
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    columns: tuple[Number | Category, ...]
    target: Number | Category

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        names = [column.name for column in (*columns, self.target)]
        if not columns:
            raise PlanError(
                Message("A schema needs a column to learn from."), hint=Message("declare one")
            )
        if len(set(names)) < len(names):
            raise PlanError(
                Message("Each column of a schema is named once, the target among them."),
                hint=Message("leave the target out of the columns"),
            )
        if self.target.reference is not None:
            raise PlanError(
                Message(
                    "The target {target!r} has no reference.", target=Name(self.target.name)
                ),
                hint=Message("columns that the model reads may have one"),
            )
        if self.target.may_be_missing:
            raise PlanError(
                Message(
                    "The target {target!r} must not be missing.", target=Name(self.target.name)
                ),
                hint=Message("leave records without it out before training, whatever they say"),
            )
        object.__setattr__(self, "columns", columns)

    @property
    def uncut(self) -> tuple[Number, ...]:
        """The columns whose cuts are found in the records; none where a number is predicted."""
        if isinstance(self.target, Number):  # cuts cost a regressor more than they bring
            return ()
        return tuple(c for c in self.columns if isinstance(c, Number) and c.cuts is None)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, for JSON.

        Examples
        --------
        >>> age = Number(name="age", low=0, high=100)
        >>> pay = Number(name="pay", low=0, high=9)
        >>> Schema(columns=[age], target=pay).to_dict()["target"]["name"]
        'pay'
        """
        columns = [_entries(column) for column in self.columns]
        return {"columns": columns, "target": _entries(self.target)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the schema that `to_dict` wrote.

        Parameters
        ----------
        content
            The plain values.
        """
        try:
            columns = tuple(_column(entry) for entry in content["columns"])
            return cls(columns=columns, target=_column(content["target"]))
        except (KeyError, TypeError) as error:
            raise PlanError(Message("The schema of the plan cannot be read.")) from error


def _entries(column: Number | Category) -> dict[str, Any]:
    """Return the fields of a column; a plan without references has the text it always had."""
    entries = plain_fields(column)
    if column.reference is None:
        del entries["reference"]
    return entries


def _column(content: Mapping[str, Any]) -> Number | Category:
    return Category(**content) if "values" in content else Number(**content)


def _check_name(name: str) -> None:
    if not name.strip() or not name.isprintable():
        raise PlanError(
            Message("A column needs a printable name, not {name!r}.", name=Name(name))
        )
