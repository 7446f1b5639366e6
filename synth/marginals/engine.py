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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from footing.arrays import AnyIntegers, Columns, Floats, Integers
from footing.messages import Argument, Message, Shape, said
from synth.errors import SynthError
from synth.marginals.candidates import Candidates, small_triples
from synth.marginals.coarse import group_codes, onto_simplex, shrink_within
from synth.marginals.draft import ModelDraft
from synth.marginals.measuring import Measurer, Neighbours, NoiseSource, SecureNoise
from synth.marginals.model import TableModel
from synth.marginals.spending import LARGER, PrivacyAccountant, TableSettings
from synth.marginals.work import Clock, Pace, stages_of
from synth.schema.nesting import Nest, labels_under_rules
from synth.schema.public import Published, Rule, coarse_table, patterns_of, workload_weights

_EXACT = 1 - 1e-9
_LEAST_ROUND = 0.02  # a share of the budget that is worth another round
_2 = 8  # how many of the smallest tables cost as much as a usual one
_Margin = tuple["Floats", float]


def fit_codes(
    codes: AnyIntegers,
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
    nests: Sequence[Nest] = (),
    settings: TableSettings | None = None,
    clock: Clock | None = None,
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
    nests
        Codes that lie in codes of other columns, those of coarser columns first.
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
    >>> from synth import SimulatedNoise
    >>> codes = np.repeat([[0, 0], [1, 1]], 500, axis=0)
    >>> model = fit_codes(codes, sizes=[2, 2], rho=0.5, noise=SimulatedNoise(seed=1))
    >>> drawn = model.sample(1000, rng=np.random.default_rng(1))
    >>> bool((drawn[:, 0] == drawn[:, 1]).mean() > 0.98), model.spent <= 0.5
    (True, True)
    """
    settings, neighbours = settings or TableSettings(), neighbours or Neighbours()
    sizes = checked_sizes(sizes)
    codes = checked_codes(codes, sizes)
    is_ordered = [False] * len(sizes) if ordered is None else [bool(one) for one in ordered]
    if len(is_ordered) != len(sizes):
        raise SynthError(
            Message(
                "ordered has {number} entries for {number_2} columns.",
                number=len(is_ordered),
                number_2=len(sizes),
            )
        )
    for rule in rules:
        _check_shape("rule", rule.columns, rule.forbidden.shape, sizes)
    for table in published:
        _check_shape(Message("published table"), table.columns, table.counts.shape, sizes)
    weights = workload_weights(len(sizes), workload=workload, label=label)
    accountant = PrivacyAccountant(float(rho))
    measurer = Measurer(codes, sizes, neighbours, accountant, noise or SecureNoise())
    job = Job(
        measurer,
        sizes,
        is_ordered,
        tuple(rules),
        tuple(published),
        tuple(nests),
        accountant.rho,
        settings,
        Pace(clock) if clock else Pace(),
    )
    draft = job.start()
    job.choose_and_measure(draft, weights, with_triples=workload is None)
    measurer.forget()
    return TableModel(
        groups=tuple(draft.groups),
        shares=tuple(draft.shares),
        tables=draft.measured(),
        masks=tuple(draft.masks),
        nests=tuple(nests),
        records=draft.total,
        spends=tuple(accountant.spends),
        rho=accountant.rho,
        adjacency=str(neighbours.adjacency),
        rows=neighbours.rows,
        unit=neighbours.unit,
        noise=measurer.noise,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """The steps that measure. Fields are public; records are with the measurer alone."""

    measurer: Measurer
    sizes: list[int]
    ordered: list[bool]
    rules: tuple[Rule, ...]
    published: tuple[Published, ...]
    nests: tuple[Nest, ...]
    rho: float
    settings: TableSettings
    pace: Pace = field(default_factory=Pace)

    def start(self) -> ModelDraft:
        """Measure margins, form groups, and take in what is published."""
        margins = self._margins()
        n_records = self.measurer.public_records()
        total = _total(margins) if n_records is None else max(float(n_records), 1.0)
        groups = self._groups(margins, total)
        shares = [
            shrink_within(counts, group, scale=scale, is_ordered=is_ordered)
            for (counts, scale), group, is_ordered in zip(
                margins, groups, self.ordered, strict=True
            )
        ]
        masks = [(rule.columns, _allowed(rule, groups)) for rule in self.rules]
        for nest in self.nests:
            mask = nest.mask(groups[nest.parent], groups[nest.child])
            pair = (nest.parent, nest.child)
            masks.append((pair, mask) if pair[0] < pair[1] else (pair[::-1], mask.T))
        draft = ModelDraft(total, groups, shares, masks)
        for column, (counts, scale) in enumerate(margins):
            coarse = coarse_table(counts, [groups[column]])
            wide = scale * math.sqrt(len(counts) / len(coarse))
            draft.add((column,), coarse, scale=wide, slack=self.settings.margin_slack)
            level = np.maximum(onto_simplex(draft.targets[-1].counts, total=total), 1.0)
            draft.targets[-1] = replace(draft.targets[-1], potential=np.log(level / total))
        for one in self.published:
            if len(one.columns) > 1:
                counts = coarse_table(one.counts, [groups[c] for c in one.columns])
                draft.add(one.columns, counts, scale=one.deviation, slack=self.settings.slack)
        if self.nests:  # margins of columns that nest say the same twice: fitted, they agree
            draft.fit(self.settings, steps=self.settings.steps)
        self.measurer.regroup(groups)
        return draft

    def choose_and_measure(
        self, draft: ModelDraft, weights: Mapping[Columns, float], *, with_triples: bool
    ) -> None:
        """Choose and measure tables, round by round, and fit the model to them.

        In the last round small triples of columns may be chosen, too.
        """
        prices = Prices(self.settings, self.rho, self._tables(draft.total), draft.sizes)
        number = prices.number
        most = self.settings.how_large(draft.total, rho=self.rho)
        candidates = Candidates(draft.sizes, weights, most_cells=most)
        first = min(len(self.sizes) - 1, number)
        rest = np.array_split(np.arange(number - first), self.settings.rounds)
        batches = [first, *(len(part) for part in rest if len(part))]
        stages = stages_of(
            records=draft.total,
            columns=sum(size > 1 for size in draft.sizes),
            cells=most,
            batches=batches,
            checks=candidates.checks,
            steps=self.settings.steps,
        )
        self.pace.plan(stages)
        for step, batch in enumerate(batches):
            is_last = step == len(batches) - 1
            if is_last and step and with_triples:
                small = min(self.settings.how_fine(draft.total, rho=self.rho), most)
                candidates.widen(small_triples(draft.sizes, most_cells=small))
            self._measure_some(draft, candidates, prices, batch, is_tree=step == 0)
            if is_last:
                self._measure_again(draft, prices)
            self.pace.end()
            steps = self.settings.steps * (3 if is_last else 1)
            draft.fit(self.settings, steps=steps, progress=self.pace.part)
            self.pace.end()

    def _measure_some(
        self,
        draft: ModelDraft,
        candidates: Candidates,
        prices: Prices,
        number: int,
        *,
        is_tree: bool,
    ) -> None:
        """Choose tables that the model as it stands gets wrong, and measure each."""
        network = draft.network()
        _, beliefs = network.calibrate(draft.potentials)
        expected = candidates.expected(network, beliefs, total=draft.total)
        for done in range(number):
            self.pace.part(done / number)
            room = candidates.open(draft.sets, is_tree=is_tree)
            if not room:
                break
            columns = self._choose(expected, room, candidates, draft.total, prices)
            candidates.close(columns)
            counts, scale = self.measurer.table(columns, rho=prices.pay(columns))
            slack = self.settings.slack
            draft.add(columns, counts, scale=scale, slack=slack, was_chosen=True)

    def _measure_again(self, draft: ModelDraft, prices: Prices) -> None:
        """Spend on the tables of the model what was meant for tables that do not fit in it."""
        rest = _EXACT * self.measurer.left
        again = [place for place, one in enumerate(draft.targets) if one.was_chosen]
        if rest < _LEAST_ROUND * self.rho or not again:
            return
        parts = np.array([prices.of(draft.targets[place].columns) for place in again])
        for place, price in zip(again, rest * parts / parts.sum(), strict=True):
            columns = draft.targets[place].columns
            counts, scale = self.measurer.table(columns, rho=float(price))
            draft.combine(place, counts, scale=scale)

    def _choose(
        self,
        expected: Mapping[Columns, Floats],
        room: Mapping[Columns, float],
        candidates: Candidates,
        total: float,
        prices: Prices,
    ) -> Columns:
        """Choose a table by its misfit beyond noise and a least gain, a share of records."""
        tables = {one: expected[one] for one in room}
        gains = self.settings.thrift * np.array([*room.values()])
        gains[[one in candidates.added for one in room]] += self.settings.least_triple
        noise = expected_noise(tables, prices, self.measurer)
        return self.measurer.choose(
            tables,
            weights=np.array([candidates.weights[one] for one in room]),
            handicaps=noise + gains * total,
            rho=self.settings.choice_price(self.rho, tables=prices.number),
        )

    def _margins(self) -> list[_Margin]:
        public_margins = {
            one.columns[0]: one for one in self.published if len(one.columns) == 1
        }
        # A column of one code tells nothing but how many records there are: others do, too.
        plain = [column for column, size in enumerate(self.sizes) if size == 1]
        columns = [*({*range(len(self.sizes))} - {*public_margins, *plain})] or plain
        prices = self.settings.margin_prices(
            self.rho, sizes=[self.sizes[one] for one in columns]
        )
        if sum(size > 1 for size in self.sizes) < 2:  # there are no tables to pay for
            prices = [price / self.settings.margin_share for price in prices]
        price = dict(zip(columns, prices, strict=True))
        margins: list[_Margin] = []
        for column in range(len(self.sizes)):
            if column in public_margins:
                margins.append(
                    (public_margins[column].counts, public_margins[column].deviation)
                )
            elif column not in columns:
                margins.append((np.zeros(1), 1.0))
            else:
                counts, scale = self.measurer.margin(column, rho=price[column])
                margins.append((counts.astype(np.float64), scale))
        return margins

    def _masses(self, margins: Sequence[_Margin], total: float) -> list[Floats]:
        """Return about how many records each code has; those of a parent share what it has.

        A coarser code is counted more precisely than the sum of the finer ones in it.
        """
        masses = [onto_simplex(counts, total=total) for counts, _ in margins]
        nearest = {one.child: one for one in reversed(self.nests)}  # of several the first
        for one in self.nests:  # coarsest first
            if one is not nearest[one.child]:
                continue
            own, parent = masses[one.child], masses[one.parent]
            is_placed = one.above >= 0
            sums = np.bincount(one.above[is_placed], own[is_placed], minlength=len(parent))
            factors = np.divide(parent, sums, out=np.zeros(len(parent)), where=sums > 0)
            masses[one.child] = np.where(is_placed, own * factors[one.above], own)
        return masses

    def _groups(self, margins: Sequence[_Margin], total: float) -> list[Integers]:
        masses = self._masses(margins, total)
        price = self.settings.table_price(self.rho, tables=self._tables(total))
        least = self.settings.least_group * self.measurer.scale_of(price)
        most = self.settings.how_many_groups(self.rho)

        def group(column: int, kinds: Integers) -> Integers:
            is_ordered = self.ordered[column]
            patterns = patterns_of(column, size=self.sizes[column], rules=self.rules)
            most_own = most * (1 if is_ordered else 2)
            return group_codes(
                masses[column],
                is_ordered=is_ordered,
                # Each group of parents has one of rare codes, so that fewer stay alone.
                most=max(most_own - int(kinds.max()), most_own // 2),
                least=least,
                patterns=patterns * (int(kinds.max()) + 1) + kinds,
            )

        return labels_under_rules(self.sizes, self.nests, label=group)

    def _tables(self, total: float) -> int:
        return self.settings.how_many(total, columns=len(self.sizes), rho=self.rho)


class Prices:
    """What tables may cost, the more the more cells they have, as far as the budget goes."""

    def __init__(
        self, settings: TableSettings, rho: float, number: int, sizes: Sequence[int]
    ) -> None:
        self._settings, self._rho, self._sizes, self.number = settings, rho, sizes, number
        pairs = [a * b for a, b in combinations([size for size in sizes if size > 1], 2)]
        self._usual = float(np.mean(np.array(pairs or [1]) ** LARGER)) ** (1 / LARGER)
        self._least = settings.table_price(rho, tables=number) / _2
        self._spare = number * (_2 - 1) * self._least

    def of(self, columns: Columns) -> float:
        """Return what a table may cost; `_least` is kept for each one that may follow."""
        return self.of_cells(math.prod(self._sizes[column] for column in columns))

    def of_cells(self, cells: int) -> float:
        """Return the same for a table with a number of cells."""
        size = cells / self._usual
        full = self._settings.table_price(self._rho, tables=self.number, size=size)
        return min(max(full, self._least), self._least + self._spare)

    def pay(self, columns: Columns) -> float:
        """Return the same, and take it off."""
        price = self.of(columns)
        self._spare -= price - self._least
        return price


def expected_noise(
    tables: Mapping[Columns, Floats], prices: Prices, measurer: Measurer
) -> Floats:
    """Return what noise alone makes of the misfit of each table, at what it may cost."""
    cells = np.array([table.size for table in tables.values()])
    kinds, places = np.unique(cells, return_inverse=True)
    scales = [measurer.scale_of(prices.of_cells(one)) for one in kinds.tolist()]
    return np.asarray((math.sqrt(2 / math.pi) * np.array(scales))[places] * cells)


def _total(margins: Sequence[tuple[Floats, float]]) -> float:
    """Return the number of records that noisy margins agree on, at least 1."""
    margins = [one for one in margins if len(one[0]) > 1] or margins
    weights = [1 / (len(counts) * max(scale, 1e-3) ** 2) for counts, scale in margins]
    sums = [float(counts.sum()) for counts, _ in margins]
    return max(1.0, float(np.average(sums, weights=weights)))


def _allowed(rule: Rule, groups: Sequence[Integers]) -> Floats:
    """Return which combinations of groups a rule allows; codes of a group agree on it."""
    firsts = [np.unique(groups[column], return_index=True)[1] for column in rule.columns]
    return np.asarray(~rule.forbidden[np.ix_(*firsts)], np.float64)


def checked_sizes(sizes: Sequence[int]) -> list[int]:
    """Return sizes as a list, or refuse what cannot be one."""
    whole = [int(size) for size in sizes]
    if not whole or min(whole) < 1:
        raise SynthError(
            Message("There is at least one column, and each has at least one code.")
        )
    return whole


def checked_codes(codes: AnyIntegers, sizes: Sequence[int]) -> AnyIntegers:
    """Return codes as an array of whole numbers within their sizes."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or codes.dtype.kind not in "iu":
        raise SynthError(
            Message(
                "Codes are integers in {number} columns, not {dtype} of shape {shape}.",
                number=len(sizes),
                dtype=Shape(codes.dtype),
                shape=Shape(codes.shape),
            )
        )
    wrong = [
        column
        for column, size in enumerate(sizes)
        if len(codes) and (codes[:, column].min() < 0 or codes[:, column].max() >= size)
    ]
    if wrong:
        raise SynthError(
            Message(
                "Codes of the columns {wrong} lie outside the declared sizes.",
                wrong=Argument(wrong),
            ),
            hint=Message("give what is not in the domain a code of its own"),
        )
    return codes


def _check_shape(
    what: str, columns: Columns, shape: tuple[int, ...], sizes: Sequence[int]
) -> None:
    are_inside = all(0 <= column < len(sizes) for column in columns)
    if not are_inside or shape != tuple(sizes[column] for column in columns):
        raise SynthError(
            Message(
                "The {what} on the columns {columns} does not have a cell for each "
                "combination of codes.",
                what=said(what),
                columns=Argument(columns),
            ),
        )
