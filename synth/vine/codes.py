"""Codes given numbers: a network of tables whose evidence differs from record to record.

Given its numbers, a record's codes have a log-linear distribution: factors of pairs of codes,
in a junction tree, and a factor of each code for the cell of each number that it has a table
with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from footing.arrays import Columns, Floats, Integers
from synth.marginals.belief import JunctionTree, cliques_of
from synth.marginals.draft import Target

_TINY = 1e-300
_BOUND = 15.0
_RIDGE = 1e-5
_FLAT = 1e-3


@dataclass(slots=True, eq=False)
class CodeNetwork:
    """The graph: tables of codes alone, and tables of a code beside a number.

    Parameters
    ----------
    sizes
        How many groups each column has.
    codes
        The columns that are codes; all others are numbers.
    sets
        The columns of each table, two at most of them codes.
    """

    sizes: Sequence[int]
    codes: Sequence[int]
    sets: Sequence[Columns]
    tree: JunctionTree = field(init=False)
    shapes: list[tuple[int, ...]] = field(init=False)
    home: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        place = {column: at for at, column in enumerate(self.codes)}
        inside: list[Columns] = [(at,) for at in range(len(self.codes))]
        inside += [
            tuple(sorted(place[c] for c in one)) for one in self.sets if {*one} <= {*place}
        ]
        sizes = [self.sizes[column] for column in self.codes]
        cliques = cliques_of(inside, sizes=sizes) or []
        local = JunctionTree.of(cliques)
        self.tree = JunctionTree(
            tuple(tuple(self.codes[c] for c in one) for one in local.cliques),
            local.order,
            local.parents,
            tuple(tuple(self.codes[c] for c in one) for one in local.separators),
        )
        self.shapes = [tuple(self.sizes[c] for c in one) for one in self.tree.cliques]
        self.home = {
            column: next(k for k in reversed(local.order) if column in self.tree.cliques[k])
            for column in self.codes
        }

    @property
    def cells(self) -> int:
        """How many cells all cliques have."""
        return sum(math.prod(shape) for shape in self.shapes)

    def calibrate(
        self,
        potentials: Sequence[Floats],
        groups: Mapping[int, Integers],
        number: int,
        allowed: Mapping[int, Floats] | None = None,
    ) -> tuple[Floats, list[Floats]]:
        """Return for each record the logarithm of its total, and the chances of each clique."""
        base = [np.zeros(shape) for shape in self.shapes]
        evidence: dict[int, Floats] = {}
        is_code = {*self.codes}
        for columns, potential in zip(self.sets, potentials, strict=True):
            inside = [c for c in columns if c in is_code]
            if len(inside) == len(columns):
                home = self._holding(columns)
                base[home] = base[home] + self._spread(potential, columns, home)
            else:
                (code,) = inside
                other = columns[1 - columns.index(code)]
                rows = potential if columns[0] == other else potential.T
                values = rows[groups[other]]
                evidence[code] = values if code not in evidence else evidence[code] + values
        log_total = np.zeros(number)
        beliefs: list[Floats] = []
        for table in base:
            top = float(table.max())
            beliefs.append(np.broadcast_to(np.exp(table - top), (1, *table.shape)))
            log_total += top
        for code, values in evidence.items():
            top = values.max(axis=1, keepdims=True)
            log_total += top[:, 0]
            home = self.home[code]
            beliefs[home] = beliefs[home] * self._along(np.exp(values - top), code, home)
        for code, flags in (allowed or {}).items():
            home = self.home[code]
            beliefs[home] = beliefs[home] * self._along(flags[None], code, home)
        tree = self.tree
        upward: dict[int, Floats] = {}
        for one in reversed(tree.order[1:]):
            message = self._onto(beliefs[one], one, tree.separators[one])
            size = message.reshape(len(message), -1).max(axis=1).clip(min=_TINY)
            log_total += np.log(size)
            upward[one] = message / size.reshape(-1, *[1] * (message.ndim - 1))
            above = tree.parents[one]
            if above < 0:
                continue
            beliefs[above] = beliefs[above] * self._out(
                upward[one], tree.separators[one], above
            )
        root = tree.order[0]
        beliefs[root], total = _normalised(beliefs[root])
        log_total += np.log(total)
        for one in tree.order[1:]:
            above = tree.parents[one]
            if above >= 0:
                message = self._onto(beliefs[above], above, tree.separators[one])
                ratio = message / np.maximum(upward[one], _TINY)
                beliefs[one] = beliefs[one] * self._out(ratio, tree.separators[one], one)
            beliefs[one], _ = _normalised(beliefs[one])
        return log_total, beliefs

    def tables(
        self,
        beliefs: Sequence[Floats],
        sets: Sequence[Columns],
        indicators: Mapping[int, Floats],
    ) -> list[Floats]:
        """Return the chances of tables: mean over records of those of each."""
        means = [belief.mean(axis=0) for belief in beliefs]
        chances = {
            code: self._onto(beliefs[self.home[code]], self.home[code], (code,))
            for code in self.codes
        }
        is_code, tables = {*self.codes}, list[Floats]()
        for columns in sets:
            inside = [c for c in columns if c in is_code]
            if len(inside) == len(columns):
                home = self._holding(columns)
                tables.append(self._onto(means[home][None], home, columns)[0])
                continue
            (code,) = inside
            other = columns[1 - columns.index(code)]
            weights = indicators[other]
            chance = np.broadcast_to(chances[code], (len(weights), self.sizes[code]))
            table = weights.T @ chance / len(weights)
            tables.append(table if columns[0] == other else table.T)
        return tables

    def draw(self, beliefs: Sequence[Floats], uniforms: Floats) -> dict[int, Integers]:
        """Draw the codes of each record, a uniform number for each clique."""
        codes: dict[int, Integers] = {}
        number = len(uniforms)
        rows = np.arange(number)
        for at, one in enumerate(self.tree.order):
            clique = self.tree.cliques[one]
            new = [c for c in clique if c not in codes]
            if not new:
                continue
            old = [c for c in clique if c in codes]
            belief = np.broadcast_to(beliefs[one], (number, *self.shapes[one]))
            axes = [0, *(1 + clique.index(c) for c in old + new)]
            table = belief.transpose(axes)
            weights = table[(rows, *(codes[c] for c in old))].reshape(number, -1)
            steps = np.cumsum(weights, axis=1)
            heights = uniforms[:, at % uniforms.shape[1]] * steps[:, -1]
            cells = (steps <= heights[:, None]).sum(axis=1).clip(max=weights.shape[1] - 1)
            for column in reversed(new):
                cells, codes[column] = np.divmod(cells, self.sizes[column])
        return codes

    def holds(self, columns: Columns) -> bool:
        """Tell whether a clique holds these codes, or they are one code beside a number."""
        inside = {*columns} & {*self.codes}
        return len(inside) < len(columns) or any(
            inside <= {*clique} for clique in self.tree.cliques
        )

    def _holding(self, columns: Columns) -> int:
        holding = [k for k, one in enumerate(self.tree.cliques) if {*columns} <= {*one}]
        return min(holding, key=lambda k: math.prod(self.shapes[k]))

    def _spread(self, table: Floats, columns: Columns, home: int) -> Floats:
        clique = self.tree.cliques[home]
        return table.reshape([self.sizes[c] if c in columns else 1 for c in clique])

    def _along(self, values: Floats, code: int, home: int) -> Floats:
        clique = self.tree.cliques[home]
        shape = [len(values), *(self.sizes[c] if c == code else 1 for c in clique)]
        return values.reshape(shape)

    def _out(self, values: Floats, columns: Columns, home: int) -> Floats:
        clique = self.tree.cliques[home]
        shape = [len(values), *(self.sizes[c] if c in columns else 1 for c in clique)]
        return values.reshape(shape)

    def _onto(self, belief: Floats, home: int, columns: Columns) -> Floats:
        axes = tuple(1 + at for at, c in enumerate(self.tree.cliques[home]) if c not in columns)
        return np.asarray(belief.sum(axis=axes)) if axes else belief


def fit_codes_given(
    network: CodeNetwork,
    targets: Sequence[Target],
    *,
    groups: Mapping[int, Integers],
    number: int,
    total: float,
    softness: float,
    steps: int,
) -> tuple[list[Floats], list[Floats]]:
    """Return the logarithms of the factors, and the chances of cliques, record by record.

    Notes
    -----
    As `synth.marginals.draft.fit_potentials`, with the logarithm of the total averaged over
    numbers that are codes from the vine: the distribution of codes given numbers with the
    largest entropy within a tolerance of every table.
    """
    from scipy.optimize import minimize

    shapes = [target.counts.shape for target in targets]
    cuts = np.cumsum([target.counts.size for target in targets])[:-1]
    shares = np.concatenate([target.counts.ravel() for target in targets]) / total
    slack = np.concatenate([np.full(t.counts.size, t.slack * t.scale) for t in targets]) / total
    curvature = np.sqrt(np.clip(shares, 0, 1) + slack / softness + _FLAT)
    indicators = {
        column: np.eye(network.sizes[column])[places] for column, places in groups.items()
    }

    def split(flat: Floats) -> list[Floats]:
        parts = np.split(flat, cuts)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def loss(scaled: Floats) -> tuple[float, Floats]:
        flat = scaled / curvature
        log_totals, beliefs = network.calibrate(split(flat), groups, number)
        tables = network.tables(beliefs, network.sets, indicators)
        model = np.concatenate([table.ravel() for table in tables])
        sizes = np.sqrt(flat**2 + softness**2)
        value = log_totals.mean() - flat @ shares + slack @ sizes + 0.5 * _RIDGE * (flat @ flat)
        slope = model - shares + slack * flat / sizes + _RIDGE * flat
        return float(value), slope / curvature

    first = np.concatenate([target.potential.ravel() for target in targets])
    optimum = minimize(
        loss,
        np.clip(first, -_BOUND, _BOUND) * curvature,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(-_BOUND * curvature, _BOUND * curvature, strict=True)),
        options={"maxiter": steps, "maxcor": 20, "ftol": 1e-8, "gtol": 1e-7},
    )
    potentials = split(np.asarray(optimum.x / curvature))
    return potentials, network.calibrate(potentials, groups, number)[1]


def _normalised(belief: Floats) -> tuple[Floats, Floats]:
    total = belief.reshape(len(belief), -1).sum(axis=1).clip(min=_TINY)
    return belief / total.reshape(-1, *[1] * (belief.ndim - 1)), total
