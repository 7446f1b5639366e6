"""Places with noise: geo-indistinguishability by planar Laplace noise on a grid.

Two places a distance d apart give any report with chances that differ by ``exp(epsilon d)``
at most. Reports of one person add up: ten reports cost ten epsilons.

Noise computed in floats falls short of that by what its digits cannot tell apart. Reports are
rounded to a grid, and the epsilon of the noise is lowered so that the stated one holds between
places at least a grid step apart and within `reach`; places that are nearer are told apart no
better than places a step apart, and beyond `reach` nothing is said. Where that does not do,
choose among grid cells with the exponential mechanism, which is exact.
"""

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.adjacency import Adjacency
from dp.bisection import bisected
from dp.checking import checked_epsilon, checked_positive, checked_probability
from dp.errors import DPError
from dp.guarantee import Guarantee
from footing.messages import Message

# How far a computed report may lie from the exact one, for 1 of `reach`. Angle, sine, distance
# and sum are right to some 2**-49 of reach, or of a coordinate of 512 times as much to 2**-44.
_ERROR = 2.0**-42
_FARTHEST = 512
_WORD = 2.0**-64


def radius_at(chance: float, *, epsilon: float) -> float:
    """Return the distance that planar Laplace noise keeps within, with a chance.

    Notes
    -----
    ``-(W((chance - 1) / e) + 1) / epsilon``, with the lower branch of Lambert's W.

    References
    ----------
    Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013, section 4.1.
    """
    from scipy.special import lambertw

    chance = checked_probability(chance, "chance")
    epsilon = checked_epsilon(epsilon)
    if chance == 1:
        return math.inf
    branch = float(lambertw((chance - 1) / math.e, k=-1).real)
    return max(0.0, -(branch + 1) / epsilon) if chance else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanarLaplace:
    """Noise on places in a plane, in metres of a projected grid for instance.

    Parameters
    ----------
    epsilon
        Loss per unit of distance.
    spacing
        Distance of neighbouring grid points; reports lie on them.
    reach
        How far apart places and reports may lie for the guarantee to hold. In a box, its
        diagonal at least.
    box
        West, south, east and north end; reports outside go to its border.
    unit
        Unit of distance.

    Examples
    --------
    Within 200 m, a factor of 4 at most:

    >>> import math
    >>> noise = PlanarLaplace(epsilon=math.log(4) / 200, spacing=10, reach=50_000)
    >>> noise.perturb([[652_000, 6_862_000]]).shape
    (1, 2)
    >>> round(noise.accuracy(0.95))
    691
    """

    epsilon: float
    spacing: float
    reach: float
    box: tuple[float, float, float, float] | None = None
    unit: str = "metre"

    def __post_init__(self) -> None:
        checked_epsilon(self.epsilon)
        checked_positive(self.spacing, "spacing")
        checked_positive(self.reach, "reach")
        if self.box is not None:
            west, south, east, north = self.box
            if not (west < east and south < north):
                raise DPError(
                    Message("box must be west, south, east, north, with room between.")
                )
            diagonal = math.hypot(east - west, north - south)
            if not diagonal <= self.reach:
                raise DPError(
                    Message(
                        "reach must not be below the diagonal of the box, {diagonal:g}.",
                        diagonal=diagonal,
                    ),
                    hint=Message("raise reach, or take a smaller box"),
                )
        if self._excess(0.0) > self.epsilon:
            raise DPError(
                Message(
                    "With a grid of {spacing:g} the digits of floats do not carry epsilon "
                    "{epsilon:g} as far as {reach:g}.",
                    spacing=self.spacing,
                    epsilon=self.epsilon,
                    reach=self.reach,
                ),
                hint=Message("take a wider spacing or a shorter reach"),
            )

    @property
    def guarantee(self) -> Guarantee:
        """What one report promises, per unit of distance.

        Examples
        --------
        >>> print(PlanarLaplace(epsilon=0.01, spacing=10, reach=1e4).guarantee)
        epsilon = 0.01 (distance, per metre)
        """
        return Guarantee(epsilon=self.epsilon, adjacency=Adjacency.DISTANCE, unit=self.unit)

    @property
    def noise_epsilon(self) -> float:
        """The epsilon of the noise before rounding, a little lower than the stated one.

        Notes
        -----
        A computed report lies within ``d = 2**-42 reach`` of the exact one. So it falls into
        a grid cell of side u no more often than the exact one into the cell widened by d, and
        no less often than into the cell narrowed by d. These differ by an area of 8 u d, and
        the density varies by ``exp(sqrt(2) epsilon' u)`` over a cell. The loss of places x
        apart is then at most ``epsilon' x + c``, where
        ``c = ln(1 + 8 u d exp(sqrt(2) epsilon' (u + 2 d)) / (u - 2 d)**2)``; with
        ``epsilon = epsilon' + c / u`` that is at most ``epsilon x`` for x from u on.

        References
        ----------
        Andrés et al. 2013, theorem 4.1, has the same form with other constants, for places on
        the grid.

        Examples
        --------
        >>> noise = PlanarLaplace(epsilon=0.01, spacing=10, reach=1e4)
        >>> 0.00999 < noise.noise_epsilon < 0.01
        True
        """
        return bisected(lambda e: e + self._excess(e) <= self.epsilon, 0.0, self.epsilon)[0]

    def accuracy(self, confidence: float = 0.95) -> float:
        """Return how near a report lies, at a confidence; rounding to the grid included.

        Parameters
        ----------
        confidence
            The chance that it is nearer.

        Examples
        --------
        >>> round(PlanarLaplace(epsilon=0.01, spacing=10, reach=1e4).accuracy(0.95))
        481
        """
        noise = radius_at(confidence, epsilon=self.noise_epsilon)
        return noise + self.spacing / math.sqrt(2)

    def perturb(
        self, places: ArrayLike, *, generator: np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        """Return a report for each place. Every report costs epsilon again.

        Parameters
        ----------
        places
            Two coordinates each.
        generator
            Only for simulations; by default the operating system's secure randomness.

        Examples
        --------
        >>> noise = PlanarLaplace(epsilon=0.1, spacing=1, reach=1e3, box=(0, 0, 500, 500))
        >>> bool((noise.perturb([[250, 250]] * 9) <= 500).all())
        True
        """
        true = self._places(places)
        words = _words(4 * len(true), generator).reshape(4, len(true))
        distance = _distances(words[:3]) / self.noise_epsilon
        angle = 2 * math.pi * (words[3].astype(np.float64) * _WORD)
        reports = true + np.column_stack((distance * np.cos(angle), distance * np.sin(angle)))
        grid = np.rint(reports / self.spacing) * self.spacing
        if self.box is None:
            return np.asarray(grid)
        west, south, east, north = self.box
        return np.asarray(np.clip(grid, [west, south], [east, north]))

    def check(self, answer: ArrayLike) -> None:
        """Raise what `release` would raise, and report nothing.

        Parameters
        ----------
        answer
            One place.

        Examples
        --------
        >>> PlanarLaplace(epsilon=0.1, spacing=1, reach=1e3).check([25, 40])
        """
        if np.shape(answer) != (2,):
            raise DPError(
                Message("A release is the report of one place, of two coordinates."),
                hint=Message("release each place by itself: each report costs epsilon"),
            )
        self._places(np.asarray(answer)[None])

    def release(self, answer: ArrayLike) -> NDArray[np.float64]:
        """Return the report of one place: what a ledger charges epsilon for.

        Parameters
        ----------
        answer
            One place.

        Examples
        --------
        >>> PlanarLaplace(epsilon=0.1, spacing=1, reach=1e3).release([25, 40]).shape
        (2,)
        """
        self.check(answer)
        return np.asarray(self.perturb(np.asarray(answer)[None])[0])

    def _excess(self, epsilon: float) -> float:
        """Return what rounding adds to an epsilon; infinite where digits do not suffice."""
        error, side = self.reach * _ERROR, self.spacing
        if side <= 4 * error:
            return math.inf
        spread = math.exp(min(700.0, math.sqrt(2) * epsilon * (side + 2 * error)))
        return math.log1p(8 * side * error * spread / (side - 2 * error) ** 2) / side

    def _places(self, places: ArrayLike) -> NDArray[np.float64]:
        try:
            true = np.asarray(places, dtype=np.float64)
        except (TypeError, ValueError):
            raise DPError(Message("The coordinates of a place must be numbers.")) from None
        if true.size == 0:
            return true.reshape(0, 2)
        if true.ndim != 2 or true.shape[1] != 2:
            raise DPError(
                Message("Places have two coordinates each."),
                hint=Message("give an array of shape (n, 2)"),
            )
        if not np.isfinite(true).all():
            raise DPError(
                Message("A place is missing or infinite."), hint=Message("leave it out")
            )
        if np.abs(true).max() > _FARTHEST * self.reach:
            raise DPError(
                Message(
                    "A coordinate is more than {farthest} times the reach from 0.",
                    farthest=_FARTHEST,
                ),
                hint=Message("subtract the corner of the area from the places"),
            )
        if self.box is not None:
            west, south, east, north = self.box
            is_inside = (true >= [west, south]) & (true <= [east, north])
            if not is_inside.all():
                raise DPError(
                    Message("A place lies outside of the box."), hint=Message("widen the box")
                )
        return true


def _words(number: int, generator: np.random.Generator | None) -> NDArray[np.uint64]:
    if generator is None:
        return np.frombuffer(os.urandom(8 * number), dtype=np.uint64)
    return generator.integers(0, 2**64, size=number, dtype=np.uint64)


def _distances(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return distances for epsilon 1: the law's inverse, from the nearer end.

    What `radius_at` does in closed form loses digits at both ends; the incomplete gamma
    function is the same law and does not.
    """
    from scipy.special import gammainccinv, gammaincinv

    high, low = words[0].astype(np.float64), words[1].astype(np.float64)
    half = (high + (low + 0.5) * _WORD) * _WORD / 2  # in (0, 1/2], dense near 0
    is_near = (words[2] & np.uint64(1)).astype(bool)
    return np.asarray(np.where(is_near, gammaincinv(2, half), gammainccinv(2, half)))
