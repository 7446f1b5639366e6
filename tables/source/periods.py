"""Periods of pandas as the texts that pandas prints: ``2020-01``, ``2020Q1``, ``2020``.

A period is kept as its number from the one of 1970-01-01 on. The text is made in SQL, so that
records are read once, by DuckDB and by Spark alike.
"""

from __future__ import annotations

import json
import re

_WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_SECONDS = {"h": 3600, "min": 60, "s": 1}
_FRACTIONS = {"ms": 3, "us": 6, "ns": 9}
_OLD = {"A": "Y", "H": "h", "T": "min", "S": "s", "L": "ms", "U": "us", "N": "ns"}


def period_sql(settings: str) -> tuple[str, str] | None:
    """Return the texts of periods in SQL of DuckDB and of Spark; None for another frequency.

    Parameters
    ----------
    settings
        Those of the type ``pandas.period``: JSON with its frequency.
    """
    try:
        frequency = json.loads(settings)["freq"]
    except (ValueError, TypeError, KeyError):
        return None
    match = re.fullmatch(r"\d*([A-Za-z]+)(?:-([A-Z]{3}))?", str(frequency))
    if match is None:
        return None
    unit, anchor = _OLD.get(match[1], match[1]), match[2]
    texts = [_text(dialect, unit, anchor) for dialect in (_DuckDB(), _Spark())]
    return None if None in texts else (str(texts[0]), str(texts[1]))


class _DuckDB:
    """The parts of which the dialects differ."""

    over, text = "//", "VARCHAR"

    def date(self, days: str) -> str:
        return f"CAST(DATE '1970-01-01' + CAST({days} AS INTEGER) AS VARCHAR)"


class _Spark:
    over, text = "DIV", "STRING"

    def date(self, days: str) -> str:
        return f"CAST(DATE_ADD(DATE '1970-01-01', CAST({days} AS INT)) AS STRING)"


def _text(sql: _DuckDB | _Spark, unit: str, anchor: str | None) -> str | None:
    """Write the text of a period ``{0}`` of a unit."""
    text = None
    if unit == "Y":
        text = _year(sql, "({0} + 1970)")
    elif unit == "Q":
        quarter = f"CAST({_rest('{0}', 4)} + 1 AS {sql.text})"
        year = _year(sql, f"({_floor(sql, '{0}', 4)} + 1970)")
        text = f"({year} || 'Q' || {quarter})"
    elif unit == "M":
        month = _padded(sql, _rest("{0}", 12) + " + 1", 2)
        year = _year(sql, f"({_floor(sql, '{0}', 12)} + 1970)")
        text = f"({year} || '-' || {month})"
    elif unit == "W" and anchor in _WEEKDAYS:
        # Day 0 is a Thursday, and of week 0 those come first that end on a Sunday.
        end = f"({{0}} * 7 + {(_WEEKDAYS.index(anchor) + 1) % 7 - 4})"
        text = f"({sql.date(f'({end} - 6)')} || '/' || {sql.date(end)})"
    elif unit == "B":  # five days a week
        weekday = _rest("({0} + 3)", 5)
        text = sql.date(f"({_floor(sql, '({0} + 3)', 5)} * 7 + {weekday} - 3)")
    elif unit == "D":
        text = sql.date("{0}")
    elif unit in _SECONDS:
        text = _moment(sql, f"({{0}} * {_SECONDS[unit]})", unit)
    elif unit in _FRACTIONS:
        parts = 10 ** _FRACTIONS[unit]
        fraction = _padded(sql, _rest("{0}", parts), _FRACTIONS[unit])
        text = f"({_moment(sql, _floor(sql, '{0}', parts), 's')} || '.' || {fraction})"
    return text


def _moment(sql: _DuckDB | _Spark, seconds: str, unit: str) -> str:
    """Write a date and its clock, down to hours (with minutes), minutes or seconds."""
    clock = _rest(seconds, 86_400)
    parts = [_padded(sql, f"{clock} {sql.over} 3600", 2)]
    parts.append(_padded(sql, f"{clock} {sql.over} 60 % 60", 2))
    if unit == "s":
        parts.append(_padded(sql, f"{clock} % 60", 2))
    time_of_day = " || ':' || ".join(parts)
    return f"({sql.date(_floor(sql, seconds, 86_400))} || ' ' || {time_of_day})"


def _rest(number: str, by: int) -> str:
    """Write what is left of a division, from 0 on whatever the sign."""
    return f"((({number} % {by}) + {by}) % {by})"


def _floor(sql: _DuckDB | _Spark, number: str, by: int) -> str:
    return f"(({number} - {_rest(number, by)}) {sql.over} {by})"


def _padded(sql: _DuckDB | _Spark, number: str, digits: int) -> str:
    return f"LPAD(CAST({number} AS {sql.text}), {digits}, '0')"


def _year(sql: _DuckDB | _Spark, year: str) -> str:
    plain = f"CAST({year} AS {sql.text})"
    digits = f"LPAD({plain}, 4, '0')"
    return f"(CASE WHEN {year} BETWEEN 0 AND 9999 THEN {digits} ELSE {plain} END)"
