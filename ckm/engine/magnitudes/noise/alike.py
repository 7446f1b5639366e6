"""Cells of amounts that are alike: their sum would tell how many contribute.

The sum of n hours of about 35 is n times 35, and noise that hides the largest contributor, a
share of 35, does not hide n. What is published of such a cell is the sum that it would have if
as many contributed as the published count of its contributors says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.magnitudes.sensitive.conditions import sensitive_cells
from ckm.engine.perturbation import perturb_counts
from footing.messages import Message, Name
from ptable.lookup import moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Flags, Floats, Integers
    from ptable import PTable
    from tables import Secret
    from tables.magnitudes.amounts import Magnitudes

#: Amounts whose standard deviation is this share of their mean, or more, are not alike.
LARGEST_VARIATION = 0.5
#: So few contributors say nothing of how amounts vary; then those of the whole column do.
_FEWEST = 3
#: Several variables together are judged in a cell of so many records.
_JUDGED = 1000
#: How much more surely than counts several sums may tell a count, for rounding.
_MORE = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class CountNoise:
    """The noise of counts, by which sums of amounts that are alike are changed.

    Parameters
    ----------
    ptable
        The p-table of counts.
    secret
        What mixes cell keys; None where they are not mixed.
    """

    ptable: PTable
    secret: Secret | None

    @property
    def variance(self) -> float:
        """The variance of a large count."""
        units = self.ptable.units(int(self.ptable.counts[-1]))
        return float(moments(units, self.ptable.key_range)[1])

    def law(self, count: int) -> dict[int, float]:
        """Return the probabilities of the noise of a count."""
        units = self.ptable.units(min(count, int(self.ptable.counts[-1])))
        return {noise: keys / self.ptable.key_range for noise, keys in units.items()}

    def published(self, magnitudes: Magnitudes) -> Integers:
        """Return the published numbers of contributors, as a table of them would have."""
        return perturb_counts(
            magnitudes.contributors,
            magnitudes.key,
            key_range=magnitudes.key_range,
            ptable=self.ptable,
            secret=self.secret,
        )


def variations(magnitudes: Magnitudes) -> Floats:
    """Return the coefficient of variation of the contributors' values in every cell.

    Notes
    -----
    ``c**2 = n Q / X**2 - 1`` with n contributors, X the sum of their values and Q that of their
    squares, both exact: no order of records changes it. Of fewer than three contributors it is
    that of all records of the column.
    """
    n, total = magnitudes.contributors, np.asarray(magnitudes.raw_total, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = n * magnitudes.squares / (total * total) - 1
    square = np.where(total == 0, np.inf, np.maximum(square, 0.0))
    own = np.sqrt(square)
    return np.where(n < _FEWEST, np.maximum(own, magnitudes.variation), own)


def alike_cells(magnitudes: Magnitudes) -> Flags:
    """Tell which cells hold amounts so alike that their sum tells the count.

    Notes
    -----
    Whoever takes a sum over a typical amount for the count of a cell is off by ``sqrt(n) c``,
    since amounts vary by c around it. Large cells are no exception: their difference may be a
    small set of records, whose amounts alone count then.
    """
    is_little = variations(magnitudes) < LARGEST_VARIATION
    return np.asarray((magnitudes.contributors > 0) & is_little)


def alike_numbers(magnitudes: Magnitudes) -> NDArray[np.int64]:
    """Count the cells of amounts that are alike, and all with a contributor; for inside use."""
    return np.array([alike_cells(magnitudes).sum(), (magnitudes.contributors > 0).sum()])


def alike_caution(table: str, variable: str, numbers: NDArray[np.int64]) -> str | None:
    """Say of which cells of a table the sums have the noise of counts; None for none."""
    number, all_of_them = numbers.tolist()
    if not number:
        return None
    cells = Message("some cells") if 2 * number < all_of_them else Message("most cells")
    return Message(
        "Table {table!r}: in {cells}, amounts of {variable!r} vary so little that a sum would "
        "tell how many contribute: there it has the noise of a count, too.",
        table=Name(table),
        cells=Message("all cells") if number == all_of_them else cells,
        variable=Name(variable),
    )


def as_published(
    magnitudes: Magnitudes, noise: MagnitudeNoise, counts: CountNoise | None
) -> tuple[Magnitudes, Flags]:
    """Return the amounts to perturb, and which cells are sensitive.

    Notes
    -----
    A cell of amounts that are alike becomes one of C contributors of the same mean, where C is
    the published count of its contributors: its total is ``X C / n``. This has the mean X, as C
    has the mean n, and the variance of C times the squared mean. All that is done to it then
    depends on C and not on n: so does whether it is sensitive, which it is where there may be
    as few contributors as the conditions guard. It then has one noise, keyed by all of them.
    """
    if counts is None or not counts.variance:
        return magnitudes, sensitive_cells(magnitudes, noise.sensitive)
    cells = np.flatnonzero(alike_cells(magnitudes))
    if not len(cells):
        return magnitudes, sensitive_cells(magnitudes, noise.sensitive)
    published = magnitudes.contributors.copy()
    published[cells] = counts.published(magnitudes.take(cells))
    return as_counted(magnitudes, noise, counts, published=published)


def as_counted(
    magnitudes: Magnitudes, noise: MagnitudeNoise, counts: CountNoise, *, published: Integers
) -> tuple[Magnitudes, Flags]:
    """Return the same as `as_published`, of published numbers of contributors."""
    sensitive, alike = sensitive_cells(magnitudes, noise.sensitive), alike_cells(magnitudes)
    n = magnitudes.contributors
    factor = np.divide(published, n, out=np.ones(len(n)), where=alike)
    few = _most_sensitive(noise) + counts.ptable.max_noise if noise.sensitive else 0
    strong = alike & (sensitive | (published <= few))
    sensitive = np.where(alike, strong, sensitive)
    total = magnitudes.total * factor
    changed = replace(
        magnitudes,
        total=total,
        contributors=np.where(alike, published, n),
        largest=np.where(strong, np.abs(total), magnitudes.largest),
    )
    if magnitudes.first_sizes.shape[1]:
        sizes, keys = magnitudes.first_sizes.copy(), magnitudes.first_keys.copy()
        sizes[strong] = 0.0
        sizes[strong, 0] = np.abs(total[strong])
        keys[strong, 0] = magnitudes.key[strong]
        changed = replace(changed, first_sizes=sizes, first_keys=keys)
    return changed, sensitive & (changed.contributors > 0)


def _most_sensitive(noise: MagnitudeNoise) -> int:
    """Return how many alike contributors a sensitive cell has at most."""
    numbers = (getattr(one, "least", 3) - 1 for one in noise.sensitive)
    return max(numbers, default=0)


def tells_count(
    means: Floats, covariances: Floats, *, shares: Floats, variations: Floats, variance: float
) -> bool:
    """Tell whether the sums of several variables together count the records of a cell.

    Parameters
    ----------
    means, covariances
        Of the variables, over all records.
    shares
        Of each variable, the least standard deviation of the noise of its sum, as a share of
        its mean.
    variations
        Of each variable, the coefficient of variation of its values; below one half its sum
        has the noise of counts, which the others have too.
    variance
        The variance of the noise of counts.

    Notes
    -----
    Who knows means and covariances estimates the number n of records from the sums S of a cell
    best by a combination a of them, ``a S / (a mu)``, of variance ``1 / (mu' M^-1 mu)`` with
    ``M = N + n Sigma``, the covariance of S: N that of the noise. A cell of 1000 is judged, in
    which only combinations that are nearly the same for every record tell the number.
    """
    alike = np.where(variations < LARGEST_VARIATION, means, 0.0)
    noise = np.diag((shares * means) ** 2) + variance * np.outer(alike, alike)
    sums = noise + _JUDGED * covariances
    return bool(means @ np.linalg.pinv(sums, hermitian=True) @ means * variance > _MORE)
