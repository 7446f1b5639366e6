"""What tells the noise of variables apart, for a ledger that holds them to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ckm.engine.magnitudes.measures import noise_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckm.engine.magnitudes.settings import MagnitudeNoise


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
    if noise.rules != "ckm":  # what else the digits of other tools depend on
        content += [noise.zero_keys, noise.same_key, noise.key_decimals]
    return json.dumps(content)
