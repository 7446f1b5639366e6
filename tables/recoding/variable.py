"""A variable that is made of a column: its bands, or its codes put together."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

from footing.messages import Argument, Message, Name, joined, said
from tables.errors import RequestError
from tables.recoding.bands import (
    MOST_BANDS,
    Band,
    Bound,
    Open,
    Period,
    anchored,
    bands_between,
    named_bands,
    read_bound,
    require_rising,
    steps,
    written,
)
from tables.recoding.codes import as_codes, read_recode

Number: TypeAlias = int | float | Decimal
Absent = Literal["stop", "allow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedVariable:
    """A variable that is made of a column of the data, for tables, hierarchies and filters.

    Either ``bands``, ``width`` or ``recode`` says how. A record without a value
    has none, or the category ``missing``.

    Parameters
    ----------
    name
        What it is called; no column of the data.
    of
        The column that it is made of, or a derived variable before it.
    bands
        Numbers, or dates, at which bands begin, rising; the last one begins an open band. Or
        label → ``{"start": …, "end": …}``, each with its start and without its end.
    width
        Bands of one width instead, at its multiples; of dates ``"year"``, ``"quarter"`` or
        ``"month"``.
    start, end
        Where bands of a width begin and end. Without them, where the values do.
    open
        Whether there is a band beyond the ``"end"``, the ``"start"``, ``"both"`` or ``"none"``
        of them.
    recode
        Code → category, several codes with the same one are put together; or a CSV file with
        the columns code and label.
    keep
        Leave codes that ``recode`` does not name as they are.
    other
        The category of values outside the bands, or of other codes. Without it, and without
        open ends or ``keep``, such records are refused.
    missing
        The category of records without a value, which may be one of the others.
    absent
        What a code of ``recode`` does that no record has: ``"stop"`` takes it for a slip.

    Raises
    ------
    RequestError
        If it contradicts itself.

    Examples
    --------
    >>> age5 = DerivedVariable(name="age5", of="age", bands=[0, 5, 10, 85])
    >>> age5.labels(is_whole=True)
    ('0–4', '5–9', '10–84', '85+')
    """

    name: str
    of: str
    bands: Sequence[Number | dt.date] | Mapping[str, Mapping[str, object]] | None = None
    width: Number | Period | None = None
    start: Number | None = None
    end: Number | None = None
    open: Open | None = None
    recode: Mapping[str, str] | str | os.PathLike[str] | None = None
    keep: bool = False
    other: str | None = None
    missing: str | None = None
    absent: Absent | None = None

    def __post_init__(self) -> None:
        self._require_texts()
        self._require_one_way()
        if self.recode is not None:
            self._read_recode()
        elif self.is_period:
            self._require_none(
                ("start", "end", "open"),
                Message("width = {width!r}", width=Argument(self.width)),
            )
        elif self.width is not None:
            self._read_width()
        else:
            self._read_bands()
        self._require_labels()

    @property
    def is_period(self) -> bool:
        """Whether it is the year, quarter or month of a date."""
        return isinstance(self.width, str)

    @property
    def is_banded(self) -> bool:
        """Whether it has bands, and no codes put together."""
        return self.recode is None

    @property
    def needs_extremes(self) -> bool:
        """Whether the least and the largest value of the column say where its bands end."""
        is_bounded = self.start is not None and self.end is not None
        return self.width is not None and not self.is_period and not is_bounded

    @property
    def opens(self) -> Open:
        """Which ends are open."""
        if self.open is not None:
            return self.open
        return "none" if self.width is not None and self.end is None else "end"

    @property
    def bounds(self) -> list[Bound]:
        """Where bands begin that are listed without labels."""
        values: Any = self.bands
        return list(values) if isinstance(values, tuple) else []

    @property
    def codes(self) -> Mapping[str, str]:
        """The recode; empty for bands."""
        return self.recode if isinstance(self.recode, Mapping) else {}

    def bands_of(
        self, *, is_whole: bool, extremes: tuple[Decimal, Decimal] | None = None
    ) -> tuple[Band, ...]:
        """Return the bands, from the lowest.

        Parameters
        ----------
        is_whole
            Whether the column holds whole numbers alone, by its type.
        extremes
            Its least and largest value, where they are needed.
        """
        if self.width is None:
            if isinstance(self.bands, Mapping):
                return named_bands(self.bands, repr(self.name))
            bounds = self.bounds
        else:
            bounds = self._stepped(extremes or (Decimal(0), Decimal(0)))
        return bands_between(bounds, self.opens, is_whole=is_whole)

    def labels(
        self, *, is_whole: bool = False, extremes: tuple[Decimal, Decimal] | None = None
    ) -> tuple[str, ...]:
        """Return its categories in their order; none where only the data tell them.

        Parameters
        ----------
        is_whole, extremes
            As for `bands_of`.
        """
        if self.is_period:
            return ()
        if self.is_banded:
            labels = [b.label for b in self.bands_of(is_whole=is_whole, extremes=extremes)]
        else:
            labels = list(self.codes.values())
        more = [label for label in (self.other, self.missing) if label]
        return tuple(dict.fromkeys([*labels, *more]))

    def _require_texts(self) -> None:
        for key in ("name", "of"):
            if not isinstance(getattr(self, key), str) or not getattr(self, key):
                raise RequestError(
                    Message("{key} of a derived variable is a text.", key=Name(key))
                )
        if self.name == self.of:
            raise RequestError(
                Message(
                    "The derived variable {name!r} is called like what it is made of.",
                    name=Name(self.name),
                ),
                hint=Message("give it a new name"),
            )
        for key, words in (("open", get_args(Open)), ("absent", get_args(Absent))):
            if getattr(self, key) not in {None, *words}:
                choices = ", ".join(map(repr, words))
                raise RequestError(
                    Message(
                        "{key} of {name!r} is one of {listed}.",
                        key=Name(key),
                        name=Name(self.name),
                        listed=said(choices),
                    )
                )

    def _require_one_way(self) -> None:
        ways = ("bands", "width", "recode")
        names = [way for way in ways if getattr(self, way) is not None]
        if len(names) != 1:
            raise RequestError(
                Message(
                    "The derived variable {name!r} needs one of bands, width and recode{value}",
                    name=Name(self.name),
                    value=said(f", not {' and '.join(names)}." if names else "."),
                ),
                hint=Message("bands = [0, 15, 65], width = 5, or recode = { … }"),
            )
        of_others = {
            "bands": ("start", "end", "keep", "absent"),
            "width": ("keep", "absent"),
            "recode": ("start", "end", "open"),
        }
        self._require_none(of_others[names[0]], names[0])

    def _require_none(self, keys: Sequence[str], beside: str) -> None:
        wrong = [
            key for key in keys if not any(getattr(self, key) is none for none in (None, False))
        ]
        if wrong:
            raise RequestError(
                Message(
                    "{wrong} of {name!r} does not go with {beside}.",
                    wrong=said(wrong[0]),
                    name=Name(self.name),
                    beside=said(beside),
                ),
                hint=Message("remove {wrong}", wrong=said(wrong[0])),
            )

    def _read_recode(self) -> None:
        what = Message("The recode of {name!r}", name=Name(self.name))
        if isinstance(self.recode, Mapping):
            recode = as_codes(self.recode, what)
        elif isinstance(self.recode, (str, os.PathLike)):
            recode = read_recode(self.recode, of=self.of, name=self.name)
        else:
            raise RequestError(
                Message("{what} is a mapping of codes, or a CSV file.", what=what)
            )
        if not recode:
            raise RequestError(
                Message("{what} names no code.", what=what),
                hint=Message('recode = { "1" = "yes" }'),
            )
        if self.keep and self.other is not None:
            raise RequestError(
                Message("{name!r} has both keep and other.", name=Name(self.name)),
                hint=Message("other codes stay as they are, or become one category"),
            )
        object.__setattr__(self, "recode", recode)

    def _read_width(self) -> None:
        width, start, end = (
            None if value is None else read_bound(value, f"{key} of {self.name!r}")
            for key, value in (("width", self.width), ("start", self.start), ("end", self.end))
        )
        if not all(
            value is None or isinstance(value, Decimal) for value in (width, start, end)
        ):
            raise RequestError(
                Message(
                    "Bands of a width are of numbers, and {name!r} names a date.",
                    name=Name(self.name),
                ),
                hint=Message('width = "year", or bands = [2000-01-01, 2010-01-01]'),
            )
        if not isinstance(width, Decimal) or width <= 0:
            raise RequestError(
                Message("The width of {name!r} must be greater than 0.", name=Name(self.name))
            )
        for word, bound in (("start", start), ("end", end)):
            if bound is None and self.open in {word, "both"}:
                raise RequestError(
                    Message(
                        "open of {name!r} is beyond its {word}, and there is none.",
                        name=Name(self.name),
                        word=said(word),
                    ),
                    hint=Message("give {word} a number, or remove open", word=said(word)),
                )
        for key, value in (("width", width), ("start", start), ("end", end)):
            object.__setattr__(self, key, value)
        if isinstance(start, Decimal) and isinstance(end, Decimal):
            if end <= start:
                raise RequestError(
                    Message(
                        "The end of {name!r} must be above its start.", name=Name(self.name)
                    )
                )
            bounds = steps(width, start, end)
            if bounds[-1] != end:
                raise RequestError(
                    Message(
                        "Bands of {written} do not reach from {written_2} to {written_3}.",
                        written=said(written(width)),
                        written_2=said(written(start)),
                        written_3=said(written(end)),
                    ),
                    hint=Message(
                        "end = {written}, or write the bands one by one",
                        written=said(written(bounds[-1])),
                    ),
                )
            self._require_several(bands_between(bounds, self.opens, is_whole=False))

    def _read_bands(self) -> None:
        what = Message("The list of bands of {name!r}", name=Name(self.name))
        if isinstance(self.bands, Mapping):
            if self.open is not None:
                hint = Message("a band without start, or without end, is open")
                raise RequestError(
                    Message(
                        "open of {name!r} does not go with bands that have labels.",
                        name=Name(self.name),
                    ),
                    hint=hint,
                )
            self._require_several(named_bands(self.bands, repr(self.name)))
            return
        values: Any = self.bands
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise RequestError(
                Message("{what} is a list of numbers or dates.", what=what),
                hint=Message("bands = [0, 15, 65]"),
            )
        bounds = [
            read_bound(value, Message("An entry of bands of {name!r}", name=Name(self.name)))
            for value in values
        ]
        require_rising(bounds, what)
        object.__setattr__(self, "bands", tuple(bounds))
        self._require_several(
            bands_between(bounds, self.opens, is_whole=False) if bounds else ()
        )

    def _require_several(self, bands: Sequence[Band]) -> None:
        if len(bands) < 2:
            raise RequestError(
                Message("{name!r} needs two bands at least.", name=Name(self.name)),
                hint=Message('bands = [0, 15, 65]: the last one is open, unless open = "none"'),
            )
        if len(bands) > MOST_BANDS:
            raise RequestError(
                Message(
                    "{name!r} has more than {most_bands:,} bands.",
                    name=Name(self.name),
                    most_bands=MOST_BANDS,
                )
            )

    def _require_labels(self) -> None:
        labels: list[object] = [
            *self.codes.values(),
            *(label for label in (self.other, self.missing) if label is not None),
        ]
        labels += list(self.bands) if isinstance(self.bands, Mapping) else []
        for label in labels:
            if not isinstance(label, str) or not label.strip() or not label.isprintable():
                raise RequestError(
                    Message(
                        "The categories of {name!r} are texts that can be printed.",
                        name=Name(self.name),
                    ),
                    hint=Message("write a word"),
                )
        if self.is_banded and not self.is_period and not self.needs_extremes:
            bands = [b.label for whole in (True, False) for b in self.bands_of(is_whole=whole)]
            if self.other in bands:
                raise RequestError(
                    Message(
                        "other of {name!r} is the label of one of its bands.",
                        name=Name(self.name),
                    ),
                    hint=Message("choose another word"),
                )

    def _stepped(self, extremes: tuple[Decimal, Decimal]) -> list[Bound]:
        """Return the bounds of bands of one width, as far as the values reach."""
        width, start, end = (
            value if isinstance(value, Decimal) else None
            for value in (self.width, self.start, self.end)
        )
        width, (least, largest) = width or Decimal(1), extremes
        if start is None:
            least = least if end is None else min(least, end - width)
            start = anchored(width, end or Decimal(0), least)
        if end is None:
            end = max(anchored(width, start, largest), start) + width
        return steps(width, start, end)


def words_of(variable: DerivedVariable) -> str:
    """Say in one line how a variable is made, and where other values and codes go."""
    recipe, elsewhere = _made(variable), _elsewhere(variable)
    if variable.missing is not None:
        return Message(
            "{variable}: {made}; {elsewhere}; missing is {missing!r}",
            variable=Name(variable.name),
            made=said(recipe),
            elsewhere=said(elsewhere),
            missing=Name(variable.missing),
        )
    return Message(
        "{variable}: {made}; {elsewhere}; missing stays missing",
        variable=Name(variable.name),
        made=said(recipe),
        elsewhere=said(elsewhere),
    )


def _made(variable: DerivedVariable) -> str:
    of, bounds = variable.of, variable.bounds
    if not variable.is_banded:
        number = len(variable.labels())
        return Message(
            "{number} codes of {of} become {number_2} categories",
            number=len(variable.codes),
            of=said(of),
            number_2=number,
        )
    if variable.is_period:
        return f"{of} by {variable.width}"
    if isinstance(variable.width, Decimal):
        ends = ["" if end is None else f"{end:f}" for end in (variable.start, variable.end)]
        ends = [end or "…" for end in ends]
        return Message(
            "{of} in bands of {width:f}, from {ends} to {ends_2}",
            of=said(of),
            width=variable.width,
            ends=said(ends[0]),
            ends_2=said(ends[1]),
        )
    if not bounds:
        return Message("{of} in {number} bands", of=said(of), number=len(variable.labels()))
    first, last = written(bounds[0]), written(bounds[-1])
    return Message(
        "{of} in bands that begin from {first} to {last}",
        of=said(of),
        first=said(first),
        last=said(last),
    )


def _elsewhere(variable: DerivedVariable) -> str:
    if variable.other is not None:
        return Message("others are {other!r}", other=Name(variable.other))
    if variable.keep:
        return Message("other codes stay as they are")
    if not variable.is_banded:
        return Message("other codes are refused")
    if variable.is_period or isinstance(variable.bands, Mapping):
        return Message("values outside are refused")
    is_stepped = variable.width is not None
    below = _beyond("start", variable, is_endless=is_stepped and variable.start is None)
    above = _beyond("end", variable, is_endless=is_stepped and variable.end is None)
    if not below and not above:
        return Message("bands reach as far as the values")
    phrases = [
        Message("values below {below}", below=said(below)) if below else Message(),
        Message("values above {above}", above=said(above)) if above else Message(),
    ]
    return joined(", ", filter(None, phrases))


def _beyond(end: str, variable: DerivedVariable, *, is_endless: bool) -> str:
    """Say what values beyond an end of the bands do; nothing where there are none."""
    if is_endless:
        return ""
    return Message("have a band") if variable.opens in {end, "both"} else Message("are refused")


def as_variables(variables: object) -> tuple[DerivedVariable, ...]:
    """Return derived variables from these, from mappings of their settings, or by name."""
    if isinstance(variables, Mapping):
        variables = [_named(name, settings) for name, settings in variables.items()]
    if isinstance(variables, (str, bytes)) or not isinstance(variables, Sequence):
        raise RequestError(
            Message("variables is a list of derived variables, or their settings by name."),
            hint=Message('variables = {"age5": {"of": "age", "width": 5}}'),
        )
    return tuple(_as_variable(one) for one in variables)


def _named(name: object, settings: object) -> object:
    if isinstance(settings, Mapping) and "name" not in settings:
        return {"name": name, **settings}
    if isinstance(settings, DerivedVariable) and settings.name == name:
        return settings
    raise RequestError(
        Message("The settings of the variable {name!r} are a mapping.", name=Argument(name))
    )


def _as_variable(value: object) -> DerivedVariable:
    if isinstance(value, DerivedVariable):
        return value
    keys = [field.name for field in fields(DerivedVariable)]
    if not isinstance(value, Mapping) or not {"name", "of"} <= set(value):
        raise RequestError(
            Message("A derived variable has a name, and of: the column that it is made of."),
            hint=Message('{"name": "age5", "of": "age", "width": 5}'),
        )
    unknown = [key for key in value if key not in keys]
    if unknown:
        raise RequestError(
            Message("A derived variable has no setting {names!r}.", names=Argument(unknown[0])),
            hint=Message("known are {names}", names=Name.each(keys)),
        )
    return DerivedVariable(**value)
