"""A first protected table in Python, without a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.engine.published_table import PublishedTable
    from tables import Secret


def protect(
    data: Any,
    dimensions: Sequence[str] | str,
    *,
    id: str,  # noqa: A002  (the word of jobs and of `Engine`)
    secret: Secret | str | Path,
    where: str | None = None,
    weight: str | None = None,
) -> PublishedTable:
    """Count the people of each cell, with all totals, under the noise of the demonstration.

    No published count is further than 5 from the truth, and none is 1 or 2. The table is not
    compared with earlier ones: that does ``ckm protect``, or a job with a ledger.

    Parameters
    ----------
    data
        Whatever `ckm.Engine` takes: a data frame, an Arrow table, files, a database.
    dimensions
        Columns of the table.
    id
        Column that tells persons apart, and stays the same from year to year.
    secret
        The secret, or its file; another one gives the same people other noise.
    where
        A filter, such as ``"age >= 15"``.
    weight
        Column of weights; the table then has weighted counts, too.

    Returns
    -------
    PublishedTable
        The published numbers and nothing else: print it, or take ``to_pandas()``. Its
        ``measures(internal=True)`` gives figures of risk and utility, for the office.

    Raises
    ------
    ConfigError
        If a column does not exist, or is no column to tabulate by.
    tables.SourceError
        If identifiers are missing, or not those of persons.

    Examples
    --------
    >>> import pandas as pd
    >>> from tables import Secret
    >>> people = pd.DataFrame({"person": range(900), "sex": ["F", "M", "F"] * 300})
    >>> secret = Secret(bytes(range(32)))
    >>> protect(people, "sex", id="person", secret=secret).columns
    ('sex', 'count')
    """
    from ckm.config.draft import drafted_noise
    from ckm.engine.engine import Engine
    from ptable import solve

    measures = ("count",) if weight is None else ("count", "weighted")
    columns = [dimensions] if isinstance(dimensions, str) else list(dimensions)
    with Engine(
        data, id=id, secret=secret, weight=weight, ptable=solve(drafted_noise())
    ) as engine:
        return engine.tabulate(columns, where=where, measures=measures)
