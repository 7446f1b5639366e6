"""Noise by name, and counts that stay positive."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptable import NoiseSpec, PTableError, feasible, identify, solve
from ptable.advice.figures import cautions, few_outcomes, laws
from ptable.design.presets import PRESETS, name_preset, same_as, spelled_out


def variances(spec: NoiseSpec) -> dict[int, float]:
    return {count: sum(v * v * p for v, p in law.items()) for count, law in laws(spec).items()}


def test_a_rule_is_the_problem_of_r_and_what_is_beside_a_preset_holds():
    found = spelled_out({"preset": "insee", "variance": 2.5, "p_stay": 0.3})
    assert NoiseSpec(**found) == NoiseSpec.r_ptable(5, 2.5, small=2, p_stay=0.3)
    exact = spelled_out({"preset": "insee-qpv", "rule": "maximum-entropy"})
    assert exact == {"max_noise": 10, "variance": 15.0, "small": 4}


@pytest.mark.parametrize(("key", "value"), [("preset", "insee-"), ("rule", ["r-ptable"])])
def test_a_name_that_nobody_knows_is_refused(key, value):
    with pytest.raises(PTableError, match=rf"There is no {key} (.|\n)*one of (insee|maximum)"):
        spelled_out({key: value})


def test_every_preset_can_be_met_and_has_its_source():
    for name, preset in PRESETS.items():
        assert feasible(preset.spec).ok
        assert name_preset({"preset": name}) == f"Preset {name}: {preset.text}"
        assert name in same_as(preset.spec)
        assert "(source: " in preset.text
    assert same_as(NoiseSpec(max_noise=5, variance=3.5)) == ""


def test_only_a_preset_asked_for_by_name_is_told_with_what_was_changed():
    plain = {"max_noise": 5, "variance": 3.0, "small": 2}
    assert name_preset(plain) == ""
    changes = {"preset": "insee", "variance": 15.0, "rule": "maximum-entropy", "small": 2}
    said = name_preset({**changes, "p_stay": 0.3})
    assert said.partition(" Changed here: ")[2] == (
        "variance = 15, not 3, rule = maximum-entropy, not r-ptable, p_stay = 0.3."
    )


def test_the_preset_of_the_priority_zones_says_what_its_rows_have():
    preset = PRESETS["insee-qpv"]
    found = {count: f"{v:.3g}" for count, v in variances(preset.spec).items() if v < 14.99}
    assert found == {1: "5.66", 2: "10.5", 3: "14.4", 5: "14.7"}
    assert all(number in preset.text for number in found.values())
    exact = NoiseSpec(max_noise=10, variance=15.0, small=4)
    (row,) = (row for row in feasible(exact).rows if not row.is_feasible)
    assert (row.count, row.variance_max) == (1, 10)
    assert few_outcomes(replace(exact, variance=(8.11, *[15.0] * 14))) == ()
    assert few_outcomes(replace(exact, variance=(8.2, *[15.0] * 14))) != ()


def test_the_other_presets_are_as_their_texts_say():
    assert set(map("{:.6f}".format, variances(PRESETS["insee"].spec).values())) == {"3.000000"}
    tablebuilder = PRESETS["abs-tablebuilder"].spec
    assert f"{variances(tablebuilder)[1]:.3f}" == "0.932"
    assert list(laws(tablebuilder)[2].values()) == pytest.approx([0.2] * 5)
    exact = replace(tablebuilder, variance_rule="exact", monotone="none", min_probability=0.0)
    assert [(n, round(p, 3)) for n, p in few_outcomes(exact)[0].outcomes] == [
        (0, 0.667),
        (3, 0.333),
    ]
    monotone = (True, True, False, True)
    assert PRESETS["destatis-example"].spec == NoiseSpec.r_ptable(
        2, 1.05, small=1, monotone=monotone
    )


@pytest.mark.parametrize(("small", "means"), [(0, [0.8]), (2, [2.8, 1.8, 0.8])])
def test_positive_counts_stay_positive_with_the_bias_that_was_declared(small, means):
    spec = NoiseSpec(
        max_noise=5, variance=3.0, small=small, positive_bias=0.8, variance_rule="at-most"
    )
    table = solve(spec)
    rows = table.certificate.rows
    assert [row.bias for row in rows][: small + 1] == pytest.approx(means, abs=1e-8)
    assert {row.bias for row in rows[small + 1 :]} == {0}
    assert table.certificate.largest_bias == 0
    assert table.n_rows == 5 + small + 2
    assert all(count + min(table.units(count)) > small for count in range(1, table.n_rows))
    assert table.units(table.n_rows - 1).keys() == set(range(-5, 6))
    text = "\n".join(cautions(spec, proof=table.certificate))
    assert f"{means[0]:+g} for count 1" in text
    assert "empty cells are not protected" in text
    assert "positives stay positive with a bias of 0.8" in str(identify(table))


def test_without_a_bias_a_count_of_one_that_stays_positive_has_no_noise_at_all():
    # noise of 0 or more whose mean is 0 is 0: the smaller the bias, the smaller the variance
    row = feasible(NoiseSpec(max_noise=5, variance=3.0, positive_bias=1e-6)).rows[0]
    assert row.variance_max == pytest.approx(5e-6, rel=1e-3)
    assert row.limits[0] == "its mean noise is 1e-06"
