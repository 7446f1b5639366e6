"""Groups of at least k records, replaced by what stands for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from footing.checks import require_integer, require_one_of
from footing.messages import Message
from synth.errors import SynthError
from synth.sanitisers.frames import checked_rows, numbers_of, opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from footing.arrays import Floats


def aggregate(
    frame: Any, *, groups: Sequence[Sequence[int]], columns: Sequence[str]
) -> pd.DataFrame:
    """Replace the values of each group by its mean, or by its most frequent value.

    Parameters
    ----------
    frame
        The records.
    groups
        Rows, from 0; rows in no group stay as they are.
    columns
        Which columns; texts get the most frequent one, of several the first in the alphabet.

    Examples
    --------
    >>> frame = {"age": [39, 49, 50], "sex": ["M", "F", "M"]}
    >>> aggregate(frame, groups=[[0, 1]], columns=["age", "sex"]).values.tolist()
    [[44.0, 'F'], [44.0, 'F'], [50.0, 'M']]
    """
    import pandas as pd

    table = opened(frame, columns)
    rows = checked_rows([row for group in groups for row in group], len(table))
    if len(set(rows)) < len(rows):
        raise SynthError(Message("A row is in two groups."))
    for name in columns:
        is_numeric = pd.api.types.is_numeric_dtype(table[name])
        values: list[Any] = table[name].tolist()
        for group in groups:
            cells = [values[row] for row in group]
            stands = np.mean(cells) if is_numeric else min(cells, key=_frequency(cells))
            for row in group:
                values[row] = float(stands) if is_numeric else stands
        table[name] = pd.Series(values, dtype=float if is_numeric else object)
    return table


def microaggregate(
    frame: Any,
    *,
    columns: Sequence[str],
    k: int,
    method: Literal["mdav", "univariate"] = "mdav",
) -> pd.DataFrame:
    """Replace numbers by the means of groups of at least k records.

    Parameters
    ----------
    frame
        The records.
    columns
        Columns of numbers.
    k
        The least size of a group.
    method
        ``"mdav"``: one grouping by distance for all columns, so that the columns together are
        k-anonymous. ``"univariate"``: each column sorted and grouped by itself, which keeps
        ranks and protects less.

    Examples
    --------
    >>> found = microaggregate({"a": [1, 9, 2, 8]}, columns=["a"], k=2, method="univariate")
    >>> found["a"].tolist()
    [1.5, 8.5, 1.5, 8.5]
    """
    table = opened(frame, columns)
    values = numbers_of(table, columns)
    _check_k(k, len(table))
    require_one_of(method, "method", ("mdav", "univariate"), error=SynthError)
    if method == "mdav":
        return aggregate(table, groups=mdav_groups(values, k=k), columns=columns)
    for place, name in enumerate(columns):
        order = np.argsort(values[:, place], kind="stable")
        cuts = list(range(k, len(order) - k + 1, k))
        groups = [part.tolist() for part in np.split(order, cuts)]
        table[name] = aggregate(table[[name]], groups=groups, columns=[name])[name]
    return table


def mdav_groups(values: Floats, *, k: int) -> list[list[int]]:
    """Group records by distance: the farthest from the middle first, with its neighbours.

    Parameters
    ----------
    values
        One row per record, numbers; columns are brought to deviation 1.
    k
        The least size of a group; none exceeds ``2 k - 1``.

    References
    ----------
    Domingo-Ferrer, Torra 2005.

    Examples
    --------
    >>> [sorted(one) for one in mdav_groups(np.array([[0.0], [10.0], [1.0], [11.0]]), k=2)]
    [[1, 3], [0, 2]]
    """
    points = np.asarray(values, dtype=np.float64)
    _check_k(k, len(points))
    spread = points.std(axis=0)
    points = points / np.where(spread > 0, spread, 1.0)
    rest, groups = np.arange(len(points)), []

    def take(center: Floats) -> None:
        nonlocal rest
        nearest = np.argsort(((points[rest] - center) ** 2).sum(axis=1), kind="stable")[:k]
        groups.append([int(row) for row in rest[nearest]])
        rest = np.delete(rest, nearest)

    def farthest(center: Floats) -> Floats:
        distances = ((points[rest] - center) ** 2).sum(axis=1)
        # of distances that differ by roundings alone the last is taken
        close = np.flatnonzero(distances >= distances.max() * (1 - 1e-12))
        far: Floats = points[rest[close[-1]]]
        return far

    while len(rest) >= 3 * k:
        first = farthest(points[rest].mean(axis=0))
        second = farthest(first)
        take(first)
        take(second)
    if len(rest) >= 2 * k:
        take(farthest(points[rest].mean(axis=0)))
    groups.append([int(row) for row in rest])
    return groups


def _check_k(k: Any, n: int) -> None:
    way = Message("there are {number} records", number=n)
    require_integer(k, "k", error=SynthError, hint=way, minimum=1, maximum=n)


def _frequency(values: list[Any]) -> Any:
    return lambda value: (-values.count(value), str(value))
