"""From a comparison of designs to what a page says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ckm.assessment.risk_utility_scenarios import LOSS, RISK
from ckm.comparison.compare_designs import Comparison
from footing.version import engine_version
from ptable.design.mechanisms import Mechanism
from ptable.design.spec import NoiseSpec
from ptable.table import PTable
from reports.facts.release import (
    ComparisonFacts,
    MeasureFact,
    PosteriorFact,
    SetFact,
)
from risk.distributions.band import Band
from risk.distributions.histogram import Histogram
from risk.inference.inverse import Inverse
from risk.risk_map.findings import Case, Rules, conclude

#: Expected measures by variable; the catalogue of utility defines them.
_MEASURES = ("aad", "rmse", "rmad_pct", "changed_pct", "false_zeros", "hellinger_raw")
#: Larger counts are not listed one by one.
_MAX_LISTED = 40
#: An original less likely than this is left out, unless it is sensitive.
_LIKELY = 0.01


def comparison_facts(comparison: Comparison, *, rules: Rules | None) -> ComparisonFacts:
    """Give all that a page says of a comparison.

    Measures by variable are expectations over uniform keys, for the distinct non-empty cells
    of all tables.
    """
    inverses = _inverses(comparison)
    count_histogram = comparison.count_histogram
    return ComparisonFacts(
        title=comparison.title,
        titles=comparison.titles,
        version=engine_version(),
        tables={name: histogram.n_cells for name, histogram in count_histogram.tables.items()},
        sensitive=comparison.map.sensitive,
        scenarios=comparison.scenarios.facts(),
        by_table={name: comparison.scenarios.designs(name) for name in count_histogram.tables},
        sets=tuple(_sets(comparison)),
        posteriors={
            name: tuple(_posteriors(comparison, inverse)) for name, inverse in inverses.items()
        },
        utility={name: tuple(_measures(comparison, name)) for name in comparison.ptables},
        conclusion=_conclusion(comparison, inverses, rules),
        levels=comparison.levels,
        is_limit_set=rules is not None,
    )


def _small(comparison: Comparison) -> NDArray[np.int64]:
    """Give the counts that sets and posteriors are listed for: up to twice the threshold."""
    return np.arange(min(2 * (max(comparison.map.sensitive) + 1), _MAX_LISTED) + 1)


def _sets(comparison: Comparison) -> Iterator[SetFact]:
    from risk.inference.sets import NEGLIGIBLE

    counts = _small(comparison)
    for name, table in comparison.ptables.items():
        band = Band.of(table)
        rows = band.probabilities[band.rows(counts)] >= NEGLIGIBLE
        originals, chances = band.windows(counts)
        for place, count in enumerate(counts.tolist()):
            yield SetFact(
                design=name,
                count=count,
                deviation=tuple((count + band.noise[rows[place]]).tolist()),
                possible=tuple(sorted(originals[place][chances[place] >= NEGLIGIBLE].tolist())),
            )


def _inverses(comparison: Comparison) -> dict[str, Inverse]:
    """Pair every p-table with the share of each count among the distinct cells."""
    largest = max(int(_small(comparison)[-1]), *comparison.map.sensitive)
    largest += 2 * max(table.max_noise for table in comparison.ptables.values())
    prior = comparison.count_histogram.together.prior(largest)
    if prior is None:
        return {}
    return {
        name: Inverse(table=table, prior=prior) for name, table in comparison.ptables.items()
    }


def _posteriors(comparison: Comparison, inverse: Inverse) -> Iterator[PosteriorFact]:
    sensitive = comparison.map.sensitive
    together = comparison.count_histogram.together
    near = together.within(0, len(inverse.prior.probabilities) - 1).n_cells / together.n_cells
    published_counts = inverse.possible(int(_small(comparison)[-1]))
    for published, share in zip(
        published_counts.tolist(), inverse.weight(published_counts).tolist(), strict=True
    ):
        distribution = inverse.given(published)
        originals = {
            int(i): float(p)
            for i, p in zip(
                distribution.support, distribution.at(distribution.support), strict=True
            )
            if p >= _LIKELY or i in sensitive
        }
        yield PosteriorFact(
            published=published,
            share=share * near,
            originals=originals,
            sensitive=inverse.of_sets(sensitive, [published]),
        )


def _measures(comparison: Comparison, design: str) -> Iterator[MeasureFact]:
    from risk.risk_map.figures import utility_figures

    band = Band.of(comparison.ptables[design])
    for group, value, histogram in _groups(comparison):
        figures = utility_figures(band, histogram)
        size = int(histogram.counts @ histogram.cells)
        figures["hd_utility"] = 1 - (figures["hellinger_raw"] or 0.0) / math.sqrt(size)
        for name in (*_MEASURES, "hd_utility"):
            yield MeasureFact(
                table="",
                group=group,
                value=value,
                cells="all",
                name=name,
                number=figures[name],
                base=histogram.n_cells,
            )


def _groups(comparison: Comparison) -> Iterator[tuple[str, str, Histogram]]:
    everybody = comparison.count_histogram.together.within(1, None)
    if everybody.n_cells:
        yield "all", "all", everybody
    for variable, categories in comparison.count_histogram.variables.items():
        for category, histogram in categories.items():
            yield variable, category, histogram


def _conclusion(
    comparison: Comparison, inverses: Mapping[str, Inverse], rules: Rules | None
) -> dict[str, dict[str, float | str]]:
    base: dict[str, dict[str, float | str]] = {
        "cells": {
            "tables": len(comparison.count_histogram.tables),
            "listed": comparison.count_histogram.listed,
            "distinct": comparison.count_histogram.distinct,
        }
    }
    if comparison.count_histogram.record_sets is not None:
        base["record-sets"] = {"record_sets": comparison.count_histogram.record_sets}
    sensitive = np.array(comparison.map.sensitive)
    if not any(inverse.prior.at(sensitive).any() for inverse in inverses.values()):
        return base  # nothing is sensitive here, and no rule binds
    cases = [_case(comparison, name, inverse) for name, inverse in inverses.items()]
    return {**conclude(cases, rules=rules), **base}


def _case(comparison: Comparison, name: str, inverse: Inverse) -> Case:
    from risk.inference.nested import certain_with_one_more, differing_answers

    table, sensitive = comparison.ptables[name], comparison.map.sensitive
    figures = {f: comparison.map.find(name, f) for f in (RISK, LOSS, "q_set", "differencing")}
    return Case(
        name=name,
        kind=_kind(table),
        is_hidden=_is_hidden(table, sensitive),
        risk=figures[RISK] or 0.0,
        loss=figures[LOSS] or 0.0,
        given_away=certain_with_one_more(table, inverse.prior, sensitive),
        seen_share=figures["q_set"],
        differing=differing_answers(table, comparison.count_histogram.together.within(1, None)),
        difference=figures["differencing"] or 0.0,
        without=_without(comparison, table),
    )


def _kind(table: PTable) -> Literal["fixed", "redrawn", "keyed"]:
    rows = [table.units(count).values() for count in range(table.n_rows)]
    if all(table.key_range in row for row in rows):
        return "fixed"
    is_random = isinstance(table.spec, Mechanism) and table.spec.name == "random-rounding"
    return "redrawn" if is_random else "keyed"


def _is_hidden(table: PTable, sensitive: tuple[int, ...]) -> bool:
    return not Band.of(table).windows(np.array(sensitive))[1].any()


def _without(comparison: Comparison, table: PTable) -> str:
    """Find the design of the same noise that may publish every count."""
    import dataclasses

    if not isinstance(table.spec, NoiseSpec) or not table.spec.small:
        return ""
    same = dataclasses.replace(table.spec, small=0)
    return next((n for n, other in comparison.ptables.items() if other.spec == same), "")
