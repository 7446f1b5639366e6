"""What an attack reports."""

import pytest

from risk.attacks import AttackResult, wilson
from risk.errors import RiskError


def test_the_interval_of_wilson_has_the_values_of_the_literature():
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3.
    for successes, trials, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        found = wilson(successes, trials)
        assert found == pytest.approx((low, high), abs=5e-5)


def test_the_interval_holds_the_share_and_mirrors():
    for successes in range(8):
        low, high = wilson(successes, 7, level=0.9)
        assert 0 <= low <= successes / 7 <= high <= 1
        assert wilson(7 - successes, 7, level=0.9) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((1, 0), "trials must be an integer of at least 1"),
        ((-1, 3), "successes must be an integer of at least 0"),
        ((1.5, 3), "successes must be"),
        ((4, 3), "successes must be at most trials = 3, not 4"),
    ],
)
def test_no_interval_comes_of_impossible_counts(given, words):
    with pytest.raises(RiskError, match=words):
        wilson(*given)


def test_all_problems_of_an_interval_are_named_together():
    with pytest.raises(RiskError, match=r"level must .* successes must"):
        wilson(4, 3, level=float("nan"))


def test_a_result_refuses_more_refusals_than_queries():
    with pytest.raises(RiskError, match=r"refused must lie in 0\.\.3"):
        AttackResult(name="x", successes=0, trials=1, queries=3, refused=4)


def test_a_result_says_in_words_what_its_frame_says_in_numbers():
    result = AttackResult(
        name="averaging", successes=3, trials=4, queries=80, refused=2, closed_form=0.7
    )
    assert "3 of 4 targets (75.0 %" in result.words
    assert "80 queries, 2 refused; by formula 70.0 %" in result.words
    (line,) = result.to_frame().to_dict("records")
    assert (line["low"], line["high"]) == result.interval
    assert line["closed_form"] == 0.7
