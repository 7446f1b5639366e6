"""Laws of reconstruction and anonymity, against brute force."""

import itertools
import math
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from risk.anonymity.audit import audit_anonymity
from risk.anonymity.generalise import generalise
from risk.errors import RiskError
from risk.reconstruction.intervals import (
    Contradiction,
    Intervals,
    _rows,
    intervals,
    propagate,
)
from risk.reconstruction.program import Program
from tests.published_counts import all_margins, counts_from_tables
from tests.strategies import examples


@st.composite
def releases(draw):
    """Publish some margins of a small cube, noise drawn within a bound that may be wrong."""
    shape = draw(st.sampled_from([(3,), (2, 2), (2, 3), (2, 2, 2)]))
    noise = draw(st.integers(0, 2))
    cube = np.array(draw(st.lists(st.integers(0, 3), min_size=12, max_size=12)))
    cube = cube[: math.prod(shape)].reshape(shape)
    margins = all_margins(len(shape))
    kept = draw(st.lists(st.sampled_from(margins), min_size=1, unique=True))
    if not any(kept):
        kept.append(margins[0])
    tables = {}
    for axes in kept:
        counts = cube.sum(axis=tuple(a for a in range(len(shape)) if a not in axes))
        steps = draw(st.lists(st.integers(-2, 2), min_size=counts.size, max_size=counts.size))
        steps = np.clip(np.array(steps).reshape(counts.shape), -noise, noise)
        tables[axes] = np.where(counts > 0, np.maximum(counts + steps, 0), 0)
    wrong = draw(st.integers(0, 1))
    return shape, tables, max(0, noise - wrong), noise, cube


def tables_that_fit(counts, top=7):
    """Try every table of whole numbers."""
    row = np.repeat(np.arange(counts.n_sums), np.diff(counts.starts))
    bounds = propagate(counts)
    if bounds is None:
        return []
    ranges = [range(math.ceil(a), math.floor(b) + 1) for a, b in zip(*bounds, strict=True)]
    if math.prod(map(len, ranges)) > 60_000:
        return None
    grid = np.array(list(itertools.product(*ranges)), dtype=np.int64)
    matrix = np.zeros((counts.n_sums, counts.n_cells), dtype=np.int64)
    matrix[row, counts.cells] = counts.weights
    sums = grid @ matrix.T
    fits = ((counts.lower <= sums) & (sums <= counts.upper)).all(axis=1)
    return grid[fits]


@given(releases())
@settings(max_examples=examples(60))
def test_intervals_equal_two_cold_programs_per_cell(release):
    """Presolve, filtering and warm starts change nothing."""
    shape, tables, guess, *_ = release
    counts = counts_from_tables(shape, tables=tables, max_noise=guess)
    found = intervals(counts)
    rows = _rows(counts)
    free = {"lower": np.zeros(counts.n_cells), "upper": np.full(counts.n_cells, np.inf)}
    for cell in range(counts.n_cells):
        low = Program(rows, **free).least([cell], [1.0])
        high = Program(rows, **free).least([cell], [-1.0])
        if low is None or high is None or counts.is_contradictory:
            assert isinstance(found, Contradiction)
            continue
        ends = math.ceil(low.bound - 1e-6), math.floor(-high.bound + 1e-6)
        if isinstance(found, Contradiction):  # no whole number between some cell's bounds
            continue
        assert (found.lower[cell], found.upper[cell]) == ends


@given(releases())
@settings(max_examples=examples(60))
def test_whole_intervals_equal_those_of_all_tables(release):
    shape, tables, guess, *_ = release
    counts = counts_from_tables(shape, tables=tables, max_noise=guess)
    every = tables_that_fit(counts)
    if every is None:
        return
    found = intervals(counts, whole=True)
    if len(every) == 0:
        assert isinstance(found, Contradiction)
        return
    assert isinstance(found, Intervals)
    assert found.lower.tolist() == every.min(axis=0).tolist()
    assert found.upper.tolist() == every.max(axis=0).tolist()


records = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None]), st.integers(0, 3)
    ),
    min_size=1,
    max_size=30,
)


def as_columns(rows):
    return dict(zip("xys", (list(c) for c in zip(*rows, strict=True)), strict=True))


@given(records)
def test_audits_agree_with_definitions_written_out(rows):
    frame = as_columns(rows)
    for kind in ("equal", "ordered"):
        found = audit_anonymity(
            frame, quasi_identifiers=["x", "y"], sensitive="s", distance=kind
        )
        groups = {}
        for x, y, s in rows:
            groups.setdefault((x, y), []).append(s)
        lines = list(groups.values())
        assert found.k == min(map(len, lines))
        assert found.n_unique == sum(len(g) == 1 for g in lines)
        assert found.diversity.l_distinct == min(len(set(g)) for g in lines)
        entropies = [
            -sum(n / len(g) * math.log(n / len(g)) for n in Counter(g).values()) for g in lines
        ]
        assert math.isclose(found.diversity.l_entropy, math.exp(min(entropies)))
        values = sorted({s for _, _, s in rows})
        whole = [s for _, _, s in rows]
        distances = []
        for g in lines:
            gaps = [g.count(v) / len(g) - whole.count(v) / len(whole) for v in values]
            if kind == "equal":
                distances.append(sum(map(abs, gaps)) / 2)
            else:
                steps = max(1, len(values) - 1)
                distances.append(sum(map(abs, itertools.accumulate(gaps))) / steps)
        assert math.isclose(found.diversity.t, max(distances), abs_tol=1e-12)


LEVELS = {
    "x": [{"a": "*", "b": "*"}, {"a": "*", "b": "*", None: "*"}],
    "y": [{1: "n", 2: "n"}, {1: "n", 2: "n", None: "n"}],
    "s": [{0: 0, 1: 0, 2: 1, 3: 1}, dict.fromkeys(range(4), 0)],
}


@given(records, st.integers(1, 6))
def test_minimal_generalisations_are_those_of_a_full_search(rows, k):
    frame = as_columns(rows)
    maps = [[{}, *LEVELS[name]] for name in "xys"]

    def is_enough(levels):
        labels = [
            tuple(maps[a][level].get(value, value) for a, (level, value) in enumerate(pairs))
            for pairs in (zip(levels, row, strict=True) for row in rows)
        ]
        return min(Counter(labels).values()) >= k

    every = list(itertools.product(range(3), repeat=3))
    good = {levels for levels in every if is_enough(levels)}
    minimal = [
        levels
        for levels in sorted(good)
        if not any(o != levels and all(map(int.__le__, o, levels)) for o in good)
    ]
    try:
        found = generalise(frame, hierarchies=LEVELS, k=k)
    except RiskError:
        assert not minimal
        return
    assert [tuple(levels.values()) for levels in found.minimal] == minimal
    chosen = tuple(found.levels.values())
    assert sum(chosen) == min(map(sum, minimal))
    again = audit_anonymity(found.frame, quasi_identifiers=["x", "y", "s"])
    assert again.k == found.k >= k
