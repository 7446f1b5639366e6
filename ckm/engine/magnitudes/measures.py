"""Means and ratios from published parts alone, and what names the noise of sums."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import MagnitudeError
from footing.messages import Message, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Floats

_MORE = 2  # decimals of a mean beyond those of its sum
_MOST = 15


def published_ratio(published: ArrayLike, by: ArrayLike) -> Floats:
    """Divide published numbers by published numbers: means, shares, rates.

    Parameters
    ----------
    published
        What is divided: published totals.
    by
        What it is divided by: published counts, weighted counts or totals, aligned.

    Returns
    -------
    numpy.ndarray
        The ratios; not a number where the divisor is published as 0: there is no ratio then,
        which is neither a missing nor a suppressed one.

    Notes
    -----
    A ratio of published numbers tells nothing beyond them. An original mean beside a published
    total would tell the original count to who divides, and the original total to who
    multiplies; so neither part may be an original one. The ratio is nearly unbiased where the
    divisor's noise is small beside it, and is not elsewhere.

    Examples
    --------
    >>> published_ratio([1200.0, 90.0, 5.0], [10, 3, 0]).tolist()
    [120.0, 30.0, nan]
    """
    above, below = np.asarray(published, np.float64), np.asarray(by, np.float64)
    if above.shape != below.shape:
        raise MagnitudeError(
            Message(
                "Both parts of a ratio must have the same shape, not {shape} and "
                "{below_shape}.",
                shape=Shape(above.shape),
                below_shape=Shape(below.shape),
            )
        )
    ratios = np.full(above.shape, np.nan)
    np.divide(above, below, out=ratios, where=below != 0)
    return ratios


def noise_name(variable: str, weight: str | None) -> str:
    """Return the name that a variable's noise is derived from.

    The weighted and the unweighted total of a single contributor under one noise would have
    the weight as their exact ratio.
    """
    return variable if weight is None else f"{variable} weighted by {weight}"


def mean_decimals(decimals: int | None) -> int | None:
    """Return how many decimals published means have; None for all digits."""
    return None if decimals is None else min(max(decimals, 0) + _MORE, _MOST)


def published_mean(
    total: Floats, divisor: ArrayLike, counts: ArrayLike, noise: MagnitudeNoise
) -> Floats:
    """Return the published means of cells, masked where the published count is small.

    Counts are those of records, also where means are divided by weighted counts: one record
    of weight 200 is one contributor.
    """
    mean = published_ratio(total, divisor)
    mean[np.asarray(counts) < noise.mean_from] = np.nan
    decimals = mean_decimals(noise.decimals)
    if decimals is not None:
        mean = np.round(mean, decimals) + 0.0  # no minus before a zero
    mask = np.isnan(mean)
    return np.ma.array(np.where(mask, 0.0, mean), mask=mask)


def noise_identities(
    variables: Iterable[str],
    noises: Mapping[str, MagnitudeNoise],
    *,
    weight: str | None = None,
) -> dict[str, str]:
    """Return what names the noise of variables, and what it is made of; keep it inside.

    Parameters
    ----------
    variables
        The variables.
    noises
        Variable → how it is perturbed.
    weight
        The column of weights, or None.

    Returns
    -------
    dict
        A name for each variable, its weight and its period → a text that is another one for
        another noise. Decimals do not count: they round one noise.

    Examples
    --------
    >>> from ckm import MagnitudeNoise
    >>> one = {"income": MagnitudeNoise.start(spread=0.15, period="2027")}
    >>> two = {"income": MagnitudeNoise.start(spread=0.2, period="2027")}
    >>> list(noise_identities(["income"], one))
    ['["income", "2027"]']
    >>> noise_identities(["income"], one) == noise_identities(["income"], two)
    False
    """
    return {
        json.dumps([noise_name(name, weight), noises[name].period]): _content(noises[name])
        for name in variables
    }


def _content(noise: MagnitudeNoise) -> str:
    content: list[object] = [noise.rules, noise.fingerprint]
    if noise.rules == "ckm":  # what the noise of sensitive cells is keyed by
        content += ["contributors"]
    if noise.rules != "ckm":  # what else the digits of other tools depend on
        content += [noise.zero_keys, noise.same_key, noise.key_decimals]
    return json.dumps(content)
