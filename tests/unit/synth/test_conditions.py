"""Records that fulfil a condition, frames as they come, and a check that spends nothing."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import Adjacency
from synth import (
    Budget,
    Category,
    RuleError,
    Schema,
    SimulatedNoise,
    SynthError,
    Synthesizer,
    Unit,
    Whole,
)
from synth.claims import Claim
from synth.methods import METHODS, is_unprotected, settings_of
from synth.schema.discovery import Discovery
from tests.strategies import examples

HOURS = Whole(name="hours-per-week", low=0, high=99)
SEX = Category(name="sex", values=["F", "M"])
PAY = Whole(name="pay", low=0, high=9999, bins=40)
BUDGET = Budget(epsilon=8, delta=1e-6)


def people(number=4000):
    rng = np.random.default_rng(1)
    hours = rng.integers(0, 100, number)
    sex = np.where(rng.random(number) < hours / 100, "M", "F")
    return pd.DataFrame({"hours-per-week": hours, "sex": sex, "pay": hours * 90})


@pytest.fixture(scope="module")
def model():
    schema = Schema(columns=[HOURS, SEX, PAY])
    return Synthesizer(schema=schema).fit(people(), BUDGET, noise=SimulatedNoise(seed=1))


def test_what_shall_hold_is_drawn_from_what_the_model_says_of_such_records(model):
    rare = "`hours-per-week` >= 98 and sex == 'F'"
    drawn = model.draw(500, rng=np.random.default_rng(1), where=rare)
    assert drawn.tries < 700  # the codes of both columns are given, none is found by luck
    frame = model.sample(20_000, rng=np.random.default_rng(1), where="pay > 6000 or sex == 'F'")
    free = model.sample(60_000, rng=np.random.default_rng(2))
    free = free[(free["pay"] > 6000) | (free["sex"] == "F")]
    assert (frame["sex"] == "F").mean() == pytest.approx((free["sex"] == "F").mean(), abs=0.02)
    assert frame["pay"].mean() == pytest.approx(free["pay"].mean(), rel=0.03)


def test_what_the_model_cannot_make_is_said_and_nothing_is_repeated(model):
    with pytest.raises(RuleError, match=r"Only \d+ of .* drawn .*\n.*ask for \d+ at most"):
        model.sample(2000, rng=np.random.default_rng(1), where="pay == 4321")
    for where in ("sex == 'F' and sex == 'M'", "pay > 9999"):
        with pytest.raises(RuleError, match="No record can fulfil"):
            model.sample(5, where=where)
    with pytest.raises(RuleError, match="backticks: `hours-per-week`"):
        model.sample(5, where="hours > 5")
    with pytest.raises(SynthError, match=r"`hours-per-week` in \(…\)"):
        model.sample(5, conditions={"hours-per-week": [1, 2]})


def test_without_a_generator_other_records_are_drawn_each_time(model):
    assert not model.sample(50).equals(model.sample(50))


def test_filtered_frames_are_read_and_an_index_that_may_be_a_column_is_not():
    import polars as pl

    frame = people(300)
    schema = Schema(columns=[HOURS, SEX, PAY])
    women = frame[frame["sex"] == "F"]
    given = [
        women,
        women.sample(frac=1, random_state=1),
        pl.from_pandas(frame).lazy().filter(pl.col("sex") == "F"),
        pl.from_pandas(frame).filter(pl.col("sex") == "F"),
    ]
    for one in given:
        made = Synthesizer(schema=schema, method="histogram").fit(
            one, Budget(rho=1e6, adjacency="replace"), noise=SimulatedNoise(seed=1)
        )
        drawn = made.sample(200, rng=np.random.default_rng(1))
        assert set(pd.Series(list(drawn["sex"]))) == {"F"}
    with pytest.raises(SynthError, match="may be a column"):
        Synthesizer(schema=schema).check(frame.set_index("pay", drop=False), BUDGET)


def test_progress_of_tables_is_told_in_time_that_was_estimated_beforehand():
    steps = []
    Synthesizer(schema=Schema(columns=[HOURS, SEX, PAY])).fit(
        people(500),
        BUDGET,
        noise=SimulatedNoise(seed=1),
        progress=lambda stage, done, total: stage == "fit" and steps.append(done / total),
    )
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps[-1] == 1
    assert len(set(steps)) > 5  # within a step, too


def test_progress_of_other_methods_is_told_in_shares_of_the_budget():
    steps = []
    Synthesizer(schema=Schema(columns=[HOURS, SEX, PAY]), method="histogram").fit(
        people(500),
        BUDGET,
        noise=SimulatedNoise(seed=1),
        progress=lambda stage, done, total: stage == "fit" and steps.append(done / total),
    )
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps[-1] == 1
    assert len(set(steps)) > 2


def verdict(look):
    try:
        look()
    except SynthError as error:
        return type(error), error.problem
    return None


@st.composite
def attempts(draw):
    """Draw an attempt to fit, right or wrong in one way or several."""
    method = draw(st.sampled_from([*METHODS, "nobody"]))
    adjacency = draw(st.sampled_from([*list(Adjacency)[:2], Adjacency.REPLACE]))
    budget = (
        Budget(rho=1.0, adjacency=adjacency)
        if adjacency in {"add-remove", "replace"}
        else BUDGET
    )
    claims = st.sampled_from([Claim(), Claim(epsilon=0), Claim(epsilon=1), budget])
    usual = claims if is_unprotected(method) else st.just(budget)
    columns = draw(
        st.sampled_from(
            [
                [HOURS, SEX],
                [HOURS, SEX, PAY],
                [HOURS, Category(name="sex")],
                [Whole(name="pay"), SEX],
            ]
        )
    )
    names = [one.name for one in columns]
    rules = draw(
        st.sampled_from(
            [
                [],
                [],
                ["`hours-per-week` > 20", "`hours-per-week` < 90"],
                ["sex == 'F'", "sex == 'M'"],
                ["pay == `hours-per-week` * 90"],
            ]
        )
    )
    rules = [
        one
        for one in rules
        if (one[0] == "`" and HOURS.name in names)
        or (one[0] == "s" and SEX in columns)
        or (one[0] == "p" and {HOURS.name, "pay"} <= {*names})
    ]
    unit = draw(st.sampled_from([Unit(), Unit(name="home", identifier="home", most_records=1)]))
    frame = people(draw(st.sampled_from([0, 1, 2, 9, 60])))
    if draw(st.booleans()):
        frame = frame[names]
    if draw(st.integers(0, 3)) == 0 and len(frame):
        frame = frame.assign(**{names[0]: 7777})
    if unit.identifier:
        frame = frame.assign(home=np.arange(len(frame)) // draw(st.integers(1, 2)))
    given = (
        {"families": ["gaussian"]}
        if method in ("vine-without-privacy", "copula-shirley")
        else {}
    )
    encoder = draw(st.sampled_from([None, None, "woe", "one-hot"]))
    given |= {"encoder": encoder} if given and encoder else {}
    return {
        "schema": {"columns": columns, "rules": rules, "unit": unit},
        "method": method,
        "label": draw(st.sampled_from([None, None, "sex", "hours-per-week"])),
        "given": given,
        "frame": frame,
        "budget": draw(usual),
        "discovery": draw(st.sampled_from([None, Discovery(share=0.5)])),
    }


@given(attempts())
@settings(max_examples=examples(40), deadline=None)
def test_a_check_refuses_what_a_fit_refuses_in_the_same_words(attempt):
    def look(verb, **noise):
        synthesizer = Synthesizer(
            schema=Schema(**attempt["schema"]),
            method=attempt["method"],
            label=attempt["label"],
            settings=settings_of(attempt["method"], attempt["given"]),
        )
        getattr(synthesizer, verb)(
            attempt["frame"], attempt["budget"], discovery=attempt["discovery"], **noise
        )

    found = verdict(lambda: look("fit", noise=SimulatedNoise(seed=1)))
    if found is not None and "stand out from the noise" in found[1]:
        return  # of chance alone
    assert verdict(lambda: look("check")) == found
