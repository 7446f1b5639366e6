"""The published count that gives an original away most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Message
from risk.errors import RiskError
from risk.inference.sets import NEGLIGIBLE
from risk.wellformed import require_counts

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from risk.inference.inverse import Inverse


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorstPosterior:
    """For each sensitive original the worst published count, and the worst for all together.

    Parameters
    ----------
    originals
        The sensitive counts that the prior does not rule out.
    published
        For each, the published count that gives it away most.
    probabilities
        For each, P(original | that published count).
    set_published
        The published count that gives away most that the original is one of them.
    set_probability
        The probability that it is.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk import Inverse, Prior
    >>> inverse = Inverse(table=Mechanism.random_rounding(5).build(), prior=Prior.flat())
    >>> found = worst_posterior(inverse, [1, 2, 3, 4])
    >>> found.set_published, round(found.set_probability, 4)
    (0, 0.6667)
    """

    originals: NDArray[np.int64]
    published: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    set_published: int
    set_probability: float

    def to_frame(self) -> pd.DataFrame:
        """Give one line per sensitive original.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Inverse, Prior
        >>> inverse = Inverse(table=Mechanism.rounding(2).build(), prior=Prior.flat())
        >>> worst_posterior(inverse, [1]).to_frame().values.tolist()
        [[1.0, 2.0, 0.5]]
        """
        import pandas as pd

        names = ("originals", "published", "probabilities")
        columns = ("original", "published", "probability")
        return pd.DataFrame(
            {c: getattr(self, name) for c, name in zip(columns, names, strict=True)}
        )


def worst_posterior(
    inverse: Inverse, originals: ArrayLike, *, published: ArrayLike | None = None
) -> WorstPosterior:
    """Search published counts for the one that gives most away.

    Parameters
    ----------
    inverse
        The p-table and the prior; `Prior.tilted` makes it the worst prior near it.
    originals
        The sensitive counts, such as ``range(1, threshold)``.
    published
        The counts that were published, at least one of which a sensitive count can become; by
        default all that one does with a probability of at least `sets.NEGLIGIBLE`.

    Notes
    -----
    ``max_j q_ij`` for each i, and ``max_j Σ_i q_ij``; the lowest j among equals.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> from risk import Inverse, Prior
    >>> table = solve(NoiseSpec(max_noise=5, variance=2.0))
    >>> inverse = Inverse(table=table, prior=Prior.supplied([4, 3, 2, 1], beyond="last"))
    >>> worst_posterior(inverse, range(1, 5)).published
    array([1, 2, 3, 4])
    """
    numbers = list(originals) if isinstance(originals, range) else originals
    suspects = np.unique(require_counts(numbers, name="originals"))
    suspects = suspects[inverse.prior.at(suspects) > 0]
    if not suspects.size:
        raise RiskError(
            Message("originals must list a count that the prior does not rule out."),
            hint=Message("smooth the prior with Prior.from_counts(..., added=0.5)"),
        )
    outcomes = inverse.reachable(suspects, floor=NEGLIGIBLE if published is None else 0.0)
    if published is not None:
        outcomes = np.intersect1d(outcomes, require_counts(published, name="published"))
    if not outcomes.size:
        raise RiskError(
            Message("published must list a count that one of originals can become."),
            hint=Message("Inverse.reachable() lists them"),
        )
    matrix = inverse.probability(suspects[:, None], outcomes[None, :])
    together = np.minimum(matrix.sum(axis=0), 1.0)
    places = np.argmax(np.round(matrix, 12), axis=1)
    worst = int(np.argmax(np.round(together, 12)))
    return WorstPosterior(
        originals=suspects,
        published=outcomes[places],
        probabilities=matrix[np.arange(len(suspects)), places],
        set_published=int(outcomes[worst]),
        set_probability=float(together[worst]),
    )
