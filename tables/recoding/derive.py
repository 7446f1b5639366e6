"""Derived variables of a source: made in the scan that tabulates, and what they leave out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from footing.messages import Argument, Message, Name, said
from tables.errors import DataError, FilterError, RequestError, unknown_name
from tables.filtering.filters import Compare, Filter, Within, comparisons_in, quote
from tables.filtering.values import FileType, bounds_of, kind_of, text_of, texts_of
from tables.recoding.bands import bands_sql, period_sql, text_sql, value_sql
from tables.recoding.variable import DerivedVariable

if TYPE_CHECKING:
    from tables.request import Request
    from tables.source.source import Source

    Problem = tuple[str, str]

_SHOWN = 5
_LISTED = 12
_NUMBERS = frozenset({"integer", "number"})


def derive_variables(source: Source, variables: Sequence[DerivedVariable]) -> None:
    """Give the records further columns, which are made whenever they are read.

    Parameters
    ----------
    source
        The records; of bands without an end, the least and the largest value are looked up.
    variables
        What is derived, each of a column of the data or of one before it.

    Raises
    ------
    RequestError
        If a variable does not fit the columns.
    DataError
        If its bands cannot reach as far as the values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import open_source
    >>> with open_source(pa.table({"age": [3, 7, 90, None]})) as source:
    ...     derive_variables(source, [DerivedVariable(name="age5", of="age", bands=[0, 5, 85])])
    ...     source.fetch(f"SELECT age5 FROM {source.relation} ORDER BY age")
    [('0–4',), ('5–84',), ('85+',), (None,)]
    """
    if variables and source.cells is not None:
        raise RequestError(
            Message(
                "The variable {variables!r} is derived from records, and the data are cells.",
                variables=Name(variables[0].name),
            ),
            hint=Message("derive it where the records are"),
        )
    later = {variable.name for variable in variables}
    for variable in variables:
        later.discard(variable.name)
        _require_names(source, variable, later=later)
        if variable.is_banded:
            sql, labels = _banded(source, variable)
        else:
            sql, labels = _recoded(source, variable), variable.labels()
        if variable.missing is not None:
            is_missing = f"{quote(variable.of)} IS NULL"
            sql = f"CASE WHEN {is_missing} THEN {text_sql(variable.missing)} ELSE {sql} END"
        source.add_derived(variable, sql, order=None if variable.keep else labels or None)


def _require_names(source: Source, variable: DerivedVariable, *, later: set[str]) -> None:
    """Refuse a name that is there, and a column that is not."""
    if variable.name.lower() in {column.lower() for column in source.columns}:
        raise RequestError(
            Message(
                "The variable {variable!r} is derived, and a column of the data has this name.",
                variable=Name(variable.name),
            ),
            hint=Message("give it a name of its own"),
        )
    if (pair := source.problem_of(variable.of)) is not None:
        problem, hint = pair
        if variable.of in later:
            hint = Message(
                "put {of!r} before {variable!r}",
                of=Name(variable.of),
                variable=Name(variable.name),
            )
        raise RequestError(
            Message(
                "The variable {variable!r}: {problem}",
                variable=Name(variable.name),
                problem=said(problem),
            ),
            hint=hint,
        )


def _operand(source: Source, column: str) -> tuple[str, str]:
    """Return a column as its codes are compared, and the type in which they are."""
    sql_type = source.types[column]
    is_coded = sql_type != "VARCHAR" and kind_of(sql_type) == "text"
    if is_coded:
        return f"CAST({quote(column)} AS VARCHAR)", "VARCHAR"
    return quote(column), sql_type


def _ordered(source: Source, variable: DerivedVariable) -> tuple[str, str, str]:
    """Return a column as its values are ordered, with their type and kind; texts as numbers."""
    column = variable.of
    sql_type = source.types[column]
    if source.kinds[column] == "text" and isinstance(sql_type, FileType):
        if (problem := source.number_problem(column)) is not None:
            raise RequestError(
                Message(
                    "The bands of {variable!r} need numbers or dates. {problem}",
                    variable=Name(variable.name),
                    problem=said(problem[0]),
                ),
                hint=problem[1] or Message("recode puts codes together"),
            )
        reading = sql_type.texts.reading(is_exact=True)
        return reading.sql(quote(column)), reading.sql_type, "number"
    return quote(column), sql_type, source.kinds[column]


def _banded(source: Source, variable: DerivedVariable) -> tuple[str, tuple[str, ...]]:
    """Return the SQL of bands, and their labels."""
    operand, sql_type, kind = _ordered(source, variable)
    outside = "NULL" if variable.other is None else text_sql(variable.other)
    if variable.is_period:
        _require_kind(variable, kind, {"date"}, "dates")
        period = variable.width
        if period not in {"year", "quarter", "month"}:
            raise RequestError(
                Message(
                    "The width of {variable!r} is a number, 'year', 'quarter' or 'month'.",
                    variable=Name(variable.name),
                )
            )
        return period_sql(period, operand, outside), ()  # type: ignore[arg-type]
    is_whole = kind == "integer" or sql_type.endswith(",0)")
    extremes = None
    if variable.needs_extremes:
        _require_kind(variable, kind, _NUMBERS, "numbers")
        extremes = _extremes(source, variable, operand)
    bands = variable.bands_of(is_whole=is_whole, extremes=extremes)
    bound = next(b for band in bands for b in (band.lower, band.upper) if b is not None)
    if isinstance(bound, Decimal):
        _require_kind(variable, kind, _NUMBERS, "numbers")
    else:
        _require_kind(variable, kind, {"date"}, "dates")
    labels = variable.labels(is_whole=is_whole, extremes=extremes)
    if variable.other in {band.label for band in bands}:
        raise RequestError(
            Message(
                "other of {variable!r} is the label of one of its bands.",
                variable=Name(variable.name),
            ),
            hint=Message("choose another word"),
        )
    return bands_sql(bands, operand, sql_type, outside), labels


def _require_kind(
    variable: DerivedVariable, kind: str, fitting: set[str] | frozenset[str], what: str
) -> None:
    if kind in fitting:
        return
    holds = {"text": "texts", "boolean": Message("true and false"), "date": "dates"}
    holds |= dict.fromkeys(_NUMBERS, "numbers") | {"time": Message("times of day")}
    raise RequestError(
        Message(
            "The bands of {variable!r} are of {what}, and column {of!r} holds {holds}.",
            variable=Name(variable.name),
            what=said(what),
            of=Name(variable.of),
            holds=said(holds.get(kind, Message("nested or binary values"))),
        ),
        hint=Message("recode puts codes together")
        if kind == "text"
        else Message("name a column of {what}", what=said(what)),
    )


def _extremes(
    source: Source, variable: DerivedVariable, operand: str
) -> tuple[Decimal, Decimal]:
    """Look up the least and the largest value of a column."""
    ((least, largest),) = source.fetch(
        f"SELECT min({operand}), max({operand}) FROM {source.relation}"
    )
    if least is None:
        return Decimal(0), Decimal(0)
    if math.isinf(least) or math.isinf(largest):
        raise DataError(
            Message(
                "Column {of!r} holds infinite values: no bands reach them.",
                of=Name(variable.of),
            ),
            hint=Message('give start and end, and open = "both"'),
        )
    return Decimal(str(least)), Decimal(str(largest))


def _recoded(source: Source, variable: DerivedVariable) -> str:
    """Return the SQL of a recode."""
    operand, sql_type = _operand(source, variable.of)
    kind = source.kinds[variable.of]
    if kind == "other":
        raise RequestError(
            Message("Column {of!r} has no codes to recode.", of=Name(variable.of))
        )
    prints_itself = kind in {"text", "integer", "boolean"} or sql_type == "DATE"
    if variable.keep and not prints_itself:
        raise RequestError(
            Message(
                "keep of {variable!r} leaves codes as they are, and column {of!r} holds "
                "numbers with decimals, or times.",
                variable=Name(variable.name),
                of=Name(variable.of),
            ),
            hint=Message('other = "…", or name every code'),
        )
    text = f"CAST({operand} AS VARCHAR)"
    rest = "NULL" if variable.other is None else text_sql(variable.other)
    rest = text if variable.keep else rest
    codes = source.enumerated(tuple(variable.codes)) if prints_itself else None
    if codes is not None:
        labels_sql = ", ".join(map(text_sql, variable.codes.values()))
        label_sql = f"list_extract([{labels_sql}], enum_code(TRY_CAST({text} AS {codes})) + 1)"
        return f"CASE WHEN {operand} IS NULL THEN NULL ELSE coalesce({label_sql}, {rest}) END"
    parts = [f"WHEN {operand} IS NULL THEN NULL"]
    by_label: dict[str, list[str]] = {}
    for code, label in variable.codes.items():
        exact = _exact(code, kind, sql_type)
        if exact is not None:
            by_label.setdefault(label, []).append(exact)
    for label, values in by_label.items():
        # DuckDB would make a join of a list; Spark, which has no numbers of texts, does not.
        test = " OR ".join(f"{operand} = {value}" for value in values)
        test = f"{operand} IN ({', '.join(values)})" if prints_itself else test
        parts.append(f"WHEN {test} THEN {text_sql(label)}")
    return f"CASE {' '.join([*parts, f'ELSE {rest}'])} END"


def _exact(code: str, kind: str, sql_type: str) -> str | None:
    """Return the SQL of the value that is printed as a code; None where none can be."""
    literal: int | Decimal | bool | str = code
    if kind in _NUMBERS:
        try:
            number = Decimal(code)
        except InvalidOperation:
            return None
        if not number.is_finite() or text_of(number) != code:
            return None
        literal = int(number) if number == number.to_integral_value() else number
    elif kind == "boolean":
        if code not in {"true", "false"}:
            return None
        literal = code == "true"
    bounds = bounds_of(literal, sql_type)
    return value_sql(bounds.low, sql_type) if bounds is not None and bounds.is_exact else None


def root_of(source: Source, column: str) -> str:
    """Return the column of the data that a column is made of, or is."""
    while column in source.derived:
        column = source.derived[column].of
    return column


def derived_problems(request: Request, source: Source) -> Iterator[Problem]:
    """Tell what a request wants of derived variables that cannot be, with a way out."""
    derived = source.derived
    for column in (c for c in request.columns if c in derived):
        for label in (request.total_label, request.missing_label):
            if label in source.derived_labels.get(column, ()):
                problem = Message(
                    "Column {column!r} has a category called {label!r}, the name kept for "
                    "another one.",
                    column=Name(column),
                    label=Name(label),
                )
                yield (
                    problem,
                    Message("choose another label, or another total_label or missing_label"),
                )
    roots = {root_of(source, c): c for c in request.columns if c in derived}
    for name in (*request.sums, *request.ordered):
        if root_of(source, name) in roots:
            problem = Message(
                "The dimension {roots!r} is made of {name!r}: its categories tell how "
                "large the amounts are, so that a sum would tell how many records there "
                "are.",
                roots=Name(roots[root_of(source, name)]),
                name=Name(name),
            )
            yield problem, Message("sum another variable, or leave the dimension out")
    if isinstance(request.where, Filter):
        for error in filter_errors(request.where, source.derived, source.derived_labels):
            yield error.problem, error.hint or ""


def filter_errors(
    where: Filter,
    derived: Mapping[str, DerivedVariable],
    labels: Mapping[str, tuple[str, ...]],
) -> Iterator[FilterError]:
    """Tell what a filter wants of derived variables that cannot be, as errors to raise."""
    for node in comparisons_in(where.tree):
        variable = derived.get(node.column)
        if variable is None:
            continue
        name = variable.name
        if isinstance(node, Compare) and node.operator not in {"=", "<>"}:
            yield FilterError(
                Message(
                    "The filter compares the derived variable {name!r} by order.",
                    name=Name(name),
                ),
                hint=Message(
                    "compare {of!r}, or list categories: {name} in ('…', '…')",
                    of=Name(variable.of),
                    name=Name(name),
                ),
                reason="order",
                column=name,
            )
            continue
        values = node.values if isinstance(node, Within) else ()
        values = (node.value,) if isinstance(node, Compare) else values
        categories = labels.get(name, ())
        for value in values:
            if categories and value not in categories:
                words = ", ".join(map(repr, categories[:_LISTED]))
                more = ", …" if len(categories) > _LISTED else ""
                yield FilterError(
                    Message(
                        "The derived variable {name!r} has no category {value!r}; it has "
                        "{listed}{more}.",
                        name=Name(name),
                        value=Argument(value),
                        listed=said(words),
                        more=said(more),
                    ),
                    hint=_as_signs(str(value), categories)
                    or unknown_name("", value, categories)[1],
                    reason="category",
                    column=name,
                )


def _as_signs(value: str, labels: Sequence[str]) -> str | None:
    """Return a hint where a category differs by a dash or blanks alone."""
    plain = {_plain(label): label for label in labels}
    return (
        Message("did you mean {plain!r}?", plain=Name(plain[_plain(value)]))
        if _plain(value) in plain
        else None
    )


def _plain(label: str) -> str:
    return "".join(label.replace("–", "-").replace("≥", ">=").split())


def require_derived(source: Source, requests: Sequence[Request]) -> None:
    """Raise where records have no place in the derived variables that requests use.

    Raises
    ------
    DataError
        If values lie outside bands, if codes are not recoded or are not there, or if a level
        of a hierarchy does not lie in the one above it. It tells how many, not which.
    """
    if not source.derived:
        return
    for request in requests:
        filter_columns = (
            request.where.columns if isinstance(request.where, Filter) else frozenset()
        )
        for name in _with_bases(source, filter_columns):
            _require_covered(source, name, None)
        where = request.where if isinstance(request.where, Filter) else None
        for name in _with_bases(source, request.columns):
            _require_covered(source, name, where)
        for dimension in request.dimensions:
            for above, level in pairwise(request.columns_of(dimension)):
                _require_nested(source, dimension, above, level)


def _with_bases(source: Source, columns: Sequence[str] | frozenset[str]) -> list[str]:
    """Return the derived variables among columns, and those that they are made of."""
    bases: dict[str, None] = {}
    for column in columns:
        name = column
        while name in source.derived:
            bases[name] = None
            name = source.derived[name].of
    return list(bases)


def _require_covered(source: Source, name: str, where: Filter | None) -> None:
    """Look for values outside, among the records that a filter lets in, once."""
    variable = source.derived[name]
    mark = ("derived", name, where)
    if mark in source.sound:
        return
    parameters: dict[str, object] = {}
    condition = "true" if where is None else where.sql(source.types, parameters)
    if variable.is_banded:
        _require_inside(source, variable, condition, parameters)
    else:
        _require_codes(source, variable, condition, parameters)
    source.sound[mark] = True


def _require_inside(
    source: Source, variable: DerivedVariable, condition: str, parameters: dict[str, object]
) -> None:
    if variable.other is not None:
        return
    of, name = quote(variable.of), quote(variable.name)
    rows = source.fetch(
        f"SELECT count(*) FROM {source.relation} "
        f"WHERE {of} IS NOT NULL AND {name} IS NULL AND {condition}",
        parameters,
    )
    if rows[0][0]:
        raise DataError(
            Message(
                "Column {of!r} holds values outside the bands of {variable!r}.",
                of=Name(variable.of),
                variable=Name(variable.name),
            ),
            hint=Message(
                'open = "both" opens them at their ends, other = "…" makes a category of '
                "these values, where leaves their records out"
            ),
            inside=Message("{number:,} records", number=rows[0][0]),
        )


def _require_codes(
    source: Source, variable: DerivedVariable, condition: str, parameters: dict[str, object]
) -> None:
    """Compare the codes of a recode with those of the records."""
    if variable.absent == "allow" and (variable.keep or variable.other is not None):
        return
    of = quote(variable.of)
    rows = source.arrow(
        f"SELECT c, bool_or(w) AS w FROM (SELECT {of} AS c, coalesce({condition}, false) AS w "
        f"FROM {source.relation} WHERE {of} IS NOT NULL) GROUP BY c",
        parameters,
    )
    values = rows["c"].combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    texts = texts_of(values, variable.of)
    flags = rows["w"].to_pylist()
    if not variable.keep and variable.other is None:
        strangers = sum(
            is_in and text not in variable.codes
            for text, is_in in zip(texts, flags, strict=True)
        )
        if strangers:
            what = Message("codes that") if strangers > 1 else Message("code that")
            raise DataError(
                Message(
                    "Column {of!r} holds {strangers} {what} the recode of {variable!r} does "
                    "not name.",
                    of=Name(variable.of),
                    strangers=strangers,
                    what=what,
                    variable=Name(variable.name),
                ),
                hint=Message(
                    'name them, or give other = "…", or keep = true to leave them as they are'
                ),
            )
    absent = sorted(set(variable.codes) - set(texts))
    is_empty = not texts and not source.has_rows(source.relation)
    if absent and variable.absent != "allow" and not is_empty:
        what = Message("codes that") if len(absent) > 1 else Message("code that")
        examples = ", ".join(map(repr, absent[:_SHOWN])) + ", …" * (len(absent) > _SHOWN)
        raise DataError(
            Message(
                "The recode of {variable!r} names {number} {what} no record has in {of!r}.",
                variable=Name(variable.name),
                number=len(absent),
                what=what,
                of=Name(variable.of),
            ),
            hint=Message(
                'look at their spelling; absent = "allow" where it is a whole classification'
            ),
            inside=examples,
        )


def _require_nested(source: Source, dimension: str, above: str, level: str) -> None:
    """Raise unless each category of a level lies in one category of the level above."""
    is_own = above in source.derived and level in _bases(source, above)
    mark = ("nested", above, level)
    if is_own or not {above, level} & set(source.derived) or mark in source.sound:
        return
    upper, lower = quote(above), quote(level)
    rows = source.fetch(
        f"SELECT count(*) FROM (SELECT {lower} FROM {source.relation} "
        f"WHERE {lower} IS NOT NULL GROUP BY {lower} HAVING count(DISTINCT {upper}) > 1)"
    )
    if rows[0][0]:
        raise DataError(
            Message(
                "In the hierarchy {dimension!r}, {rows:,} of the categories of {level!r} "
                "lie in several of {above!r}.",
                dimension=Name(dimension),
                rows=rows[0][0],
                level=Name(level),
                above=Name(above),
            ),
            hint=Message("from broad to fine, each broader band begins where a finer one does"),
        )
    source.sound[mark] = True


def _bases(source: Source, column: str) -> Iterator[str]:
    """Return the columns that a derived variable is made of, nearest first."""
    while column in source.derived:
        column = source.derived[column].of
        yield column
