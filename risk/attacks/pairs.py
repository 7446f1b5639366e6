"""Pairs of complementary groups: every one shows the same total under other noise."""

from collections.abc import Mapping, Sequence
from itertools import compress
from statistics import NormalDist

from footing.checks import require_number
from footing.messages import Message
from risk.attacks.oracle import Analyst, Group
from risk.errors import RiskError
from risk.wellformed import require_integers


def pairs_available(n_categories: int) -> int:
    """Count the ways to split categories into two groups, neither empty.

    Parameters
    ----------
    n_categories
        How many categories can be grouped at will.

    Examples
    --------
    >>> pairs_available(7)
    63
    """
    require_integers(Message("pairs of groups"), n_categories=(n_categories, 1, None))
    return int(2 ** (n_categories - 1) - 1)


def pairs_needed(variance: float, *, confidence: float = 0.95) -> float:
    """Give the pairs after which the mean rounds to the truth with some probability.

    Parameters
    ----------
    variance
        Of one noise; a pair has two.
    confidence
        The probability.

    Notes
    -----
    The mean of ``k`` pairs has variance ``2 V / k`` and is close to normal; it rounds to the
    truth when it is off by less than a half: ``k = 2 V (z / 0.5)²``, about 30.7 V for 95 %.

    References
    ----------
    Asghar and Kaafar (2020), Averaging attacks on bounded noise-based disclosure control
    algorithms, Proceedings on Privacy Enhancing Technologies 2020(2).

    Examples
    --------
    >>> round(pairs_needed(1.0), 1), round(2 * pairs_needed(2.0))
    (30.7, 123)
    """
    require_number(variance, "variance", error=RiskError, minimum=0)
    require_number(confidence, "confidence", error=RiskError, above=0, below=1)
    return float(2 * variance * (2 * NormalDist().inv_cdf((1 + confidence) / 2)) ** 2)


def complementary_groups(n_categories: int) -> list[tuple[Group, Group]]:
    """List all pairs of groups that share no category and together hold all of them."""
    places = range(n_categories)
    pairs = []
    for code in range(1, pairs_available(n_categories) + 1):
        mask = [bool(code >> place & 1) for place in places]
        others = [not is_in for is_in in mask]
        pairs.append((tuple(compress(places, mask)), tuple(compress(places, others))))
    return pairs


def pair_sums(
    analyst: Analyst, pairs: Sequence[tuple[Group, Group]], *, line: int
) -> list[int]:
    """Ask for both groups of each pair, and add the two published counts."""
    groups = tuple(group for pair in pairs for group in pair)
    answers = analyst.ask(groups, line=line)
    return sums_of(dict(zip(groups, answers, strict=True)), pairs)


def sums_of(
    counts: Mapping[Group, int | None], pairs: Sequence[tuple[Group, Group]]
) -> list[int]:
    """Add the two counts of each pair, leaving out pairs of which one was refused."""
    both = ((counts[first], counts[second]) for first, second in pairs)
    return [a + b for a, b in both if a is not None and b is not None]


def rounded_mean(numbers: Sequence[int]) -> int:
    """Round the mean of whole numbers, halves going up, without floating-point numbers."""
    return (2 * sum(numbers) + len(numbers)) // (2 * len(numbers))
