"""What may be spent on a synthesis, and against which neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from dp import Adjacency, rho_of_epsilon
from footing.checks import require_number
from synth.errors import SynthError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Epsilon and delta, or rho: the whole of it, whatever is done with it.

    Parameters
    ----------
    epsilon, delta
        What may be spent.
    rho
        The same as concentrated loss, in place of epsilon and delta.
    adjacency
        ``"add-remove"``: the number of records is confidential. ``"replace"``: it is public.

    Examples
    --------
    >>> round(Budget(epsilon=1, delta=1e-5).concentrated(), 4)
    0.0306
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise SynthError(
                "A budget is an epsilon with a delta, or a rho.", hint="give one of the two"
            )
        try:
            object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        except ValueError:
            raise SynthError("The adjacency is 'add-remove' or 'replace'.") from None
        if self.adjacency not in (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
            raise SynthError("The adjacency is 'add-remove' or 'replace'.")
        if self.rho is not None and self.delta:
            raise SynthError("A budget in rho has no delta.", hint="give epsilon and delta")
        self.concentrated()

    def concentrated(self, *, aside: float = 0.0) -> float:
        """Return the rho that may be spent.

        Parameters
        ----------
        aside
            The part of delta that is put aside for finding categories.

        Examples
        --------
        >>> Budget(rho=0.5).concentrated()
        0.5
        """
        if self.rho is not None:
            rho = float(self.rho)
        else:
            if self.delta <= 0:
                raise SynthError(
                    "delta must be positive: the noise is Gaussian.",
                    hint="1e-6, or less than 1 in 10 times the number of people",
                )
            rho = rho_of_epsilon(self.epsilon or 0.0, delta=self.delta - aside)
        return require_number(rho, "The budget", error=SynthError, above=0)
