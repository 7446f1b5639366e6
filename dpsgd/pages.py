"""What pages say of private training: the facts behind `reports`, from what was computed."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from dp.accounting.training import steps_of
from dp.belief import meaning
from dp.guarantee import Guarantee
from dpsgd.accounting.choosing import cost_of_choosing
from dpsgd.accounting.claims import claims
from dpsgd.accounting.cost import Sampling
from dpsgd.accounting.published import PUBLISHED
from dpsgd.accounting.sensitivity import BATCHES, NOISES, Choices, study
from dpsgd.audits.bounds import Ceiling
from reports.facts.copying import fact_of
from reports.facts.training import (
    AuditFacts,
    CardFacts,
    ClaimFact,
    InversionFact,
    MembershipFact,
    ModelFact,
    OneRunFact,
    OutcomeFact,
    PlanFact,
    PointFact,
    PublishedRunFact,
    RateFact,
    SeriesFact,
    StudyFacts,
    SweepFacts,
    TuningFact,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsgd.accounting.sensitivity import Series
    from dpsgd.audits.evidence import Evidence
    from dpsgd.card import PrivacyCard
    from dpsgd.plan import Plan
    from dpsgd.sweeps.sweep import Outcome

#: What a promise holds for.
_HOLDS = ("sampling", "adjacency", "unit")
_CURVE = tuple(10 ** (place / 10 - 4) for place in range(41))


def choices_of(plan: Plan) -> Choices:
    """Return the run of whole passes and batches that is nearest to a plan, never below it."""
    batch = min(plan.dataset_size, max(1, math.ceil(plan.expected_batch - 1e-9)))
    each = steps_of(plan.dataset_size, batch_size=batch, epochs=1)
    return Choices(
        dataset_size=plan.dataset_size,
        batch_size=batch,
        noise_multiplier=plan.noise_multiplier,
        epochs=max(1, math.ceil(plan.steps / each)),
        delta=plan.delta,
    )


def study_facts(
    base: Choices, *, title: str = "", version: str, plan: Plan | None = None
) -> StudyFacts:
    """Return all that the page of a run says before it starts."""
    result = study(
        base,
        batches=(*BATCHES, base.batch_size),
        noises=(*NOISES, base.noise_multiplier),
    )
    cost = base.cost()
    return fact_of(
        StudyFacts,
        result,
        base,
        title=title,
        version=version,
        steps=cost.steps,
        sampling_rate=cost.sampling_rate,
        series=tuple(_series(series) for series in result.series),
        claims=_claims(base, result.epsilon),
        published=tuple(
            fact_of(
                PublishedRunFact,
                run,
                epsilon=run.epsilon(),
                corrected=run.epsilon(run.corrected_noise) if run.corrected_noise else None,
            )
            for run in PUBLISHED
        ),
        plan=None if plan is None else _plan(plan),
    )


def _series(series: Series) -> SeriesFact:
    return SeriesFact(
        name=series.name,
        points=tuple(
            fact_of(PointFact, point) for point in series.points if math.isfinite(point.epsilon)
        ),
    )


def _claims(base: Choices, usual: float) -> tuple[ClaimFact, ...]:
    return tuple(
        fact_of(
            ClaimFact,
            claim,
            epsilon=_finite(claim.epsilon),
            times=_finite(claim.epsilon / usual) if usual > 0 else None,
        )
        for sampling in Sampling
        for claim in claims(**asdict(base), sampling=sampling)
    )


def _plan(plan: Plan) -> PlanFact:
    cost = plan.cost()
    return fact_of(
        PlanFact,
        cost,
        epsilon=_finite(cost.epsilon),
        account=cost.accountant,
        steps=plan.steps,
        sampling_rate=plan.sampling_rate,
        is_demonstration=plan.seed is not None,
    )


def sweep_facts(
    outcomes: Sequence[Outcome],
    *,
    title: str = "",
    version: str,
    delta: float | None = None,
    dataset_size: int | None = None,
    sampling: str = "",
    adjacency: str = "",
    classes: int | None = None,
) -> SweepFacts:
    """Return all that the page of a sweep says."""
    several = sorted(outcomes, key=lambda one: (-one.mean, one.epsilon or 0.0))
    is_added = adjacency in {"", "add-remove", "zero-out"} and sampling in {"", "poisson"}
    costs = (
        ()
        if delta is None
        else cost_of_choosing(
            several, delta=delta, dataset_size=dataset_size if is_added else None
        )
    )
    return SweepFacts(
        title=title,
        version=version,
        delta=delta,
        sampling=sampling,
        adjacency=adjacency,
        classes=classes,
        outcomes=tuple(_outcome(one, several) for one in several),
        tuning=tuple(
            TuningFact(name=c.way, runs=c.runs, epsilon=_finite(c.epsilon), delta=c.delta)
            for c in costs
        ),
    )


def _outcome(one: Outcome, several: Sequence[Outcome]) -> OutcomeFact:
    low = high = None
    if one.sd is not None and one.runs > 1:
        from scipy.stats import t

        half = float(t.ppf(0.975, one.runs - 1)) * one.sd / math.sqrt(one.runs)
        low, high = max(0.0, one.mean - half), min(1.0, one.mean + half)
    return fact_of(
        OutcomeFact,
        one,
        low=low,
        high=high,
        epsilon=None if one.epsilon is None else _finite(one.epsilon),
        is_front=_is_front(one, several),
    )


def _is_front(one: Outcome, several: Sequence[Outcome]) -> bool:
    if not one.is_private or one.epsilon is None or not math.isfinite(one.epsilon):
        return False
    return not any(
        other.is_private
        and other.epsilon is not None
        and other.epsilon <= one.epsilon
        and other.mean >= one.mean
        and (other.epsilon, -other.mean) != (one.epsilon, -one.mean)
        for other in several
    )


def audit_facts(several: Sequence[Evidence], *, title: str = "", version: str) -> AuditFacts:
    """Return all that the page of audits says."""
    return AuditFacts(
        title=title, version=version, models=tuple(_model(evidence) for evidence in several)
    )


def _model(evidence: Evidence) -> ModelFact:
    curve: tuple[tuple[float, float], ...] = ()
    if evidence.epsilon is not None and evidence.delta is not None:
        ceiling = Ceiling(epsilon=evidence.epsilon, delta=evidence.delta)
        curve = tuple((rate, ceiling.true_positive_rate(min(1.0, rate))) for rate in _CURVE)
    holds = {} if evidence.epsilon is not None else dict.fromkeys(_HOLDS, "")
    return fact_of(
        ModelFact,
        evidence,
        attacks=tuple(
            fact_of(
                MembershipFact,
                attack,
                name=name,
                rates=tuple(fact_of(RateFact, rate) for rate in attack.rates),
            )
            for name, attack in evidence.attacks.items()
        ),
        one_run=None if evidence.one_run is None else fact_of(OneRunFact, evidence.one_run),
        inversions=tuple(
            fact_of(InversionFact, one, name=name)
            for name, one in (
                ("attribute", evidence.attribute),
                ("gradient", evidence.gradient),
            )
            if one is not None
        ),
        ceiling=curve,
        **holds,
    )


def card_facts(card: PrivacyCard, *, title: str = "", version: str) -> CardFacts:
    """Return all that the page of a privacy card says."""
    means = meaning(
        Guarantee(
            epsilon=card.epsilon, delta=card.delta, adjacency=card.adjacency, unit=card.unit
        )
    )
    member = means.membership or means.value
    return fact_of(
        CardFacts,
        card,
        means,
        title=title,
        version=version,
        odds=(_finite(member.factor), _finite(means.value.factor)),
        chances=(member.chance, means.value.chance),
        beliefs=tuple(
            (*one, *other[1:])
            for one, other in zip(member.beliefs, means.value.beliefs, strict=True)
        ),
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
