"""The sums and means of a table, from protected parts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.magnitudes.means import published_ratio
from ckm.engine.magnitudes.noise.perturb import perturb_magnitudes
from ckm.engine.request import variable_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from tables import Cells, Secret

_MORE = 2  # decimals of a mean beyond those of its sum
_MOST = 15


def published_sums(
    cells: Cells,
    published: NDArray[np.int64],
    *,
    variables: Sequence[str],
    noises: Mapping[str, MagnitudeNoise],
    weight: str | None = None,
    secret: Secret | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return the published sums of cells.

    Parameters
    ----------
    cells
        The cells, with the magnitudes of every variable.
    published
        Their published counts.
    variables
        The variables to sum.
    noises
        Variable → how it is perturbed.
    weight
        The column of weights, or None.
    secret
        The secret of the release.

    Returns
    -------
    dict
        Variable → the published sum of every cell.

    Notes
    -----
    A sum is 0 where the published count is 0, as in an empty cell: any other number there
    would tell that somebody is in the cell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ckm import MagnitudeNoise
    >>> from tables import HashedKeys, Request, Secret, cube, open_source
    >>> secret = Secret(bytes(16))
    >>> people = pa.table({"id": range(40), "income": [2000 + 10 * n for n in range(40)]})
    >>> with open_source(people) as source:
    ...     keys = HashedKeys(column="id", secret=secret)
    ...     (cells,) = cube(source, keys, [Request(dimensions=[], sums=["income"], top=2)])
    >>> noises = {"income": MagnitudeNoise.start()}
    >>> found = published_sums(
    ...     cells, cells.count, variables=["income"], noises=noises, secret=secret
    ... )
    >>> bool(abs(found["income"][0] - 87_800) < 0.55 * 2390)
    True
    """
    found = {}
    for variable in variables:
        magnitudes = (cells.magnitudes or {})[variable]
        total = perturb_magnitudes(
            replace(magnitudes, variable=noise_name(variable, weight)),
            noises[variable],
            secret=secret,
            cell_keys=cells.cell_key,
        )
        found[variable] = np.where(published > 0, total, 0.0)
    return found


def published_amounts(
    sums: Mapping[str, NDArray[np.float64]],
    *,
    measures: Sequence[str],
    noises: Mapping[str, MagnitudeNoise],
    divisor: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Return the published numbers of sums and means.

    Parameters
    ----------
    sums
        Variable → the published sum of every cell.
    measures
        All measures of the table; counts are passed over.
    noises
        Variable → how it is perturbed.
    divisor
        What means are divided by: published counts, or published weighted counts.

    Returns
    -------
    dict
        Measure → the number of every cell; means are masked where there is none.

    Notes
    -----
    A mean is the published sum over the published count, whether or not these are shown.

    Examples
    --------
    >>> from ckm.engine.magnitudes.variables import VariableNoises
    >>> published_amounts(
    ...     {"income": np.array([1000.0, 0.0])},
    ...     measures=["count", "mean:income"],
    ...     noises=VariableNoises(None),
    ...     divisor=np.array([3.0, 0.0]),
    ... )["mean:income"].tolist()
    [333.33, None]
    """
    found = {}
    for measure in measures:
        variable = variable_of(measure)
        if variable is not None:
            is_sum = measure.startswith("sum:")
            total = sums[variable]
            found[measure] = total if is_sum else _mean(total, divisor, noises[variable])
    return found


def noise_name(variable: str, weight: str | None) -> str:
    """Return the name that a variable's noise is derived from.

    Parameters
    ----------
    variable
        The column.
    weight
        The column of weights, or None.

    Notes
    -----
    The weighted and the unweighted total of a single contributor under one noise would have
    the weight as their exact ratio.

    Examples
    --------
    >>> noise_name("income", None), noise_name("income", "w")
    ('income', 'income weighted by w')
    """
    return variable if weight is None else f"{variable} weighted by {weight}"


def mean_decimals(decimals: int | None) -> int | None:
    """Return how many decimals published means have; None for all digits.

    Parameters
    ----------
    decimals
        Those of published sums.

    Examples
    --------
    >>> mean_decimals(0), mean_decimals(1), mean_decimals(-3), mean_decimals(None)
    (2, 3, 2, None)
    """
    return None if decimals is None else min(max(decimals, 0) + _MORE, _MOST)


def _mean(
    total: NDArray[np.float64], divisor: NDArray[np.float64], noise: MagnitudeNoise
) -> NDArray[np.float64]:
    mean = published_ratio(total, divisor)
    decimals = mean_decimals(noise.decimals)
    if decimals is not None:
        mean = np.round(mean, decimals) + 0.0  # no minus before a zero
    mask = np.isnan(mean)
    return np.ma.array(np.where(mask, 0.0, mean), mask=mask)
