"""The schema: all that is declared before anybody looks at the records."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from footing.files import write_whole
from footing.messages import Argument, Message, Name, joined
from footing.serialisation import digest_of, document, set_fields
from footing.text_files import read_text
from synth.errors import SchemaError, UndeclaredError
from synth.schema.columns import Category, Column, Date, Numeric, Real, Whole, is_text
from synth.schema.grid import MOST
from synth.schema.nesting import Nest, Parents, nests_of
from synth.schema.rules.rules import EditRule, ParsedRule, parse_rule

_FORMAT = "ckm-synth-schema"
_KINDS: dict[str, type[Column]] = {one.kind: one for one in (Category, Whole, Real, Date)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Who is protected, and how many records one has at most.

    Parameters
    ----------
    name
        What it is: a record, a person, a household, an enterprise.
    identifier
        The column that tells which unit a record belongs to; it is not synthesised.
    most_records
        The most records of one unit: noise grows with it.
    excess
        What happens to a unit with more: ``"refuse"`` all records, or ``"truncate"``: keep as
        many of its records as allowed, drawn at random.

    Examples
    --------
    >>> Unit(name="household", identifier="household_id", most_records=6).most_records
    6
    """

    name: str = "record"
    identifier: str | None = None
    most_records: int = 1
    excess: str = "refuse"

    def __post_init__(self) -> None:
        if not is_text(self.name) or not self.name.strip():
            raise SchemaError(Message("The name of the unit is text."))
        if self.identifier is not None and not (is_text(self.identifier) and self.identifier):
            raise SchemaError(Message("identifier is the name of a column."))
        if type(self.most_records) is not int or not 1 <= self.most_records <= 10_000:
            raise SchemaError(Message("most_records is a whole number from 1 to 10000."))
        if self.excess not in ("refuse", "truncate"):
            raise SchemaError(Message("excess is 'refuse' or 'truncate'."))
        if self.most_records > 1 and self.identifier is None:
            raise SchemaError(
                Message(
                    "A {name} has up to {most_records} records; nothing says which.",
                    name=Name(self.name),
                    most_records=self.most_records,
                ),
                hint=Message("name the column with its identifier"),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A column of numbers whose total is measured, so that synthetic records come to it.

    Parameters
    ----------
    column
        The column.
    by
        A column of categories, each of which has its own total.
    most, least
        Where the amount is cut off, above 0 and below; where nothing is said, a limit is found
        from noisy counts that are on the bill. What a record counts as in a total is limited by
        the larger of both.

    Examples
    --------
    >>> Amount(column="turnover", by="branch", most=5_000_000).most
    5000000
    """

    column: str
    by: str | None = None
    most: float | None = None
    least: float | None = None

    def __post_init__(self) -> None:
        if not all(is_text(one) and one for one in (self.column, self.by or "none")):
            raise SchemaError(Message("An amount names a column, and one of categories."))
        for name, limit, sign in (("most", self.most, 1), ("least", self.least, -1)):
            if limit is None:
                continue
            if isinstance(limit, bool) or not isinstance(limit, (int, float)):
                raise SchemaError(Message("{name} is a number.", name=Name(name)))
            if not 0 < sign * limit < math.inf:
                raise SchemaError(
                    Message(
                        "The amount {column!r} is cut off at a {name} of the wrong sign.",
                        column=Name(self.column),
                        name=Name(name),
                    ),
                    hint=Message("most is above 0, least below"),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What is known of the records without a look at them.

    Parameters
    ----------
    columns
        The columns to synthesise.
    rules
        What holds for every record.
    parents
        Which column's codes lie in another's. None where nobody said: columns whose lists of
        values look so are then counted, at a price; an empty list says that none do.
    unit
        Who is protected.
    weight
        The column with survey weights, if there is one; it is synthesised like others, and
        tables with it matter twice.
    amounts
        The columns whose totals are measured, each a name or an `Amount`. Where nothing is said
        these are the wide ranges of numbers without bins; an empty list is for none.
    ignored
        Columns of the records that are known and left out.
    about
        Which records these are.

    Examples
    --------
    >>> schema = Schema(
    ...     columns=[
    ...         Whole(name="age", low=0, high=120),
    ...         Category(name="status", values=["single", "married"]),
    ...     ],
    ...     rules=["if age < 16 then status == 'single'"],
    ... )
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]
    rules: tuple[EditRule, ...] = ()
    parents: tuple[Parents, ...] | None = None
    unit: Unit = field(default_factory=Unit)
    weight: str | None = None
    amounts: tuple[Amount, ...] | None = None
    ignored: tuple[str, ...] = ()
    about: str = ""

    def __post_init__(self) -> None:
        if self.amounts is not None:
            entries: tuple[Amount | str, ...] = tuple(self.amounts)
            amounts = (
                one if isinstance(one, Amount) else Amount(column=one) for one in entries
            )
            object.__setattr__(self, "amounts", tuple(amounts))
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "ignored", tuple(self.ignored))
        all_rules: tuple[EditRule | str, ...] = tuple(self.rules)
        rules = (one if isinstance(one, EditRule) else EditRule(text=one) for one in all_rules)
        object.__setattr__(self, "rules", tuple(rules))
        if self.parents is not None:
            object.__setattr__(self, "parents", tuple(self.parents))
        self._check_names()
        nest_names = {name for one in self.parents or () for name in (one.child, one.parent)}
        if nest_names.isdisjoint(self.undeclared):
            self.nests()
        for rule in self.rules:
            if self.is_declared or not {*rule.columns} & {*self.undeclared}:
                self.parsed(rule)

    def _check_names(self) -> None:
        names = self.names
        if not names:
            raise SchemaError(Message("A schema has at least one column."))
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SchemaError(
                Message("Columns are declared twice: {twice}.", twice=Name.each(twice))
            )
        if len({rule.name for rule in self.rules}) < len(self.rules):
            raise SchemaError(Message("Two rules have the same name."))
        unknown = sorted({c for rule in self.rules for c in rule.columns} - {*names})
        if unknown:
            raise SchemaError(
                Message(
                    "Rules name columns that are not declared: {names}.",
                    names=Argument(unknown),
                )
            )
        self._check_roles(names)

    def _check_roles(self, names: list[str]) -> None:
        if self.unit.identifier in names:
            raise SchemaError(
                Message(
                    "The identifier {identifier!r} is declared as a column: it would be "
                    "synthesised.",
                    identifier=Name(self.unit.identifier),
                ),
                hint=Message("take it out of the columns"),
            )
        if self.weight is not None:
            if self.weight not in names:
                raise SchemaError(Message("The weight is not one of the columns."))
            if not isinstance(self.column(self.weight), (Whole, Real)):
                raise SchemaError(Message("The weight is no column of numbers."))
        self._check_amounts(names)
        if {*self.ignored} & {*names}:
            raise SchemaError(Message("A column is declared and ignored at once."))
        if not is_text(self.about):
            raise SchemaError(Message("about is text."))

    def _check_amounts(self, names: list[str]) -> None:
        amounts = self.amounts or ()
        if len({one.column for one in amounts}) < len(amounts):
            raise SchemaError(Message("An amount is declared twice."))
        for one in amounts:
            if {one.column, one.by or one.column} - {*names}:
                raise SchemaError(
                    Message(
                        "The amount {column!r} names a column that is not declared.",
                        column=Name(one.column),
                    )
                )
            if not isinstance(self.column(one.column), (Whole, Real)):
                raise SchemaError(
                    Message(
                        "The amount {column!r} is no column of numbers.",
                        column=Name(one.column),
                    )
                )
            by = None if one.by is None else self.column(one.by)
            if by is not None and not (isinstance(by, Category) and by.is_declared):
                raise SchemaError(
                    Message(
                        "The amount {column!r} has totals by a column without declared values.",
                        column=Name(one.column),
                    ),
                    hint=Message("name a column of categories, and declare its values"),
                )

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [column.name for column in self.columns]

    @property
    def undeclared(self) -> list[str]:
        """The columns whose domains nobody declared.

        Examples
        --------
        >>> Schema(columns=[Whole(name="age")]).undeclared
        ['age']
        """
        return [column.name for column in self.columns if not column.is_declared]

    @property
    def is_declared(self) -> bool:
        """Whether every domain is declared."""
        return not self.undeclared

    def require_declared(self) -> None:
        """Raise an error if a domain is not declared.

        Raises
        ------
        UndeclaredError
            With the names of the columns.
        """
        if self.undeclared:
            names = Name.each(self.undeclared)
            raise UndeclaredError(
                Message(
                    "The domains of {names!r} are not declared; reading them off the records "
                    "would leak them.",
                    names=names,
                ),
                hint=Message(
                    "declare them, or pay for finding them: Discovery(), or --discover 0.1"
                ),
            )

    def require_distinct(self) -> None:
        """Raise an error if people would take two declared values of a column for one.

        Parents of columns without declared values are refused as well: what is found later
        might contradict them, and would be paid for by then.

        Raises
        ------
        SchemaError
            With the names of the columns.
        """
        nest_names = {name for one in self.parents or () for name in (one.child, one.parent)}
        if without := sorted(nest_names & {*self.undeclared}):
            raise SchemaError(
                Message(
                    "Parents are declared of columns without declared values: {names}.",
                    names=Name.each(without),
                ),
                hint=Message("declare their values, from the code list that tells the parents"),
            )
        problems = [
            problem
            for column in self.columns
            if isinstance(column, Category) and (problem := column.alike())
        ]
        if problems:
            raise SchemaError(
                joined("\n  ", [Message("The schema does not hold together:"), *problems]),
                hint=Message(
                    "declare one of them, and recode the records; where capitals tell values "
                    'apart: "is_case_sensitive": true'
                ),
            )

    def column(self, name: str) -> Column:
        """Return a column.

        Parameters
        ----------
        name
            Its name.

        Examples
        --------
        >>> Schema(columns=[Whole(name="age", low=0, high=9)]).column("age").size
        10
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(
            Message(
                "Column {name!r} is not declared; {names} are.",
                name=Name(name),
                names=Argument(self.names),
            )
        )

    def parsed(self, rule: EditRule) -> ParsedRule:
        """Return a rule that knows the columns."""
        return parse_rule(rule, {column.name: column for column in self.columns})

    def nests(self) -> list[Nest]:
        """Return the declared parents as codes, those of coarser columns first."""
        return nests_of(self.parents or (), self.columns)

    def with_column(self, column: Column) -> Schema:
        """Return a schema with another declaration of a column.

        Parameters
        ----------
        column
            The new declaration.

        Examples
        --------
        >>> schema = Schema(columns=[Whole(name="age")])
        >>> schema.with_column(Whole(name="age", low=0, high=9)).is_declared
        True
        """
        self.column(column.name)
        columns = tuple(column if one.name == column.name else one for one in self.columns)
        return replace(self, columns=columns)

    def cut_at_rules(self) -> Schema:
        """Return a schema whose cells begin where the rules say, so that none lies across.

        Examples
        --------
        >>> schema = Schema(
        ...     columns=[Whole(name="age", low=0, high=99, bins=5)],
        ...     rules=["age != 18"],
        ... )
        >>> schema.column("age").size, schema.cut_at_rules().column("age").size
        (5, 7)
        """
        columns = {one.name: one for one in self.columns}
        for rule in self.rules:
            for name, cuts in parse_rule(rule, columns).cuts.items():
                column = columns[name]
                if isinstance(column, Numeric):
                    columns[name] = _cut(column, cuts)
        return replace(self, columns=tuple(columns.values()))

    def with_single_cells(self) -> Schema:
        """Return a schema with a cell for each number.

        Of more than 100,000 numbers, several share a cell; declared points do not.

        Examples
        --------
        >>> wide = Schema(columns=[Whole(name="age", low=0, high=99, bins=5)])
        >>> wide.with_single_cells().column("age").size
        100
        """
        columns = list(self.columns)
        for place, column in enumerate(columns):
            if isinstance(column, Numeric):
                low, high = column.bounds
                points = column.points if high - low >= MOST else ()
                bins = min(high - low + 1, MOST - 2 * len(points))
                columns[place] = replace(
                    column, bins=bins, edges=(), points=points, spacing="even"
                )
        return replace(self, columns=tuple(columns))

    @property
    def digest(self) -> str:
        """The SHA-256 of all that is declared.

        Examples
        --------
        >>> len(Schema(columns=[Whole(name="age")]).digest)
        64
        """
        return digest_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return what is declared as plain values, for JSON."""
        columns = [{"kind": one.kind, **set_fields(one)} for one in self.columns]
        return {
            "format": _FORMAT,
            "version": 1,
            **set_fields(self),
            "columns": columns,
            "unit": set_fields(self.unit),
            **(
                {}
                if self.amounts is None
                else {"amounts": [set_fields(a) for a in self.amounts]}
            ),
            "rules": [set_fields(rule) for rule in self.rules],
            **(
                {}
                if self.parents is None
                else {"parents": [set_fields(one) for one in self.parents]}
            ),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """Read what `to_dict` gave.

        Parameters
        ----------
        content
            The plain values.

        Examples
        --------
        >>> schema = Schema(columns=[Whole(name="age")])
        >>> Schema.from_dict(schema.to_dict()) == schema
        True
        """
        return _read(content)

    def to_json(self) -> str:
        """Return the schema as text."""
        return document(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read what `to_json` wrote, or a person.

        Parameters
        ----------
        text
            The text.

        Raises
        ------
        SchemaError
            Which names the place of everything that is wrong.

        Examples
        --------
        >>> Schema.from_json('{"format": "ckm-synth-schema", "columns": [{"kind": "whol"}]}')
        Traceback (most recent call last):
        ...
        synth.SchemaError: The schema does not hold together:
          columns[0].kind: one of category, whole, real, date
        """
        try:
            content = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            if isinstance(error, SchemaError):
                raise
            raise SchemaError(Message("The schema is not JSON.")) from None
        return _read(content)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a file.

        Parameters
        ----------
        path
            The file.
        """
        try:
            return cls.from_json(read_text(Path(path)))
        except (OSError, UnicodeDecodeError):
            raise SchemaError(
                Message("The schema {path!r} cannot be read.", path=Name(Path(path).name))
            ) from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a file.

        Parameters
        ----------
        path
            The file.
        """
        write_whole(path, self.to_json(), error=SchemaError)


def _cut(column: Numeric, cuts: set[int]) -> Numeric:
    low, high = column.bounds
    grid = column.grid
    new = sorted(cut for cut in cuts if low < cut <= high and cut not in grid.starts)
    if not new:
        return column
    return with_starts(column, sorted({*grid.starts, *new}))


def with_starts(column: Numeric, starts: Iterable[int]) -> Numeric:
    """Return a column whose cells begin at these numbers of the grid."""
    bounds = (column.shown(start) for start in starts)
    edges: Iterable[float | str] = bounds
    if isinstance(column, (Whole, Real)):
        edges = map(int if isinstance(column, Whole) else float, bounds)
    return replace(column, bins=None, edges=tuple(edges))


def _read(content: Any) -> Schema:
    problems: list[str] = []
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise SchemaError(
            Message(
                'The text is not a schema: "format" is not "{format}".', format=Name(_FORMAT)
            ),
            hint=Message("other tools' schemas: ckm synth schema, or synth.schema_from"),
        )
    if content.get("version", 1) != 1:
        raise SchemaError(Message("The schema is of a newer version."))
    # "$schema" is where editors find what may stand here.
    rest = {
        name: value
        for name, value in content.items()
        if name not in ("format", "version", "$schema")
    }
    if rest.get("parents", ()) is None:
        del rest["parents"]
    for name, least in (
        ("columns", 1),
        ("rules", 0),
        ("parents", 0),
        ("ignored", 0),
        ("amounts", 0),
    ):
        if not isinstance(rest.get(name, [] if least == 0 else None), list):
            problems.append(Message("{name}: a list", name=Name(name)))
    _refuse(problems)
    parts: dict[str, Any] = dict(rest)
    parts["columns"] = [
        _part(f"columns[{place}]", one, None, problems)
        for place, one in enumerate(rest["columns"])
    ]
    parts["rules"] = [
        one if isinstance(one, str) else _part(f"rules[{place}]", one, EditRule, problems)
        for place, one in enumerate(rest.get("rules", []))
    ]
    if "parents" in rest:
        parts["parents"] = [
            _part(f"parents[{place}]", one, Parents, problems)
            for place, one in enumerate(rest["parents"])
        ]
    if "amounts" in rest:
        parts["amounts"] = [
            one if isinstance(one, str) else _part(f"amounts[{place}]", one, Amount, problems)
            for place, one in enumerate(rest["amounts"])
        ]
    if "unit" in rest:
        parts["unit"] = _part("unit", rest["unit"], Unit, problems)
    if not all(isinstance(one, str) for one in rest.get("ignored", [])):
        problems.append(Message("ignored: names of columns"))
    _refuse(problems)
    whole = _part("schema", parts, Schema, problems)
    _refuse(problems)
    return whole  # type: ignore[no-any-return]


def _part(place: str, record: Any, kind: type[Any] | None, problems: list[str]) -> Any:
    """Build a part of a schema, or note what is wrong with it."""
    if not isinstance(record, dict):
        problems.append(f"{place}: an object")
        return None
    record = dict(record)
    if kind is None:
        name = record.pop("kind", None)
        kind = _KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            problems.append(f"{place}.kind: one of {', '.join(_KINDS)}")
            return None
    fields_by_name = {one.name: one for one in fields(kind)}
    problems.extend(f"{place}.{name}: no such entry" for name in record.keys() - fields_by_name)
    mandatory = [
        name
        for name, one in fields_by_name.items()
        if one.default is MISSING and one.default_factory is MISSING
    ]
    problems.extend(f"{place}.{name}: missing" for name in mandatory if name not in record)
    if record.keys() - fields_by_name or not {*mandatory} <= {*record}:
        return None
    try:
        return kind(**record)
    except SchemaError as error:
        problems.append(f"{place}: {error.problem}")
    except (TypeError, AttributeError, ValueError, OverflowError):
        problems.append(f"{place}: an entry is of the wrong type")
    return None


def _refuse(problems: list[str]) -> None:
    if problems:
        raise SchemaError(
            joined("\n  ", [Message("The schema does not hold together:"), *problems])
        )


def _no_twins(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise SchemaError(Message("An object of the schema names an entry twice."))
    return entries


def _no_constant(name: str) -> float:
    raise SchemaError(Message("{name} is no number of a schema.", name=Name(name)))
