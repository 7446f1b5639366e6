"""From codes to a private vine, within a budget: margins, ranks, tables of trees and codes.

Every look goes through `synth.marginals.measuring.Measurer`, with one accountant; the proof is
`docs/explanation/privacy/synth-vine.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from footing.arrays import AnyIntegers, Columns, Floats, Integers
from footing.checks import require_integer, require_number
from footing.messages import Message
from synth.copulas.vine import FittedVine
from synth.errors import SynthError
from synth.marginals.belief import cliques_of
from synth.marginals.coarse import onto_simplex
from synth.marginals.draft import ModelDraft
from synth.marginals.engine import (
    Job,
    Prices,
    checked_codes,
    checked_sizes,
    expected_noise,
)
from synth.marginals.measuring import SCORE, Measurer, Neighbours, NoiseSource, SecureNoise
from synth.marginals.model import Measured
from synth.marginals.spending import PrivacyAccountant, TableSettings, growth_of
from synth.schema.public import Published, Rule, workload_weights
from synth.vine.codes import CodeNetwork, fit_codes_given
from synth.vine.model import EvenPoints, PrivateVineModel, codes_at
from synth.vine.numbers import drawn_points, fit_numbers, measured_edges, structure_of
from synth.vine.pairs import NoisyPair

_EXACT = 1 - 1e-9
_LEAST_CODES = 5  # of a column that counts as a number; one with fewer is tabulated
_POINTS = (1024, 4096)  # of the vine that codes are fitted beside, at first and at last
_MOST_WORK = (2**20, 2**22)  # points times cells of codes
_MOST_CELLS = 4000  # of all cliques of codes
_MOST_PAIRS = 2000  # that are looked at, of a file of many codes
_CHECKS = 1500  # codes times pairs of codes that are checked before a choice
_DRAWS = 8  # of the codes of a point, where a pair of codes is in no clique
_FINE_EDGES = (0.005, 0.01, 0.02, 0.035, 0.05, 0.075, *(k / 20 for k in range(2, 10)))
_EDGES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
_STANDS_OUT = (
    6.0  # scales of noise that a cell of a margin weighs, times the root of its number
)
_STEPS = (30, 60)  # of a fit of codes, of the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateVineSettings:
    """How a private vine spends its budget. None of it depends on the records.

    Parameters
    ----------
    margin_share
        Share of the budget for margins.
    rank_share
        Share of the budget for rank correlations of all pairs of numbers.
    choice_share
        Share of the rest for choosing tables of codes.
    rounds
        In how many rounds tables of codes are chosen after the first.
    least_group
        The smallest group of codes, in scales of the noise of tables.

    Examples
    --------
    >>> PrivateVineSettings(rank_share=0.05).rank_share
    0.05
    """

    margin_share: float = 0.3
    rank_share: float = 0.08
    choice_share: float = 0.1
    rounds: int = 3
    least_group: float = 2.0

    @property
    def of_tables(self) -> TableSettings:
        """The same, as the engine of tables takes it."""
        return TableSettings(
            margin_share=self.margin_share,
            choice_share=self.choice_share,
            rounds=self.rounds,
            least_group=self.least_group,
        )

    def __post_init__(self) -> None:
        for name in ("margin_share", "rank_share", "choice_share"):
            require_number(getattr(self, name), name, error=SynthError, above=0, below=1)
        require_integer(self.rounds, "rounds", error=SynthError, minimum=1)
        require_number(self.least_group, "least_group", error=SynthError, minimum=0)
        if self.margin_share + self.rank_share >= 1:
            raise SynthError(Message("Margins and ranks leave something of the budget."))


def fit_private_vine(
    codes: AnyIntegers,
    *,
    sizes: Sequence[int],
    rho: float,
    ordered: Sequence[bool],
    noise: NoiseSource | None = None,
    neighbours: Neighbours | None = None,
    workload: Mapping[Columns, float] | None = None,
    label: int | None = None,
    rules: Sequence[Rule] = (),  # noqa: ARG001 (records that break one are drawn again)
    published: Sequence[Published] = (),
    settings: PrivateVineSettings | None = None,
) -> PrivateVineModel:
    """Fit a private vine to confidential records, for a price of rho at most.

    Parameters
    ----------
    codes, sizes, rho, ordered, noise, neighbours, workload, label, rules
        As `synth.fit_codes` takes them. Ordered columns of five codes and more are numbers.
    published
        None: it knows nothing of published tables.
    settings
        How the budget is spent.

    Examples
    --------
    >>> from synth import SimulatedNoise
    >>> rng = np.random.default_rng(1)
    >>> one = rng.integers(0, 20, 2000)
    >>> codes = np.column_stack([one, (one + rng.integers(0, 4, 2000)) % 23])
    >>> model = fit_private_vine(
    ...     codes, sizes=[20, 23], ordered=[True, True], rho=0.5, noise=SimulatedNoise(seed=1)
    ... )
    >>> model.spent <= 0.5, model.vine.n
    (True, 2)
    """
    if published:
        raise SynthError(
            Message("This method knows nothing of published tables."),
            hint=Message("method='tables' can"),
        )
    settings, neighbours = settings or PrivateVineSettings(), neighbours or Neighbours()
    sizes = checked_sizes(sizes)
    codes = checked_codes(codes, sizes)
    if len(ordered) != len(sizes):
        raise SynthError(
            Message(
                "ordered has {number} entries for {number_2} columns.",
                number=len(ordered),
                number_2=len(sizes),
            )
        )
    weights = _pairs(workload_weights(len(sizes), workload=workload, label=label))
    accountant, noise = PrivacyAccountant(float(rho)), noise or SecureNoise()
    fit = _Fit(
        fine=Measurer(codes, sizes, neighbours, accountant, noise),
        coarse=Measurer(codes, sizes, neighbours, accountant, noise),
        cells=Measurer(codes, sizes, neighbours, accountant, noise),
        sizes=sizes,
        ordered=[bool(one) for one in ordered],
        rho=accountant.rho,
        settings=settings,
        pairs_of_interest=weights,
    )
    model = fit.run()
    return replace(
        model,
        spends=tuple(accountant.spends),
        adjacency=str(neighbours.adjacency),
        rows=neighbours.rows,
        unit=neighbours.unit,
        noise=noise.label,
    )


@dataclass(slots=True)
class _Fit:
    """The steps. Records are with the three measurers alone, each with codes of its own."""

    fine: Measurer
    coarse: Measurer
    cells: Measurer
    sizes: list[int]
    ordered: list[bool]
    rho: float
    settings: PrivateVineSettings
    pairs_of_interest: Mapping[Columns, float]
    draft: ModelDraft = field(init=False)
    numbers: list[int] = field(init=False)
    heights: dict[int, Floats] = field(init=False)

    def run(self) -> PrivateVineModel:
        """Look at the records as the budget allows, and return the model."""
        self._start()
        vine, pairs = self._numbers()
        tables = self._codes(vine)
        for measurer in (self.fine, self.coarse, self.cells):
            measurer.forget()
        return PrivateVineModel(
            groups=tuple(self.draft.groups),
            shares=tuple(self.draft.shares),
            heights=self.heights,
            vine=vine,
            tables=tables,
            pairs=pairs,
            records=self.draft.total,
            spends=(),
            rho=self.rho,
            adjacency="",
            rows=1,
            unit="",
            noise="",
        )

    def _start(self) -> None:
        tables = self.settings.of_tables
        job = Job(
            measurer=self.coarse,
            sizes=self.sizes,
            ordered=self.ordered,
            rules=(),
            published=(),
            nests=(),
            rho=self.rho,
            settings=tables,
        )
        self.draft = job.start()
        self.numbers = [
            column
            for column, size in enumerate(self.sizes)
            if self.ordered[column] and size >= _LEAST_CODES and self.draft.sizes[column] > 1
        ]
        self.heights = {column: self._heights(column) for column in self.numbers}

    def _heights(self, column: int) -> Floats:
        counts = onto_simplex(self.draft.targets[column].counts, total=self.draft.total)
        shares = counts[self.draft.groups[column]] * self.draft.shares[column]
        heights = np.cumsum(shares / shares.sum())
        heights[np.flatnonzero(shares)[-1] :] = 1.0
        return np.asarray(np.minimum(heights, 1.0))

    @property
    def code_tables(self) -> int:
        """How many tables of codes are measured."""
        many = TableSettings().how_many(self.draft.total, columns=len(self.sizes), rho=self.rho)
        codes = sum(size > 1 for size in self.draft.sizes) - len(self.numbers)
        return max(many - self._edges, 2 * codes) if codes else 0

    @property
    def _edges(self) -> int:
        many = len(self.numbers)
        return max(many - 1, 0) + max(many - 2, 0)

    def _numbers(self) -> tuple[FittedVine | None, tuple[Measured, ...]]:
        """Measure ranks, and the tables of the first trees; return the vine of the numbers."""
        if len(self.numbers) < 2:
            return None, ()
        scores = {column: _scores(self.heights[column]) for column in self.numbers}
        sums, _ = self.fine.ranks(scores, rho=self.settings.rank_share * self.rho * _EXACT)
        correlation = self._correlation(sums, scores)
        structure = structure_of(correlation)
        edges = measured_edges(structure)
        price = _EXACT * self.fine.left / (len(edges) + self.code_tables)
        cells = self._cells(price)
        self.cells.regroup(cells)
        releases, tables = list[Measured](), dict[Columns, NoisyPair]()
        for edge in edges:
            first, second = (one - 1 for one in edge.pair)
            columns = (self.numbers[first], self.numbers[second])
            counts, scale = self.cells.table(columns, rho=price)
            ends = [_ends(self.heights[c], cells[c]) for c in columns]
            tables[first, second] = NoisyPair(
                counts.astype(np.float64), scale, ends[0], ends[1], self.draft.total
            )
            releases.append(
                Measured(
                    columns=columns,
                    counts=counts.astype(np.float64),
                    scale=scale,
                    potential=np.zeros(counts.shape),
                )
            )
        by_place = [(self.heights[c], scores[c] / SCORE) for c in self.numbers]
        return fit_numbers(structure, correlation, tables, by_place), tuple(releases)

    def _correlation(
        self, sums: Mapping[tuple[int, int], int], scores: Mapping[int, Integers]
    ) -> Floats:
        """Return noisy rank correlations, ties and all."""
        matrix = np.eye(len(self.numbers))
        place = {column: at for at, column in enumerate(self.numbers)}
        means, spreads = dict[int, float](), dict[int, float]()
        for column, score in scores.items():
            shares = np.diff(self.heights[column], prepend=0.0)
            means[column] = float(shares @ score) / SCORE
            spreads[column] = float(shares @ score**2) / SCORE**2 - means[column] ** 2
        for (a, b), total in sums.items():
            product = total / SCORE**2 / self.draft.total - means[a] * means[b]
            size = product / math.sqrt(max(spreads[a] * spreads[b], 1e-9))
            matrix[place[a], place[b]] = matrix[place[b], place[a]] = np.clip(size, -1, 1)
        return matrix

    def _cells(self, price: float) -> list[Integers]:
        """Return the cells of each number, each of which stands out from noise."""
        least = _STANDS_OUT * self.cells.scale_of(price) / self.draft.total
        fine = (*_FINE_EDGES, 0.5, *(1 - edge for edge in reversed(_FINE_EDGES)))
        edges = fine if growth_of(self.rho) > 1 else _EDGES
        groups = []
        for column, size in enumerate(self.sizes):
            if column in self.heights:
                groups.append(_cells_of(self.heights[column], edges, least=least))
            else:
                groups.append(np.zeros(size, np.int64))
        return groups

    def _codes(self, vine: FittedVine | None) -> tuple[Measured, ...]:
        """Choose and measure tables of codes, round by round, beside points of the vine."""
        codes = [c for c in range(len(self.sizes)) if c not in self.heights]
        if not codes:
            return ()
        chooser = _CodeTables(self, codes, vine)
        return chooser.run()


class _CodeTables:
    """The tables of codes: chosen where the model errs, measured, fitted beside the vine."""

    def __init__(self, fit: _Fit, codes: list[int], vine: FittedVine | None) -> None:
        self._fit, self._codes, self._total = fit, codes, fit.draft.total
        self._sizes = fit.draft.sizes
        groups = fit.draft.groups
        self._points = self._drawn(vine, _POINTS[-1])
        self._groups = {
            c: groups[c][codes_at(fit.heights[c], self._points[:, at])]
            for at, c in enumerate(fit.numbers)
        }
        old = fit.draft.targets
        fit.draft.targets = [old[c] for c in codes]
        self._left: list[Columns] = [
            pair
            for pair in fit.pairs_of_interest
            if len(pair) == 2 and {*pair} & {*codes} and all(self._sizes[c] > 1 for c in pair)
        ]
        self._rng = np.random.default_rng(0)  # of points that are public
        if len(self._left) > _MOST_PAIRS:
            places = self._rng.choice(len(self._left), _MOST_PAIRS, replace=False)
            self._left = [self._left[one] for one in np.sort(places).tolist()]
        self._slack = TableSettings().slack

    def _drawn(self, vine: FittedVine | None, number: int) -> Floats:
        if vine is not None:
            return drawn_points(vine, number)
        return EvenPoints(1, np.random.default_rng(0)).next(number)  # so are the first of them

    def run(self) -> tuple[Measured, ...]:
        """Spend what is left on tables."""
        draft, fit = self._fit.draft, self._fit
        number = min(fit.code_tables, len(self._left))
        if not number:
            self._improve(is_last=True)
            return draft.measured()
        settings = fit.settings.of_tables
        budget = fit.fine.left / (1 - settings.margin_share) * _EXACT
        prices = Prices(settings, budget, number, self._sizes)
        choice = settings.choice_price(budget, tables=number)
        first = min(sum(self._sizes[c] > 1 for c in self._codes), number)
        rest = np.array_split(np.arange(number - first), settings.rounds)
        batches = [first, *(len(part) for part in rest if len(part))]
        state = self._improve(is_last=False)
        for step, batch in enumerate(batches):
            expected = self._expected(state)
            for _ in range(batch):
                room = self._open(is_tree=step == 0)
                if not room:
                    break
                self._measure(expected, room, prices, choice)
            is_last = step == len(batches) - 1
            if is_last:
                self._measure_again(prices)
            state = self._improve(is_last=is_last)
        return draft.measured()

    def _measure(
        self,
        expected: Mapping[Columns, Floats],
        room: Mapping[Columns, float],
        prices: Prices,
        choice_price: float,
    ) -> None:
        measurer = self._fit.coarse
        tables = {one: expected[one] for one in room}
        gains = TableSettings().thrift * np.array([*room.values()])
        weights = self._fit.pairs_of_interest
        columns = measurer.choose(
            tables,
            weights=np.array([weights[one] for one in room]),
            handicaps=expected_noise(tables, prices, measurer) + gains * self._total,
            rho=choice_price,
        )
        self._left.remove(columns)
        counts, scale = measurer.table(columns, rho=prices.pay(columns))
        self._fit.draft.add(columns, counts, scale=scale, slack=self._slack, was_chosen=True)

    def _measure_again(self, prices: Prices) -> None:
        draft, measurer = self._fit.draft, self._fit.coarse
        again = [place for place, one in enumerate(draft.targets) if one.was_chosen]
        rest = _EXACT * measurer.left
        if not again or rest < 0.02 * self._fit.rho:
            return
        parts = np.array([prices.of(draft.targets[place].columns) for place in again])
        for place, price in zip(again, rest * parts / parts.sum(), strict=True):
            columns = draft.targets[place].columns
            counts, scale = measurer.table(columns, rho=float(price))
            draft.combine(place, counts, scale=scale)

    def _network(self) -> CodeNetwork:
        sets = [target.columns for target in self._fit.draft.targets]
        return CodeNetwork(self._sizes, self._codes, sets)

    def _improve(self, *, is_last: bool) -> tuple[CodeNetwork, list[Floats], int]:
        network = self._network()
        growth = growth_of(self._fit.rho)
        most = _MOST_WORK[is_last] // network.cells
        number = int(np.clip(most, 128, _POINTS[is_last]))
        groups = {c: one[:number] for c, one in self._groups.items()}
        draft = self._fit.draft
        potentials, beliefs = fit_codes_given(
            network,
            draft.targets,
            groups=groups,
            number=number,
            total=self._total,
            softness=TableSettings().softness,
            steps=round(_STEPS[is_last] * growth),
        )
        draft.targets = [
            replace(target, potential=one)
            for target, one in zip(draft.targets, potentials, strict=True)
        ]
        return network, beliefs, number

    def _expected(self, state: tuple[CodeNetwork, list[Floats], int]) -> dict[Columns, Floats]:
        network, beliefs, number = state
        direct = [one for one in self._left if network.holds(one)]
        indicators = {
            c: np.eye(self._sizes[c])[one[:number]] for c, one in self._groups.items()
        }
        tables = dict(zip(direct, network.tables(beliefs, direct, indicators), strict=True))
        rest = [one for one in self._left if one not in tables]
        if rest:
            samples = {one: np.zeros([self._sizes[c] for c in one]) for one in rest}
            for _ in range(_DRAWS):
                uniforms = self._rng.random((number, len(network.tree.order)))
                draws = network.draw(beliefs, uniforms)
                for one, table in samples.items():
                    np.add.at(table, tuple(draws[c] for c in one), 1 / number / _DRAWS)
            tables |= samples
        return {one: self._total * table for one, table in tables.items()}

    def _open(self, *, is_tree: bool) -> dict[Columns, float]:
        """Return the tables that leave the cliques of codes small, and how full they are."""
        sets = [target.columns for target in self._fit.draft.targets]
        inner = [one for one in sets if {*one} <= {*self._codes}]
        beside = [one for one in self._left if not {*one} <= {*self._codes}]
        within = [one for one in self._left if {*one} <= {*self._codes}]
        if is_tree:  # an edge between two parts adds one clique, the edge itself
            parts, level = self._parts(sets), self._cells_of(inner)
            joins = [one for one in beside if parts[one[0]] != parts[one[1]]]
            cells = {
                one: level + math.prod(self._sizes[c] for c in one)
                for one in within
                if parts[one[0]] != parts[one[1]]
            }
        else:
            joins, most = beside, max(20, _CHECKS // len(self._codes))
            if len(within) > most:
                places = self._rng.choice(len(within), most, replace=False)
                within = [within[one] for one in np.sort(places).tolist()]
            cells = {one: self._cells_of([*inner, one]) for one in within}
        room = {one: size / _MOST_CELLS for one, size in cells.items() if size <= _MOST_CELLS}
        return dict.fromkeys(joins, 0.0) | room

    def _cells_of(self, sets: Sequence[Columns]) -> int:
        place = {column: at for at, column in enumerate(self._codes)}
        inside = [tuple(sorted(place[c] for c in one)) for one in sets]
        cliques = cliques_of(inside, sizes=[self._sizes[c] for c in self._codes]) or []
        return sum(math.prod(self._sizes[self._codes[c]] for c in one) for one in cliques)

    def _parts(self, sets: Sequence[Columns]) -> list[int]:
        part = list(range(len(self._sizes)))
        for column in self._fit.numbers:
            part[column] = -1
        for one in sets:
            for other in one[1:]:
                old, new = part[other], part[one[0]]
                part = [new if label == old else label for label in part]
        return part


def _pairs(weights: Mapping[Columns, float]) -> dict[Columns, float]:
    """Return the pairs of columns in tables that matter, with the weights of these tables."""
    pairs: dict[Columns, float] = {}
    for columns, weight in weights.items():
        for pair in combinations(sorted(columns), 2):
            pairs[pair] = pairs.get(pair, 0.0) + weight
    return pairs


def _scores(heights: Floats) -> Integers:
    """Return the score of each code: its middle height, from -1 to 1, in whole numbers."""
    before = np.concatenate([[0.0], heights[:-1]])
    return np.asarray(np.rint((heights + before - 1) * SCORE), np.int64)


def _cells_of(heights: Floats, edges: Sequence[float], *, least: float) -> Integers:
    """Return a cell for each code: those of equal tails, as far as each weighs enough."""
    edges = [edge for edge in edges if min(edge, 1 - edge) >= least]
    spaced: list[float] = []
    for edge in edges:
        if not spaced or edge - spaced[-1] >= least:
            spaced.append(edge)
    middle = (heights + np.concatenate([[0.0], heights[:-1]])) / 2
    cells = np.searchsorted(spaced, middle, side="right")
    return np.asarray(np.unique(cells, return_inverse=True)[1], np.int64)


def _ends(heights: Floats, cells: Integers) -> Floats:
    """Return the heights between cells, from 0 to 1."""
    last = np.flatnonzero(np.diff(cells, append=cells[-1] + 1))
    ends = np.concatenate([[0.0], heights[last]])
    ends[-1] = 1.0
    return ends
