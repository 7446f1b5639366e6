"""What an office asks first: totals, means, quantiles, tails, and what follows from what."""

import numpy as np
import pandas as pd
import pytest

from reports import make_report
from synth.evaluation import EvaluationPlan, evaluate
from synth.evaluation.conclusions import facts_of
from synth.evaluation.result import Evaluation

OFFICE = EvaluationPlan(groups=("amounts", "dependence"), controls=("train", "independent"))


def firms(number=2000, *, seed=1):
    rng = np.random.default_rng(seed)
    commune = rng.integers(0, 20, number)
    amount = np.rint(100 * (rng.pareto(1.5, number) + 1) * (1 + commune // 10))
    return pd.DataFrame(
        {
            "turnover": amount,
            "wages": np.rint(amount * rng.lognormal(-1, 0.3, number)),
            "commune": [f"{code:02d}" for code in commune],
            "district": [f"{code // 10}" for code in commune],
        }
    )


REAL = firms()


def test_the_real_records_are_not_off_and_other_ones_by_their_figures():
    made = REAL.assign(turnover=REAL["turnover"] * 2).iloc[:1000]
    found = evaluate(REAL, made, plan=OFFICE)
    assert evaluate(REAL, REAL, plan=OFFICE).value("amount_p99", "turnover") == 0
    total = found.find("amount_total", "turnover")
    assert total.real == REAL["turnover"].sum()
    assert total.made == pytest.approx(2 * made["turnover"].sum())  # for as many records
    assert total.value == pytest.approx(abs(total.made / total.real - 1))
    assert found.value("amount_p50", "turnover") == pytest.approx(1, abs=0.15)


def test_amounts_are_measured_by_the_category_by_which_they_differ_most():
    found = evaluate(REAL, REAL, plan=OFFICE)
    assert {figure.part for figure in found.figures} == {"", "district = 0", "district = 1"}
    one = found.find("amount_mean", "wages, district = 1")
    assert one.real == pytest.approx(REAL.loc[REAL["district"] == "1", "wages"].mean())
    by = EvaluationPlan(groups=("amounts",), controls=(), amounts=("wages",), by="commune")
    assert "wages, commune = 07" in {f.subject for f in evaluate(REAL, REAL, plan=by).figures}


def test_sampling_alone_is_off_by_what_other_samples_are():
    other = [evaluate(REAL, REAL.sample(frac=1, replace=True, random_state=seed),
                      plan=EvaluationPlan(groups=("amounts",), controls=(), by="district"))
             for seed in range(20)]  # fmt: skip
    for name in ("amount_p50", "amount_p90", "amount_total"):
        figures = [one.find(name, "wages") for one in other]
        assert sum(f.value <= f.sampling for f in figures) >= 17


def test_a_column_that_follows_in_the_records_alone_is_named():
    rng = np.random.default_rng(2)
    made = REAL.assign(district=rng.permutation(REAL["district"].to_numpy()))
    found = evaluate(REAL, made, plan=OFFICE)
    broken = [figure for figure in found.figures if figure.name == "follows"]
    assert [figure.subject for figure in broken] == ["district ← commune"]
    assert broken[0].value == pytest.approx(0.5, abs=0.05)
    assert broken[0].controls["train"] == 0


def test_tails_that_come_apart_are_seen_and_those_that_do_not_are_not():
    apart = REAL.assign(wages=np.random.default_rng(3).permutation(REAL["wages"].to_numpy()))
    assert evaluate(REAL, REAL, plan=OFFICE).value("tail_change") == 0
    found = evaluate(REAL, apart, plan=OFFICE)
    assert found.value("tail_change") > 0.5
    assert found.value("rank_change") > 0.5


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_page_opens_with_amounts_and_says_that_it_is_internal(language):
    found = evaluate(REAL, firms(seed=4), plan=EvaluationPlan(groups=("tables", "amounts")))
    again = Evaluation.from_json(found.to_json())
    assert again == found
    page = make_report(facts_of({"made": again}, title="", version="1"), language=language).html
    first = "INTERNAL" if language == "en" else "INTERNE"
    places = [page.index(first), page.index('id="group-amounts"'), page.index('id="pictures"')]
    assert places == sorted(places)
    assert page.count('id="amounts-off"') == 1


def test_columns_of_nothing_and_frames_without_amounts_make_no_error():
    none = REAL.assign(turnover=0.0, wages=np.nan)
    for real, made in ((REAL, none), (none, REAL), (REAL[["district"]], REAL[["district"]])):
        found = evaluate(real, made, plan=OFFICE)
        assert all(np.isfinite(figure.value or 0) for figure in found.figures)
