"""Schemas of other tools, read as ours; what they do not declare stays undeclared."""

from collections.abc import Mapping
from typing import Any

from synth.errors import SchemaError
from synth.schema.columns import Category, Column, Date, Real, Whole
from synth.schema.schema import Schema

_WIDE = 1000


def schema_from(found: Mapping[str, Any], *, declared_by: str = "") -> Schema:
    """Return the schema that another tool's description says.

    Parameters
    ----------
    found
        The parsed JSON: ``categories`` and ``integer_bounds``; the dictionary of NIST's data
        excerpts; or SDV metadata, which declares types only.
    declared_by
        Who declared it, for the certificate.

    Raises
    ------
    SchemaError
        If it is of none of these shapes.

    Examples
    --------
    >>> schema = schema_from(
    ...     {"categories": {"sex": ["F", "M"]}, "integer_bounds": {"age": [0, 99]}}
    ... )
    >>> [column.size for column in schema.columns]
    [2, 100]
    >>> schema_from({"columns": {"sex": {"sdtype": "categorical"}}}).undeclared
    ['sex']
    """
    try:
        if "integer_bounds" in found or "categories" in found:
            columns = _plain(found, declared_by)
        elif isinstance(found.get("schema"), dict):
            columns = [_nist(name, one, declared_by) for name, one in found["schema"].items()]
        elif "columns" in found or "tables" in found:
            columns = _sdv(found, declared_by)
        else:
            raise SchemaError(
                "The description is of no tool that is known.",
                hint="known: categories and integer_bounds, NIST's dictionary, SDV metadata",
            )
        return Schema(columns=tuple(columns))
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError("The description does not hold together.") from None


def _plain(found: Mapping[str, Any], by: str) -> list[Column]:
    columns: list[Column] = [
        Category(name=name, values=tuple(values), declared_by=by)
        for name, values in found.get("categories", {}).items()
    ]
    for name, (low, high) in found.get("integer_bounds", {}).items():
        columns.append(_whole(name, low, high, {}, by))
    return columns


def _whole(name: str, low: int, high: int, missing: dict[str, Any], by: str) -> Whole:
    wide: dict[str, Any] = {}
    if high - low >= _WIDE:
        wide = {"bins": 40, "points": (0,) if low <= 0 <= high else ()}
        wide["spacing"] = "log" if low == 0 else "even"
    return Whole(name=name, low=low, high=high, missing=missing, declared_by=by, **wide)


def _nist(name: str, found: Mapping[str, Any], by: str) -> Column:
    missing = {"not applicable": found["null_value"]} if found.get("has_null") else {}
    if "values" in found:
        values = tuple(value for value in found["values"] if value not in missing.values())
        return Category(name=name, values=values, missing=missing, declared_by=by)
    low, high = found["min"], found["max"]
    if found["dtype"].startswith("float"):
        return Real(name=name, low=low, high=high, missing=missing, declared_by=by, decimals=1)
    return _whole(name, low, high, missing, by)


def _sdv(found: Mapping[str, Any], by: str) -> list[Column]:
    if "tables" in found:
        tables = list(found["tables"].values())
        if len(tables) != 1:
            raise SchemaError(f"The metadata are of {len(tables)} tables, not of one.")
        found = tables[0]
    columns: list[Column] = []
    for name, one in found["columns"].items():
        kind = one["sdtype"]
        if kind == "numerical":
            is_whole = str(one.get("computer_representation", "")).startswith("Int")
            columns.append((Whole if is_whole else Real)(name=name, declared_by=by))
        elif kind == "datetime":
            columns.append(Date(name=name, declared_by=by))
        elif kind == "boolean":
            columns.append(Category(name=name, values=(False, True), declared_by=by))
        elif kind != "id":
            columns.append(Category(name=name, declared_by=by))
    return columns
