"""What a design by limits saves beside greatest entropy, on the cell sizes of ACS and the demo.

Limits are what greatest entropy reaches by itself: the worst posterior of one sensitive count
and of the set, delta at epsilon 1 among positive counts, and the largest probability to stay.
No row has a variance above V, full rows are unimodal, and nothing else is asked: no floor. The
design is given the smoothed cell sizes of half of the people, and the textbook's. The score is
taken under those, and under priors that it was never given: the cell sizes of the other half as
they are, those of other tables of all people, and two laws of the literature. An independent
linear program states the same constraints a second time.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from scipy.sparse import coo_array

from bench.measure import Line, arguments, best_cpu, report, show
from bench.reconstruction import SHARED
from ckm.config.job.limits import TEXTBOOK
from ckm.release.prior_of_tables import smoothed
from ptable import Limits, NoiseSpec, PTable, solve
from ptable.proof.limits import worst_of
from ptable.solver.joint import Joint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

#: Largest noise, variance, forbidden counts; the least saving asked for.
DESIGNS = ((5, 3.0, 0, 0.35), (5, 3.0, 2, 0.20), (8, 6.5, 4, 0.25))
_SIZES = 1_001
_ACS = ("PUMA", "SEX", "RAC1P", "AGE10", "MSP", "EDU")
_OTHER = ("PUMA", "HISP", "NOC", "OWN_RENT", "INDP_CAT")
#: Limits may be missed by so much in the independent program: it has none of our margins.
_ROOM = 1e-9
#: So many keys of 2**32 a shape may be off, from rounding.
_KEYS = 8


def cell_sizes(
    people: pd.DataFrame, columns: Sequence[str], most: int = 3
) -> NDArray[np.float64]:
    """Count the cells of each size in all tables of up to so many columns."""
    sizes = np.zeros(_SIZES)
    for number in range(1, most + 1):
        for some in itertools.combinations(columns, number):
            counts = people.groupby(list(some), observed=True).size().to_numpy()
            sizes += np.bincount(np.minimum(counts, _SIZES - 1), minlength=_SIZES)
    sizes[0] = 0
    return sizes


def acs() -> dict[str, NDArray[np.float64]]:
    """Give the cell sizes of the ACS: of either half, and of other tables of all."""
    people = pd.read_parquet(SHARED / "data" / "acs_national_2019.parquet")
    people = people.assign(AGE10=people["AGEP"].astype(int) // 10)
    half = np.random.default_rng(1).random(len(people)) < 0.5
    return {
        "given": cell_sizes(people[half], _ACS),
        "the other half": cell_sizes(people[~half], _ACS),
        "other tables": cell_sizes(people, _OTHER),
    }


def demonstration(persons: int) -> dict[str, NDArray[np.float64]]:
    """Give the cell sizes of the demonstration's six tables, of several made-up registers."""
    return {
        "given": _register_sizes(persons, seed=1),
        "the other half": _register_sizes(persons, seed=2),
        "four times as many": _register_sizes(4 * persons, seed=3),
    }


def _register_sizes(persons: int, *, seed: int) -> NDArray[np.float64]:
    from ckm.config import read_job
    from ckm.demo.demo import JOB, write_register
    from ckm.release.job_inputs import load_ptable, open_engine

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_register(folder, persons=persons, seed=seed)
        lines = [line for line in JOB.splitlines() if not line.startswith("designs =")]
        text = "\n".join(lines)
        (folder / "job.toml").write_text(text, encoding="utf-8")
        job = read_job(folder / "job.toml")
        with open_engine(job, load_ptable(job)) as engine:
            together = engine.count_histogram(job.tables).together
    places = np.minimum(together.counts, _SIZES - 1)
    sizes = np.bincount(places, weights=together.cells, minlength=_SIZES)
    sizes[0] = 0
    return np.asarray(sizes, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a design by limits has, beside greatest entropy at the same limits."""

    saved: Mapping[str, float]
    largest: tuple[float, int]
    worst: Mapping[str, tuple[float, float]]
    excess: Mapping[str, float]
    cpu: float
    is_unimodal: bool


def normalised(sizes: NDArray[np.float64]) -> tuple[float, ...]:
    """Give the share of each size."""
    return tuple((sizes / sizes.sum()).tolist())


def literature() -> dict[str, tuple[float, ...]]:
    """Give two laws of cell sizes that nobody measured here."""
    counts = np.arange(1.0, _SIZES)
    return {
        "i^-1.3": normalised(np.concatenate([[0.0], counts**-1.3])),
        ".93^i": normalised(np.concatenate([[0.0], 0.93**counts])),
    }


def equal_limits(
    reach: int, variance: float, small: int, priors: Sequence[Sequence[float]]
) -> tuple[PTable, NoiseSpec, Limits]:
    """Give the table of greatest entropy, and a specification by the limits that it keeps."""
    greatest = solve(
        NoiseSpec(max_noise=reach, variance=variance, small=small, variance_rule="nearest")
    )
    free = Limits(
        sensitive=tuple(range(1, max(small, 2) + 1)),
        posterior=1.0,
        posterior_set=1.0,
        neighbours=(1.0, 1.0),
        p_stay=0.999,
        variance_floor=0.0,
        priors=tuple(priors),
    )
    joint = Joint.of(NoiseSpec(max_noise=reach, small=small, limits=free))
    last = int(greatest.counts[-1])
    units = {row.count: greatest.units(min(row.count, last)) for row in joint.rows}
    worst = {one.name: float(one.value) for one in worst_of(joint, units, 2**32)}
    limits = replace(
        free,
        posterior=worst["posterior"] + 1e-6,
        posterior_set=worst["posterior_set"] + 1e-6,
        neighbours=(1.0, worst["neighbours"] + 1e-6),
        p_stay=max(row.get(0, 0) for row in units.values()) / 2**32 + 1e-6,
    )
    spec = NoiseSpec(
        max_noise=reach,
        variance=variance,
        small=small,
        limits=limits,
        objective="least-variance",
    )
    return greatest, spec, limits


def variances(table: PTable) -> NDArray[np.float64]:
    """Give the variance of each row, the last one for all larger counts."""
    rows = [
        sum(v * v * n for v, n in table.units(count).items()) / 2**32
        for count in range(table.n_rows)
    ]
    return np.array([*rows, *[rows[-1]] * (_SIZES - len(rows))])


def is_unimodal(table: PTable, reach: int, small: int) -> bool:
    """Say whether every full row rises to no noise and falls from there, but for a few keys."""
    for count in range(reach + (small + 1 if small else 0), table.n_rows):
        keys = table.units(count)
        row = [keys.get(v, 0) for v in range(-reach, reach + 1)]
        rises = all(low <= high + _KEYS for low, high in itertools.pairwise(row[: reach + 1]))
        falls = all(low + _KEYS >= high for low, high in itertools.pairwise(row[reach:]))
        if not rises or not falls:
            return False
    return True


def independent_loss(spec: NoiseSpec, limits: Limits, weights: Sequence[float]) -> float:
    """State the constraints a second time, sparse and by hand; give the least loss by HiGHS."""
    program = _Program(spec, limits)
    answer = linprog(
        program.costs(weights),
        A_ub=program.matrix(program.below, program.n_below),
        b_ub=np.array(program.bounds) + _ROOM,
        A_eq=program.matrix(program.equal, program.n_equal),
        b_eq=np.array(program.goals),
        method="highs",
    )
    if answer.fun is None:
        raise RuntimeError(answer.message)
    return float(answer.fun)


class _Program:
    """The rows of the independent program."""

    def __init__(self, spec: NoiseSpec, limits: Limits) -> None:
        self.reach, self.small = int(spec.max_noise), spec.small  # type: ignore[arg-type]
        self.sensitive = limits.sensitive or ()
        self.last = max(
            self.reach + (self.small + 1 if self.small else 0),
            self.sensitive[-1] + 2 * self.reach,
        )
        self.places = {
            entry: place
            for place, entry in enumerate(
                (i, j)
                for i in range(1, self.last + 1)
                for j in range(max(0, i - self.reach), i + self.reach + 1)
                if not 1 <= j <= self.small
            )
        }
        self.size = len(self.places)
        self.below: list[tuple[int, int, float]] = []
        self.equal: list[tuple[int, int, float]] = []
        self.bounds: list[float] = []
        self.goals: list[float] = []
        self.n_below = self.n_equal = 0
        self._rows(spec, limits)
        self._neighbours(*(limits.neighbours or (0.0, 1.0)))
        for prior in limits.priors:
            self._posteriors(prior, limits.posterior or 1.0, limits.posterior_set or 1.0)

    def at(self, i: int, j: int) -> int | None:
        return self.places.get((self.last, j - 1) if i > self.last else (i, j))

    def at_most(self, entries: Sequence[tuple[int | None, float]], bound: float) -> None:
        self.below += [(self.n_below, p, w) for p, w in entries if p is not None]
        self.bounds.append(bound)
        self.n_below += 1

    def is_equal(self, entries: Sequence[tuple[int, float]], goal: float) -> None:
        self.equal += [(self.n_equal, p, w) for p, w in entries]
        self.goals.append(goal)
        self.n_equal += 1

    def matrix(self, entries: list[tuple[int, int, float]], n_rows: int) -> Any:
        rows, columns, values = zip(*entries, strict=True)
        return coo_array((values, (rows, columns)), shape=(n_rows, self.size)).tocsr()

    def _rows(self, spec: NoiseSpec, limits: Limits) -> None:
        for i in range(1, self.last + 1):
            own = [
                (j, self.places[i, j])
                for j in range(i + self.reach + 1)
                if (i, j) in self.places
            ]
            self.is_equal([(p, 1.0) for _, p in own], 1.0)
            self.is_equal([(p, float(j - i)) for j, p in own], 0.0)
            least = _least_variance([j - i for j, _ in own])
            ceiling = max(float(spec.variance or 0), least * 1.001)  # type: ignore[arg-type]
            self.at_most([(p, float((j - i) ** 2)) for j, p in own], ceiling)
            if (i, i) in self.places:
                self.at_most([(self.places[i, i], 1.0)], limits.p_stay or 1.0)
            if len(own) == 2 * self.reach + 1:
                for v in range(self.reach):
                    for side in (1, -1):
                        far, near = (i, i + side * (v + 1)), (i, i + side * v)
                        self.at_most([(self.places[far], 1.0), (self.places[near], -1.0)], 0.0)

    def _neighbours(self, epsilon: float, delta: float) -> None:
        factor = math.exp(epsilon)
        for one in range(1, self.last + 1):
            for i, k in ((one, one + 1), (one + 1, one)):
                columns = [j for j in range(i + self.reach + 2) if self.at(i, j) is not None]
                extra = {j: self.size + n for n, j in enumerate(columns)}
                self.size += len(columns)
                for j in columns:
                    entries = [(self.at(i, j), 1.0), (self.at(k, j), -factor), (extra[j], -1.0)]
                    self.at_most(entries, 0.0)
                self.at_most([(p, 1.0) for p in extra.values()], delta)

    def _posteriors(self, prior: Sequence[float], one: float, whole: float) -> None:
        for j in range(self.sensitive[-1] + self.reach + 1):
            origins = [
                (k, p) for k in range(1, self.last + 1) if (p := self.at(k, j)) is not None
            ]
            for some, tau in [*(((i,), one) for i in self.sensitive), (self.sensitive, whole)]:
                held = [prior[k] for k, _ in origins if k in some]
                if held and tau < 1:
                    top = max(held)
                    self.at_most(
                        [(p, prior[k] / top * ((k in some) - tau)) for k, p in origins], 0.0
                    )

    def costs(self, weights: Sequence[float]) -> NDArray[np.float64]:
        share = {i: weights[i] for i in range(1, self.last)}
        share[self.last] = math.fsum(weights[self.last :])
        total = math.fsum(share.values())
        costs = np.zeros(self.size)
        for (i, j), place in self.places.items():
            costs[place] = share[i] / total * (j - i) ** 2
        return costs


def _least_variance(noise: Sequence[int]) -> float:
    """Give the least variance of noise without bias: on the two values around 0, or at 0."""
    if 0 in noise:
        return 0.0
    return float(-max(v for v in noise if v < 0) * min(v for v in noise if v > 0))


def scored(
    design: tuple[int, float, int], priors: Sequence[Sequence[float]], unseen: Mapping[str, Any]
) -> Score:
    """Design by limits, and score the table under priors given and unseen."""
    reach, variance, small = design
    greatest, spec, limits = equal_limits(reach, variance, small, priors)
    cpu, table = best_cpu(lambda: solve(spec), 1)
    ours, theirs = variances(table), variances(greatest)
    rated = {"the prior given": priors[0], "textbook": priors[1], **unseen}
    saved = {
        name: 1 - float(np.dot(prior, ours[: len(prior)]) / np.dot(prior, theirs[: len(prior)]))
        for name, prior in rated.items()
    }
    worst = {}
    for name, prior in rated.items():
        asked = replace(limits, priors=(prior,))
        joint = Joint.of(replace(spec, limits=asked))
        last = int(greatest.counts[-1])
        reached = []
        for one, end in ((greatest, last), (table, table.n_rows - 1)):
            units = {row.count: one.units(min(row.count, end)) for row in joint.rows}
            figures = {w.name: float(w.value) for w in worst_of(joint, units, 2**32)}
            reached.append(figures["posterior"])
        worst[name] = (reached[0], reached[1])
    excess = {}
    for name, prior in rated.items():
        least = independent_loss(spec, limits, prior)
        share = np.array(prior[1:]) / sum(prior[1:])
        excess[name] = float(share @ ours[1 : len(prior)]) / least - 1
    top = int(ours[1 : table.n_rows].argmax()) + 1
    return Score(
        saved=saved,
        largest=(float(ours[top]), top),
        worst=worst,
        excess=excess,
        cpu=cpu,
        is_unimodal=is_unimodal(table, reach, small),
    )


def main() -> None:
    sizes = arguments(str(__doc__), persons=60_000)
    data = {"demonstration": demonstration(sizes.persons)}
    if SHARED.exists():
        data = {"ACS": acs(), **data}
    lines = []
    for name, cells in data.items():
        given = smoothed(np.arange(_SIZES), cells["given"].astype(np.int64))
        priors = (tuple(given.tolist()), normalised(np.array(TEXTBOOK)))
        unseen = {n: normalised(c) for n, c in cells.items() if n != "given"} | literature()
        for *design, goal in DESIGNS:
            score = scored(tuple(design), priors, unseen)  # type: ignore[arg-type]
            _show(name, design, score)
            label = f"{name}, D={design[0]} V={design[1]:g} js={design[2]}"
            saving = score.saved["the other half"]
            lines.append(
                Line(f"{label}: variance saved, unseen", saving, "", goal=goal, is_least=True)
            )
            lines.append(
                Line(
                    f"{label}: loss over a second program",
                    score.excess["the prior given"],
                    "",
                    goal=0.02,
                )
            )
    report("designs by limits beside greatest entropy", lines)


def _show(name: str, design: Sequence[Any], score: Score) -> None:
    rows = [
        [prior, score.saved[prior], score.excess[prior], *score.worst[prior]]
        for prior in score.saved
    ]
    reach, variance, small = design
    row, count = score.largest
    title = (
        f"{name}, D={reach} V={variance:g} js={small}: largest row {row:.2f} (count {count}), "
        f"full rows unimodal: {score.is_unimodal}, {score.cpu:.2f} CPU s"
    )
    columns = ["prior", "variance saved", "over least", "worst posterior before", "after"]
    show(title, columns, rows)


if __name__ == "__main__":
    main()
