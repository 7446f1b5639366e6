"""What a reader may learn from what is published: posteriors, and the worst of each table.

Only counts that a release publishes are judged. The prior is counted from cells, so that few
cells would pass off their own gaps as knowledge: such a prior is pooled, or smoothed.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ckm.assessment.observed import ObservedCells, ObservedTable
from ckm.engine.cell_histogram import CountHistogram
from ptable import PTable
from reports.facts.release import SURE, PosteriorFact, WorstFact
from risk.distributions.band import Band
from risk.distributions.histogram import Histogram
from risk.distributions.prior import Prior
from risk.inference.inverse import Inverse
from risk.inference.worst import worst_posterior

_SHOWN = 10
_LIKELY = 0.005
#: A prior of fewer non-empty cells is thin: with 100, a share is known to ±0.1.
_FEWEST = 100
#: Cells added to every count where even all tables together are thin: Jeffreys' rule.
_ADDED = 0.5


def posteriors(
    table: PTable,
    count_histogram: CountHistogram,
    tables: Iterable[ObservedTable],
    *,
    sensitive: Sequence[int],
) -> tuple[str, tuple[PosteriorFact, ...]]:
    """Give what each small published count tells of the original one, and the prior's name.

    The prior is the share of each original count among the cells themselves. Originals of
    less than half a percent are left out.
    """
    together = count_histogram.together
    up_to = max(_SHOWN, *sensitive)
    reach = up_to - min(Band.of(table).lowest, 0)
    shares = together.prior(reach)
    name, prior = prior_of(together, together, reach)
    if shares is None or prior is None:
        return name, ()
    inverse = Inverse(table=table, prior=prior)
    counts = np.intersect1d(_published(tables), inverse.possible(up_to))
    if not len(counts):
        return name, ()
    near = together.within(0, reach).n_cells / together.n_cells
    expected = Inverse(table=table, prior=shares).weight(counts) * near
    originals, chances = inverse.windows(counts)
    is_sensitive = np.isin(originals, list(sensitive))
    return name, tuple(
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
            counts, expected, originals, chances, is_sensitive, strict=True
        )
    )


def worst(
    table: PTable,
    count_histogram: CountHistogram,
    tables: Sequence[ObservedTable],
    *,
    sensitive: Sequence[int],
) -> tuple[WorstFact, ...]:
    """Give the most that a published count of each table tells, the worst table first.

    Several tables together come as one more, without a name. Tables that publish nothing that
    a sensitive count can have become are left out, and so are those whose prior has none.
    """
    suspects = np.array(sorted(set(sensitive)))
    band = Band.of(table)
    reach = int(suspects.max()) + max(band.highest, 0) - min(band.lowest, 0)
    cases = [
        (one.name, count_histogram.tables.get(one.name), _published([one]), one.cells)
        for one in tables
    ]
    if len(cases) > 1:
        distinct = ObservedCells.together([one.cells.take(one.is_new) for one in tables])
        cases.insert(0, ("", count_histogram.together, _published(tables), distinct))
    facts = []
    for name, histogram, published_counts, cells in cases:
        if histogram is None:
            continue
        kind, prior = prior_of(histogram, count_histogram.together, reach)
        if prior is None or not prior.at(suspects).any():
            continue
        inverse = Inverse(table=table, prior=prior)
        if not np.isin(published_counts, inverse.reachable(suspects)).any():
            continue
        most = worst_posterior(inverse, suspects, published=published_counts)
        place = int(np.argmax(most.probabilities))
        small = cells.take(np.isin(cells.count, suspects)).published
        outcomes = np.intersect1d(small, inverse.reachable(suspects))
        chances = inverse.probability(suspects[:, None], outcomes[None, :]).sum(axis=0)
        facts.append(
            WorstFact(
                table=name,
                original=int(most.originals[place]),
                published=int(most.published[place]),
                probability=min(1.0, float(most.probabilities[place])),
                set_published=most.set_published,
                set_probability=most.set_probability,
                small=len(small),
                sure=int(np.isin(small, outcomes[chances > SURE]).sum()),
                prior=kind,
            )
        )
    return tuple(sorted(facts, key=lambda fact: -fact.probability))


def _published(tables: Iterable[ObservedTable]) -> NDArray[np.int64]:
    """List the different published counts; an empty cell is read as 0, listed or not."""
    parts = [np.zeros(0, np.int64)]
    for table in tables:
        parts += [table.cells.published, np.zeros(min(table.empty, 1), np.int64)]
    return np.unique(np.concatenate(parts))


def prior_of(own: Histogram, together: Histogram, reach: int) -> tuple[str, Prior | None]:
    """Count the cells of a table, of all tables where it has few, or smooth these."""
    for name, histogram in (("table-counts", own), ("release-counts", together)):
        prior = histogram.prior(reach)
        if histogram.within(1, reach).n_cells >= _FEWEST:
            return name, prior
    return "smoothed-counts", together.prior(reach, added=_ADDED)
