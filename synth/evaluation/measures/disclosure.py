"""Copies of real records, and what keys tell of a sensitive column."""

from collections.abc import Sequence

import numpy as np

from footing.arrays import Floats, Integers
from footing.messages import Message
from synth.errors import EvaluationError
from synth.evaluation.measures.bins import Bins
from synth.evaluation.measures.nearest import Space, nearest_two
from synth.evaluation.records import Records

_MOST = 3000


def exact_matches(real: Records, synthetic: Records) -> float:
    """Give the share of synthetic records that equal a real one in every column."""
    first, second = _same(real.values, synthetic.values)
    return float(np.isin(second, first).mean())


def replicated_uniques(real: Records, synthetic: Records) -> float:
    """Give the share of unique real records that are unique in the synthetic ones too."""
    first, second = _same(real.values, synthetic.values)
    uniques = [
        values[counts == 1]
        for values, counts in (np.unique(side, return_counts=True) for side in (first, second))
    ]
    if not len(uniques[0]):
        return 0.0
    return float(np.isin(uniques[0], uniques[1]).mean())


def closeness(
    train: Records, holdout: Records, synthetic: Records, *, seed: int
) -> dict[str, float]:
    """Give distances to the closest record, and their ratios, against a holdout, by figure.

    Distances and ratios of nearest to second nearest are medians; equal distances to both
    sets count half.

    Notes
    -----
    Users ask for these figures; they show copies and little else. Records without any copy
    among the real ones can still give their members away.

    References
    ----------
    .. [1] Z. Yao, N. Krčo, G. Ganev, Y.-A. de Montjoye, "The DCR Delusion: Measuring the
       Privacy Risk of Synthetic Data", *ESORICS* 2025.
    """
    rng = np.random.default_rng(seed)
    size = min(len(train), len(holdout), _MOST)
    space = Space(train, metric="gower")
    sample = synthetic.some(_MOST, rng)
    near, far = (
        nearest_two(space, sample, records.some(size, rng)) for records in (train, holdout)
    )
    apart = near[:, 0] - far[:, 0]
    is_equal = np.abs(apart) < 1e-12
    return {
        "nearer_train": float(np.mean(np.where(is_equal, 0.5, apart < 0))),
        "dcr_train": float(np.median(near[:, 0])),
        "dcr_holdout": float(np.median(far[:, 0])),
        "nndr_train": _ratio(near),
        "nndr_holdout": _ratio(far),
    }


def attribute_inference(
    real: Records, synthetic: Records, *, keys: Sequence[str], target: str, least: float = 1.0
) -> dict[str, float | None]:
    """Guess a sensitive column of real records from keys that an intruder knows.

    Given are the share of records whose keys the synthetic ones tie to one value, and among
    them the shares of right guesses: of these, and of the most frequent value. Both are None
    where there is no such record.

    References
    ----------
    .. [1] J. Taub, M. Elliot, M. Pampaka, D. Smith, "Differential Correct Attribution
       Probability for Synthetic Data: An Exploration", *PSD* 2018.
    """
    if not keys or target in keys or not 0 < least <= 1:
        raise EvaluationError(
            Message(
                "An intruder knows at least one key and not the target; least is in (0, 1]."
            ),
            hint=Message("give keys without the target"),
        )
    bins = Bins(real)
    one, other = bins.of(real), bins.of(synthetic)
    places, column = [real.place(key) for key in keys], real.place(target)
    real_keys, synthetic_keys = _same(
        one.codes[:, places].astype(np.float64), other.codes[:, places].astype(np.float64)
    )
    guesses = _guesses(synthetic_keys, other.codes[:, column], least)
    answers = np.array([guesses.get(key, -1) for key in real_keys.tolist()])
    truth = one.codes[:, column]
    is_said = answers >= 0
    if not is_said.any():
        return {"inferred": None, "inferred_baseline": None, "inferred_reach": 0.0}
    common = int(np.bincount(other.codes[:, column]).argmax())
    return {
        "inferred": float(np.mean(answers[is_said] == truth[is_said])),
        "inferred_baseline": float(np.mean(truth[is_said] == common)),
        "inferred_reach": float(np.mean(is_said)),
    }


def _guesses(keys: Integers, values: Integers, least: float) -> dict[int, int]:
    """Give the value of each key whose records agree, at least by this share."""
    pairs, counts = np.unique(np.column_stack([keys, values]), axis=0, return_counts=True)
    totals = np.bincount(keys)
    shares = counts / totals[pairs[:, 0]]
    order = np.argsort(shares, kind="stable")
    return {int(pairs[row, 0]): int(pairs[row, 1]) for row in order if shares[row] >= least}


def _same(first: Floats, second: Floats) -> tuple[Integers, Integers]:
    """Give equal records the same number; missing equals missing."""
    both = np.vstack([first, second])
    cells = np.zeros(len(both), dtype=np.int64)
    for column in both.T:
        _, where = np.unique(np.where(np.isnan(column), np.inf, column), return_inverse=True)
        _, cells = np.unique(cells * (int(where.max()) + 1) + where, return_inverse=True)
    return cells[: len(first)], cells[len(first) :]


def _ratio(near: Floats) -> float:
    """Give the median of nearest to second nearest; two copies count as 1."""
    below = np.where(near[:, 1] > 0, near[:, 1], 1.0)
    return float(np.median(np.where(near[:, 1] > 0, near[:, 0] / below, 1.0)))
