"""The nearest table that adds up: least squares, within bounds."""

from __future__ import annotations

import numpy as np

from ckm.errors import ReleaseError
from ckm.methods.additivity.equations import TableSums
from footing.arrays import Floats
from footing.messages import Message

_MAX_TURNS = 1_000
_MAX_PIVOTS = 50
_MAX_STEPS = 1_000
_CLOSE = 1e-6
_RESIDUAL = 1e-10


def nearest_additive(
    sums: TableSums, published: Floats, *, lower: Floats, upper: Floats
) -> Floats:
    """Find the table that adds up, stays in bounds and is nearest to the published one.

    Notes
    -----
    With ``A`` the sums, ``y`` the published numbers and ``z = A x``: minimise ``‖z - y‖²``
    subject to ``x >= 0`` and ``lower <= z <= upper``. Inner cells that would be negative are
    held at 0, and let go where that brings the table nearer, until neither happens: the exact
    answer where no other bound binds. Each round is a projection by conjugate gradients.
    Otherwise projections on the tables that add up and on the bounds alternate, with
    multipliers, to within 1e-6.

    The inner cells are then rounded to a power of 2, about 1e-6 or, where totals exceed 2^28,
    so coarse that floating-point numbers add them up without error.

    References
    ----------
    J. Júdice and F. Pires (1994), A block principal pivoting algorithm for large-scale strictly
    monotone linear complementarity problems, Computers and Operations Research 21(5).

    S. Boyd et al. (2011), Distributed optimization and statistical learning via the alternating
    direction method of multipliers, Foundations and Trends in Machine Learning 3(1).
    """
    plane = _Plane(sums)
    inner = plane.not_negative(published)
    if _outside(sums.matrix @ inner, lower, upper) > _CLOSE:
        inner = _within(plane, published, inner, lower=lower, upper=upper)
    scale = max(1.0, float(np.abs(published).max(initial=0)))
    grain = 2.0 ** max(-20.0, np.ceil(np.log2(scale)) - 48)
    inner = np.rint(np.maximum(inner, 0.0) / grain) * grain
    restored: Floats = sums.matrix @ inner
    if _outside(restored, lower, upper) > 100 * _CLOSE:
        raise ReleaseError(
            Message("No table that adds up lies within the bounds, or none was found."),
            hint=Message(
                "widen the bound; 0s that stay 0 need a bound of at least the noise of totals"
            ),
        )
    return restored


def _within(
    plane: _Plane, published: Floats, inner: Floats, *, lower: Floats, upper: Floats
) -> Floats:
    """Alternate projections on the tables that add up and on the bounds."""
    target = np.clip(plane.sums.matrix @ inner, lower, upper)
    multiplier = np.zeros_like(target)
    for _ in range(_MAX_STEPS):
        aim = (published + target - multiplier) / 2
        inner = plane.project(aim, start=inner)
        table = plane.sums.matrix @ inner
        before, target = target, np.clip(table + multiplier, lower, upper)
        multiplier += table - target
        if max(np.abs(table - target).max(), np.abs(target - before).max()) < _CLOSE:
            break
    return inner


class _Plane:
    """The tables that add up."""

    def __init__(self, sums: TableSums) -> None:
        self.sums = sums
        self._adds = sums.matrix.T.tocsr()

    def not_negative(self, table: Floats) -> Floats:
        """Return the inner cells, none negative, of the nearest table that adds up."""
        inner = table[self.sums.inner]
        is_free = np.ones(len(inner))
        slack = 1e-7 * max(1.0, float(np.abs(table).max(initial=0)))
        for _ in range(_MAX_PIVOTS):
            inner = self.project(table, start=inner * is_free, is_free=is_free)
            pull = self._adds @ (table - self.sums.matrix @ inner)
            is_below = (is_free > 0) & (inner < -_CLOSE)
            is_pulled = (is_free == 0) & (pull > slack)
            if not (is_below.any() or is_pulled.any()):
                break
            is_free = np.where(is_below, 0.0, np.where(is_pulled, 1.0, is_free))
        return np.maximum(inner, 0.0)

    def project(self, table: Floats, *, start: Floats, is_free: Floats | float = 1.0) -> Floats:
        """Return the inner cells of the nearest table that adds up; only free ones change."""
        matrix, adds, inner = self.sums.matrix, self._adds, start
        rest = is_free * (adds @ (table - matrix @ inner))
        way, size = rest, float(rest @ rest)
        whole = adds @ table
        enough = _RESIDUAL**2 * max(1.0, float(whole @ whole))
        for _ in range(_MAX_TURNS):
            if size <= enough:
                break
            step = matrix @ way
            length = size / float(step @ step)
            inner = inner + length * way
            rest = rest - length * is_free * (adds @ step)
            size, before = float(rest @ rest), size
            way = rest + (size / before) * way
        return inner


def _outside(table: Floats, lower: Floats, upper: Floats) -> float:
    return float(np.maximum(lower - table, table - upper).max(initial=0))
