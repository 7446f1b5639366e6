"""From any frame to synthetic records of the same shape, or a reason why not."""

import numpy as np
import pandas as pd
import pytest

from synth import SynthError
from synth.baselines import (
    copula_shirley,
    dp_copula,
    fit_per_class,
    priv_bayes,
    vine_without_privacy,
)
from synth.baselines.coded import code_frame, decode_frame

RNG = np.random.default_rng
FEW = {"families": ["gaussian"]}
METHODS = {
    "published": lambda f, r: copula_shirley(f, epsilon=1, **FEW, rng=r),
    "indicators": lambda f, r: copula_shirley(f, epsilon=1, encoder="one-hot", **FEW, rng=r),
    "copula": lambda f, r: dp_copula(f, epsilon=1, domains=None, rng=r),
    "network": lambda f, r: priv_bayes(f, epsilon=1, domains=None, rng=r),
    "ceiling": lambda f, _: vine_without_privacy(f, **FEW),
}


def mixed(n=120):
    rng = RNG(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "pay": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1, n).round(1)),
            "job": [None if k % 7 == 0 else "abcd"[k % 4] for k in range(n)],
            "day": pd.to_datetime("2026-01-01") + pd.to_timedelta(rng.integers(0, 5, n), "D"),
            "is_old": rng.random(n) < 0.3,
            "same": ["x"] * n,
            "none": [None] * n,
            "size": pd.Categorical(rng.choice(["S", "L"], n)),
        }
    )


@pytest.mark.parametrize("method", METHODS)
def test_records_come_out_with_the_columns_types_and_values_that_went_in(method):
    frame = mixed()
    model = METHODS[method](frame, RNG(1))
    drawn = model.sample(50, RNG(2))
    assert list(drawn) == list(frame)
    assert len(drawn) == 50
    for name in frame:
        assert drawn[name].dtype == frame[name].dtype, name
        assert set(drawn[name].dropna()) <= set(frame[name].dropna()), name
    pd.testing.assert_frame_equal(drawn, METHODS[method](frame, RNG(1)).sample(50, RNG(2)))


def test_a_type_does_not_tell_whether_a_declared_missing_value_occurred():
    types = set()
    for last in (2, None):
        frame = pd.DataFrame({"a": [1, 2] * 20 + [last]})
        model = dp_copula(frame, epsilon=50, domains={"a": [1, 2, None]}, rng=RNG(1))
        types.add(str(model.sample(9, RNG(2)).dtypes["a"]))
    assert types == {"float64"}


@pytest.mark.parametrize("method", METHODS)
def test_without_a_seed_there_is_other_noise_every_time(method):
    frame = mixed()[["age", "job"]]
    one, two = (METHODS[method](frame, None).sample(60) for _ in range(2))
    assert not one.equals(two)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "frame",
    [
        {"a": []},
        {},
        {"a": [1.0, np.inf] * 9},
        {"a": [[1], [2]] * 9},
        [1, 2, 3],
    ],
)
def test_what_is_no_data_is_refused_with_a_reason(method, frame):
    with pytest.raises(SynthError):
        METHODS[method](frame, RNG(1))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "frame",
    [
        {"a": [1]},
        {"a": [1], "b": ["x"]},
        {"a": [1, 2], "b": ["x", "y"]},
        {"a": [None] * 5, "b": [np.nan] * 5},
        {"a": [3] * 30, "b": ["x"] * 30},
        {"a": range(30), "b": ["x"] * 30},
    ],
)
def test_little_data_are_handled_or_refused_and_never_hang(method, frame):
    problem = None
    try:
        drawn = METHODS[method](frame, RNG(1)).sample(5, RNG(1))
    except SynthError as error:
        problem = str(error)
    if problem is None:
        assert drawn.shape == (5, len(frame))
    else:
        assert "too few" in problem or "two records" in problem
        assert len(frame["a"]) < 5


@pytest.mark.parametrize("method", [name for name in METHODS if name != "indicators"])
def test_columns_of_many_categories_are_handled(method):
    n = 3000
    frame = {
        "id": [f"k{k}" for k in range(n)],
        "age": RNG(1).integers(0, 90, n),
        "s": ["F", "M"] * (n // 2),
    }
    drawn = METHODS[method](frame, RNG(1)).sample(100, RNG(1))
    assert set(drawn["id"]) <= set(frame["id"])


def test_a_domain_of_a_hundred_thousand_categories_is_handled():
    domains = {"id": range(100_000), "sex": ["F", "M"]}
    frame = {"id": RNG(1).integers(0, 100_000, 500), "sex": ["F", "M"] * 250}
    for fit in (dp_copula, priv_bayes):
        assert fit(frame, epsilon=1, domains=domains, rng=RNG(1)).sample(9, RNG(1)).shape == (
            9,
            2,
        )


def test_indicators_of_too_many_categories_are_refused():
    frame = {"id": [f"k{k}" for k in range(300)], "s": ["F", "M"] * 150}
    with pytest.raises(SynthError, match="302 columns, more than 200"):
        METHODS["indicators"](frame, RNG(1))


def test_an_encoder_may_be_fitted_on_other_records_with_other_categories():
    frame = {"job": list("abc") * 30, "rich": [0, 1, 0, 1, 1, 0] * 15}
    other = {"rich": [0, 1] * 20, "extra": [1] * 40, "job": list("abzd") * 10}
    model = copula_shirley(
        frame,
        epsilon=1,
        encoder="woe",
        target="rich",
        encoder_records=other,
        **FEW,
        rng=RNG(1),
    )
    assert set(model.sample(30, RNG(1))["job"]) <= set("abc")
    with pytest.raises(SynthError, match="no column 'job'"):
        copula_shirley(
            frame, epsilon=1, encoder="woe", target="rich", encoder_records={"rich": [0, 1]}
        )


@pytest.mark.parametrize("encoder", ["ordinal", "one-hot", "woe", "glmm"])
@pytest.mark.parametrize("mechanism", ["laplace", "geometric", "gaussian"])
def test_every_encoder_and_mechanism_gives_whole_records(encoder, mechanism):
    rng = RNG(4)
    frame = pd.DataFrame(
        {"job": rng.choice(list("abcde"), 300), "rich": rng.integers(0, 2, 300)}
    )
    model = copula_shirley(
        frame,
        epsilon=0.5,
        encoder=encoder,
        target="rich",
        mechanism=mechanism,
        **FEW,
        rng=rng,
    )
    drawn = model.sample(333, RNG(1))
    assert len(drawn) == 333
    assert set(drawn["job"]) <= set("abcde")
    assert drawn.notna().all().all()


def test_colliding_categories_are_named():
    frame = pd.DataFrame({"job": ["a", "b", "c"] * 40, "rich": [1, 0, 0] * 40})
    model = copula_shirley(frame, epsilon=0, encoder="woe", target="rich", **FEW, rng=RNG(1))
    assert model.details["collisions"] == {"job": (("b", "c"),)}
    assert "b" not in set(model.sample(200, RNG(1))["job"])


def test_categories_that_weights_of_evidence_order_follow_the_target():
    rng = RNG(5)
    rich = rng.integers(0, 2, 3000)
    job = np.where(rich == 1, rng.choice(list("adq"), 3000), rng.choice(list("bcz"), 3000))
    frame = pd.DataFrame({"job": job, "rich": rich})

    def kept(encoder):
        model = copula_shirley(
            frame, epsilon=8, encoder=encoder, target="rich", **FEW, rng=RNG(1)
        )
        drawn = model.sample(3000, RNG(2))
        return (drawn["job"].isin(list("adq")) == (drawn["rich"] == 1)).mean()

    assert kept("woe") > kept("ordinal") + 0.1


def test_declared_numbers_take_the_nearest_and_texts_must_be_declared():
    coded = code_frame({"a": [1.4, 9.0, None]}, domains={"a": [0, 1, 2, None]})
    assert coded[0].codes.tolist() == [1, 2, 3]
    assert decode_frame(coded, [np.array([0, 3])])["a"].isna().tolist() == [False, True]
    halves = code_frame({"a": [1, 2]}, domains={"a": [0.5, 1.5]})
    assert decode_frame(halves, [np.array([0, 1])])["a"].tolist() == [0.5, 1.5]
    for frame, domain in (
        ({"a": ["x"]}, ["y"]),
        ({"a": ["x", None]}, ["x"]),
        ({"a": [1]}, []),
        ({"a": [1]}, ["one"]),
        ({"a": [1]}, [np.inf]),
    ):
        with pytest.raises(SynthError):
            code_frame(frame, domains={"a": domain})


def test_a_value_outside_its_domain_does_not_show_in_the_message():
    with pytest.raises(SynthError) as caught:
        code_frame({"a": ["secret-7"]}, domains={"a": ["x"]})
    assert "secret-7" not in str(caught.value)


@pytest.mark.parametrize("n", [0, -1, 2.5, None, True])
def test_a_number_of_records_that_makes_no_sense_is_refused(n):
    model = dp_copula({"a": [1, 2]}, epsilon=1, domains={"a": [1, 2]})
    with pytest.raises(SynthError, match="an integer"):
        model.sample(n)


def test_margins_that_earlier_software_permuted_are_permuted_as_there():
    """Counts go to the place at which a value appears first, among the sorted values."""
    frame = {"a": [30, 10, 10, 20, 20, 20]}
    model = dp_copula(
        frame, epsilon=1e9, domains=None, defects=["permuted-margins"], rng=RNG(1)
    )
    # 30 comes first, so its one record is counted for 10, the smallest
    np.testing.assert_allclose(
        model.details["margins"][0].cumulative, [1 / 6, 1 / 2, 1], atol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"encoder": "hash"}, "Unknown encoder"),
        ({"mechanism": "cauchy"}, "Unknown mechanism"),
        ({"encoder": "woe", "target": "nobody"}, "no column 'nobody'"),
        ({"encoder": "woe", "target": "a"}, "two different values"),
        ({"histogram_share": 0}, "histogram_share"),
        ({"truncation": "deep"}, "number of trees"),
    ],
)
def test_options_that_do_not_hold_are_refused(options, problem):
    frame = {"a": list(range(9)) * 10, "b": ["x", "y"] * 45}
    with pytest.raises(SynthError, match=problem):
        copula_shirley(frame, epsilon=1, rng=RNG(1), **options)


def opposite(n=400):
    x = RNG(2).integers(0, 20, n)
    way = pd.Categorical(np.where(np.arange(n) % 4 == 0, "down", "up"), ["none", "up", "down"])
    return pd.DataFrame({"a": x, "way": way, "b": np.where(way == "up", x, 20 - x)})


def test_a_model_for_each_class_keeps_what_holds_within_it_and_the_shares():
    frame = opposite()
    model = fit_per_class(frame, by="way", fit=lambda part: vine_without_privacy(part, **FEW))
    drawn = model.sample(2000, RNG(3))
    assert dict(drawn.dtypes) == dict(frame.dtypes)
    down, up = (drawn[drawn["way"] == way] for way in ("down", "up"))
    assert abs(len(down) / 2000 - 0.25) < 0.04  # four standard errors
    assert down["a"].corr(down["b"]) < -0.9
    assert up["a"].corr(up["b"]) > 0.9
    assert drawn["way"].to_list() != sorted(drawn["way"])
    pd.testing.assert_frame_equal(drawn, model.sample(2000, RNG(3)))


def test_classes_are_read_off_the_records_and_the_account_says_so():
    domains = {"a": range(20), "b": range(21)}
    model = fit_per_class(
        opposite(), by="way", fit=lambda f: dp_copula(f, epsilon=1, domains=domains, rng=RNG(4))
    )
    assert model.account.by_part()["classes"] == "unbounded"
    assert model.account.spent("margins") == pytest.approx(2 * 0.5)  # a record may change class
    assert model.label == "DP-Copula, for each way, NOT DP as claimed"


@pytest.mark.parametrize(
    ("frame", "by", "what"),
    [
        (opposite(), "height", "no column 'height'"),
        (opposite(0), "way", "no records"),
        (opposite().replace({"way": {"down": None}}), "way", "missing values"),
    ],
)
def test_classes_that_cannot_be_told_are_refused(frame, by, what):
    with pytest.raises(SynthError, match=what):
        fit_per_class(frame, by=by, fit=lambda part: vine_without_privacy(part, **FEW))
