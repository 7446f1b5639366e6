"""Small made-up cells for tests of the noise of amounts."""

import hashlib
from collections.abc import Sequence

import numpy as np

from tables.magnitudes.amounts import Magnitudes


def amounts(
    cells: Sequence[Sequence[float]],
    *,
    weights: Sequence[Sequence[float]] | None = None,
    n_top: int = 6,
    variable: str = "income",
) -> Magnitudes:
    """Make the cells of a table from the values of the records in each.

    Parameters
    ----------
    cells
        The values of every cell's records.
    weights
        Their weights; None for 1 each.
    n_top
        How many of the largest contributors to keep.
    variable
        The variable's name.

    Notes
    -----
    Record keys are a public hash of the record's place, its cell and its value: examples only.

    Examples
    --------
    >>> made = amounts([[3.0, 0.0, -4.0], []])
    >>> made.total.tolist(), made.contributors.tolist(), made.top[0, :3].tolist()
    ([-1.0, 0.0], [2, 0], [-4.0, 3.0, 0.0])
    """
    given = weights if weights is not None else [[1.0] * len(values) for values in cells]
    lines = [
        _line(np.array(values, float), np.array(w, float), n_top=n_top, cell=number)
        for number, (values, w) in enumerate(zip(cells, given, strict=True))
    ]
    names = list(lines[0]) if lines else []
    columns = {name: np.array([line[name] for line in lines]) for name in names}
    return Magnitudes(variable=variable, key_range=2**64, **columns)


def _line(
    values: np.ndarray, weights: np.ndarray, *, n_top: int, cell: int
) -> dict[str, np.generic | np.ndarray]:
    keys = [_key(cell, place, value) for place, value in enumerate(values.tolist())]
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0]
    parts, shares = values[order], weights[order]
    top, top_weight = np.zeros(n_top), np.zeros(n_top)
    n_kept = min(n_top, len(parts))
    pairs = zip(np.abs(values * weights).tolist(), keys, strict=True)
    held = [*sorted((pair for pair in pairs if pair[0]), reverse=True), *[(0.0, 0)] * 3][:3]
    top[:n_kept], top_weight[:n_kept] = parts[:n_kept], shares[:n_kept]
    return {
        "total": np.float64(parts @ shares),
        "raw_total": np.float64(parts.sum()),
        "contributors": np.int64(len(parts)),
        "weighted_contributors": np.float64(shares.sum()),
        "records": np.int64(len(values)),
        "weight": np.float64(weights.sum()),
        "key": np.uint64(sum(keys[place] for place in order) % 2**64),
        "top": top,
        "top_weight": top_weight,
        "largest": np.float64(np.abs(parts * shares).max(initial=0.0)),
        "first_sizes": np.array([size for size, _ in held]),
        "first_keys": np.array([key for _, key in held], np.uint64),
        "low": np.float64(parts.min(initial=np.inf) if len(parts) else 0.0),
        "high": np.float64(parts.max(initial=-np.inf) if len(parts) else 0.0),
    }


def _key(cell: int, place: int, value: float) -> int:
    text = f"{cell} {place} {value!r}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
