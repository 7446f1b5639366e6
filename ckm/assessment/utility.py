"""What users of the published tables lose: many measures of a table, few of its parts.

The cells are those that are not empty. Empty cells are published as they are; where a table
shows its grid, they enter the measures of zeros. Tests take each set of records once: a total
with a single part repeats the noise of its part, and is no draw of its own.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ckm.assessment.grouping import Margins, categories, parents
from ptable import PTable
from reports.facts.release import MeasureFact
from risk.utility.catalogue import Measure, defined
from risk.utility.classes import CLASSES, class_cells
from risk.utility.measures.additivity import additivity
from risk.utility.measures.deviations import bias, deviations, summaries
from risk.utility.measures.distances import distances, ranks
from risk.utility.measures.noise import zeros
from risk.utility.measures.significance import significance
from risk.utility.measures.variation import variation
from risk.utility.pairs import Pairs
from tables import Cells

#: What is measured of every class, margin and category.
CORE = (
    "aad",
    "max_abs",
    "rmse",
    "bias_mean",
    "rmad_pct",
    "changed_pct",
    "false_zeros",
    "hellinger_raw",
    "hd_utility",
    "hellinger_probability",
)
#: Levels with more categories, and combinations of levels beyond the first, are left out.
MAX_VALUES = 20
MAX_MARGINS = 24
_ZEROS = ("zeros_original", "zeros_published", "true_zeros_pct")


def table_measures(
    name: str,
    cells: Cells,
    pairs: Pairs,
    *,
    ptable: PTable,
    places: NDArray[np.int64],
    margins: Margins,
    empty: int,
    total_label: str,
    threshold: int,
) -> tuple[MeasureFact, ...]:
    """Measure a table: as a whole, by class of counts, margin and category, and its sums."""
    facts = list(
        all_measures(
            name, pairs, ptable=ptable, places=places, empty=empty, threshold=threshold
        )
    )
    names = [label or total_label for label in margins.names]
    number = np.where(margins.place < MAX_MARGINS, margins.place, -1).astype(np.int64)
    groups = [("margin", number, names[:MAX_MARGINS])] if len(names) > 1 else []
    groups += categories(cells, at_most=MAX_VALUES)
    for group, inside, values in groups:
        for value, part in _by_value(pairs, inside, values):
            facts += _facts(name, _core(part, threshold), group=group, value=value)
    for dimension, parent in parents(cells):
        gaps = additivity(pairs, parent=parent, noise=ptable).measures
        facts += _facts(name, gaps, group="parent", value=dimension)
    return tuple(facts)


def all_measures(
    name: str,
    pairs: Pairs,
    *,
    ptable: PTable,
    places: NDArray[np.int64],
    empty: int,
    threshold: int,
) -> Iterator[MeasureFact]:
    """Measure cells as a whole with everything, by class with the core and quantiles."""
    sample = pairs.take(places)
    whole = (
        *(measure for measure in deviations(pairs) if measure.name != "bias_z"),
        bias(sample, ptable=ptable),
        *_with_empty(zeros(pairs, threshold=threshold), empty),
        *summaries(pairs),
        *distances(pairs),
        *variation(pairs),
        *ranks(pairs),
        *significance(sample, ptable=ptable),
    )
    yield from _facts(name, whole)
    draws = dict(class_cells(sample, CLASSES))
    for size, part in class_cells(pairs, CLASSES):
        if size == "all":
            continue
        of_class = (
            *_core(part, threshold),
            bias(draws[size], ptable=ptable),
            *summaries(part, of=("d1", "d2")),
        )
        yield from _facts(name, of_class, cells=size)


def _with_empty(measures: Iterable[Measure], empty: int) -> Iterator[Measure]:
    """Count the empty cells that are listed, and published as 0, among the zeros."""
    by_name = {measure.name: measure for measure in measures}
    published = by_name["zeros_published"]
    zero = empty + int(published.value or 0)
    for name, measure in by_name.items():
        if name not in _ZEROS:
            yield measure
        elif not empty:
            continue  # where no empty cell is listed, there is nothing to say of zeros
        elif name == "true_zeros_pct":
            yield defined(name, 100 * empty / zero, base=zero)
        else:
            number = zero if name == "zeros_published" else empty
            yield defined(name, number, base=empty + published.base)


def _core(pairs: Pairs, threshold: int) -> Iterator[Measure]:
    measures = (*deviations(pairs), *zeros(pairs, threshold=threshold), *distances(pairs))
    by_name = {measure.name: measure for measure in measures}
    return (by_name[name] for name in CORE)


def _by_value(
    pairs: Pairs, inside: NDArray[np.int64], values: list[str]
) -> Iterator[tuple[str, Pairs]]:
    order = np.argsort(inside, kind="stable")
    ends = np.searchsorted(inside[order], np.arange(len(values) + 1))
    for place, value in enumerate(values):
        if ends[place + 1] > ends[place]:
            yield value, pairs.take(order[ends[place] : ends[place + 1]])


def _facts(
    table: str,
    measures: Iterable[Measure],
    *,
    group: str = "all",
    value: str = "all",
    cells: str = "all",
) -> list[MeasureFact]:
    return [
        MeasureFact(
            table=table,
            group=group,
            value=value,
            cells=cells,
            name=measure.name,
            number=measure.value,
            base=measure.base,
            reason=measure.reason,
        )
        for measure in measures
    ]
