"""From codes to a model, within a budget: margins, choices of tables, tables.

Margins come first and decide the groups. Then a tree of pairs is chosen against independence,
measured, and fitted; then, round by round, the tables that the model gets wrong most.

References
----------
McKenna, Miklau, Sheldon 2021 (a tree of pairs first); McKenna, Mullins, Sheldon, Miklau 2022
(re-measure where the model errs, less what noise explains).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from synth.belief import Network
from synth.candidates import Candidates
from synth.coarse import group_codes, onto_simplex, shrink_within
from synth.entropy import Target, fit_potentials
from synth.errors import SynthError
from synth.measuring import Clerk, Neighbours
from synth.model import Measured, TableModel
from synth.noise import SecureNoise
from synth.public import Published, Rule, coarse_table, patterns_of, workload_weights
from synth.spending import Purse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from synth.noise import NoiseSource

__all__ = ["Settings", "fit_codes"]

Columns = tuple[int, ...]
_EXACT = 1 - 1e-9  # shares of the budget are rounded; what they lose stays unspent


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the engine spends its budget and its time. None of it depends on the records.

    Parameters
    ----------
    margin_share
        Share of the budget for margins.
    choice_share
        Share of the rest for choosing tables.
    slack, margin_slack
        How far the model may stay from a table, from a margin, at no cost, in scales of noise.
    softness
        See `fit_potentials`.
    most_groups
        The most groups of a column.
    least_group
        The smallest group, in scales of the noise of tables.
    most_cells
        How many cells the cliques of the model may have together.
    tables
        How many tables to measure; by default more, the larger the budget and the data.
    rounds
        In how many rounds after the first.
    steps
        How often each round improves the potentials; the last one three times as often.

    Examples
    --------
    >>> Settings(rounds=2).rounds
    2
    """

    margin_share: float = 0.3
    choice_share: float = 0.1
    slack: float = 1.8
    margin_slack: float = 0.7
    softness: float = 1.0
    most_groups: int = 16
    least_group: float = 2.0
    most_cells: int = 60_000
    tables: int | None = None
    rounds: int = 5
    steps: int = 40

    def __post_init__(self) -> None:
        shares = self.margin_share, self.choice_share
        if not all(0 < share < 1 for share in shares):
            raise SynthError("Shares of the budget lie between 0 and 1.")
        whole = self.most_groups, self.most_cells, self.rounds, self.steps
        if min(whole) < 1 or min(self.slack, self.margin_slack, self.least_group) < 0:
            raise SynthError("Settings must be positive.")
        if not self.softness > 0 or (self.tables is not None and self.tables < 0):
            raise SynthError("Settings must be positive.")


@dataclass(slots=True)
class _Draft:
    """What is known so far; nothing in it was not paid for."""

    total: float
    groups: list[NDArray[np.int64]]
    shares: list[NDArray[np.float64]]
    masks: list[tuple[Columns, NDArray[np.float64]]]
    targets: list[Target] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    potentials: list[NDArray[np.float64]] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        return [int(group.max()) + 1 for group in self.groups]

    @property
    def sets(self) -> list[Columns]:
        return [target.columns for target in self.targets]

    def add(
        self, columns: Columns, counts: NDArray[np.float64], *, scale: float, slack: float
    ) -> None:
        shifted = counts + (self.total - counts.sum()) / counts.size
        self.targets.append(Target(columns=columns, counts=shifted, slack=slack * scale))
        self.scales.append(scale)
        self.potentials.append(np.zeros(counts.shape))

    def network(self) -> Network:
        return Network(self.sizes, self.sets, self.masks)


def fit_codes(
    codes: NDArray[np.integer],
    *,
    sizes: Sequence[int],
    rho: float,
    ordered: Sequence[bool] | None = None,
    noise: NoiseSource | None = None,
    neighbours: Neighbours | None = None,
    workload: Mapping[Columns, float] | None = None,
    label: int | None = None,
    rules: Sequence[Rule] = (),
    published: Sequence[Published] = (),
    settings: Settings | None = None,
) -> TableModel:
    """Fit a model to confidential records, for a price of rho at most.

    Parameters
    ----------
    codes
        One row a record, one column a variable, integers from 0.
    sizes
        How many codes each column has, declared without a look at the records.
    rho
        The budget in zero-concentrated privacy; `dp.rho_of_epsilon` tells it.
    ordered
        Whether neighbouring codes of a column are alike; none are by default.
    noise
        Where the noise comes from; the operating system by default.
    neighbours
        Which data sets must look alike; those that differ by one record by default.
    workload
        Column sets and how much their tables matter; all pairs alike by default.
    label
        A column to predict; its pairs count twice when there is no workload.
    rules
        Combinations that no record has.
    published
        Tables that are public already.
    settings
        How the budget is spent.

    Returns
    -------
    TableModel
        The model. The records are not needed any more.

    Raises
    ------
    SynthError
        If the codes do not fit the sizes, or an option does not hold.

    Examples
    --------
    >>> from synth.noise import SimulatedNoise
    >>> codes = np.repeat([[0, 0], [1, 1]], 500, axis=0)
    >>> model = fit_codes(codes, sizes=[2, 2], rho=0.5, noise=SimulatedNoise(seed=1))
    >>> drawn = model.sample(1000, rng=np.random.default_rng(1))
    >>> bool((drawn[:, 0] == drawn[:, 1]).mean() > 0.98), model.spent <= 0.5
    (True, True)
    """
    settings, neighbours = settings or Settings(), neighbours or Neighbours()
    sizes = _checked_sizes(sizes)
    records = _checked_codes(codes, sizes)
    ordered = [False] * len(sizes) if ordered is None else [bool(one) for one in ordered]
    if len(ordered) != len(sizes):
        raise SynthError(f"ordered has {len(ordered)} entries for {len(sizes)} columns.")
    for given in (*rules, *published):
        _check_shape(given, sizes)
    weights = workload_weights(len(sizes), workload=workload, label=label)
    purse = Purse(float(rho))
    clerk = Clerk(records, sizes, neighbours, purse, noise or SecureNoise())
    draft, number = _margins(clerk, sizes, ordered, rules, published, purse.rho, settings)
    clerk.regroup(draft.groups)
    for one in published:
        if len(one.columns) > 1:
            counts = coarse_table(one.counts, [draft.groups[c] for c in one.columns])
            draft.add(one.columns, counts, scale=one.deviation, slack=settings.slack)
    _tables(clerk, draft, weights, number, purse, settings)
    clerk.forget()
    tables = zip(draft.targets, draft.scales, draft.potentials, strict=True)
    return TableModel(
        groups=tuple(draft.groups),
        shares=tuple(draft.shares),
        tables=tuple(
            Measured(columns=t.columns, counts=t.counts, scale=scale, potential=potential)
            for t, scale, potential in tables
        ),
        masks=tuple(draft.masks),
        records=draft.total,
        spends=tuple(purse.spends),
        rho=purse.rho,
        adjacency=str(neighbours.adjacency),
        rows=neighbours.rows,
        unit=neighbours.unit,
        noise=clerk.noise,
    )


def _margins(
    clerk: Clerk,
    sizes: list[int],
    ordered: Sequence[bool],
    rules: Sequence[Rule],
    published: Sequence[Published],
    rho: float,
    settings: Settings,
) -> tuple[_Draft, int]:
    """Measure the margins that are not public; form groups; return how many tables follow."""
    known = {one.columns[0]: one for one in published if len(one.columns) == 1}
    unknown = max(sum(column not in known for column in range(len(sizes))), 1)
    margins: list[tuple[NDArray[np.float64], float]] = []
    for column in range(len(sizes)):
        if column in known:
            margins.append((known[column].counts, known[column].deviation))
        else:
            price = _EXACT * settings.margin_share * rho / unknown
            counts, scale = clerk.margin(column, rho=price)
            margins.append((counts.astype(np.float64), scale))
    total = float(clerk.public_records() or _total(margins))
    number = _how_many(total, len(sizes), rho, settings)
    typical = clerk.scale_of(_price_of_table(rho, number, settings))
    groups = [
        group_codes(
            onto_simplex(counts, total=total),
            is_ordered=is_ordered,
            most=settings.most_groups,
            least=settings.least_group * typical,
            patterns=patterns_of(column, size=len(counts), rules=rules),
        )
        for column, ((counts, _), is_ordered) in enumerate(zip(margins, ordered, strict=True))
    ]
    shares = [
        shrink_within(counts, group, scale=scale)
        for (counts, scale), group in zip(margins, groups, strict=True)
    ]
    masks = [(rule.columns, _allowed(rule, groups)) for rule in rules]
    draft = _Draft(total, groups, shares, masks)
    for column, (counts, scale) in enumerate(margins):
        coarse = coarse_table(counts, [groups[column]])
        wide = scale * math.sqrt(len(counts) / len(coarse))
        draft.add((column,), coarse, scale=wide, slack=settings.margin_slack)
        level = np.maximum(onto_simplex(draft.targets[-1].counts, total=total), 1.0)
        draft.potentials[-1] = np.log(level / total)
    return draft, number


def _tables(
    clerk: Clerk,
    draft: _Draft,
    weights: Mapping[Columns, float],
    number: int,
    purse: Purse,
    settings: Settings,
) -> None:
    """Choose and measure tables, round by round, and fit the model to them."""
    price = _price_of_table(purse.rho, number, settings)
    choice = price * settings.choice_share / (1 - settings.choice_share)
    candidates = Candidates(draft.sizes, weights, most_cells=settings.most_cells)
    first = min(len(draft.sizes) - 1, number)
    rest = np.array_split(np.arange(number - first), settings.rounds)
    batches = [first, *(len(part) for part in rest if len(part))]
    scale = clerk.scale_of(price)
    for step, batch in enumerate(batches):
        network = draft.network()
        _, beliefs = network.calibrate(draft.potentials)
        expected = candidates.expected(network, beliefs, total=draft.total)
        for _ in range(batch):
            sets = [*draft.sets, *(columns for columns, _ in draft.masks)]
            open_now = candidates.open(sets, is_tree=step == 0)
            if not open_now:
                break
            columns = clerk.choose(
                {one: expected[one] for one in open_now},
                weights=weights,
                handicaps={
                    one: math.sqrt(2 / math.pi) * scale * expected[one].size for one in open_now
                },
                rho=choice,
            )
            counts, wide = clerk.table(columns, rho=price)
            candidates.close(columns)
            draft.add(columns, counts.astype(np.float64), scale=wide, slack=settings.slack)
        is_last = step == len(batches) - 1
        draft.potentials = fit_potentials(
            draft.network(),
            draft.targets,
            total=draft.total,
            start=draft.potentials,
            softness=settings.softness,
            steps=settings.steps * (3 if is_last else 1),
        )


def _total(margins: Sequence[tuple[NDArray[np.float64], float]]) -> float:
    """Return the number of records that noisy margins agree on, at least 1."""
    weights = [1 / (len(counts) * max(scale, 1e-3) ** 2) for counts, scale in margins]
    sums = [float(counts.sum()) for counts, _ in margins]
    return max(1.0, float(np.average(sums, weights=weights)))


def _how_many(total: float, columns: int, rho: float, settings: Settings) -> int:
    """Return how many tables to measure: more, the more records stand out from noise."""
    if columns < 2:
        return 0
    if settings.tables is not None:
        return settings.tables
    signal = math.log2(max(total * math.sqrt(rho), 2.0)) / 5
    return max(columns - 1, round(columns * min(signal, (columns - 1) / 2)))


def _price_of_table(rho: float, number: int, settings: Settings) -> float:
    rest = _EXACT * (1 - settings.margin_share) * rho
    return rest * (1 - settings.choice_share) / max(number, 1)


def _allowed(rule: Rule, groups: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return which combinations of groups a rule allows; codes of a group agree on it."""
    firsts = [np.unique(groups[column], return_index=True)[1] for column in rule.columns]
    return np.asarray(~rule.forbidden[np.ix_(*firsts)], np.float64)


def _checked_sizes(sizes: Sequence[int]) -> list[int]:
    whole = [int(size) for size in sizes]
    if not whole or min(whole) < 1:
        raise SynthError("There is at least one column, and each has at least one code.")
    return whole


def _checked_codes(codes: NDArray[np.integer], sizes: Sequence[int]) -> NDArray[np.integer]:
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or codes.dtype.kind not in "iu":
        raise SynthError(
            f"Codes are integers in {len(sizes)} columns, not {codes.dtype} of shape "
            f"{codes.shape}."
        )
    wrong = [
        column
        for column, size in enumerate(sizes)
        if len(codes) and (codes[:, column].min() < 0 or codes[:, column].max() >= size)
    ]
    if wrong:
        raise SynthError(
            f"Codes of the columns {wrong} lie outside the declared sizes.",
            hint="give what is not in the domain a code of its own",
        )
    return codes


def _check_shape(given: Rule | Published, sizes: Sequence[int]) -> None:
    table = given.forbidden if isinstance(given, Rule) else given.counts
    known = all(0 <= column < len(sizes) for column in given.columns)
    if not known or table.shape != tuple(sizes[column] for column in given.columns):
        raise SynthError(
            f"A {type(given).__name__.lower()} table on the columns {given.columns} does not "
            "have a cell for each combination of codes.",
        )
