"""Vines: which structures are vines, which is chosen, and what is drawn from them."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import kendalltau, spearmanr

from synth import SynthError
from synth.copulas import (
    Edge,
    FittedVine,
    PairCopula,
    Vine,
    c_vine,
    d_vine,
    fit_vine,
    gaussian_vine,
    grow_structure,
    number_of_vines,
)
from tests.strategies import examples

FIGURE = Vine.read(5, ["1,2 2,3 3,4 3,5", "1,3|2 2,4|3 4,5|3", "1,4|2,3 2,5|3,4", "1,5|2,3,4"])
PATH = Vine.read(5, ["1,2 2,3 3,4 4,5", "1,3|2 2,4|3 3,5|4", "1,4|2,3 2,5|3,4", "1,5|2,3,4"])
KNOWN = FittedVine.of(
    FIGURE,
    {
        "1,2": PairCopula("clayton", [3.0]),
        "2,3": PairCopula("gumbel", [2.0], rotation=90),
        "3,4": PairCopula("gaussian", [0.4]),
        "3,5": PairCopula("frank", [6.0]),
        "4,5|3": PairCopula("gaussian", [0.5]),
    },
)


def largest_degree(vine):
    """Count the edges at the busiest variable of the first tree: a star has all, a path two."""
    ends = Counter(one for edge in vine.trees[0] for one in edge.pair)
    return max(ends.values())


def test_the_figures_of_the_source_are_vines():
    assert d_vine([1, 2, 3, 4, 5]) == PATH
    assert str(FIGURE.trees[2][1]) == "2,5|3,4"


@pytest.mark.parametrize(
    ("trees", "problem"),
    [
        (["1,2 2,3"], "3 edges"),
        (["1,2 2,3 1,3"], "circle"),
        (["1,2 1,2 3,4"], "circle"),
        (["1,2 2,3 3,9"], "not among 1 to 4"),
        (["1,1 2,3 3,4"], "conditioned"),
        (["1,2 2,3 3,4", "1,4|2 2,4|3"], "share a node"),
        (["1,2 2,3 3,4", "1,3|2 1,3|2"], "circle"),
        (["1,2 2,3 3,4", "1,3|2"], "2 edges"),
        (["1,2 2,3 3,4", "1,3 2,4|3"], "others that condition"),
        (["1,2 2,3 3,4", "1,3|2 2,4|3", "1,4|2,3", "1,2|3,4"], "at most 3"),
        (["1,2 2,3 3,4", "1,3|2 2,4|3", "1,2|3,4"], "share a node"),
    ],
)
def test_what_breaks_a_condition_is_no_vine(trees, problem):
    with pytest.raises(SynthError, match=problem):
        Vine.read(4, trees)


def test_numbers_of_vines():
    found = [number_of_vines(n) for n in range(1, 8)]
    assert found == [1, 1, 3, 24, 480, 23_040, 2_580_480]


def test_the_validator_accepts_as_many_vines_as_there_are():
    """All sets of edges that could be tree 1 and 2 of four variables, each judged."""
    pairs = [Edge.of(a, b) for a, b in itertools.combinations(range(1, 5), 2)]
    seconds = [
        Edge.of(a, b, given=[c])
        for a, b in itertools.combinations(range(1, 5), 2)
        for c in range(1, 5)
        if c not in {a, b}
    ]
    accepted = 0
    for first in itertools.combinations(pairs, 3):
        for second in itertools.combinations(seconds, 2):
            left = frozenset(second[0].pair) ^ frozenset(second[1].pair)
            try:
                Vine(4, (first, second))
            except SynthError:
                continue
            accepted += 1
            assert left  # the two edges differ
    assert accepted == number_of_vines(4)


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(40), deadline=None)
def test_whatever_the_strengths_what_grows_is_a_vine(n, seed):
    rng = np.random.default_rng(seed)
    vine = grow_structure(n, lambda _: rng.random())
    assert vine.depth == n - 1  # building it has checked it
    order = [int(one) + 1 for one in rng.permutation(n)]
    assert largest_degree(c_vine(order)) == n - 1
    assert largest_degree(d_vine(order)) == min(2, n - 1)


def test_ties_of_strength_are_broken_alike_every_time():
    assert grow_structure(6, lambda _: 1.0) == grow_structure(6, lambda _: 1.0)


def test_pair_copulas_stay_on_their_edges_and_keep_their_side():
    assert KNOWN.structure == FIGURE
    pairs = KNOWN.pairs
    assert pairs[Edge.of(1, 2)].family == "clayton"
    assert pairs[Edge.of(2, 3)].rotation == 90
    assert pairs[Edge.of(1, 5, given=[2, 3, 4])].family == "indep"
    turned = FittedVine.of(
        Vine.read(3, ["1,2 2,3"]),
        {"1,2": PairCopula("clayton", [3.0], rotation=90), "2,3": PairCopula("joe", [2.0])},
    )
    drawn = turned.sample(4000, np.random.default_rng(5))
    alone = PairCopula("clayton", [3.0], rotation=90)
    # the first variable of the pair is the smaller one: the likelihood tells the sides apart
    ours, turned_round = (np.log(alone.density(drawn[:, s])).sum() for s in ([0, 1], [1, 0]))
    assert ours > turned_round + 50


def test_the_density_of_a_vine_is_the_product_along_its_edges_and_has_mass_one():
    one, two = PairCopula("clayton", [2.0]), PairCopula("gumbel", [1.7])
    three = PairCopula("frank", [3.0])
    vine = FittedVine.of(
        Vine.read(3, ["1,2 2,3", "1,3|2"]), {"1,2": one, "2,3": two, "1,3|2": three}
    )
    u = np.random.default_rng(1).random((50, 3)) * 0.96 + 0.02
    above = np.column_stack([one.h(u[:, 0], given=u[:, 1]), two.h(u[:, 2], given=u[:, 1])])
    product = one.density(u[:, :2]) * two.density(u[:, 1:]) * three.density(above)
    np.testing.assert_allclose(vine.density(u), product, rtol=1e-6)
    x, weight = np.polynomial.legendre.leggauss(24)
    t, w = (x + 1) / 2, weight / 2
    s, ds = t**3 * (10 - 15 * t + 6 * t**2), 30 * t**2 * (1 - t) ** 2
    grid = np.array(list(itertools.product(s, repeat=3)))
    factor = np.array([np.prod(one) for one in itertools.product(w * ds, repeat=3)])
    assert vine.density(grid) @ factor == pytest.approx(1, abs=0.01)


def test_samples_have_the_taus_of_the_vine_and_the_same_seed_the_same_samples():
    drawn = KNOWN.sample(4000, np.random.default_rng(3))
    for edge, pair in KNOWN.pairs.items():
        if not edge.given:
            a, b = (one - 1 for one in edge.pair)
            found = kendalltau(drawn[:, a], drawn[:, b]).statistic
            assert found == pytest.approx(pair.tau, abs=0.03)
    np.testing.assert_array_equal(drawn, KNOWN.sample(4000, np.random.default_rng(3)))
    assert ((drawn > 0) & (drawn < 1)).all()


@pytest.mark.parametrize("measure", ["tau", "rho"])
def test_the_first_tree_of_a_fit_is_the_strongest_that_spans_all(measure):
    drawn = KNOWN.sample(1500, np.random.default_rng(8))
    size = np.zeros((5, 5))
    for a, b in itertools.combinations(range(5), 2):
        found = kendalltau if measure == "tau" else spearmanr
        size[a, b] = abs(found(drawn[:, a], drawn[:, b]).statistic)
    tree = minimum_spanning_tree(np.where(size > 0, 2 - size, 0)).nonzero()
    wanted = {Edge.of(a + 1, b + 1) for a, b in zip(*tree, strict=True)}
    vine = fit_vine(drawn, measure=measure, truncation=1, families=["gaussian"])
    assert set(vine.structure.trees[0]) == wanted


def test_a_fit_on_a_known_structure_recovers_its_pairs():
    drawn = KNOWN.sample(3000, np.random.default_rng(9))
    vine = fit_vine(
        drawn, structure=FIGURE, families=["indep", "clayton", "gumbel", "gaussian", "frank"]
    )
    found = vine.pairs
    assert vine.structure == FIGURE
    assert found[Edge.of(1, 2)].family == "clayton"
    assert (found[Edge.of(2, 3)].family, found[Edge.of(2, 3)].rotation) == ("gumbel", 90)
    assert found[Edge.of(3, 5)].parameters == pytest.approx((6.0,), rel=0.1)
    assert found[Edge.of(4, 5, given=[3])].tau == pytest.approx(1 / 3, abs=0.04)


def test_truncation_leaves_the_rest_independent():
    drawn = KNOWN.sample(600, np.random.default_rng(4))
    for depth in (0, 1, 2, 9):
        vine = fit_vine(drawn, truncation=depth, families=["gaussian"])
        assert vine.structure.depth == min(depth, 4)
    assert fit_vine(drawn, truncation=None, families=["gaussian"]).structure.depth == 4
    auto = fit_vine(drawn, truncation="auto", families=["indep", "gaussian", "clayton"])
    assert 1 <= auto.structure.depth <= 4
    apart = np.random.default_rng(6).random((600, 4))
    assert fit_vine(apart, truncation="auto", families=["gaussian"]).structure.depth <= 1


def test_shapes_can_be_imposed():
    drawn = KNOWN.sample(400, np.random.default_rng(2))
    star = fit_vine(drawn, shape="c", families=["gaussian"]).structure
    assert largest_degree(star) == star.n - 1
    path = fit_vine(drawn, shape="d", families=["gaussian"], measure="rho").structure
    assert largest_degree(path) == 2
    cut = fit_vine(drawn, shape="c", truncation=1, families=["gaussian"]).structure
    assert (cut.depth, largest_degree(cut)) == (1, cut.n - 1)


def test_steps_of_discrete_margins_do_not_hide_the_dependence():
    drawn = FittedVine.of(Vine.read(2, ["1,2"]), {"1,2": PairCopula("gaussian", [0.7])}).sample(
        3000, np.random.default_rng(12)
    )
    steps = np.ceil(drawn * 3) / 3
    discrete = fit_vine(steps, before=steps - 1 / 3, families=["gaussian"])
    assert next(iter(discrete.pairs.values())).parameters == pytest.approx((0.7,), abs=0.04)
    assert discrete.density([[0.5, 0.5]])[0] > 1


def test_a_gaussian_vine_to_full_depth_has_the_matrix_it_was_made_from():
    matrix = np.array(
        [[1, 0.7, 0.3, -0.2], [0.7, 1, 0.5, 0], [0.3, 0.5, 1, 0.4], [-0.2, 0, 0.4, 1]]
    )
    from scipy.special import ndtri

    z = ndtri(gaussian_vine(matrix, depth=3).sample(20_000, np.random.default_rng(1)))
    np.testing.assert_allclose(np.corrcoef(z.T), matrix, atol=0.03)
    assert gaussian_vine(matrix, depth=0).structure.depth == 0


@pytest.mark.parametrize(
    ("u", "options", "problem"),
    [
        (np.full((1, 2), 0.5), {}, "two records"),
        (np.full((5, 2), np.nan), {}, "none missing"),
        (np.full((5, 2), 0.5), {"measure": "sigma"}, "Unknown measure"),
        (np.full((5, 2), 0.5), {"shape": "x"}, "Unknown shape"),
        (np.full((5, 2), 0.5), {"truncation": -1}, "number of trees"),
        (np.full((5, 2), 0.5), {"truncation": "all"}, "number of trees"),
        (np.full((5, 2), 0.5), {"structure": FIGURE}, "5 variables"),
    ],
)
def test_what_cannot_be_fitted_is_refused(u, options, problem):
    with pytest.raises(SynthError, match=problem):
        fit_vine(u, **options)


def test_one_variable_and_constant_columns_are_fitted():
    assert fit_vine(np.full((9, 1), 0.5)).sample(3).shape == (3, 1)
    u = np.column_stack([np.linspace(0.1, 0.9, 50), np.ones(50), np.linspace(0.9, 0.1, 50)])
    assert fit_vine(u, families=["gaussian"]).sample(4).shape == (4, 3)


def test_an_edge_that_the_vine_lacks_is_refused():
    with pytest.raises(SynthError, match="has no edge 1,3"):
        FittedVine.of(Vine.read(3, ["1,2 2,3"]), {"1,3": PairCopula("indep")})
    with pytest.raises(SynthError, match="names no edge"):
        Edge.read("1;2")
    with pytest.raises(SynthError, match="each once"):
        d_vine([1, 1, 2])
