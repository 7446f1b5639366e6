"""Categories as numbers, with the values that were printed."""

import numpy as np
import pytest

from synth import SynthError
from synth.baselines import Encoding, encode_glmm, encode_ordinal, encode_woe

COLOURS = ["Bleu", "Rouge", "Jaune", "Rouge", "Jaune", "Bleu", "Bleu"]
ANSWERS = [1, 1, 0, 0, 0, 1, 1]


def test_ordinal_codes_are_those_of_the_table():
    found = encode_ordinal(["Bleu", "Rouge", "Jaune", "Bleu", "Vert"])
    assert found.encode(["Bleu", "Rouge", "Jaune", "Bleu", "Vert"]).tolist() == [1, 3, 2, 1, 4]
    by_place = encode_ordinal(["Vert", "Bleu", "Vert"], order="appearance")
    assert by_place.encode(["Bleu", "Vert", "Mauve"]).tolist() == [2, 1, 0]


def test_plain_weights_are_those_of_the_table():
    found = encode_woe(COLOURS, ANSWERS, rule="plain")
    values = dict(zip(found.categories, found.numbers, strict=True))
    assert values["Bleu"] == pytest.approx(10.31, abs=0.005)
    assert values["Rouge"] == pytest.approx(0)
    assert values["Jaune"] == pytest.approx(-9.90, abs=0.005)


def test_smoothed_weights_are_those_of_the_library():
    found = encode_woe(COLOURS, ANSWERS)
    values = dict(zip(found.categories, found.numbers, strict=True))
    assert values["Bleu"] == pytest.approx(1.2040, abs=5e-5)
    assert values["Rouge"] == pytest.approx(-0.1823, abs=5e-5)
    assert values["Jaune"] == pytest.approx(-1.2809, abs=5e-5)


def test_a_category_that_was_not_seen_or_once_is_zero():
    found = encode_woe([*COLOURS, "Vert"], [*ANSWERS, 1], categories=[*COLOURS, "Vert", "Noir"])
    assert found.encode(["Vert", "Noir", "Mauve"]).tolist() == [0, 0, 0]
    assert found.collisions == (("Vert", "Noir"),)


def test_a_target_shifted_or_named_is_a_target_all_the_same():
    wanted = encode_woe(COLOURS, ANSWERS).numbers
    assert encode_woe(COLOURS, [answer + 1 for answer in ANSWERS]).numbers == wanted
    assert encode_woe(COLOURS, ["no" if not a else "yes" for a in ANSWERS]).numbers == wanted


def test_decoding_takes_the_nearest_and_of_equals_the_last():
    found = Encoding(categories=("a", "b", "c"), numbers=(0.0, 1.0, 1.0))
    assert found.decode([-5, 0.4, 0.6, 99]) == ["a", "a", "c", "c"]
    for encoding in (encode_ordinal(COLOURS), encode_woe(COLOURS, ANSWERS)):
        assert encoding.decode(encoding.encode(COLOURS)) == COLOURS


def test_random_effects_have_the_sign_of_the_odds_and_shrink_where_few():
    values = ["many"] * 400 + ["few"] * 8 + ["other"] * 400
    target = [1] * 300 + [0] * 100 + [1] * 6 + [0] * 2 + [1] * 100 + [0] * 300
    encoding = encode_glmm(values, target)
    found = dict(zip(encoding.categories, encoding.numbers, strict=True))
    assert found["many"] > 0 > found["other"]
    assert found["many"] - found["other"] == pytest.approx(2 * np.log(3), abs=0.2)
    assert 0 < found["few"] < found["many"]


def test_random_effects_of_a_target_of_many_classes_are_shrunken_means():
    rng = np.random.default_rng(1)
    values = ["a"] * 300 + ["b"] * 300
    target = np.concatenate([rng.normal(2, 1, 300), rng.normal(0, 1, 300)]).tolist()
    found = encode_glmm(values, target).numbers
    assert found[0] == pytest.approx(1, abs=0.15)
    assert found[0] == pytest.approx(-found[1], abs=1e-6)
    named = encode_glmm(["a"] * 9 + ["b"] * 9, ["x", "y", "z"] * 3 + ["z"] * 9)
    assert named.numbers[1] > named.numbers[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: encode_ordinal([]),
        lambda: encode_ordinal(["a"], order="size"),
        lambda: encode_woe(["a", "b"], [1, 1]),
        lambda: encode_woe(["a", "b"], [1, 2, 3]),
        lambda: encode_woe(["a", "b", "c"], [1, 2, 3]),
        lambda: encode_woe(["a", "b"], [0, 1], rule="rough"),
        lambda: encode_woe(["a", "b"], [0, 1], categories=["a"]),
        lambda: encode_glmm([], []),
        lambda: encode_glmm(["a", "b", "c"], [1.0, np.nan, 2.0]),
        lambda: encode_ordinal(["a"]).decode([np.nan]),
    ],
)
def test_what_cannot_be_encoded_is_refused(make):
    with pytest.raises(SynthError):
        make()
