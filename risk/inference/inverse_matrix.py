"""All inverse transition probabilities at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from risk.inference.inverse import Inverse


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InverseMatrix:
    """The inverse transition probabilities as one matrix.

    Parameters
    ----------
    originals
        The counts of the rows.
    published
        The counts of the columns; those that are never published are left out.
    probabilities
        P(original row | published column); columns sum to 1.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk import Inverse, Prior
    >>> table = Mechanism.random_rounding(3).build()
    >>> matrix = inverse_matrix(Inverse(table=table, prior=Prior.flat()), up_to=3)
    >>> matrix.published
    array([0, 3])
    >>> matrix.probabilities.round(2).tolist()
    [[0.5, 0.0], [0.33, 0.11], [0.17, 0.22], [0.0, 0.33], [0.0, 0.22], [0.0, 0.11]]
    """

    originals: NDArray[np.int64]
    published: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """Give one line per original and one column per published count.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Inverse, Prior
        >>> inverse = Inverse(table=Mechanism.rounding(3).build(), prior=Prior.flat())
        >>> inverse_matrix(inverse, up_to=3).to_frame()[0].tolist()
        [0.5, 0.5, 0.0, 0.0, 0.0]
        """
        import pandas as pd

        rows = pd.Index(self.originals, name="original")
        columns = pd.Index(self.published, name="published")
        return pd.DataFrame(self.probabilities, index=rows, columns=columns)


def inverse_matrix(inverse: Inverse, *, up_to: int | None = None) -> InverseMatrix:
    """Give P(original | published) for all published counts up to a largest one.

    Parameters
    ----------
    inverse
        The p-table and the prior.
    up_to
        The largest published count; by default the largest that a count of the prior's list
        may become. The matrix is dense: thousands of counts, not millions;
        `Inverse.windows` stays narrow.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk import Inverse, Prior
    >>> prior = Prior.supplied([1, 1, 2])
    >>> inverse = Inverse(table=Mechanism.random_rounding(2).build(), prior=prior)
    >>> inverse_matrix(inverse).probabilities.round(2).tolist()
    [[0.67, 0.0], [0.33, 0.2], [0.0, 0.8]]
    >>> counts = Prior.supplied([2, 1])
    >>> inverse_matrix(Inverse(table=inverse.table, prior=counts)).published
    array([0, 2])
    """
    last = len(inverse.prior.probabilities) - 1
    published = inverse.possible(last + inverse.table.max_noise if up_to is None else up_to)
    originals, probabilities = inverse.windows(published)
    lines, places = np.nonzero(probabilities)
    rows = originals[lines, places]
    matrix = np.zeros((int(rows.max(initial=0)) + 1, len(published)))
    matrix[rows, lines] = probabilities[lines, places]
    return InverseMatrix(
        originals=np.arange(len(matrix)), published=published, probabilities=matrix
    )
