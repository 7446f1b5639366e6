"""Categories as numbers: ordinal, weight of evidence, random effects; and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Floats, Integers
from footing.checks import require_one_of
from footing.messages import Message
from synth.errors import SynthError


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """A number per category.

    Parameters
    ----------
    categories
        The categories.
    numbers
        The number of each.

    Examples
    --------
    >>> colours = encode_ordinal(["blue", "red", "blue"])
    >>> colours.encode(["red", "grey"]).tolist(), colours.decode([1.2, 9.0])
    ([2.0, 0.0], ['blue', 'red'])
    """

    categories: tuple[Any, ...]
    numbers: tuple[float, ...]

    def encode(self, values: Sequence[Any]) -> Floats:
        """Return the number of each value; 0 for one that was never seen.

        Parameters
        ----------
        values
            Categories.

        Examples
        --------
        >>> encode_ordinal(["b", "a"]).encode(["b", "c"]).tolist()
        [2.0, 0.0]
        """
        numbers = dict(zip(self.categories, self.numbers, strict=True))
        return np.array([numbers.get(value, 0.0) for value in values], dtype=np.float64)

    def decode(self, numbers: ArrayLike) -> list[Any]:
        """Return the category whose number is nearest; the last of several with one number.

        Parameters
        ----------
        numbers
            Numbers.

        Examples
        --------
        >>> encode_ordinal(["b", "a"]).decode([-3.0, 1.9])
        ['a', 'b']
        """
        by_number = dict(zip(self.numbers, self.categories, strict=True))
        grid = np.array(sorted(by_number))
        points = np.asarray(numbers, dtype=np.float64).ravel()
        if np.isnan(points).any():
            raise SynthError(Message("A missing number stands for no category."))
        right = np.searchsorted(grid, points).clip(0, len(grid) - 1)
        below = (right - 1).clip(min=0)
        is_left = np.abs(points - grid[below]) < np.abs(grid[right] - points)
        return [by_number[grid[place]] for place in np.where(is_left, below, right)]

    @property
    def collisions(self) -> tuple[tuple[Any, ...], ...]:
        """The groups of categories that share a number: all but one are lost in decoding.

        Examples
        --------
        >>> Encoding(categories=("a", "b", "c"), numbers=(0.5, 1.0, 0.5)).collisions
        (('a', 'c'),)
        """
        groups: dict[float, list[Any]] = {}
        for category, number in zip(self.categories, self.numbers, strict=True):
            groups.setdefault(number, []).append(category)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def encode_ordinal(
    values: Sequence[Any], *, order: Literal["alphabet", "appearance"] = "alphabet"
) -> Encoding:
    """Give the categories the numbers from 1.

    Parameters
    ----------
    values
        Categories, as often as they occur.
    order
        ``"alphabet"``, or ``"appearance"``: the first to occur is 1.

    Examples
    --------
    >>> encode_ordinal(["Vert", "Bleu"], order="appearance").numbers
    (1.0, 2.0)
    """
    categories = list(dict.fromkeys(values))
    if not categories:
        raise SynthError(Message("There is no category."))
    require_one_of(order, "order", ("alphabet", "appearance"), error=SynthError)
    if order == "alphabet":
        categories.sort(key=lambda value: (value is None, str(value)))
    numbers = tuple(float(place) for place in range(1, len(categories) + 1))
    return Encoding(categories=tuple(categories), numbers=numbers)


def encode_woe(
    values: Sequence[Any],
    target: Sequence[Any],
    *,
    rule: Literal["smoothed", "plain"] = "smoothed",
    constant: float = 1e-4,
    categories: Sequence[Any] | None = None,
) -> Encoding:
    """Give every category its weight of evidence for a binary target.

    Parameters
    ----------
    values
        Categories.
    target
        As many answers, two different ones; the greater is the event.
    rule
        ``"smoothed"``: one more of each answer in a category and two more in all, and 0 for a
        category that occurs once. ``"plain"``: the logarithm of a ratio of counts.
    constant
        What stands for a count of 0 in the plain rule.
    categories
        All categories; those that do not occur get 0. By default those that occur.

    Examples
    --------
    >>> colours = ["blue", "red", "yellow", "red", "yellow", "blue", "blue"]
    >>> [round(one, 4) for one in encode_woe(colours, [1, 1, 0, 0, 0, 1, 1]).numbers]
    [1.204, -0.1823, -1.2809]
    """
    is_event = _binary(target)
    require_one_of(rule, "rule", ("smoothed", "plain"), error=SynthError)
    names, places = _places(values, len(is_event), categories)
    of_each = np.bincount(places, minlength=len(names)).astype(np.float64)
    events = np.bincount(places, weights=is_event, minlength=len(names))
    others = of_each - events
    if rule == "plain":
        above = np.where(events > 0, events, constant)
        below = np.where(others > 0, others, constant)
        numbers = np.where(of_each > 0, np.log(above / below), 0.0)
    else:
        all_events, n = is_event.sum(), len(is_event)
        above = (events + 1) / (all_events + 2)
        below = (others + 1) / (n - all_events + 2)
        numbers = np.where(of_each > 1, np.log(above / below), 0.0)
    return Encoding(categories=names, numbers=tuple(float(one) for one in numbers))


def encode_glmm(
    values: Sequence[Any],
    target: Sequence[Any],
    *,
    categories: Sequence[Any] | None = None,
) -> Encoding:
    """Give every category its random intercept in a mixed model of the target.

    Parameters
    ----------
    values
        Categories.
    target
        As many answers. Two different ones: a binomial model, the greater being the event.
        Otherwise a linear model of the numbers, or of the places of texts in the alphabet.
    categories
        All categories; those that do not occur get 0. By default those that occur.

    Notes
    -----
    The binomial model is fitted by Laplace's approximation, the linear one by maximum
    likelihood; intercepts shrink towards 0 the more, the rarer the category.

    Examples
    --------
    >>> colours = ["blue"] * 50 + ["red"] * 50
    >>> found = encode_glmm(colours, [1] * 40 + [0] * 10 + [1] * 10 + [0] * 40)
    >>> found.numbers[0] > 1 > -1 > found.numbers[1]
    True
    """
    answers = list(target)
    names, places = _places(values, len(answers), categories)
    of_each = np.bincount(places, minlength=len(names)).astype(np.float64)
    is_numeric = all(isinstance(one, (int, float, np.number)) for one in answers)
    if len(set(answers)) == 2:
        numbers = _binomial(
            of_each, np.asarray(np.bincount(places, _binary(answers), len(names)), np.float64)
        )
    else:
        ranks = {one: place for place, one in enumerate(sorted(set(answers), key=str))}
        y = np.array(answers if is_numeric else [ranks[one] for one in answers], np.float64)
        if not np.isfinite(y).all():
            raise SynthError(Message("The target of the encoder has missing values."))
        numbers = _linear(places, of_each, y)
    return Encoding(categories=names, numbers=tuple(float(one) for one in numbers))


def _binomial(of_each: Floats, events: Floats) -> Any:
    from scipy.optimize import minimize
    from scipy.special import expit

    share = np.clip(events.sum() / of_each.sum(), 1e-6, 1 - 1e-6)

    def modes(mean: float, variance: float) -> tuple[Floats, float]:
        b = np.zeros(len(of_each))
        for _ in range(50):
            p = expit(mean + b)
            curve = of_each * p * (1 - p) + 1 / variance
            step = (events - of_each * p - b / variance) / curve
            b = b + np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-10:
                break
        linear = mean + b
        fit = (events * linear - of_each * np.logaddexp(0, linear)).sum()
        prior = -(b**2).sum() / (2 * variance) - len(b) * np.log(variance) / 2
        return b, -(fit + prior - np.log(curve).sum() / 2)

    start = [np.log(share / (1 - share)), 0.0]
    optimum = minimize(  # type: ignore[call-overload] # the stubs lack a pair as start
        lambda x: modes(x[0], np.exp(np.clip(x[1], -12, 8)))[1], start, method="Nelder-Mead"
    ).x
    return modes(optimum[0], float(np.exp(np.clip(optimum[1], -12, 8))))[0]


def _linear(places: Integers, of_each: Floats, y: Any) -> Any:
    from scipy.optimize import minimize_scalar

    sums = np.bincount(places, y, len(of_each))
    means = np.divide(sums, of_each, out=np.zeros(len(of_each)), where=of_each > 0)
    within = float(((y - means[places]) ** 2).sum())

    def parts(ratio: float) -> tuple[Floats, float]:
        weight = of_each / (1 + of_each * ratio)  # ratio: between over within variance
        mean = float((weight * means).sum() / weight.sum())
        variance = max((within + (weight * (means - mean) ** 2).sum()) / len(y), 1e-12)
        shrunk = of_each * ratio / (1 + of_each * ratio) * (means - mean)
        loss = len(y) * np.log(variance) + np.log1p(of_each * ratio).sum()
        return shrunk, float(loss)

    best = minimize_scalar(lambda x: parts(np.exp(x))[1], bounds=(-12, 8), method="bounded").x
    return parts(float(np.exp(best)))[0]


def _binary(target: Sequence[Any]) -> Floats:
    answers = list(target)
    pair = sorted(set(answers), key=lambda one: (str(type(one)), one))
    if len(pair) != 2:
        raise SynthError(
            Message(
                "The target of the encoder must have two different values, not {number}.",
                number=len(pair),
            ),
            hint=Message("name a binary column, or use the GLMM encoder"),
        )
    return np.array([one == pair[1] for one in answers], dtype=np.float64)


def _places(
    values: Sequence[Any], n: int, categories: Sequence[Any] | None
) -> tuple[tuple[Any, ...], Integers]:
    items = list(values)
    if len(items) != n:
        raise SynthError(
            Message(
                "{number} categories stand against {number_2} answers.",
                number=len(items),
                number_2=n,
            )
        )
    names = tuple(dict.fromkeys(items if categories is None else categories))
    if not names or not items:
        raise SynthError(Message("There is no category."))
    where = {name: place for place, name in enumerate(names)}
    unknown = [value for value in items if value not in where]
    if unknown:
        raise SynthError(Message("A value is not among the categories."))
    return names, np.array([where[value] for value in items], dtype=np.int64)
