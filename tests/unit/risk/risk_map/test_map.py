"""The risk-utility map against definitions, direct posteriors and simulated keys."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from risk.attacks import Differencing, pairs_needed
from risk.distributions.histogram import Histogram
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.inverse import Inverse
from risk.inference.worst import worst_posterior
from risk.risk_map.catalogue import FIGURES
from risk.risk_map.designs import build_designs, keep_zeros, noise_grid
from risk.risk_map.map import risk_utility_map
from risk.risk_map.result import undominated
from risk.utility import assess_utility

COUNTS = np.floor(np.exp(np.random.default_rng(7).normal(1.8, 1.5, 4000))).astype(np.int64)
SPEC = NoiseSpec(max_noise=5, variance=3.0, small=2)
DESIGNS = {
    "spec": SPEC,
    "random rounding": Mechanism.random_rounding(3),
    "rounding": Mechanism.rounding(5),
    "Laplace": Mechanism.discrete_laplace(0.5, max_noise=10),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(2026)


@pytest.fixture(scope="module")
def built() -> dict[str, PTable]:
    return dict(build_designs(DESIGNS).tables)


def test_posteriors_are_those_of_the_inverse_under_the_tables_own_prior(built):
    found = risk_utility_map(built, {"t": COUNTS}, rng=rng(), n_draws=0)
    for name, table in built.items():
        inverse = Inverse(table=keep_zeros(table), prior=Prior.from_counts(COUNTS))
        worst = worst_posterior(inverse, range(1, 5))
        assert found.find(name, "q_worst") == pytest.approx(worst.probabilities.max())
        assert found.find(name, "q_worst_set") == pytest.approx(worst.set_probability)
        if inverse.weight([1, 2, 3, 4]).any():
            q_set = inverse.of_sets([1, 2, 3, 4], [1, 2, 3, 4])
            assert found.find(name, "q_set") == pytest.approx(q_set)


def test_the_figure_of_insee_takes_the_least_positive_count_that_is_published(built):
    found = risk_utility_map(built, {"t": COUNTS}, rng=rng(), n_draws=0)
    inverse = Inverse(table=built["spec"], prior=Prior.from_counts(COUNTS))
    expected = inverse.of_sets([1, 2, 3, 4], [SPEC.small + 1])
    assert found.find("spec", "q_least") == pytest.approx(expected)


def test_a_condition_that_never_occurs_leaves_figures_undefined(built):
    found = risk_utility_map(built, {"t": COUNTS}, rng=rng(), n_draws=0)
    assert found.find("rounding", "q_set") is None
    assert found.find("rounding", "true_if_small") is None
    assert found.find("rounding", "q_worst_set") is not None
    assert "rounding" not in found.pareto(risk="q_set")


def test_attack_figures_are_those_of_the_attacks(built):
    found = risk_utility_map(built, {"t": COUNTS}, rng=rng(), n_draws=0)
    table = built["spec"]
    assert found.find("spec", "differencing") == pytest.approx(
        Differencing().closed_form(table)
    )
    queries = 2 * math.ceil(pairs_needed(3.0))
    assert found.find("spec", "averaging_queries") == pytest.approx(queries, abs=2)
    one_turn = [Differencing().closed_form(built["rounding"], count=c) for c in range(50, 55)]
    assert found.find("rounding", "differencing") == pytest.approx(np.mean(one_turn))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DESIGNS))
def test_expected_losses_agree_with_simulated_keys(built, name):
    """Eight figures by four designs, each within five standard errors: below 2e-5 in all."""
    table, random, draws = keep_zeros(built[name]), rng(), 60
    found = risk_utility_map({name: table}, {"t": COUNTS}, rng=rng(), n_draws=0)
    simulated: dict[str, list[float]] = {}
    for _ in range(draws):
        keys = random.integers(0, 2**32, len(COUNTS), dtype=np.uint32)
        published = COUNTS + table.lookup(COUNTS, keys)
        measured = assess_utility(COUNTS, published)
        for figure in ("aad", "rmad_pct", "changed_pct", "changed_nonzero_pct", "false_zeros"):
            simulated.setdefault(figure, []).append(measured.find(figure).value)
        simulated.setdefault("rmse", []).append(measured.find("rmse").value ** 2)
        for figure, cells in (("hellinger_raw", "all"), ("hellinger_small", "small")):
            value = measured.find("hellinger_raw", cells=cells).value
            simulated.setdefault(figure, []).append(value**2)
    for figure, values in simulated.items():
        expected = found.find(name, figure)
        if figure == "rmse" or figure.startswith("hellinger"):
            expected **= 2
        error = np.std(values, ddof=1) / math.sqrt(draws)
        assert abs(np.mean(values) - expected) <= 5 * error + 1e-9, figure


def test_sensitive_counts_kept_agree_with_simulated_keys(built):
    """Within five standard errors: below 1e-6."""
    table = keep_zeros(built["Laplace"])
    found = risk_utility_map({"l": table}, {"t": COUNTS}, rng=rng(), n_draws=0)
    some = np.tile(COUNTS[(COUNTS >= 1) & (COUNTS <= 4)], 50)
    keys = rng().integers(0, 2**32, len(some), dtype=np.uint32)
    share = float((table.lookup(some, keys) == 0).mean())
    expected = found.find("l", "sensitive_kept")
    assert abs(share - expected) <= 5 * math.sqrt(expected * (1 - expected) / len(some))


def test_all_tables_together_are_their_cells_together(built):
    halves = {"a": COUNTS[:1000], "b": COUNTS[1000:]}
    apart = risk_utility_map(built, halves, rng=rng(), n_draws=0)
    whole = risk_utility_map(built, {"t": COUNTS}, rng=rng(), n_draws=0)
    for name in built:
        for figure in FIGURES:
            both = apart.find(name, figure), whole.find(name, figure)
            assert both[0] == both[1] or both[0] == pytest.approx(both[1]), figure


def test_cells_that_only_the_grid_lists_are_empty(built):
    given = np.append(COUNTS, np.zeros(500, np.int64))
    listed = risk_utility_map(built, {"t": given}, rng=rng(), n_draws=0)
    counted = risk_utility_map(
        built, {"t": Histogram.of(COUNTS, grid_size=len(given))}, rng=rng(), n_draws=0
    )
    assert listed.to_frame().equals(counted.to_frame())


def test_zeros_that_share_a_row_with_larger_counts_stay_alone():
    table = PTable(
        noise=[[0, 1], [-1, 2]], upper=[[4, 8], [4, 8]], key_range=8, large_counts="cycle:2"
    )
    kept = keep_zeros(table)
    counts = np.repeat(np.arange(1, 9), 8)
    keys = np.tile(np.arange(8), 8)
    same = table.lookup(counts, keys, key_range=8)
    assert (kept.lookup(counts, keys, key_range=8) == same).all()
    assert not kept.lookup(np.zeros(8, np.int64), np.arange(8), key_range=8).any()


def test_drawn_measures_are_those_of_the_utility_assessment(built):
    counts = np.sort(COUNTS)
    found = risk_utility_map({"spec": built["spec"]}, {"t": counts}, rng=rng())
    keys = rng().integers(0, 2**32, len(counts), dtype=np.uint32)
    measured = assess_utility(counts, counts + built["spec"].lookup(counts, keys))
    for figure in ("spearman", "hellinger_probability", "decile_changes_pct"):
        assert found.find("spec", figure) == measured.find(figure).value
    assert found.find("spec", "rv_size_pct") == abs(measured.find("rv_pct").value)


def test_the_same_generator_gives_the_same_map(built):
    first, again = (risk_utility_map(built, {"t": COUNTS}, rng=rng()) for _ in range(2))
    assert first.to_frame().equals(again.to_frame())


def test_infeasible_designs_are_listed_with_the_reason():
    grid = noise_grid(max_noise=[1, 3], variance=[0.5, 2.0])
    found = risk_utility_map(grid, {"t": [1, 2, 9]}, rng=rng(), n_draws=0)
    assert found.designs == ("D=1 V=0.5 js=0", "D=3 V=0.5 js=0", "D=3 V=2 js=0")
    assert "variance" in found.refused["D=1 V=2 js=0"]
    with pytest.raises(RiskError, match="variance"):
        found.find("D=1 V=2 js=0", "aad")


def test_the_front_holds_what_nothing_beats():
    points = [tuple(p) for p in np.random.default_rng(3).integers(0, 12, (60, 2)).tolist()]
    kept = undominated(points)
    for place, (x, y) in enumerate(points):
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        assert (place in kept) is not beaten


def test_a_figure_that_is_better_high_turns_the_front_around():
    designs = {f"V={v}": solve(NoiseSpec(max_noise=5, variance=v)) for v in (1.0, 3.0)}
    found = risk_utility_map(designs, {"t": COUNTS}, rng=rng(), n_draws=0)
    assert found.pareto(risk="averaging_queries", utility="aad") == ("V=3.0", "V=1.0")
    assert found.pareto(risk="averaging_queries", utility="differencing") != ()


def test_progress_tells_designs_and_map(built):
    told = []
    risk_utility_map(
        built,
        {"t": [1]},
        rng=rng(),
        n_draws=0,
        progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    assert told[0] == ("designs", 0, 4)
    assert told[-1] == ("map", 4, 4)


def test_no_figure_is_nan_even_for_tables_of_zeros_only(built):
    found = risk_utility_map(built, {"t": [0, 0], "u": [10**9]}, rng=rng())
    for line in found.lines:
        assert list(line.figures) == list(FIGURES)
        assert all(value is None or math.isfinite(value) for value in line.figures.values())


@pytest.mark.parametrize(
    ("designs", "tables", "more", "words"),
    [
        ({}, {"t": [1]}, {}, "there is none"),
        ({"x": 3}, {"t": [1]}, {}, "'x' is a 'int'"),
        ({"x": {"max_nose": 3}, "y": "z"}, {"t": [1]}, {}, "'x': .*max_nose.*'y' is a 'str'"),
        ({"x": NoiseSpec(max_noise=1, variance=0.4, step=2)}, {"t": [1]}, {}, "magnitudes"),
        ({"x": SPEC}, {}, {}, "at least one table"),
        ({"x": SPEC}, {"": [1], "t": [-1]}, {}, "must have a name.*0 or more"),
        ({"x": SPEC}, {"t": [1]}, {"sensitive": ()}, "sensitive"),
        ({"x": SPEC}, {"t": [1]}, {"n_draws": -1}, "n_draws"),
    ],
)
def test_what_makes_no_sense_is_refused(designs, tables, more, words):
    with pytest.raises(RiskError, match=words):
        risk_utility_map(designs, tables, rng=rng(), **more)


def test_an_unknown_figure_is_refused(built):
    found = risk_utility_map(built, {"t": [1]}, rng=rng(), n_draws=0)
    with pytest.raises(RiskError, match="risk = 'qq'"):
        found.pareto(risk="qq")


def test_a_histogram_is_as_good_as_its_cells(built):
    some = {"spec": built["spec"]}
    first = risk_utility_map(some, {"t": np.sort(COUNTS)}, rng=rng())
    again = risk_utility_map(some, {"t": Histogram.of(COUNTS)}, rng=rng())
    assert first.to_frame().equals(again.to_frame())
