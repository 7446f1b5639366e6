"""What pages of private training say, as plain numbers and names."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFact:
    """An epsilon, and what it holds for.

    Parameters
    ----------
    epsilon
        None where nothing bounds it.
    sampling, adjacency, account, worth
        Names of the catalogue.
    times
        The epsilon over the customary one.
    """

    epsilon: float | None
    sampling: str
    adjacency: str
    account: str
    worth: str
    times: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFact:
    """An epsilon where one choice has another value, and the order that gave it."""

    value: float
    epsilon: float
    order: float
    is_at_edge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFact:
    """Epsilon along one choice; a name of the catalogue of choices."""

    name: str
    points: tuple[PointFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFact:
    """A plan as it will run.

    Parameters
    ----------
    epsilon
        What it costs; None where nothing bounds it.
    delta, sampling, adjacency, unit, account
        What that holds for.
    steps, sampling_rate
        Exactly; the study counts whole passes.
    is_demonstration
        Whether a seed lets anybody take the noise off.
    """

    epsilon: float | None
    delta: float
    sampling: str
    adjacency: str
    unit: str
    account: str
    steps: int
    sampling_rate: float
    is_demonstration: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRunFact:
    """A run as it was printed elsewhere, and its epsilon counted again.

    Parameters
    ----------
    batch_size, noise_multiplier, epochs
        As printed.
    printed, accuracy
        Epsilon and accuracy as printed.
    epsilon
        Counted again with the noise printed.
    corrected_noise, corrected
        The noise that gives the epsilon printed, and that epsilon; None where none is needed.
    """

    batch_size: int
    noise_multiplier: float
    epochs: int
    printed: float
    accuracy: float
    epsilon: float
    corrected_noise: float | None = None
    corrected: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFacts:
    """What a run costs, and how that moves with each choice.

    Parameters
    ----------
    title, version
        Of the page, and of the program.
    dataset_size, batch_size, noise_multiplier, epochs, delta
        The run.
    steps, sampling_rate
        What follows from it.
    epsilon, order
        By the classic formula: Poisson batches, neighbours with a record more or less.
    series
        Along each choice.
    batches, noises, surface
        Epsilon by batch size (rows) and noise (columns).
    claims
        Every epsilon of the run by sampler, neighbours and account.
    published
        Runs printed elsewhere, counted again.
    plan
        The plan the study was made from; None for none.
    """

    title: str
    version: str
    dataset_size: int
    batch_size: int
    noise_multiplier: float
    epochs: int
    delta: float
    steps: int
    sampling_rate: float
    epsilon: float
    order: float
    series: tuple[SeriesFact, ...]
    batches: tuple[int, ...]
    noises: tuple[float, ...]
    surface: tuple[tuple[float, ...], ...]
    claims: tuple[ClaimFact, ...]
    published: tuple[PublishedRunFact, ...] = ()
    plan: PlanFact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFact:
    """What the repetitions of one setting came to.

    Parameters
    ----------
    choices
        A name of the catalogue of choices → its value.
    is_private, runs
        Whether noise was added, and how many repetitions.
    mean, sd, low, high
        Of the accuracy, and the interval of 95 % of its mean; None for a single run.
    epsilon
        What one run costs; None where it is plain.
    times_chance
        The accuracy over that of guessing; None where unknown.
    is_front
        Whether no private setting is at least as accurate for less.
    """

    choices: Mapping[str, float]
    is_private: bool
    runs: int
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    epsilon: float | None = None
    times_chance: float | None = None
    is_front: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningFact:
    """What it costs to keep the best of several runs.

    Parameters
    ----------
    name
        A name of the catalogue of ways to choose.
    runs
        How many, or their mean where the number is drawn.
    epsilon, delta
        The cost; None where nothing bounds it.
    """

    name: str
    runs: int
    epsilon: float | None
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFacts:
    """Many training runs, with privacy and without.

    Parameters
    ----------
    title, version
        Of the page, and of the program.
    delta
        Of each private run; None where unknown.
    sampling, adjacency
        Names of the catalogue; empty where unknown.
    classes
        How many; None where unknown.
    outcomes
        Best first.
    tuning
        What keeping the best costs.
    """

    title: str
    version: str
    delta: float | None
    sampling: str
    adjacency: str
    classes: int | None
    outcomes: tuple[OutcomeFact, ...]
    tuning: tuple[TuningFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateFact:
    """Members found where few others are taken for members, and the most allowed."""

    false_positive_rate: float
    true_positive_rate: float
    low: float
    high: float
    ceiling: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipFact:
    """What an attack on membership reached.

    Parameters
    ----------
    name
        A name of the catalogue of attacks, or the office's own.
    members, others
        How many records of each.
    auc, advantage, advantage_ceiling
        Area under the curve, largest distance of the rates, and the most allowed.
    rates
        At low false positive rates.
    curve
        False and true positive rates.
    is_above
        Whether it is above what the guarantee allows, beyond its interval.
    """

    name: str
    members: int
    others: int
    auc: float
    advantage: float
    rates: tuple[RateFact, ...]
    curve: tuple[tuple[float, float], ...] = ()
    advantage_ceiling: float | None = None
    is_above: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRunFact:
    """A lower bound of epsilon."""

    epsilon: float
    canaries: int
    guesses: int
    right: int
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class InversionFact:
    """How often something hidden was guessed or rebuilt.

    Parameters
    ----------
    name
        ``"attribute"`` or ``"gradient"``.
    members, members_low, members_high
        Of records that were used, with the interval.
    others, others_low, others_high
        Of records that were not.
    baseline
        Without a model; None where unknown.
    ceiling
        What the guarantee allows for members; None for none.
    is_above
        Whether members are above it, beyond the interval.
    """

    name: str
    members: float
    members_low: float
    members_high: float
    others: float
    others_low: float
    others_high: float
    baseline: float | None = None
    ceiling: float | None = None
    is_above: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFact:
    """A model under attack.

    Parameters
    ----------
    name
        Of the office.
    epsilon, delta
        What it promises; None for a model without privacy.
    sampling, adjacency, unit
        What that holds for; empty where there is no promise.
    shadows
        How many shadow models the attacks used.
    attacks, one_run, inversions
        What was tried.
    ceiling
        False and true positive rates that the promise allows.
    is_refuted
        Whether the lower bound is above the promise.
    """

    name: str
    epsilon: float | None
    delta: float | None
    sampling: str = ""
    adjacency: str = ""
    unit: str = ""
    shadows: int = 0
    attacks: tuple[MembershipFact, ...] = ()
    one_run: OneRunFact | None = None
    inversions: tuple[InversionFact, ...] = ()
    ceiling: tuple[tuple[float, float], ...] = ()
    is_refuted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """Attacks on trained models, each beside what its promise allows."""

    title: str
    version: str
    models: tuple[ModelFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """The privacy card of a model, and what its epsilon means.

    Parameters
    ----------
    title, version
        Of the page, and of the program.
    epsilon, delta, unit, records_per_unit, adjacency, sampling, accounted_sampling, \
accountant, sampling_rate, noise_multiplier, clipping_norm, steps, expected_batch, clipping, \
released, data, touches, trials, tuning, randomness, limits
        As on the card.
    doubts
        Names of the catalogue of doubts.
    odds
        By how much the odds that the unit is in the data, and those of any statement about it,
        can change; None where that is beyond numbers.
    chances
        How likely each of the two changes by more, at most.
    beliefs
        Belief before, the least and the most after that the unit is in the data, and the same
        of any statement about it.
    rates
        False positive rate, and the highest true positive rate.
    advantage
        How far the two rates can lie apart.
    """

    title: str
    version: str
    epsilon: float
    delta: float
    unit: str
    records_per_unit: int
    adjacency: str
    sampling: str
    accounted_sampling: str
    accountant: str
    sampling_rate: float
    noise_multiplier: float
    clipping_norm: float
    steps: int
    expected_batch: float
    clipping: str
    released: str
    data: str
    touches: tuple[str, ...]
    trials: float
    tuning: str
    randomness: str
    limits: tuple[str, ...]
    doubts: tuple[str, ...]
    odds: tuple[float | None, float | None]
    chances: tuple[float, float]
    beliefs: tuple[tuple[float, float, float, float, float], ...]
    rates: tuple[tuple[float, float], ...]
    advantage: float
