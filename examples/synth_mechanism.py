"""A mechanism that a package adds to ``ckm synth``: a tree of pairs, chosen as AIM chooses.

In the package's pyproject.toml:

    [project.entry-points."ckm.synth"]
    tree = "synth_mechanism:Tree"

Then it is a method: ckm synth fit people.parquet --method tree …
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from ckm_engine.synth import Mechanism


@dataclass(frozen=True)
class TreeSettings:
    """Shares of the budget: of margins, and of choices."""

    margins: float = 0.3
    choices: float = 0.1


@dataclass(frozen=True, eq=False)
class Tree(Mechanism):
    """The law of each column given one other, the first given none."""

    kind = "tree"  # in the file of a model
    Settings = TreeSettings

    laws: dict[int, tuple[int, np.ndarray]]  # column: (the other or -1, its rising shares)
    widths: list[int]

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return self.widths

    @classmethod
    def fit(
        cls, measurer: Any, *, sizes: Any, rho: float, settings: Any, **_known: Any
    ) -> Self:
        """Measure margins, then pairs that join one more column to the tree."""
        shares, many = settings or TreeSettings(), len(sizes)
        rho *= 1 - 1e-9
        price = rho * (shares.margins if many > 1 else 1) / many
        margins = [measurer.margin(column, rho=price)[0].clip(0) for column in range(many)]
        total = max(float(np.mean([margin.sum() for margin in margins])), 1.0)
        apart = {
            (a, b): np.outer(margins[a], margins[b]) / total
            for a in range(many)
            for b in range(a + 1, many)
        }
        laws, left = {0: (-1, _rising(margins[0][None]))}, rho * (1 - shares.margins)
        for _ in range(many - 1):
            # The pair that independence gets most wrong, of those that join a new column.
            open_ones = {p: t for p, t in apart.items() if (p[0] in laws) != (p[1] in laws)}
            step = left / (many - 1)
            noise = measurer.scale_of(step * (1 - shares.choices))
            pair = measurer.choose(
                open_ones,
                weights=dict.fromkeys(open_ones, 1.0),
                handicaps={p: noise * t.size for p, t in open_ones.items()},
                rho=step * shares.choices,
            )
            table, _ = measurer.table(pair, rho=step * (1 - shares.choices))
            old, new = pair if pair[0] in laws else pair[::-1]
            laws[new] = old, _rising(table if old == pair[0] else table.T)
        return cls(laws, list(sizes))

    def sample(self, number: int, *, rng: Any, allowed: Any = None) -> np.ndarray:  # noqa: ARG002
        """Draw each column given its other; codes that are not allowed are drawn again."""
        codes = np.zeros((number, len(self.laws)), np.int32)
        for column, (other, rising) in self.laws.items():
            rows = codes[:, other] if other >= 0 else np.zeros(number, int)
            codes[:, column] = (rng.random(number)[:, None] > rising[rows]).sum(axis=1)
        return codes

    def _parts(self) -> dict[str, Any]:
        laws = [[column, other, rising] for column, (other, rising) in self.laws.items()]
        return {"laws": laws, "widths": self.widths}

    @classmethod
    def _of_parts(cls, found: Any) -> Self:
        laws = {column: (other, np.array(rising)) for column, other, rising in found["laws"]}
        return cls(laws, found["widths"])


def _rising(counts: np.ndarray) -> np.ndarray:
    """Return noisy counts as shares that rise to 1 in each row."""
    rows = counts.clip(0) + 1e-9
    rising = np.cumsum(rows, axis=1) / rows.sum(axis=1, keepdims=True)
    rising[:, -1] = 1.0
    return rising
