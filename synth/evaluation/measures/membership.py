"""Who was in the training data: attacks by closeness, which prove little when they fail."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from footing.arrays import Floats
from footing.messages import Message
from synth.errors import EvaluationError
from synth.evaluation.measures.nearest import Metric, Space
from synth.evaluation.measures.scores import auc
from synth.evaluation.records import Records

_KEPT = 10_000_000  # distances that are kept for the second look
_AROUND = 10_000  # records that a density is the mean over
#: Keeps the logarithm of a distance finite; the source of the attack prints this value.
_NEARLY_ZERO = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """How many members an attack found, one score per repetition.

    Parameters
    ----------
    scores
        Shares of the members among the records that the attack names: 0.5 by chance.
    """

    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean."""
        return sum(self.scores) / len(self.scores)

    @property
    def worst(self) -> float:
        """The highest of them."""
        return max(self.scores)


def monte_carlo(
    members: Records,
    controls: Records,
    synthetic: Records,
    *,
    seed: int,
    metric: Metric = "hamming",
    n: int = 500,
    repetitions: int = 50,
    most: int | None = None,
) -> Attacked:
    """Name as members the records that have most synthetic records around them.

    Notes
    -----
    The score of x is -1/n Σ 1[d(x, gᵢ) ≤ r] log(d(x, gᵢ) + η), with r the median over all
    candidates of the distance to the nearest synthetic record. The m records with the highest
    score are named, ties in random order; the result is the share of the m members among them.

    References
    ----------
    .. [1] B. Hilprecht, M. Härterich, D. Bernau, "Monte Carlo and Reconstruction Membership
       Inference Attacks against Generative Models", *PoPETs* 2019(4).
    """
    if n < 1 or repetitions < 1 or (most is not None and most < 1):
        raise EvaluationError(
            Message(
                "The attack needs at least one synthetic record, one repetition and one member."
            )
        )
    rng = np.random.default_rng(seed)
    m = min(len(members), len(controls), most or len(members))
    candidates = _candidates(members, controls, m, rng)
    space = Space(members, metric=metric)
    scores = []
    for _ in range(repetitions):
        near = _scores(space, candidates, synthetic.some(n, rng))
        order = np.lexsort((rng.random(2 * m), -near))
        scores.append(float(np.mean(order[:m] < m)))
    return Attacked(scores=tuple(scores))


def density_ratio(
    members: Records,
    controls: Records,
    synthetic: Records,
    *,
    reference: Records,
    seed: int,
    most: int = 1000,
) -> float:
    """Give the area under the curve of how much denser synthetic records are than others.

    Notes
    -----
    Densities are means of exp(-(d/h)²) over the records, with d the mean scaled difference of
    the columns and h half the median distance of a candidate to its nearest reference record:
    Gower's distance in place of the densities of the paper, so that categories can take part.

    References
    ----------
    .. [1] B. van Breugel, H. Sun, Z. Qian, M. van der Schaar, "Membership Inference Attacks
       against Synthetic Data through Overfitting Detection", *AISTATS* 2023.
    """
    rng = np.random.default_rng(seed)
    m = min(len(members), len(controls), most)
    candidates = _candidates(members, controls, m, rng)
    size = min(len(synthetic), len(reference), _AROUND)
    space = Space(members, metric="gower")
    others = [records.some(size, rng) for records in (reference, synthetic)]
    blocks = list(space.blocks(candidates, others[0]))
    nearest = float(np.median(np.concatenate([block.min(axis=1) for _, block in blocks])))
    width = max(nearest / 2, 1e-3)
    population, density = (
        np.concatenate([_density(block, width) for _, block in some])
        for some in (blocks, space.blocks(candidates, others[1]))
    )
    score = np.log(density + _NEARLY_ZERO) - np.log(population + _NEARLY_ZERO)
    area = auc(np.arange(2 * m) < m, score)
    return 0.5 if area is None else area


def _candidates(
    members: Records, controls: Records, m: int, rng: np.random.Generator
) -> Records:
    """Take as many of both, members first."""
    sides = [records.some(m, rng).values for records in (members, controls)]
    return members.with_values(np.vstack(sides))


def _density(distances: Floats, width: float) -> Floats:
    return np.asarray(np.exp(-((distances / width) ** 2)).mean(axis=1))


def _scores(space: Space, candidates: Records, synthetic: Records) -> Floats:
    def blocks() -> Iterator[Floats]:
        return (block for _, block in space.blocks(candidates, synthetic))

    is_small = len(candidates) * len(synthetic) <= _KEPT
    all_blocks = list(blocks()) if is_small else None
    nearest = np.concatenate([block.min(axis=1) for block in all_blocks or blocks()])
    # Sums of the same differences in another order may miss the radius by a rounding.
    radius = float(np.median(nearest)) + 1e-12
    sums = []
    for block in all_blocks or blocks():
        is_near = block <= radius
        logs = np.zeros(block.shape)
        logs[is_near] = np.log(block[is_near] + _NEARLY_ZERO)
        sums.append(logs.sum(axis=1))
    return -np.concatenate(sums) / len(synthetic)
