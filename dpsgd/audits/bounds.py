"""What a guarantee allows an attacker at most."""

from dataclasses import dataclass

from dp.accounting.pld import PrivacyLoss
from dp.belief import advantage_bound, true_positive_bound
from dp.checking import checked_delta, checked_epsilon, checked_probability


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The most that any attacker can reach against a guarantee.

    Parameters
    ----------
    epsilon, delta
        The guarantee.
    loss
        The whole distribution of the loss, where it is known; its bounds are lower.

    Examples
    --------
    >>> ceiling = Ceiling(epsilon=1, delta=1e-5)
    >>> round(ceiling.true_positive_rate(0.01), 4), round(ceiling.advantage, 4)
    (0.0272, 0.4621)
    """

    epsilon: float
    delta: float = 0.0
    loss: PrivacyLoss | None = None

    def __post_init__(self) -> None:
        checked_epsilon(self.epsilon, may_be_zero=True)
        checked_delta(self.delta, may_be_zero=True)

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return how many members an attacker can find, at most.

        Parameters
        ----------
        false_positive_rate
            The share of others that are taken for members.
        """
        plain = true_positive_bound(false_positive_rate, epsilon=self.epsilon, delta=self.delta)
        if self.loss is None:
            return plain
        return min(plain, self.loss.true_positive_rate(false_positive_rate))

    @property
    def advantage(self) -> float:
        """How far an attacker's two rates can lie apart, at most."""
        plain = advantage_bound(self.epsilon, delta=self.delta)
        return plain if self.loss is None else min(plain, self.loss.advantage)

    def success(self, prior: float) -> float:
        """Return how often a guess about a record can be right, at most.

        Parameters
        ----------
        prior
            How often the same guess is right of a record that was not used.

        Notes
        -----
        Whether the guess is right is an event like any other: its chances with and without the
        record obey the guarantee. This bounds reconstructions and guesses of an attribute.

        References
        ----------
        Balle, Cherubin, Hayes 2022, theorem 2; Hayes, Mahloujifar, Balle 2023.

        Examples
        --------
        >>> round(Ceiling(epsilon=1).success(0.1), 4)
        0.2718
        """
        return self.true_positive_rate(checked_probability(prior, "prior"))
