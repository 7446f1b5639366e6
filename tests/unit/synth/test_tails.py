"""Numbers within wide cells, and beyond the last that stands out of its noise."""

import numpy as np
import pytest

from synth import Date, Real, SynthError, Whole
from synth.tails import NumberLaw, law_of

EDGES = [0, 1, *(int(10 ** (step / 4)) for step in range(2, 25))]
COLUMN = Whole(name="x", low=0, high=10**6, edges=sorted({*EDGES}))
RNG = np.random.default_rng


def counts_of(numbers, column=COLUMN, *, noise=0.0, seed=1):
    cells = column.grid.cell_of(np.asarray(numbers, np.int64))
    counts = np.bincount(cells, minlength=column.grid.size).astype(float)
    return np.maximum(counts + RNG(seed).normal(0, noise or 1e-9, counts.shape), 0)


def drawn(law, counts, column=COLUMN, *, seed=2, number=20_000):
    shares = counts / counts.sum()
    codes = RNG(seed).choice(len(counts), number, p=shares)
    return codes, law.draw(codes, rng=RNG(seed))


def pareto(power, number=20_000, *, seed=3):
    return np.minimum(10 * (RNG(seed).pareto(power, number) + 1), 10**6).astype(np.int64)


@pytest.mark.parametrize("power", [1.3, 1.5, 2.0])
def test_a_fitted_tail_has_the_exponent_of_the_records(power):
    law = law_of(COLUMN, counts_of(pareto(power), noise=10), scale=10)
    assert law.upper.exponent == pytest.approx(power, rel=0.25)


def test_noise_in_far_cells_does_not_make_the_total():
    numbers = pareto(1.5)
    counts = counts_of(numbers, noise=12)
    counts[-3:] = 20  # not 3.6 scales
    even = COLUMN.grid.draw(
        RNG(1).choice(len(counts), 20_000, p=counts / counts.sum()), rng=RNG(1)
    )
    law = law_of(COLUMN, counts, scale=12)
    assert even.sum() > 5 * numbers.sum()
    assert drawn(law, counts)[1].sum() == pytest.approx(numbers.sum(), rel=0.25)


def test_numbers_in_wide_cells_are_drawn_by_the_slope_of_their_neighbours():
    numbers = pareto(1.5)
    column = Whole(name="x", low=0, high=10**6, edges=[0, 10, 30, 100, 400, 2000, 20_000])
    counts = counts_of(numbers, column)
    law = law_of(column, counts, scale=1)
    even = column.grid.draw(column.grid.cell_of(numbers), rng=RNG(1))
    fitted = law.draw(column.grid.cell_of(numbers), rng=RNG(1))
    for share in (0.3, 0.6, 0.85):
        true = np.quantile(numbers, share)
        assert abs(np.quantile(fitted, share) / true - 1) < 0.05
    assert abs(fitted.sum() / numbers.sum() - 1) < abs(even.sum() / numbers.sum() - 1) / 3


def test_both_tails_are_drawn_alike():
    column = Whole(name="x", low=-(10**6), high=10**6,
                   edges=sorted({1 - one for one in EDGES[1:]} | {*EDGES}))  # fmt: skip
    numbers = np.concatenate([pareto(1.5), -pareto(1.5, seed=4)])
    law = law_of(column, counts_of(numbers, column, noise=12), scale=12)
    assert law.upper is not None
    assert law.lower is not None
    codes = column.grid.cell_of(numbers)
    made = law.draw(codes, rng=RNG(1))
    assert (np.sign(made) == np.sign(numbers)).all()
    assert np.abs(made).sum() == pytest.approx(np.abs(numbers).sum(), rel=0.2)


def test_a_side_without_a_cell_that_stands_out_is_drawn_at_its_edge():
    column = Whole(name="x", low=-1000, high=1000, bins=20)
    counts = np.zeros(column.grid.size)
    counts[[2, 12]] = 5, 900
    law = law_of(column, counts, scale=10)
    assert law.draw(np.full(9, 2), rng=RNG(1)).min() >= -100
    assert law.lower.exponent == 0


def test_means_are_those_of_the_numbers_drawn():
    counts = counts_of(pareto(1.5), noise=8)
    law = law_of(COLUMN, counts, scale=8)
    for most in (np.inf, 3000.0):
        codes = np.repeat(np.arange(COLUMN.grid.size), 2000)
        numbers = np.minimum(law.draw(codes, rng=RNG(5)), most)
        cells = np.where(
            law.beyond[0], np.flatnonzero(law.beyond[0])[0], np.arange(len(counts))
        )
        means = np.bincount(cells[codes], numbers) / np.bincount(cells[codes])
        told = law.means(most=most)
        places = np.unique(cells)
        assert means[places] == pytest.approx(told[places], rel=0.03, abs=0.5)


def test_points_and_what_is_declared_stay_as_they_are():
    column = Whole(name="x", low=0, high=10**6, edges=[0, 1, 100, 10_000, 99_999, 100_000])
    counts = np.array([900.0, 500, 300, 3, 80, 2])
    made = law_of(column, counts, scale=5).draw(np.array([0, 4]), rng=RNG(1))
    assert made.tolist() == [0, 99_999]
    for other in (
        Whole(name="x", low=0, high=10**6, bins=5, law="uniform"),
        Date(name="x", low="1900-01-01", high="2020-12-31", bins=5),
    ):
        assert law_of(other, np.array([900.0, 90, 9, 1, 1]), scale=1) is None


def test_ages_whose_bound_is_near_are_not_moved():
    column = Whole(name="age", low=0, high=110)
    counts = np.where(np.arange(111) < 90, 100.0, 3.0)
    assert law_of(column, counts, scale=5) is None


@pytest.mark.parametrize("counts", [np.zeros(25), np.full(25, 1e-9), np.r_[1e9, np.zeros(24)]])
@pytest.mark.parametrize("scale", [1e-3, 1e9])
def test_counts_of_nothing_make_no_error(counts, scale):
    column = Real(name="x", low=-5, high=1e6, decimals=2, bins=25)
    law = law_of(column, counts, scale=scale)
    codes = np.arange(25)
    if law is not None:
        made = law.draw(codes, rng=RNG(1))
        low, high = column.bounds
        assert ((low <= made) & (made <= high)).all()


def test_a_law_in_a_file_must_fit_its_cells():
    law = law_of(COLUMN, counts_of(pareto(1.5)), scale=10)
    content = law.to_dict()
    again = NumberLaw.from_dict(content, COLUMN.grid)
    codes = np.arange(COLUMN.grid.size)
    assert (again.draw(codes, rng=RNG(1)) == law.draw(codes, rng=RNG(1))).all()
    with pytest.raises(SynthError):
        NumberLaw.from_dict({**content, "exponents": [1.0]}, COLUMN.grid)
    with pytest.raises(SynthError):
        NumberLaw.from_dict(
            {**content, "upper": {**content["upper"], "limit": 10**9}}, COLUMN.grid
        )


def test_the_largest_of_many_numbers_does_not_make_the_total_by_chance():
    counts = counts_of(pareto(1.5), noise=12)
    law = law_of(COLUMN, counts, scale=12)
    codes = np.repeat(np.arange(len(counts)), np.rint(counts).astype(int))
    totals = [law.draw(codes, rng=RNG(seed)).sum() for seed in range(40)]
    assert max(totals) / min(totals) < 1.05
    assert np.mean(totals) == pytest.approx(law.means() @ np.rint(counts), rel=0.03)
