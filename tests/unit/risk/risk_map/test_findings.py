"""Findings follow the numbers: another number, another finding."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from risk.errors import RiskError
from risk.inference.nested import GivenAway
from risk.risk_map.findings import Case, Rules, conclude

NOTHING = GivenAway()
STEPS = ("", "-posterior", "-certain", "-same-answer", "-threshold")


def case(name, **changes):
    plain = Case(
        name=name,
        kind="keyed",
        is_hidden=False,
        risk=0.9,
        loss=100.0,
        given_away=NOTHING,
        seen_share=0.9,
        differing=0.8,
        difference=0.85,
    )
    return replace(plain, **changes)


def office():
    """The designs of an office, with numbers of about the size of the real ones."""
    away = GivenAway(
        probability=0.26, original=2, published=0, published_more=5, set_probability=0.26,
        set_published=0, set_published_more=5,
    )  # fmt: skip
    hidden = {"is_hidden": True, "seen_share": None}
    return [
        case("noise"),
        case("rounding", kind="fixed", risk=0.5, loss=200.0, given_away=away, differing=0.0,
             difference=0.2, **hidden),
        case("random", kind="redrawn", risk=0.6, loss=300.0, difference=0.4, **hidden),
        case("some hidden", risk=0.74, loss=350.0, seen_share=0.7),
        case("all hidden", risk=0.7, loss=400.0, without="noise", **hidden),
    ]  # fmt: skip


@st.composite
def cases(draw):
    numbers = st.floats(0, 1)
    found = []
    for place in range(draw(st.integers(1, 7))):
        away = draw(st.one_of(st.just(0.0), numbers))
        found.append(
            case(
                f"c{place}",
                kind=draw(st.sampled_from(["fixed", "redrawn", "keyed"])),
                is_hidden=draw(st.booleans()),
                risk=draw(numbers),
                loss=draw(st.floats(0, 1000)),
                given_away=NOTHING
                if not away
                else GivenAway(
                    probability=away / 2,
                    original=1,
                    published=0,
                    published_more=3,
                    set_probability=away,
                    set_published=4,
                    set_published_more=0,
                ),
                seen_share=draw(st.one_of(st.none(), numbers)),
                difference=draw(numbers),
                differing=draw(numbers),
                without=draw(st.sampled_from(["", "c0", "c1"])),
            )
        )
    return found


def kept(some, rules, step):
    """Say again, from the definitions, which designs keep the rules up to a step."""
    tests = (
        lambda _c: True,
        lambda c: c.risk <= rules.posterior,
        lambda c: c.given_away.set_probability <= rules.certain,
        lambda c: c.kind != "redrawn",
        lambda c: c.is_hidden,
    )
    return [c for c in some if all(test(c) for test in tests[: step + 1])]


def test_each_rule_in_turn_moves_the_choice():
    found = conclude(office())
    chosen = [found[f"least-loss{step}"]["design"] for step in STEPS]
    assert chosen == ["noise", "rounding", "random", "some hidden", "all hidden"]
    assert [found[f"least-loss{step}"]["designs"] for step in STEPS] == [5, 4, 3, 2, 1]
    assert found["conclusion-forbidding"] == {
        "design": "all hidden",
        "loss": 400.0,
        "risk": 0.7,
    }
    assert next(iter(found)) == "conclusion-forbidding"


def test_what_speaks_for_and_against_is_told_with_its_numbers():
    found = conclude(office())
    assert found["rounding-certain"] == {
        "design": "rounding",
        "probability": 0.26,
        "original": 2.0,
        "published": 0.0,
        "published_more": 5.0,
    }
    assert found["random-rounding-answers"] == {"design": "random", "share_pct": 80.0}
    assert found["random-rounding-keyed"]["other"] == "all hidden"
    assert found["sensitive-published"]["designs"] == 2
    assert found["sensitive-published"]["least_design"] == "some hidden"
    price = found["price-of-forbidding"]
    assert (price["other"], price["cost_pct"]) == ("noise", pytest.approx(300))
    assert found["one-record-more"]["other"] == "rounding"


@given(cases(), st.floats(0, 1), st.floats(0, 1))
def test_after_each_rule_the_least_loss_of_those_that_keep_it_is_found(some, limit, certain):
    rules = Rules(posterior=limit, certain=certain)
    found = conclude(some, rules=rules)
    for place, step in enumerate(STEPS):
        left = kept(some, rules, place)
        if not left:
            assert found[f"none-left{step}"]["designs"] == len(kept(some, rules, place - 1))
            assert "conclusion-none" in found
            break
        line = found[f"least-loss{step}"]
        assert line["designs"] == len(left)
        assert line["loss"] == min(c.loss for c in left)
    else:
        assert "conclusion-none" not in found
    assert sum(name.startswith("conclusion-") for name in found) == 1


@pytest.mark.slow
@given(cases())
def test_the_order_of_different_designs_does_not_matter(some):
    assume(len({c.loss for c in some}) == len(some))
    assume(len({c.difference for c in some}) == len(some))
    assume(len({c.differing for c in some}) == len(some))
    assume(len({c.given_away.set_probability for c in some}) == len(some))
    assert conclude(some) == conclude(some[::-1])


@given(cases())
def test_a_better_design_becomes_the_conclusion(some):
    best = case("best", is_hidden=True, risk=0.0, loss=-1.0, seen_share=None)
    found = conclude([*some, best])
    assert found["conclusion-forbidding"]["design"] == "best"


def test_random_rounding_that_shows_a_count_to_be_sensitive_falls_by_the_second_rule():
    away = GivenAway(set_probability=0.11, set_published=5, set_published_more=0)
    some = [replace(c, given_away=away) if c.name == "random" else c for c in office()]
    found = conclude(some)
    assert found["least-loss-certain"]["design"] == "some hidden"
    assert found["random-rounding-certain"] == {
        "design": "random",
        "probability": 0.11,
        "published": 5.0,
        "published_more": 0.0,
    }
    assert "random-rounding-keyed" not in found
    assert "random-rounding-certain" not in conclude(some, rules=Rules(certain=0.2))
    assert "random-rounding-certain" not in conclude(some, rules=Rules(posterior=0.5))


def test_rounding_is_the_conclusion_where_nothing_is_given_away():
    some = [replace(c, given_away=NOTHING) for c in office()]
    found = conclude(some)
    assert found["conclusion-rounding"]["design"] == "rounding"
    assert "rounding-certain" not in found


def test_keyed_random_rounding_is_no_finding_where_it_loses_more():
    some = [replace(c, loss=500.0) if c.name == "random" else c for c in office()]
    assert "random-rounding-keyed" not in conclude(some)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"kind": "keyed"}, "random-rounding-answers"),
        ({"without": ""}, "price-of-forbidding"),
        ({"seen_share": None}, "sensitive-published"),
    ],
)
def test_a_finding_without_ground_is_left_out(change, missing):
    assert missing in conclude(office())
    assert missing not in conclude([replace(c, **change) for c in office()])


def test_a_rule_that_nothing_keeps_ends_the_list():
    found = conclude(office(), rules=Rules(posterior=0.1))
    assert found["conclusion-none"] == {"designs": 5}
    assert found["none-left-posterior"] == {"limit": 0.1, "designs": 5}
    assert "least-loss-certain" not in found
    assert "one-record-more" not in found


@pytest.mark.parametrize("some", [[], [case("a"), case("a")]])
def test_designs_need_names_of_their_own(some):
    with pytest.raises(RiskError, match="name of its own"):
        conclude(some)


@pytest.mark.parametrize("limits", [{"posterior": 1.5}, {"certain": float("nan")}])
def test_limits_are_probabilities(limits):
    with pytest.raises(RiskError, match=r"must lie in \[0, 1\]"):
        Rules(**limits)
