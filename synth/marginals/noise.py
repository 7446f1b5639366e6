"""Where the noise comes from: the operating system, or a seed that protects nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dp import DiscreteGaussian, Exponential


class NoiseSource(Protocol):
    """What runs the two mechanisms of the engine.

    Examples
    --------
    >>> isinstance(SimulatedNoise(seed=1).label, str)
    True
    """

    label: ClassVar[str]

    def add(self, counts: NDArray[np.int64], mechanism: DiscreteGaussian) -> NDArray[np.int64]:
        """Return counts with noise."""

    def choose(self, scores: NDArray[np.float64], mechanism: Exponential) -> int:
        """Return the index of a candidate, likelier the better its score."""


class SecureNoise:
    """Exact noise from the randomness of the operating system. It has no seed.

    Examples
    --------
    >>> from dp import DiscreteGaussian, histogram
    >>> exact = DiscreteGaussian(sensitivity=histogram(), scale=1e-3)
    >>> SecureNoise().add(np.array([3, 4]), exact)
    array([3, 4])
    """

    label: ClassVar[str] = "secure"

    def add(self, counts: NDArray[np.int64], mechanism: DiscreteGaussian) -> NDArray[np.int64]:
        """Return counts with noise, drawn by OpenDP.

        Parameters
        ----------
        counts
            The true counts.
        mechanism
            The noise.
        """
        return np.asarray(mechanism.release(counts), np.int64)

    def choose(self, scores: NDArray[np.float64], mechanism: Exponential) -> int:
        """Return the index of a candidate, drawn by OpenDP.

        Parameters
        ----------
        scores
            One per candidate.
        mechanism
            The choice.
        """
        return mechanism.choose(scores)


class SimulatedNoise:
    """Noise that whoever knows the seed can subtract: for tests and benchmarks alone.

    Parameters
    ----------
    seed
        The seed.

    Examples
    --------
    >>> from dp import DiscreteGaussian, histogram
    >>> noise = DiscreteGaussian(sensitivity=histogram(), scale=2.0)
    >>> once = SimulatedNoise(seed=1).add(np.zeros(3, np.int64), noise)
    >>> (once == SimulatedNoise(seed=1).add(np.zeros(3, np.int64), noise)).all().item()
    True
    """

    label: ClassVar[str] = "simulated, NOT PRIVATE"

    def __init__(self, *, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    @property
    def rng(self) -> np.random.Generator:
        """The generator, for methods that draw by themselves.

        Examples
        --------
        >>> bool(SimulatedNoise(seed=1).rng.random() < 1)
        True
        """
        return self._rng

    def add(self, counts: NDArray[np.int64], mechanism: DiscreteGaussian) -> NDArray[np.int64]:
        """Return counts with rounded Gaussian noise.

        Parameters
        ----------
        counts
            The true counts.
        mechanism
            The noise.
        """
        drawn = self._rng.normal(0.0, mechanism.scale, counts.shape)
        return counts + np.rint(drawn).astype(np.int64)

    def choose(self, scores: NDArray[np.float64], mechanism: Exponential) -> int:
        """Return the index of a candidate.

        Parameters
        ----------
        scores
            One per candidate.
        mechanism
            The choice.
        """
        noisy = scores / mechanism.scale + self._rng.gumbel(size=len(scores))
        return int(np.argmax(noisy))
