"""What a reader may learn: posteriors of original counts, and the worst of each table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reports.facts import PosteriorFact, WorstFact
from risk.band import Band
from risk.inverse import Inverse
from risk.worst import worst_posterior

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ptable import PTable
    from risk.histogram import Histogram

__all__ = ["posteriors", "worst"]

_SHOWN = 10
_LIKELY = 0.005


def posteriors(
    table: PTable, histogram: Histogram | None, *, sensitive: Sequence[int]
) -> tuple[PosteriorFact, ...]:
    """Give what each small published count tells of the original one.

    Parameters
    ----------
    table
        The p-table as it was applied.
    histogram
        How many cells have each original count, empty ones included.
    sensitive
        The sensitive counts.

    Notes
    -----
    The prior is the share of each original count among the cells themselves. Originals of
    less than half a percent are left out.

    Examples
    --------
    >>> from ptable.mechanisms import Mechanism
    >>> from risk.histogram import Histogram
    >>> found = posteriors(
    ...     Mechanism.rounding(3).build(), Histogram.of([1, 3, 4, 9]), sensitive=[1]
    ... )
    >>> found[1].published, found[1].originals, found[1].sensitive
    (3, {3: 0.5, 4: 0.5}, 0.0)
    """
    if histogram is None:
        return ()
    up_to = max(_SHOWN, *sensitive)
    reach = up_to - min(Band.of(table).lowest, 0)
    prior = histogram.prior(reach)
    if prior is None:
        return ()
    near = int(histogram.cells[histogram.counts <= reach].sum())
    inverse = Inverse(table=table, prior=prior)
    seen = inverse.possible(up_to)
    if not len(seen):
        return ()
    shares = inverse.weight(seen) * near / histogram.n_cells
    originals, chances = inverse.windows(seen)
    is_sensitive = np.isin(originals, list(sensitive))
    return tuple(
        PosteriorFact(
            published=int(count),
            share=min(1.0, float(share)),
            originals={
                int(original): min(1.0, float(p))
                for original, p in zip(where.tolist(), row.tolist(), strict=True)
                if p >= _LIKELY
            },
            sensitive=min(1.0, float(row[suspect].sum())),
        )
        for count, share, where, row, suspect in zip(
            seen, shares, originals, chances, is_sensitive, strict=True
        )
    )


def worst(
    table: PTable, histograms: Mapping[str, Histogram], *, sensitive: Sequence[int]
) -> tuple[WorstFact, ...]:
    """Give the most that a single published count tells, per table, the worst first.

    Parameters
    ----------
    table
        The p-table as it was applied.
    histograms
        Name of a table → its histogram; tables without a sensitive cell are left out.
    sensitive
        The sensitive counts.

    Examples
    --------
    >>> from ptable.mechanisms import Mechanism
    >>> from risk.histogram import Histogram
    >>> tables = {"t": Histogram.of([1, 3, 4, 9])}
    >>> worst(Mechanism.random_rounding(3).build(), tables, sensitive=[1])[0].published
    0
    """
    suspects = np.array(sorted(set(sensitive)))
    band = Band.of(table)
    reach = int(suspects.max()) + max(band.highest, 0) - min(band.lowest, 0)
    found = []
    for name, histogram in histograms.items():
        prior = histogram.prior(reach)
        if prior is None or not prior.at(suspects).any():
            continue
        most = worst_posterior(Inverse(table=table, prior=prior), suspects)
        place = int(np.argmax(most.probabilities))
        found.append(
            WorstFact(
                table=name,
                original=int(most.originals[place]),
                published=int(most.published[place]),
                probability=min(1.0, float(most.probabilities[place])),
                set_published=most.set_published,
                set_probability=most.set_probability,
            )
        )
    return tuple(sorted(found, key=lambda fact: -fact.probability))
