"""Facts of pages are what was computed; evidence and cards come back from their files whole."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dp.belief import true_positive_bound
from dpsgd import Plan
from dpsgd.accounting.choosing import cost_of_choosing, sum_of_trials
from dpsgd.accounting.claims import claims
from dpsgd.accounting.published import PUBLISHED
from dpsgd.accounting.sensitivity import Choices
from dpsgd.audits import (
    AttributeInversion,
    Ceiling,
    Evidence,
    attack_rates,
    one_run_audit,
    read_evidence,
    rebuilt,
    write_evidence,
)
from dpsgd.card import PrivacyCard
from dpsgd.errors import DPSGDError
from dpsgd.pages import _plan, audit_facts, card_facts, choices_of, study_facts, sweep_facts
from dpsgd.sweeps.sweep import Outcome
from reports import make_report

RUN = {"batch_size": 64.0, "epochs": 5.0}


def outcome(noise=2.0, mean=0.8, *, runs=2, epsilon=1.0, **more):
    return Outcome(
        choices=RUN | {"noise_multiplier": noise},
        is_private=epsilon is not None,
        runs=runs,
        mean=mean,
        sd=0.01 if runs > 1 else None,
        epsilon=epsilon,
        times_chance=None,
        **more,
    )


GOLDEN = {
    "dataset_size": {500: 3.8944, 500_000: 0.8877},
    "batch_size": {1: 1.1847, 4: 1.4656},
    "noise_multiplier": {0.6: 3.1143, 1.5: 0.3873, 2.6: 0.2059},
    "epochs": {1: 1.3426, 100: 2.1597},
    "delta": {1e-7: 2.0102, 1e-3: 0.9167},
}
CHEAP = {"batch_size": 100, "noise_multiplier": 4.0, "epochs": 1}


@pytest.fixture(scope="module")
def study():
    """A study of few values, with the claims of a run that is quick to account for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "dpsgd.accounting.sensitivity._values",
            lambda _: {n: list(v) for n, v in GOLDEN.items()},
        )
        patch.setattr("dpsgd.pages.BATCHES", (16,))
        patch.setattr("dpsgd.pages.NOISES", (0.7,))
        patch.setattr(
            "dpsgd.pages.claims", lambda **run: claims(**(run | CHEAP | {"dataset_size": 1000}))
        )
        base = Choices(dataset_size=10_000, batch_size=4, noise_multiplier=0.8)
        return study_facts(base, version="1")


@pytest.mark.slow
def test_a_study_has_the_figures_of_its_source(study):
    series = {s.name: {p.value: p for p in s.points} for s in study.series}
    assert list(series) == ["order", *GOLDEN]
    for name, points in GOLDEN.items():
        for value, epsilon in points.items():
            assert series[name][value].epsilon == pytest.approx(epsilon, abs=1e-4), name
    assert series["noise_multiplier"][2.6].is_at_edge
    assert min(series["order"].values(), key=lambda p: p.epsilon).value == 9.4
    assert (study.batches, study.noises) == ((4, 16), (0.7, 0.8))
    assert study.surface[1][0] == pytest.approx(2.9503, abs=1e-4)
    assert study.surface[0][1] == study.epsilon == pytest.approx(1.4656134, abs=1e-7)
    html = make_report(study, language="fr").html
    for name, points in GOLDEN.items():
        for epsilon in points.values():
            assert f">{epsilon:.3f}<".replace(".", ",") in html, name


@pytest.mark.slow
def test_every_epsilon_of_a_study_names_its_sampler_and_its_neighbours(study):
    found = {(c.sampling, c.adjacency, c.worth): c for c in study.claims}
    assert {c.sampling for c in study.claims} == {"poisson", "fixed", "shuffled"}
    usual = found["shuffled", "add-remove", "customary"]
    promise = found["shuffled", "zero-out", "promise"]
    assert promise.epsilon > found["shuffled", "zero-out", "floor"].epsilon > 0
    assert promise.epsilon > usual.epsilon
    assert usual.times == usual.epsilon / study.epsilon
    html = make_report(study, language="en").html
    for claim in study.claims:
        assert f">{claim.epsilon:.3f}<" in html


@pytest.mark.slow
def test_published_runs_are_found_again_two_of_them_with_another_noise(study):
    assert len(study.published) == len(PUBLISHED) == 13
    wrong = [run for run in study.published if run.corrected is not None]
    assert [run.epochs for run in wrong] == [120, 105]
    for run in study.published:
        right = run.epsilon if run.corrected is None else run.corrected
        assert right == pytest.approx(run.printed, abs=0.05)
        assert (abs(run.epsilon - run.printed) > 0.5) == (run in wrong)


@pytest.mark.slow
def test_the_page_of_a_plan_headlines_what_the_plan_costs(study):
    plan = Plan.for_budget(
        1.0, delta=1e-5, dataset_size=32_561, batch_size=1024, steps=640, clipping_norm=0.5
    )
    facts = replace(study, plan=_plan(plan))
    for language, words in (("en", "The plan costs ε = 1.0"), ("fr", "Le plan coûte ε = 1,0")):
        text = " ".join(make_report(facts, language=language).html.split())
        headline = text.split('class="verdict">')[1].split("</p>")[0]
        assert headline.startswith(words), headline
    alone = make_report(study, language="en").html
    assert "classic formula" in alone.split('class="verdict">')[1].split("</p>")[0]


def test_the_run_of_a_plan_is_never_below_it():
    plan = Plan(
        dataset_size=1000, sampling_rate=0.0303, steps=70, noise_multiplier=2, delta=1e-5
    )
    run = choices_of(plan)
    assert run.batch_size >= plan.expected_batch
    assert run.cost().steps >= plan.steps
    assert run.cost().epsilon >= plan.cost().epsilon


@pytest.mark.slow
def test_choosing_costs_more_than_one_run_and_less_when_the_number_is_drawn():
    costs = cost_of_choosing(
        [outcome(runs=15), outcome(4.0, 0.7, runs=15, epsilon=0.4)],
        delta=1e-5,
        dataset_size=10_000,
    )
    found = {cost.way: cost.epsilon for cost in costs}
    assert list(found) == ["one", "logarithmic", "geometric", "sum"]
    from dp.accounting.rdp import RenyiCurve

    curves = [
        RenyiCurve.subsampled_gaussian(sampling_rate=0.0064, noise_multiplier=noise) * (157 * 5)
        for noise in (2.0, 4.0)
    ]
    alone = sum(sum_of_trials(curve, trials=15, delta=1e-5).epsilon for curve in curves)
    dearest = sum_of_trials(curves[0], trials=15, delta=1e-5).epsilon
    assert dearest < found["sum"] < alone


def test_without_the_orders_the_sum_of_all_epsilons_is_owed():
    several = [outcome(runs=3), outcome(4.0, 0.9, runs=2, epsilon=0.4)]
    costs = cost_of_choosing(several, delta=1e-5)
    assert [(c.way, c.runs) for c in costs] == [("one", 1), ("basic", 5)]
    assert costs[0].epsilon == 0.4
    assert costs[1].epsilon == pytest.approx(3.8)
    assert costs[1].delta == pytest.approx(5e-5)
    assert cost_of_choosing([outcome(epsilon=None)], delta=1e-5) == ()
    assert len(cost_of_choosing([outcome(runs=1)], delta=1e-5, dataset_size=10_000)) == 1
    bad = replace(outcome(), epsilon=None)
    with pytest.raises(DPSGDError, match="no epsilon"):
        cost_of_choosing([bad], delta=1e-5)


def test_runs_of_other_samplers_are_not_added_by_the_orders_of_poisson_batches():
    facts = sweep_facts(
        [outcome()],
        version="1",
        delta=1e-5,
        dataset_size=10_000,
        sampling="shuffled",
        adjacency="zero-out",
    )
    assert [fact.name for fact in facts.tuning] == ["one", "basic"]


def test_the_frontier_holds_what_nothing_cheaper_reaches():
    several = [
        outcome(1.0, 0.9, epsilon=4.0),
        outcome(2.0, 0.8, epsilon=1.0),
        outcome(3.0, 0.7, epsilon=2.0),
        outcome(0.0, 0.95, epsilon=None),
    ]
    facts = sweep_facts(several, version="1")
    front = {o.epsilon for o in facts.outcomes if o.is_front}
    assert front == {4.0, 1.0}
    half = facts.outcomes[0].high - facts.outcomes[0].mean
    assert half == pytest.approx(12.706 * 0.01 / math.sqrt(2), abs=0.05)
    html = make_report(facts, language="fr").html
    assert "90,0\u00a0%" in html
    assert facts.tuning == ()


def test_of_settings_as_accurate_the_cheapest_is_the_best():
    several = [outcome(1.0, 0.7, epsilon=4.0), outcome(4.0, 0.7, epsilon=0.5)]
    for order in (several, several[::-1]):
        assert [o.epsilon for o in sweep_facts(order, version="1").outcomes] == [0.5, 4.0]


def test_a_run_without_noise_costs_without_bound_and_the_page_says_so():
    several = [outcome(0.0, 0.9, epsilon=math.inf), outcome(2.0, 0.8)]
    facts = sweep_facts(several, version="1", delta=1e-5, dataset_size=10_000)
    assert [fact.epsilon for fact in facts.tuning] == [None, None]
    html = make_report(facts, language="en").html
    assert "90.0\u00a0% at ε = ∞" in html
    assert "owes" not in html


def evidence(name="private", epsilon=1.0):
    generator = np.random.default_rng(1)
    members, others = generator.normal(0.2, 1, 400), generator.normal(0, 1, 400)
    coins = generator.random(300) < 0.5
    ceiling = Ceiling(epsilon=epsilon, delta=1e-5)
    return Evidence(
        name=name,
        epsilon=epsilon,
        delta=1e-5,
        adjacency="add-remove",
        sampling="poisson",
        attacks={"loss": attack_rates(members, others, ceiling=ceiling)},
        shadows=4,
        one_run=one_run_audit(generator.normal(6 * coins, 1), is_in=coins, delta=1e-5),
        attribute=AttributeInversion(
            members=0.6,
            members_low=0.5,
            members_high=0.7,
            others=0.5,
            others_low=0.4,
            others_high=0.6,
            baseline=0.5,
            ceiling=ceiling.success(0.6),
        ),
        gradient=rebuilt(
            np.eye(3), members=np.eye(3), others=5 + np.eye(3), tolerance=0.1, ceiling=ceiling
        ),
    )


def test_evidence_comes_back_from_its_text_and_from_no_other():
    found = evidence()
    text = write_evidence([found])
    assert read_evidence(text) == (found,)
    assert found.is_refuted
    content = json.loads(text)
    for change in (
        {"version": 2},
        {"format": "other"},
        {"models": [{}]},
        {"models": [content["models"][0] | {"epsilon": "1"}]},
        {"models": [content["models"][0] | {"adjacency": ""}]},
        {"models": [content["models"][0] | {"one_run": {"epsilon": True}}]},
        {"models": [content["models"][0] | {"gradient": [1]}]},
        {"models": [content["models"][0] | {"more": 1}]},
    ):
        with pytest.raises((DPSGDError, ValueError)):
            read_evidence(json.dumps(content | change))
    with pytest.raises(DPSGDError, match="no audit"):
        read_evidence("[" * 100_000)
    with pytest.raises(DPSGDError, match="neighbours and its sampler"):
        Evidence(name="a", epsilon=1.0, delta=1e-5)
    with pytest.raises(DPSGDError, match="a delta"):
        Evidence(name="a", epsilon=1.0)
    with pytest.raises(DPSGDError, match="a line"):
        Evidence(name="a\nb")


def test_a_page_of_audits_shows_what_was_found_beside_what_is_allowed():
    found = evidence()
    facts = audit_facts([found, Evidence(name="plain", attacks=found.attacks)], version="1")
    private, plain = facts.models
    assert private.is_refuted
    assert private.attacks[0].auc == found.attacks["loss"].auc
    for rate, most in private.ceiling:
        assert most == true_positive_bound(rate, epsilon=1.0, delta=1e-5)
    assert not plain.ceiling
    html = make_report(facts, language="en").html
    assert "The guarantee is violated for: private." in html
    assert f"{found.attacks['loss'].auc:.3f}" in html
    assert f"{found.one_run.epsilon:.3f}" in html


def test_a_curve_rises_and_ends_at_one():
    rates = attack_rates(np.arange(50.0) + 10, np.arange(50.0))
    x, y = np.array(rates.curve).T
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) >= 0).all()
    assert x[0] == 1 / 50
    assert rates.curve[-1] == (1.0, 1.0)
    for rate, found in rates.curve:
        exact = attack_rates(np.arange(50.0) + 10, np.arange(50.0), at=[min(1.0, rate)])
        assert found == pytest.approx(exact.rates[0].true_positive_rate)


def test_records_are_rebuilt_only_where_a_guess_is_near():
    members, others = np.eye(4), np.zeros((6, 4))
    found = rebuilt([[1, 0, 0, 0.01]], members=members, others=others, tolerance=0.1)
    assert (found.members, found.others) == (0.25, 0.0)
    assert rebuilt(np.empty((0, 4)), members=members, others=others, tolerance=1).members == 0
    assert rebuilt([[np.nan] * 4], members=members, others=others, tolerance=9).members == 0
    for bad in (
        {"members": members, "others": np.zeros((0, 4)), "tolerance": 1},
        {"members": members, "others": np.zeros((2, 3)), "tolerance": 1},
        {"members": members, "others": others, "tolerance": 0},
        {"members": members, "others": others, "tolerance": 1, "confidence": 1},
        {"members": "abc", "others": others, "tolerance": 1},
    ):
        with pytest.raises(DPSGDError):
            rebuilt(members, **bad)


def test_a_card_says_what_it_says_in_both_languages_and_is_stamped_when_seeded():
    card = PrivacyCard(
        epsilon=1.0,
        delta=1e-6,
        unit="person",
        adjacency="add-remove",
        sampling="poisson",
        accounted_sampling="poisson",
        accountant="loss distribution",
        sampling_rate=0.01,
        noise_multiplier=1.1,
        clipping_norm=1.0,
        steps=1000,
        expected_batch=320,
    )
    html = make_report(card_facts(card, version="1"), language="en").html
    assert "odds that one person is in the data change by a factor of 5.44 at most" in html
    assert "any other statement about one person change by a factor of 14.78 at most" in html
    assert "DEMONSTRATION" not in html
    assert "Stated, but not reliable" not in html
    seeded = card_facts(replace(card, randomness="seed 7"), version="1")
    for language, stamp in (("en", "NOT A RELEASE"), ("fr", "PAS UNE PUBLICATION")):
        assert html.count(stamp) == 0
        assert make_report(seeded, language=language).html.count(stamp) >= 3
    huge = make_report(card_facts(replace(card, epsilon=1000.0), version="1"), language="en")
    assert "a factor of ∞ at most" in huge.html
