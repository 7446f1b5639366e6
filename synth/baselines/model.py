"""What every baseline returns: a label, an account, and samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import require_integer
from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from synth.baselines.account import Account


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BaselineModel:
    """A fitted baseline.

    Parameters
    ----------
    label
        The name of the method, with what it does not promise.
    account
        What it really cost.
    draw
        Makes records from a number and a generator.
    details
        What else is worth knowing: folds, collisions of codes, the vine.

    Examples
    --------
    >>> from synth.baselines.dp_histogram import dp_histogram
    >>> rng = np.random.default_rng(1)
    >>> model = dp_histogram(
    ...     {"sex": ["F", "M"] * 50}, epsilon=1, domains={"sex": "FM"}, rng=rng
    ... )
    >>> model.label, model.sample(7, rng).shape
    ('DP-Histogram', (7, 1))
    """

    label: str
    account: Account
    draw: Callable[[int, np.random.Generator], pd.DataFrame]
    details: Mapping[str, Any] = field(default_factory=dict)

    def sample(self, n: int, rng: np.random.Generator | None = None) -> pd.DataFrame:
        """Draw synthetic records.

        Parameters
        ----------
        n
            How many.
        rng
            A generator; without one the operating system's randomness is used.

        Examples
        --------
        >>> from synth.baselines.dp_histogram import dp_histogram
        >>> model = dp_histogram({"sex": ["F"] * 9}, epsilon=1, domains={"sex": ["F"]})
        >>> model.sample(2)["sex"].tolist()
        ['F', 'F']
        """
        size = require_integer(n, "n", error=SynthError, minimum=1)
        return self.draw(size, np.random.default_rng() if rng is None else rng)

    @property
    def folds(self) -> Mapping[str, NDArray[np.int64]]:
        """The records that each step saw, where there are several.

        Examples
        --------
        >>> from synth.baselines.dp_histogram import dp_histogram
        >>> dp_histogram({"a": ["F"]}, epsilon=1, domains={"a": ["F"]}).folds
        {}
        """
        found: Mapping[str, NDArray[np.int64]] = self.details.get("folds", {})
        return found

    def __repr__(self) -> str:
        return f"BaselineModel({self.label!r}, {self.account})"
