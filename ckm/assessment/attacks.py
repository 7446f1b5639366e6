"""Named attacks on the design of a release: by formula, and as tried on simulated records."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ptable import PTable
from reports.facts.release import AttackFact
from risk.attacks import (
    AdditiveKeys,
    AttackResult,
    LinearReconstruction,
    MarginBounds,
    SimulatedOracle,
    SubsetSums,
)

_Counts: TypeAlias = NDArray[np.int64]

_SEED = 2027
_CATEGORIES, _REPEATS, _PAIRS, _SLIVER = 7, 20, 100, 3
_PEOPLE, _QUERIES = 100, 400
#: The formulas of all others take the noises of a total and its parts for independent.
_HOLD_WITHOUT_MIX = frozenset(
    {"differencing", "geographic-differencing", "repeated-answers", "additive-keys"}
)
_SURE_WITHOUT_NOISE = frozenset({"hidden-bound", "margin-bounds"})
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class _Case(NamedTuple):
    """An attack, what the intruder has, and what its formula and a trial of it take beside."""

    name: str
    attack: Any
    settings: Mapping[str, float]
    shape: tuple[int, int]
    truth: Callable[[_Counts], _Counts] = lambda counts: counts
    formula: Mapping[str, Any] = _NOTHING
    trial: Mapping[str, Any] = _NOTHING
    last: int | None = None
    ends: tuple[int, int] | None = None


def attack_facts(
    ptable: PTable, *, is_mixed: bool, limits: Mapping[str, float]
) -> tuple[AttackFact, ...]:
    """Attack a p-table through large counts, with no other rule in the way."""
    return tuple(
        replace(fact, allowed=limits.get(fact.name)) for fact in _attacked(ptable, is_mixed)
    )


@lru_cache(maxsize=32)
def _attacked(ptable: PTable, is_mixed: bool) -> tuple[AttackFact, ...]:  # noqa: FBT001
    """Return what comes of attacks: the same each time, and longer to find than all else."""
    rng = np.random.default_rng(_SEED)
    keys = "mixed" if is_mixed else "additive"
    cases = (*_of_groups(ptable, rng), *_of_systems(rng), *_of_margins(ptable, keys))
    return tuple(_fact(case, ptable, keys=keys, rng=rng) for case in cases)


def _fact(case: _Case, ptable: PTable, *, keys: str, rng: np.random.Generator) -> AttackFact:
    from risk.errors import RiskError

    fact = AttackFact(
        name=case.name,
        settings={name: float(number) for name, number in case.settings.items()},
        closed_form=None,
    )
    # Where large counts take rows in turn, some attacks have no formula, and some no guess.
    with contextlib.suppress(RiskError):
        fact = replace(fact, closed_form=_closed_form(case, ptable, keys))
    with contextlib.suppress(RiskError):
        result = _tried(case, ptable, keys=keys, rng=rng)
        low, high = result.interval
        fact = replace(
            fact,
            successes=result.successes,
            trials=result.trials,
            low=low,
            high=high,
            queries=-(-result.queries // result.trials),
        )
    return fact


def _closed_form(case: _Case, ptable: PTable, keys: str) -> float | None:
    if keys != "mixed" and case.name not in _HOLD_WITHOUT_MIX:
        return None
    if not ptable.max_noise and case.name in _SURE_WITHOUT_NOISE:
        return 1.0
    return float(min(1.0, case.attack.closed_form(ptable, **case.formula)))


def _tried(case: _Case, ptable: PTable, *, keys: Any, rng: np.random.Generator) -> AttackResult:
    """Attack simulated records, line by category: large counts, unless the case says else."""
    least = ptable.n_rows + 2 * ptable.max_noise
    counts = rng.integers(*(case.ends or (least, 2 * least + 2)), case.shape)
    if case.last is not None:
        counts[:, -1] = case.last
    oracle = SimulatedOracle(ptable, counts, rng=rng, keys=keys)
    result: AttackResult = case.attack.run(oracle, truth=case.truth(counts), **case.trial)
    return result


def _of_groups(ptable: PTable, rng: np.random.Generator) -> Iterator[_Case]:
    """Give the attacks on nested groups, and on one group in many ways."""
    from risk import attacks

    grouped = {"n_categories": _CATEGORIES}
    lines = (100, _CATEGORIES)

    def last(counts: _Counts) -> _Counts:
        return counts[:, -1]

    def total(counts: _Counts) -> _Counts:
        return np.asarray(counts.sum(axis=1))

    yield _Case("differencing", attacks.Differencing(), {}, (1000, 2), last, last=1)
    yield _Case(
        "geographic-differencing",
        attacks.GeographicDifferencing(),
        {"count": _SLIVER},
        (1000, 2),
        last,
        formula={"sliver": _SLIVER},
        last=_SLIVER,
    )
    attack = attacks.TwoPartition(**grouped)
    yield _Case("two-partition", attack, grouped, lines, total, trial={"rng": rng})
    yield _Case("small-cell", attacks.SmallCell(**grouped), grouped, lines, last)
    yield _Case(
        "repeated-answers",
        attacks.RepeatedAnswers(n_repeats=_REPEATS),
        {"n_repeats": _REPEATS},
        (100, 1),
        last,
        formula={"noise": "consistent"},
    )
    yield _Case(
        "hidden-bound",
        attacks.HiddenBound(n_pairs=_PAIRS),
        {"n_pairs": _PAIRS},
        (50, _PAIRS.bit_length() + 1),
        total,
        trial={"max_noise": ptable.max_noise, "rng": rng},
    )


def _of_systems(rng: np.random.Generator) -> Iterator[_Case]:
    """Give the attacks that solve equations of many sums."""
    grouped = {"n_categories": _CATEGORIES}
    squares = LinearReconstruction(**grouped)
    yield _Case("linear-reconstruction", squares, grouped, (20, _CATEGORIES))
    people = {"n_people": _PEOPLE, "n_queries": _QUERIES}
    bits = SubsetSums(n_people=_PEOPLE, n_queries=_QUERIES)
    yield _Case("subset-sums", bits, people, (1, _PEOPLE), trial={"rng": rng}, ends=(0, 2))


def _of_margins(ptable: PTable, keys: Any) -> Iterator[_Case]:
    """Give the attacks on two parts and their total."""
    margins = MarginBounds(max_noise=max(1, ptable.max_noise))
    bounds = {"max_noise": ptable.max_noise, "n_categories": 2}
    yield _Case("margin-bounds", margins, bounds, (500, 2))
    leak = AdditiveKeys(keys=keys)
    trial = {"ptable": ptable}
    yield _Case("additive-keys", leak, {"n_categories": 2}, (1000, 2), trial=trial)
