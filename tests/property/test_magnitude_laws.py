"""Laws of the program's own noise on amounts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ckm.engine.magnitudes import (
    FewContributors,
    Flex,
    MagnitudeNoise,
    PPercent,
    Proportional,
    magnitude_ptable,
    perturb_magnitudes,
    plan_noise,
)
from ptable import PTable
from tables import Secret
from tests.amounts import amounts

SECRET = Secret(bytes(range(32)))
SPARSE = PTable(
    noise=[[0], [-1, 0, 2], [-3, 0, 3], [-9, 0, 9]],
    upper=[[24], [12, 18, 24], [8, 16, 24], [1, 23, 24]],
    key_range=24,
    anchors=(0, 1, 3, 9),
)
values = st.floats(0, 1e12, allow_nan=False) | st.integers(0, 9).map(float)
tables = st.lists(st.lists(values, max_size=8), min_size=1, max_size=6)
scales = st.floats(0.001, 1).map(lambda share: Proportional(share=share)) | st.builds(
    lambda point, small, ratio, power: Flex(
        point=point, small=small, large=small * ratio, power=power
    ),
    st.floats(0.1, 1e6),
    st.floats(0.001, 1),
    st.floats(0.01, 1),
    st.integers(2, 5),
)
factors = st.lists(st.floats(0.01, 1), max_size=5).map(lambda rest: (1.0, *rest))


@st.composite
def noises(draw, **fixed):
    base = draw(st.sampled_from(["top", "mean", "range", "sum"]))
    is_sensitive = draw(st.booleans())
    return MagnitudeNoise(
        **(
            {
                "ptable": draw(st.sampled_from([magnitude_ptable(), SPARSE])),
                "small_cells": draw(st.sampled_from([None, SPARSE])),
                "scale": draw(scales),
                "base": base,
                "factors": draw(factors) if base == "top" else (1.0,),
                "sensitive": (FewContributors(least=3), PPercent(percent=20))
                if is_sensitive
                else (),
                "least_noise": draw(st.floats(0, 3)) if is_sensitive else 0.0,
                "jitter": draw(st.booleans()),
                "decimals": draw(st.sampled_from([None, 0, 2, -3])),
            }
            | fixed
        )
    )


@given(tables, noises())
def test_the_plan_keeps_every_total_above_zero(cells, noise):
    made = amounts(cells)
    plan = plan_noise(made, noise)
    for cell in range(len(made)):
        regime = plan.regimes[plan.regime[cell]]
        units = plan.steps[cell].sum()
        law, chances = regime.law(int(plan.row[cell]))
        assert abs(np.dot(law, chances)) < 1e-6 * max(map(abs, law))
        lowest = (min(law) - regime.width / 2) * units
        assert lowest >= -made.total[cell] * (1 + 1e-12) - 1e-300
        assert (units > 0) == (made.contributors[cell] > 0) or made.total[cell] < 1e-300
        if plan.sensitive[cell]:
            least = noise.least_noise + 1 / regime.table.step
            assert min(map(abs, law)) >= least - 1e-12
            assert (np.diff(plan.steps[cell]) <= 0).all()


@given(tables, noises())
def test_published_totals_are_not_negative_and_within_the_plan(cells, noise):
    made = amounts(cells)
    totals = perturb_magnitudes(made, noise, secret=SECRET)
    assert np.isfinite(totals).all()
    assert (totals >= 0).all()
    assert (totals[made.contributors == 0] == 0).all()
    plan = plan_noise(made, noise)
    unit = 0.0 if noise.decimals is None else 10.0**-noise.decimals
    for cell in range(len(made)):
        regime = plan.regimes[plan.regime[cell]]
        law, _ = regime.law(int(plan.row[cell]))
        reach = (max(map(abs, law)) + regime.width / 2) * plan.steps[cell].sum()
        moved = abs(totals[cell] - made.total[cell])
        assert moved <= reach * (1 + 1e-9) + unit + 1e-9 * made.total[cell]


@given(tables, noises(), st.randoms(use_true_random=False))
def test_cells_do_not_depend_on_each_other(cells, noise, random):
    made = amounts(cells)
    totals = perturb_magnitudes(made, noise, secret=SECRET).tolist()
    order = random.sample(range(len(cells)), len(cells))
    fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
    kept = {"variable", "key_range"} | {n for n, v in fields.items() if isinstance(v, float)}
    other = type(made)(**{n: v if n in kept else v[order] for n, v in fields.items()})
    found = perturb_magnitudes(other, noise, secret=SECRET).tolist()
    assert found == [totals[place] for place in order]


@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), max_size=6), min_size=1, max_size=5),
    noises(signed=True, base="top", sensitive=(FewContributors(least=3),)),
)
def test_signed_amounts_have_the_last_row_whatever_their_total(cells, noise):
    made = amounts(cells)
    plan = plan_noise(made, noise)
    for cell in np.flatnonzero(made.contributors):
        regime = plan.regimes[plan.regime[cell]]
        assert plan.row[cell] == regime.table.counts[-1]
        assert plan.steps[cell, 0] > 0 or abs(made.top[cell, 0]) < 1e-300
    assert np.isfinite(perturb_magnitudes(made, noise, secret=SECRET)).all()


@given(tables, noises(decimals=0))
def test_whole_numbers_are_published_as_such(cells, noise):
    totals = perturb_magnitudes(amounts(cells), noise, secret=SECRET)
    assert (totals == np.rint(totals)).all()


@given(
    st.floats(1e-6, 1e12),
    st.lists(st.lists(st.floats(0, 1), max_size=6), min_size=2, max_size=5),
    noises(sensitive=(FewContributors(least=99),)),
)
def test_the_noise_of_a_firm_does_not_depend_on_the_others_in_a_sensitive_cell(
    size, others, noise
):
    made = amounts([[size, *(size * share for share in shares)] for shares in others])
    plan = plan_noise(made, noise)
    assert plan.sensitive.all()
    kinds = zip(plan.regime.tolist(), plan.row.tolist(), plan.steps[:, 0].tolist(), strict=True)
    assert len(set(kinds)) == 1
