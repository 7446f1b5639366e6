"""Membership inference against any way of training that takes records and returns losses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsgd.audits.bounds import Ceiling
from dpsgd.audits.membership import (
    lira_scores,
    loss_scores,
    rmia_scores,
    shadow_scores,
    signals_of,
)
from dpsgd.audits.rates import AttackRates, attack_rates
from dpsgd.errors import DPSGDError
from footing.arrays import Flags, Floats
from footing.messages import Message

#: Trains on some records, and returns what gives each record its cross-entropy.
Fit: TypeAlias = Callable[[Any], Callable[[Any], Any]]

_HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipGame:
    """What each attack reached against one model.

    Parameters
    ----------
    attacks
        Name → what it reached: ``"loss"``, ``"shadow"``, ``"lira"``, ``"lira-offline"``,
        ``"rmia"``.
    shadows
        How many shadow models they used.

    Examples
    --------
    >>> MembershipGame(attacks={}, shadows=8).is_above
    False
    """

    attacks: dict[str, AttackRates]
    shadows: int

    @property
    def is_above(self) -> bool:
        """Whether some attack is above what the guarantee allows, beyond its interval."""
        return any(rates.is_above for rates in self.attacks.values())


def membership_game(
    fit: Fit,
    records: NDArray[Any],
    *,
    generator: np.random.Generator,
    shadows: int = 16,
    population: float = 0.2,
    ceiling: Ceiling | None = None,
    is_exact_half: bool = False,
) -> MembershipGame:
    """Train on a random half of the records, and let attackers guess which half it was.

    Parameters
    ----------
    fit
        Given records, train and return what gives the cross-entropy of each of given records.
    records
        Rows; an array of row numbers will do where `fit` knows the data.
    generator
        Chooses the halves; training has its own chance.
    shadows
        How many models the attacker trains, each on another half.
    population
        The share of records that no model is trained on; RMIA compares with them.
    ceiling
        What the guarantee allows.
    is_exact_half
        Draw as many records each time, for a guarantee whose neighbours have equal size. By
        default a fair coin is thrown for each record: whether one is in then says nothing of
        the others, as neighbours that differ by one record ask for.

    Notes
    -----
    The results are facts about people in the data: how well they can be told apart. They stay
    inside unless the guarantee covers them.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> def fit(rows):  # learns the mean alone
    ...     mean = rows.mean()
    ...     return lambda asked: (asked - mean) ** 2
    >>> game = membership_game(fit, generator.normal(size=200), generator=generator, shadows=4)
    >>> sorted(game.attacks)
    ['lira', 'lira-offline', 'loss', 'rmia', 'shadow']
    """
    rows = np.asarray(records)
    n_others = int(population * len(rows))
    n_players = len(rows) - n_others
    if shadows < 2 or n_players < 4 or n_others < 1:
        raise DPSGDError(
            Message("The game needs at least 2 shadow models and some records in each part."),
            hint=Message("16 shadow models and a population of 0.2 are usual"),
        )
    order = generator.permutation(len(rows))
    players, others = rows[order[:n_players]], rows[order[n_players:]]
    is_in = np.array(
        [_half(n_players, generator, is_exact=is_exact_half) for _ in range(shadows + 1)]
    )
    losses, other_losses = [], []
    for draw in is_in:
        loss = fit(players[draw])
        losses.append(_losses(loss(players), n_players))
        other_losses.append(_losses(loss(others), n_others))
    scores = _scores(np.array(losses), np.array(other_losses), is_in)
    truth = is_in[0]
    return MembershipGame(
        attacks={
            name: attack_rates(values[truth], values[~truth], ceiling=ceiling)
            for name, values in scores.items()
        },
        shadows=shadows,
    )


def _half(number: int, generator: np.random.Generator, *, is_exact: bool) -> Flags:
    """Draw about a half, never none or all: an attack needs some to tell apart."""
    if is_exact:
        flags = np.zeros(number, dtype=np.bool_)
        flags[generator.permutation(number)[: number // 2]] = True
        return flags
    while True:
        flags = generator.random(number) < _HALF
        if 0 < flags.sum() < number:
            return flags


def _scores(losses: Floats, others: Floats, is_in: Flags) -> dict[str, Floats]:
    signals = signals_of(losses)
    shadows, flags = signals[1:], is_in[1:]
    return {
        "loss": loss_scores(losses[0]),
        "shadow": shadow_scores(signals[0], shadows=shadows, is_in=flags),
        "lira": lira_scores(signals[0], shadows=shadows, is_in=flags),
        "lira-offline": lira_scores(signals[0], shadows=shadows, is_in=flags, mode="offline"),
        "rmia": rmia_scores(
            -losses[0],
            shadows=-losses[1:],
            is_in=flags,
            target_population=-others[0],
            shadow_population=-others[1:],
        ),
    }


def _losses(values: Any, number: int) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (number,) or not np.isfinite(array).all():
        raise DPSGDError(
            Message("A trained model must give one finite loss for each record."),
            hint=Message("a loss that is NaN or infinite says that training diverged"),
        )
    return array
