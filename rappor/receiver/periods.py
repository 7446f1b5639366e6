"""Periods of a collection: their names, which a client sends, and when they end. All in UTC."""

import datetime as dt
from typing import Literal, get_args

Period = Literal["hour", "day", "week", "month", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)
_DECEMBER = 12


def period_of(seconds: float, kind: Period) -> str:
    """Give the name of the period of a moment.

    Parameters
    ----------
    seconds
        Since 1970, in UTC.
    kind
        How long periods are; weeks are those of ISO 8601.

    Examples
    --------
    >>> [period_of(1_804_000_000, kind) for kind in PERIODS]
    ['2027-03-02T15', '2027-03-02', '2027-W09', '2027-03', '2027']
    """
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    if kind == "week":
        year, week, _ = moment.isocalendar()
        return f"{year:04d}-W{week:02d}"
    forms = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
    return moment.strftime(forms[kind])


def period_end(seconds: float, kind: Period) -> float:
    """Give the moment at which the period of another moment ends.

    Parameters
    ----------
    seconds, kind
        As for `period_of`.

    Examples
    --------
    >>> period_of(period_end(1_804_000_000, "week"), "week")
    '2027-W10'
    """
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    start = moment.replace(minute=0, second=0, microsecond=0)
    if kind == "hour":
        return (start + dt.timedelta(hours=1)).timestamp()
    start = start.replace(hour=0)
    if kind == "day":
        return (start + dt.timedelta(days=1)).timestamp()
    if kind == "week":
        return (start + dt.timedelta(days=8 - start.isoweekday())).timestamp()
    if kind == "year" or start.month == _DECEMBER:
        return start.replace(year=start.year + 1, month=1, day=1).timestamp()
    return start.replace(month=start.month + 1, day=1).timestamp()
