"""Named attacks on the design of a release: by formula, and as tried on simulated records."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from reports.facts.release import AttackFact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ptable import PTable
    from risk.attacks import AttackResult, SimulatedOracle

    _Keys: TypeAlias = Literal["mixed", "additive"]
    _Run: TypeAlias = Callable[[SimulatedOracle, NDArray[np.int64]], AttackResult]

_SEED = 2027
_CATEGORIES, _REPEATS, _PAIRS, _SLIVER = 7, 20, 100, 3
_PEOPLE, _QUERIES = 100, 400


class _Case(NamedTuple):
    """An attack: what the intruder has, its formula, and a trial."""

    name: str
    settings: Mapping[str, float]
    closed_form: Callable[[], float] | None
    trial: Callable[[], AttackResult]


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
    return tuple(_fact(case) for case in _cases(ptable, is_mixed=is_mixed))


def _fact(case: _Case) -> AttackFact:
    from risk.errors import RiskError

    closed_form, result = None, None
    # Where large counts take rows in turn, some attacks have no formula, and some no guess.
    with contextlib.suppress(RiskError):
        closed_form = case.closed_form and min(1.0, case.closed_form())
    with contextlib.suppress(RiskError):
        result = case.trial()
    fact = AttackFact(
        name=case.name,
        settings={name: float(number) for name, number in case.settings.items()},
        closed_form=closed_form,
    )
    if result is None:
        return fact
    low, high = result.interval
    return AttackFact(
        name=fact.name,
        settings=fact.settings,
        closed_form=closed_form,
        successes=result.successes,
        trials=result.trials,
        low=low,
        high=high,
        queries=-(-result.queries // result.trials),
    )


def _cases(ptable: PTable, *, is_mixed: bool) -> Iterator[_Case]:
    import numpy as np

    keys: _Keys = "mixed" if is_mixed else "additive"
    world = _World(ptable, rng=np.random.default_rng(_SEED), keys=keys)
    yield from _nested(ptable, world)
    others = (_partitions, _insistence, _systems, _margins)
    for case in (case for cases in others for case in cases(ptable, world)):
        # Without a mix, formulas that take the noises of a total and its parts for
        # independent do not hold.
        is_known = is_mixed or case.name in {"repeated-answers", "additive-keys"}
        yield case if is_known else case._replace(closed_form=None)


def _nested(ptable: PTable, world: _World) -> Iterator[_Case]:
    """Give the attacks on two groups of which one holds the other."""
    from risk.attacks import Differencing, GeographicDifferencing

    yield _Case(
        "differencing",
        {},
        lambda: Differencing().closed_form(ptable),
        lambda: world.attack(
            1000, 2, lambda o, c: Differencing().run(o, truth=c[:, -1]), last=1
        ),
    )
    zones = GeographicDifferencing()
    yield _Case(
        "geographic-differencing",
        {"count": _SLIVER},
        lambda: zones.closed_form(ptable, sliver=_SLIVER),
        lambda: world.attack(1000, 2, lambda o, c: zones.run(o, truth=c[:, -1]), last=_SLIVER),
    )


def _partitions(ptable: PTable, world: _World) -> Iterator[_Case]:
    """Give the attacks that part one group in many ways."""
    from risk.attacks import SmallCell, TwoPartition

    pairs = TwoPartition(n_categories=_CATEGORIES)
    yield _Case(
        "two-partition",
        {"n_categories": _CATEGORIES},
        lambda: pairs.closed_form(ptable),
        lambda: world.attack(
            100, _CATEGORIES, lambda o, c: pairs.run(o, truth=c.sum(axis=1), rng=world.rng)
        ),
    )
    cell = SmallCell(n_categories=_CATEGORIES)
    yield _Case(
        "small-cell",
        {"n_categories": _CATEGORIES},
        lambda: cell.closed_form(ptable),
        lambda: world.attack(100, _CATEGORIES, lambda o, c: cell.run(o, truth=c[:, -1])),
    )


def _insistence(ptable: PTable, world: _World) -> Iterator[_Case]:
    """Give the attacks that ask for the same again, and for many groups of one size."""
    from risk.attacks import HiddenBound, RepeatedAnswers

    again = RepeatedAnswers(n_repeats=_REPEATS)
    yield _Case(
        "repeated-answers",
        {"n_repeats": _REPEATS},
        lambda: again.closed_form(ptable, noise="consistent"),
        lambda: world.attack(100, 1, lambda o, c: again.run(o, truth=c[:, 0])),
    )
    bound = HiddenBound(n_pairs=_PAIRS)
    yield _Case(
        "hidden-bound",
        {"n_pairs": _PAIRS},
        lambda: bound.closed_form(ptable) if ptable.max_noise else 1.0,
        lambda: world.attack(
            50,
            _PAIRS.bit_length() + 1,
            lambda o, c: bound.run(
                o, truth=c.sum(axis=1), max_noise=ptable.max_noise, rng=world.rng
            ),
        ),
    )


def _systems(ptable: PTable, world: _World) -> Iterator[_Case]:
    """Give the attacks that solve equations of many sums."""
    from risk.attacks import LinearReconstruction, SubsetSums

    squares = LinearReconstruction(n_categories=_CATEGORIES)
    yield _Case(
        "linear-reconstruction",
        {"n_categories": _CATEGORIES},
        lambda: squares.closed_form(ptable),
        lambda: world.attack(20, _CATEGORIES, lambda o, c: squares.run(o, truth=c)),
    )
    bits = SubsetSums(n_people=_PEOPLE, n_queries=_QUERIES)
    yield _Case(
        "subset-sums",
        {"n_people": _PEOPLE, "n_queries": _QUERIES},
        lambda: bits.closed_form(ptable),
        lambda: world.ask(
            world.rng.integers(0, 2, (1, _PEOPLE)),
            lambda o, c: bits.run(o, truth=c, rng=world.rng),
        ),
    )


def _margins(ptable: PTable, world: _World) -> Iterator[_Case]:
    """Give the attacks on two parts and their total."""
    from risk.attacks import AdditiveKeys, MarginBounds

    margins = MarginBounds(max_noise=max(1, ptable.max_noise))
    yield _Case(
        "margin-bounds",
        {"max_noise": ptable.max_noise, "n_categories": 2},
        lambda: margins.closed_form(ptable) if ptable.max_noise else 1.0,
        lambda: world.attack(500, 2, lambda o, c: margins.run(o, truth=c)),
    )
    leak = AdditiveKeys(keys=world.keys)
    yield _Case(
        "additive-keys",
        {"n_categories": 2},
        lambda: leak.closed_form(ptable),
        lambda: world.attack(1000, 2, lambda o, c: leak.run(o, ptable=ptable, truth=c)),
    )


class _World:
    """Simulated records: lines of categories with large counts, and an oracle over them."""

    def __init__(self, ptable: PTable, *, rng: np.random.Generator, keys: _Keys) -> None:
        self.ptable, self.rng, self.keys = ptable, rng, keys
        self.least = ptable.n_rows + 2 * ptable.max_noise

    def attack(
        self, n_lines: int, n_categories: int, run: _Run, *, last: int | None = None
    ) -> AttackResult:
        """Run an attack; `last` is the count of the last category, where it is no large one."""
        counts = self.rng.integers(self.least, 2 * self.least + 2, (n_lines, n_categories))
        if last is not None:
            counts[:, -1] = last
        return self.ask(counts, run)

    def ask(self, counts: NDArray[np.int64], run: _Run) -> AttackResult:
        """Run an attack on given counts, line by category."""
        from risk.attacks import SimulatedOracle

        oracle = SimulatedOracle(self.ptable, counts, rng=self.rng, keys=self.keys)
        return run(oracle, counts)
