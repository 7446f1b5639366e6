"""What is declared of a column: its values or bounds, its bins, its kinds of missing."""

import datetime as dt
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar

from footing.messages import Message, Name, said
from synth.errors import SchemaError, UndeclaredError
from synth.schema.grid import LAWS, Grid

#: What a category or a code for missing can be; None is null.
Plain = str | int | bool | None
#: In `declared_by` of what was found, for a price, and of bins.
FOUND = "found in the records, at a price"
BINS_FOUND = f"bins {FOUND}"
_LARGEST = 2**53
_EPOCH = dt.date(1970, 1, 1)
_SINGLE = 256
_BINS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What all kinds of columns have in common; declare one of them.

    Parameters
    ----------
    name
        Its name.
    missing
        How each kind of missing is written, ``{"refused": -8, "unknown": None}``; None is
        null.
    declared_by
        Who says so, from what: a name and a code book, for the certificate.

    Examples
    --------
    >>> issubclass(Category, Column)
    True
    """

    kind: ClassVar[str] = ""

    name: str
    missing: Mapping[str, Plain] = field(default_factory=dict)
    declared_by: str = ""

    def __post_init__(self) -> None:
        if not is_text(self.name) or not self.name.strip():
            raise SchemaError(Message("A column has a name, and it is text."))
        if not is_text(self.declared_by):
            raise SchemaError(Message("declared_by is text."))
        _check_missing(self.missing)
        object.__setattr__(self, "missing", dict(self.missing))

    @property
    def is_declared(self) -> bool:
        """Whether the domain is known without a look at the records."""
        raise NotImplementedError

    @property
    def domain_size(self) -> int:
        """How many codes there are, missing aside."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many codes there are: those of the domain, then the kinds of missing."""
        return self.domain_size + len(self.missing)

    @property
    def is_ranked(self) -> bool:
        """Whether neighbouring codes are alike."""
        raise NotImplementedError

    @property
    def has_null(self) -> bool:
        """Whether a kind of missing is written as null."""
        return any(mark is None for mark in self.missing.values())

    def labels(self) -> list[str]:
        """Return a name for each code.

        Examples
        --------
        >>> Whole(name="age", low=0, high=3, bins=2, missing={"refused": -8}).labels()
        ['0 to 1', '2 to 3', 'refused']
        """
        return [*self._labels(), *self.missing]

    def _labels(self) -> list[str]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Category(Column):
    """One of some declared values.

    Parameters
    ----------
    values
        The values; None where nobody declared them yet.
    other
        The declared value that stands for every value that is not declared; without it such
        a value is refused.
    is_ordered
        Whether the values come in an order.
    is_case_sensitive
        Whether values that differ by capitals alone are two.

    Examples
    --------
    >>> Category(name="sex", values=("F", "M"), missing={"unknown": None}).size
    3
    >>> Category(name="sex").is_declared
    False
    """

    kind: ClassVar[str] = "category"

    values: tuple[Plain, ...] | None = None
    other: Plain = None
    is_ordered: bool = False
    is_case_sensitive: bool = False

    def __post_init__(self) -> None:
        Column.__post_init__(self)
        for name in ("is_ordered", "is_case_sensitive"):
            if getattr(self, name) not in {False, True}:
                raise SchemaError(Message("{name} is true or false.", name=Name(name)))
        if self.values is None:
            return
        if not _is_list(self.values) or not self.values:
            raise SchemaError(Message("values is a list of at least one value."))
        object.__setattr__(self, "values", tuple(self.values))
        keys = _unlike([*self.values, *self.missing.values()])
        _check_whole(self.values)
        if {("text", str(value)) for kind, value in keys if kind != "text"} & {*keys}:
            raise SchemaError(
                Message(
                    "A value, or a code for missing, is declared as a number and as its text; "
                    "no file tells the two apart."
                ),
                hint=Message("declare both as texts, or one of them only"),
            )
        if any(value is None or not _is_plain(value) for value in self.values):
            raise SchemaError(
                Message("values are texts, whole numbers or truth values."),
                hint=Message("declare null as a kind of missing: {'unknown': None}"),
            )
        if self.other is not None and (
            not _is_plain(self.other) or key_of(self.other) not in keys[: len(self.values)]
        ):
            raise SchemaError(
                Message("other is not one of the declared values."),
                hint=Message("add it to them"),
            )

    @property
    def is_declared(self) -> bool:
        """Whether the values are known without a look at the records."""
        return self.values is not None

    @property
    def domain_size(self) -> int:
        """How many values there are."""
        return len(self.known)

    @property
    def known(self) -> tuple[Plain, ...]:
        """The declared values.

        Examples
        --------
        >>> Category(name="sex", values=("F", "M")).known
        ('F', 'M')
        """
        if self.values is None:
            raise _undeclared(self.name, "values")
        return self.values

    @property
    def is_ranked(self) -> bool:
        """Whether the values come in an order."""
        return self.is_ordered

    def alike(self) -> str | None:
        """Return what is wrong where two declared values differ by capitals alone.

        Examples
        --------
        >>> print(Category(name="sex", values=("F", "M", "m")).alike())
        Two values of 'sex' differ by capitals alone.
        """
        texts = [str(value).casefold() for value in self.values or () if is_text(value)]
        if self.is_case_sensitive or len({*texts}) == len(texts):
            return None
        return Message("Two values of {name!r} differ by capitals alone.", name=Name(self.name))

    def _labels(self) -> list[str]:
        return [str(value) for value in self.known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric(Column):
    """What numbers and dates have in common; declare `Whole`, `Real` or `Date`.

    Parameters
    ----------
    bins
        Into how many cells the range is cut; by default as many as there are numbers, if
        these are few.
    edges
        Where a cell begins: in place of bins, or besides.
    points
        Values that many share and that keep a cell of their own: zero, 40 hours.
    spacing
        ``"even"`` bins, or ``"log"``: the wider, the farther from `low`.
    law
        How values are drawn within a cell: ``"fitted"`` from the counts of neighbouring cells,
        and beyond the last that stands out of its noise; ``"uniform"``, ``"middle"``,
        ``"lowest"`` within the cell whatever is around it.
    outside
        What happens to values out of bounds: ``"refuse"``, or ``"clip"`` them to the bounds.

    Examples
    --------
    >>> issubclass(Whole, Numeric)
    True
    """

    bins: int | None = None
    edges: tuple[float | str, ...] = ()
    points: tuple[float | str, ...] = ()
    spacing: str = "even"
    law: str = "fitted"
    outside: str = "refuse"
    low: float | str | None = None
    high: float | str | None = None

    def __post_init__(self) -> None:
        Column.__post_init__(self)
        for name, choices in (
            ("spacing", ("even", "log")),
            ("law", LAWS),
            ("outside", ("refuse", "clip")),
        ):
            if getattr(self, name) not in choices:
                raise SchemaError(
                    Message(
                        "{name} is one of {names}.", name=Name(name), names=Name.each(choices)
                    )
                )
        if self.bins is not None and not (_is_whole(self.bins) and self.bins > 0):
            raise SchemaError(Message("bins is a positive whole number."))
        for name in ("edges", "points"):
            if not _is_list(getattr(self, name)):
                raise SchemaError(Message("{name} is a list.", name=Name(name)))
            object.__setattr__(self, name, tuple(getattr(self, name)))
        _unlike(self.missing.values())
        if self.is_declared:
            self._check_bounds()

    def _check_bounds(self) -> None:
        low, high = self.bounds
        if low > high:
            raise SchemaError(Message("low is above high."))
        marks = [self.number(mark) for mark in (*self.edges, *self.points)]
        if any(not low <= mark <= high for mark in marks):
            raise SchemaError(Message("An edge or a point lies out of bounds."))
        within = [
            kind
            for kind, value in self.missing.items()
            if value is not None and self._may_be(value, low, high)
        ]
        if within:
            raise SchemaError(
                Message(
                    "The code of the missing {within!r} lies within the bounds: they could "
                    "not be distinguished.",
                    within=Name(within[0]),
                ),
                hint=Message("choose other bounds, or another code"),
            )
        self.grid  # noqa: B018 (cut now, so that errors come now)

    def _may_be(self, mark: Plain, low: int, high: int) -> bool:
        try:
            return low <= self.number(mark) <= high
        except SchemaError:
            return False

    @property
    def ends(self) -> tuple[float | str | None, float | str | None]:
        """The bounds as declared."""
        return self.low, self.high

    @property
    def is_uncut(self) -> bool:
        """Whether nothing that is declared says how to cut a wide range."""
        low, high = self.bounds
        return self.bins is None and not self.edges and high - low >= _SINGLE

    @property
    def is_found_wide(self) -> bool:
        """Whether the range is wide and its cells are found in the records, or will be."""
        return self.is_declared and (self.is_uncut or BINS_FOUND in self.declared_by)

    @property
    def is_declared(self) -> bool:
        """Whether the bounds are known without a look at the records."""
        return None not in self.ends

    @property
    def factor(self) -> int:
        """How many numbers of the grid make one of the column."""
        return 1

    def number(self, value: object) -> int:
        """Return the number of the grid that stands for a value.

        Parameters
        ----------
        value
            A value of the column.

        Examples
        --------
        >>> Real(name="wage", low=0, high=10, decimals=2).number(1.25)
        125
        >>> Date(name="born", low="1900-01-01", high="2020-12-31").number("1970-01-02")
        1
        """
        if isinstance(value, (bool, str)) or not isinstance(value, (int, float, Decimal)):
            raise SchemaError(Message("Bounds, edges and points are numbers."))
        if not math.isfinite(value):
            raise SchemaError(Message("Bounds, edges and points are finite."))
        exact = Decimal(repr(value) if isinstance(value, float) else value) * self.factor
        number = int(exact.to_integral_value())
        if abs(number) > _LARGEST or number != exact:
            raise SchemaError(
                Message(
                    "Bounds, edges and points have no more decimals than the column, and 15 "
                    "digits at most."
                )
            )
        return number

    @property
    def bounds(self) -> tuple[int, int]:
        """The bounds on the grid."""
        low, high = self.ends
        if low is None or high is None:
            raise _undeclared(self.name, "bounds")
        return self.number(low), self.number(high)

    @property
    def grid(self) -> Grid:
        """The cells.

        Examples
        --------
        >>> Whole(name="hours", low=0, high=99, bins=2, points=(0, 40)).grid.size
        5
        """
        low, high = self.bounds
        bins = self.bins
        if bins is None and not self.edges:
            bins = _BINS if high - low >= _SINGLE else high - low + 1
        return Grid.of(
            low,
            high,
            bins=bins,
            edges=[self.number(edge) for edge in self.edges],
            points=[self.number(point) for point in self.points],
            spacing=self.spacing,
        )

    @property
    def domain_size(self) -> int:
        """How many cells there are."""
        return self.grid.size

    @property
    def is_ranked(self) -> bool:
        """Numbers come in an order."""
        return True

    def shown(self, number: int) -> str:
        """Return a number of the grid as people write it.

        Parameters
        ----------
        number
            The number.

        Examples
        --------
        >>> Date(name="born", low="1900-01-01", high="2020-12-31").shown(1)
        '1970-01-02'
        """
        return str(number)

    def _labels(self) -> list[str]:
        return [
            self.shown(low) if low == high else f"{self.shown(low)} to {self.shown(high)}"
            for low, high in self.grid.cells()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Numeric):
    """A whole number between bounds.

    Parameters
    ----------
    low, high
        The bounds; None where nobody declared them yet.

    Examples
    --------
    >>> Whole(name="age", low=0, high=120, declared_by="code book").size
    121
    """

    kind: ClassVar[str] = "whole"

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Real(Numeric):
    """A number with decimals between bounds.

    Parameters
    ----------
    low, high
        The bounds; None where nobody declared them yet.
    decimals
        How many decimals it is written with.

    Examples
    --------
    >>> Real(name="wage", low=0, high=1e6, bins=30, points=(0,)).size
    31
    """

    kind: ClassVar[str] = "real"

    low: float | None = None
    high: float | None = None
    decimals: int = 2

    def __post_init__(self) -> None:
        if not (_is_whole(self.decimals) and 0 <= self.decimals <= 9):
            raise SchemaError(Message("decimals is a whole number from 0 to 9."))
        Numeric.__post_init__(self)

    @property
    def factor(self) -> int:
        """How many numbers of the grid make one of the column."""
        return int(10**self.decimals)

    def shown(self, number: int) -> str:
        """Return a number of the grid as people write it.

        Parameters
        ----------
        number
            The number.

        Examples
        --------
        >>> Real(name="wage", low=0, high=10).shown(125)
        '1.25'
        """
        return f"{Decimal(number) / self.factor:.{self.decimals}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Date(Numeric):
    """A day between two days.

    Parameters
    ----------
    low, high
        The first and the last day, as ``"2027-01-31"``; None where nobody declared them yet.

    Examples
    --------
    >>> Date(name="moved", low="2020-01-01", high="2020-12-31", bins=12).size
    12
    """

    kind: ClassVar[str] = "date"

    low: str | None = None
    high: str | None = None

    def number(self, value: object) -> int:
        """Return the day as a number, 0 for the first of January 1970.

        Parameters
        ----------
        value
            A day as ``"2027-01-31"``.

        Examples
        --------
        >>> Date(name="born").number("1970-02-01")
        31
        """
        try:
            return (dt.date.fromisoformat(value) - _EPOCH).days  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SchemaError(
                Message("Bounds, edges and points of dates are days."),
                hint=Message('write "2027-01-31"'),
            ) from None

    def shown(self, number: int) -> str:
        """Return a day as people write it.

        Parameters
        ----------
        number
            The day as a number.

        Examples
        --------
        >>> Date(name="born").shown(31)
        '1970-02-01'
        """
        return (_EPOCH + dt.timedelta(days=number)).isoformat()


def key_of(value: object) -> tuple[str, object]:
    """Return what tells a value from others: ``True`` is not 1, and 1 is not ``"1"``."""
    item = value.item() if hasattr(value, "item") else value
    if isinstance(item, bool):
        return "truth", item
    if isinstance(item, (int, float, Decimal)):
        return ("null", None) if item != item else ("number", item)  # noqa: PLR0124 (NaN)
    if isinstance(item, str):
        return "text", item
    return ("null", None) if item is None else ("unknown", None)


def is_text(value: object) -> bool:
    """Tell whether something is text, whatever its declared type says."""
    return isinstance(value, str)


def colliding(column: Column) -> bool:
    """Tell whether two values differ in the form of their signs or in spaces alone."""
    values = column.values if isinstance(column, Category) else None
    texts = [one for one in (*(values or ()), *column.missing.values()) if is_text(one)]
    forms = {" ".join(unicodedata.normalize("NFC", str(one)).split()) for one in texts}
    return len(forms) < len(texts)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int)) or value is None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _unlike(values: Iterable[Plain]) -> list[tuple[str, object]]:
    keys = [key_of(value) for value in values]
    if len(set(keys)) < len(keys):
        raise SchemaError(Message("A value, or a code for missing, is declared twice."))
    return keys


def _check_missing(missing: object) -> None:
    if not isinstance(missing, dict) or not all(
        isinstance(kind, str) and kind and _is_plain(mark) for kind, mark in missing.items()
    ):
        raise SchemaError(
            Message("missing says how each kind is written, as text, a whole number or null."),
            hint=Message('for example {"refused": -8, "unknown": null}'),
        )
    _check_whole(missing.values())


def _check_whole(values: Iterable[object]) -> None:
    """Refuse numbers that a float may round: one record with a fraction turns all to floats."""
    if any(_is_whole(value) and abs(value) >= _LARGEST for value in values):  # type: ignore[arg-type]
        raise SchemaError(
            Message("A number of 16 digits or more is no category and no code for missing."),
            hint=Message("declare it as a text"),
        )


def _undeclared(name: str, what: str) -> UndeclaredError:
    return UndeclaredError(
        Message(
            "The {what} of column {name!r} are not declared; reading them off the "
            "records would leak them.",
            what=said(what),
            name=Name(name),
        ),
        hint=Message("declare them, or pay for finding them: Discovery(), or --discover 0.1"),
    )
