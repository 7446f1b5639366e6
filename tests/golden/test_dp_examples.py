"""Examples that OpenDP and Tumult Analytics publish, where noise is too small to show.

Tumult's are the docstrings of its query builder, answered with an infinite budget
(https://github.com/opendp/tumult-analytics, ``src/tmlt/analytics/query_builder.py``). Its
quantiles are drawn at random between two values and are not compared, nor what has no
counterpart here: distinct rows, variances, maps. OpenDP's are its user guide
(https://github.com/opendp/opendp, ``docs/source/api/user-guide/transformations``) and its
docstrings, of data as they stand there; what its own transformations say is asked of them.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from dp import BudgetLedger, Plan, Question, TablePlan, release
from tables import open_source
from tables.contribution_bounds import contributions

#: No noise of so much is ever drawn that is not 0.
NO_NOISE = 1e6


@pytest.fixture
def answered(tmp_path):
    """What a release of one table says: keys, and the values of each question."""

    def ask(data, *questions, by=None, delta=0.0, **words):
        made = Plan(
            unit=words.pop("unit", "row"),
            protects="person",
            epsilon=NO_NOISE,
            delta=delta,
            noise="laplace",
            tables=(TablePlan(name="t", by=by or {}, questions=questions, **words),),
        )
        ledger = BudgetLedger.create(
            tmp_path / f"{len(list(tmp_path.iterdir()))}.db",
            epsilon=NO_NOISE,
            delta=delta,
            adjacency="add-remove",
            unit="person",
        )
        rows = pa.table({"row": range(len(next(iter(data.values())))), **data})
        with open_source(rows, threads=1) as source:
            read = partial(contributions, source)
            found = release(read, made, ledger=ledger, who="Ada", what="t").tables[0]
        return found.keys, [answer.values.tolist() for answer in found.answers]

    return ask


@pytest.fixture(scope="module")
def peer():
    """OpenDP without its prelude, which imports scikit-learn."""
    from opendp import domains, metrics, mod, transformations

    mod.enable_features("contrib")
    return SimpleNamespace(d=domains, n=metrics, t=transformations)


TUMULT = {"A": ["0", "1", "1"], "B": [1, 0, 2], "X": [0, 1, 1]}
B = {"column": "B", "lower": 0, "upper": 2}


def test_counts_sums_and_averages_are_those_of_tumult(answered):
    asked = (Question(kind="rows"), Question(kind="sum", **B), Question(kind="mean", **B))
    assert answered(TUMULT, *asked) == (((),), [[[3]], [[3]], [[1]]])


@pytest.mark.parametrize(
    ("by", "counts"),
    [
        ({"A": ("0", "1")}, [1, 2]),
        ({"A": ("0", "2")}, [1, 0]),
        ({"A": ("0", "1"), "B": ("0", "1", "2")}, [0, 1, 0, 1, 0, 1]),
    ],
)
def test_counts_of_groups_are_those_of_tumult(by, counts, answered):
    _, (rows,) = answered(TUMULT, Question(kind="rows"), by=by)
    assert [row for (row,) in rows] == counts


def test_sums_of_groups_are_those_of_tumult(answered):
    _, (sums,) = answered(TUMULT, Question(kind="sum", **B), by={"A": ("0", "1")})
    assert sums == [[1], [2]]


def test_a_histogram_is_that_of_tumult(answered):
    """Its bins hold their upper edge, ours their lower: of whole numbers, one more."""
    incomes = [83, 85, 86, 73, 82, 95, 74, 92, 71, 86, 97]
    asked = Question(kind="histogram", column="income", edges=(71, 81, 91, 101), step=1)
    assert answered({"income": incomes}, asked)[1] == [[[3, 5, 3]]]


@pytest.mark.parametrize(("most", "count"), [(2, 3), (1, 2)])
def test_rows_of_an_identifier_are_bounded_as_by_tumult(most, count, answered):
    data = {"id": ["0", "1", "1"], "B": [1, 0, 2], "X": [0, 1, 1]}
    found = answered(data, Question(kind="rows"), unit="id", rows_per_group=most)
    assert found[1] == [[[count]]]


def test_groups_are_found_as_by_tumult(answered):
    half = 10_000
    data = {"A": ["0", "1"] * half, "B": [1, 2] * half, "X": [0, 1] * half}
    by = dict.fromkeys("ABX")
    keys, _ = answered(data, Question(kind="rows"), by=by, delta=1e-5)
    assert keys == (("0", "1", "0"), ("1", "2", "1"))


def test_bounds_are_found_at_the_power_of_two_that_tumult_finds(answered):
    """It says -128 and 128 of 0 to 99: always on both sides, and one step wider."""
    _, (total,) = answered({"X": list(range(100))}, Question(kind="sum", column="X"))
    assert total == [[99 * 50]]  # nothing was clamped


@pytest.mark.parametrize(
    ("values", "bounds"),
    [([1, 2, 4], (0, 10)), ([-7, 3, 20, 4], (-10, 10))],
)
def test_sums_and_their_sensitivity_are_those_of_opendp(values, bounds, answered, peer):
    space = peer.d.vector_domain(peer.d.atom_domain(T=int)), peer.n.symmetric_distance()
    summed = space >> peer.t.then_clamp(bounds) >> peer.t.then_sum()
    low, high = bounds
    asked = Question(kind="sum", column="x", lower=low, upper=high, step=1)
    assert answered({"x": values}, asked)[1] == [[[summed(values)]]]
    made = TablePlan(name="t", questions=(asked,))
    one = Plan(unit="row", protects="person", epsilon=1.0, tables=(made,))
    noise = asked.noises(one.scope(made), 1.0)["sum"]
    assert noise.sensitivity.l1 == summed.map(d_in=1)


def test_pets_by_grade_are_those_of_opendp(answered):
    """Its census of an elementary school, of ``make_private_lazyframe``."""
    data = {"grade": [0] * 3 + [1] * 3 + [2] * 3, "pets": [0, 0, 0, 1, 1, 1, 1, 1, 9]}
    asked = Question(kind="sum", column="pets", lower=0, upper=10, step=1)
    _, (sums,) = answered(data, asked, by={"grade": ("0", "1", "2")})
    assert sums == [[0], [3], [11]]


def test_categories_and_bins_are_counted_as_by_opendp(answered, peer):
    rng = np.random.default_rng(7)
    letters = rng.choice(list("abcd"), 200).tolist()
    texts = peer.d.vector_domain(peer.d.atom_domain(T=str)), peer.n.symmetric_distance()
    by_category = texts >> peer.t.then_count_by_categories(list("abc"), null_category=False)
    asked = Question(kind="histogram", column="letter", categories=tuple("abc"))
    assert answered({"letter": letters}, asked)[1] == [[list(by_category(letters))]]
    edges = [0.0, 20.0, 40.0, 60.0]
    numbers = np.floor(rng.exponential(20.0, 200))
    floats = (
        peer.d.vector_domain(peer.d.atom_domain(T=float, nan=False)),
        peer.n.symmetric_distance(),
    )
    inner = floats >> peer.t.then_find_bin(edges=edges[1:-1])
    binned = np.bincount(inner(numbers.tolist()), minlength=3).tolist()
    asked = Question(kind="histogram", column="x", edges=tuple(edges), step=1)
    assert answered({"x": numbers}, asked)[1] == [[binned]]


@pytest.mark.slow
def test_quantiles_are_those_of_opendp_to_a_cell(answered, peer):
    """Its guide bins 1,000 exponential numbers, and reads quantiles from exact counts."""
    at, edges = [0.25, 0.5, 0.75], np.linspace(0.0, 100.0, 501)
    numbers = np.random.default_rng(20).exponential(20.0, 1000)
    counts = np.histogram(numbers.clip(0, 99.9), edges)[0]
    read = peer.t.make_quantiles_from_counts(edges, alphas=at)
    expected = read([float(count) for count in counts])
    asked = Question(kind="quantiles", column="x", lower=0, upper=100, at=tuple(at))
    found = answered({"x": numbers}, asked)[1][0][0]
    least, largest = asked.cells.ends
    places = asked.cells.places(np.round(np.array(expected) / asked._step))
    widths = (largest - least + 1)[places] * asked._step
    assert (np.abs(np.subtract(found, expected)) <= widths / 2 + 0.2).all()
