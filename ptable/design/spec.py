"""What the noise of a p-table must satisfy, row by row."""

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

from footing.checks import is_integer, is_number, option_of, problems_of
from footing.messages import Argument, Message, Name, Shape, joined, said
from footing.serialisation import plain, set_fields
from footing.svg import html_table
from ptable.design.limits import OBJECTIVES, Limits, Objective
from ptable.errors import InfeasibleError, PTableError
from ptable.solver.integer.rounding import exact
from ptable.solver.row import RowProblem, Rule

if TYPE_CHECKING:
    from ptable.table import PTable

VarianceRule: TypeAlias = Literal["exact", "at-most", "nearest"]
Monotone: TypeAlias = Literal["none", "left", "both", "unimodal"]
_T = TypeVar("_T")
_Test: TypeAlias = "Callable[[Any], bool]"

_WORDS: dict[str, tuple[str, ...]] = {
    "monotone": ("none", "left", "both", "unimodal"),
    "variance_rule": ("exact", "at-most", "nearest"),
    "p_stay_rule": ("exact", "at-least", "at-most"),
}
#: The probability of a single key: what integer thresholds can hold at least.
_ONE_KEY = 2.0**-32
_MAX_STEPS = 100_000
_LARGEST_ANCHOR = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSpec:
    """State what the noise of a p-table must satisfy.

    Noise has mean zero and never leads to a negative count, unless `zero_bias` and
    `positive_bias` say otherwise. Every option but `small`, `zero_bias`, `zero_variance`,
    `positive_bias`, `step` and `anchors` may be one value, or one value per row: per count
    1, 2, ... or per anchor.

    Parameters
    ----------
    max_noise
        The largest noise in either direction, ``D``.
    variance
        The variance of the noise, ``V``.
    small
        Counts ``1..small`` are never published (``js``).
    p_stay
        The probability that a count is published as it is; None leaves it free, and rows whose
        count may not be published ignore it.
    p_stay_rule
        ``"exact"``, or ``"at-least"`` and ``"at-most"`` for a bound.
    monotone
        Which way probabilities may go, wherever the count itself may be published: ``"left"``
        keeps them from falling between the most negative noise and no noise; ``"both"`` also
        from rising beyond; ``"unimodal"`` lets them rise to a peak, wherever that is, and fall.
    symmetric
        Whether noise ``v`` and ``-v`` must be equally likely; noise whose opposite is out of
        reach is then not used.
    variance_rule
        ``"exact"``: the variance is met; ``"at-most"``: it is an upper bound; ``"nearest"``:
        rows that cannot reach it take the nearest variance they can reach, with a warning.
    min_probability
        The least probability of every publishable count within reach, up to one key in 2**32;
        that of the first row holds for a count of 0 too, where that has noise.
    zero_bias
        The mean noise of a count of 0. Zeros cannot go down, so that noise on them is biased,
        and the bias is declared; 0 leaves them alone.
    zero_variance
        The variance of the noise of a count of 0, which only ``"nearest"`` of the first row
        relaxes; None for what greatest entropy gives.
    positive_bias
        Above 0, no count from 1 on is published as 0: counts 1..small + 1 are published as
        ``small + 1`` plus noise of this mean. Noise that only goes up is biased, and the bias
        is declared; 0 lets counts fall to 0. Every published 0 is then a true one.
    step
        Noise comes in multiples of ``1 / step``; more than 1 for magnitudes.
    anchors
        The counts that have a row, for magnitudes; None for 1, 2, ...
    limits
        What an intruder may learn at most; rows are then solved together, `variance` is a
        ceiling and may be None, and there is a row for each count up to the largest sensitive
        one plus ``2 max_noise``.
    objective
        What is best within the limits, weighted by the first of their priors: the greatest
        ``"entropy"`` of every row, or the least mean deviation, variance, Hellinger distance
        of published counts, or distance to a `target`. Of all tables within a hundredth of
        the least, the one of greatest entropy is taken.
    target
        The p-table to be near to, for ``"distance-to"``.

    Examples
    --------
    >>> spec = NoiseSpec(max_noise=5, variance=3.0, small=2)
    >>> spec.last_count
    8
    >>> spec.row(1).noise
    (-1, 2, 3, 4, 5)
    >>> NoiseSpec(max_noise=1, variance=0.4, step=2, anchors=(1,)).row(1).noise
    (-2, -1, 0, 1, 2)
    """

    max_noise: int | tuple[int, ...]
    variance: float | tuple[float, ...] | None = None
    small: int = 0
    p_stay: float | tuple[float | None, ...] | None = None
    p_stay_rule: Rule | tuple[Rule, ...] = "exact"
    monotone: Monotone | tuple[Monotone, ...] = "none"
    symmetric: bool | tuple[bool, ...] = False
    variance_rule: VarianceRule | tuple[VarianceRule, ...] = "exact"
    min_probability: float | tuple[float, ...] = 0.0
    zero_bias: float = 0.0
    zero_variance: float | None = None
    positive_bias: float = 0.0
    step: int = 1
    anchors: tuple[int, ...] | None = None
    limits: Limits | None = None
    objective: Objective = "entropy"
    target: "PTable | None" = None

    def __post_init__(self) -> None:
        problems = self._unordered() or self._normalise_shape()
        if problems := problems or self._normalise_limits():
            raise _refusal(problems)
        problems = self._normalise_options() + self._normalise_zero()
        if problems := problems + self._normalise_positive():
            raise _refusal(problems)
        self._refuse_impossible()

    def _normalise_options(self) -> list[str]:
        """Check what may differ by row."""
        size = 2 * max(self.max_noises) * self.step + 1
        few = Message(
            "lie in [0, {size:.4g}), because a row has up to {size_2} noise values",
            size=1 / size,
            size_2=size,
        )
        is_floor = partial(is_number, minimum=0, below=1 / size)
        checks: tuple[tuple[str, _Test, str, Callable[[Any], Any]], ...] = (
            *(
                ()
                if self.variance is None
                else (("variance", _is_positive, Message("be a finite number above 0"), float),)
            ),
            *(
                (
                    name,
                    partial(_is_word, words),
                    Message("be one of {words}", words=Argument(words)),
                    str,
                )
                for name, words in _WORDS.items()
            ),
            ("symmetric", _is_flag, Message("be True or False"), bool),
            ("p_stay", _is_stay, Message("be a probability below 1, or None"), _float_or_none),
            ("min_probability", is_floor, few, float),
        )
        problems = [problem for check in checks for problem in self._normalise(*check)]
        floors = () if problems else _as_tuple(self.min_probability)
        for low in (floor for floor in floors if 0 < floor < _ONE_KEY):
            return [
                Message(
                    "min_probability must be 0 or be at least one key in 2**32, not {low!r}",
                    low=Argument(low),
                )
            ]
        return problems

    def _unordered(self) -> list[str]:
        """Name the options whose values belong to no row in particular."""
        return [
            Message(
                "{name} must be one value or a sequence of them, not a {type_name}",
                name=Name(name),
                type_name=Shape(type(value)),
            )
            for name in self.__dataclass_fields__
            if name not in {"limits", "target"}
            if isinstance(value := getattr(self, name), Mapping | AbstractSet | bytes)
            or _is_wrapped(value)
        ]

    def _normalise_shape(self) -> list[str]:
        """Check what says which rows there are and which noise they may use."""
        noises = _as_tuple(self.max_noise)
        problems = [
            *(p for n in noises for p in problems_of(n, "max_noise", is_whole=True, minimum=1)),
            *problems_of(self.small, "small", is_whole=True, minimum=0),
            *problems_of(self.step, "step", is_whole=True, minimum=1),
        ]
        if not noises:
            problems.append(Message("max_noise must have a value per row, not none at all"))
        if problems:
            return problems
        for name in ("small", "step"):
            object.__setattr__(self, name, int(getattr(self, name)))
        if max(max(map(int, noises)) * self.step, self.small) > _MAX_STEPS:
            problems.append(
                Message(
                    "max_noise times step must be at most {max_steps}, and small too",
                    max_steps=_MAX_STEPS,
                )
            )
            return problems
        if self.step > 1 and (self.small or self.positive_bias):
            problems.append(
                Message(
                    "small must be 0 where step is above 1, and positive_bias too: magnitudes "
                    "are not counts"
                )
            )
        if self.anchors is not None:
            problems += self._normalise_anchors(int(noises[-1]))
        is_single = not hasattr(self.max_noise, "__iter__")
        object.__setattr__(
            self, "max_noise", int(noises[0]) if is_single else tuple(map(int, noises))
        )
        if problems or is_single:
            return problems
        if self.anchors is not None:
            return self._wrong_number("max_noise", noises)
        full = self._full_from(int(noises[-1]))
        if len(noises) < full:
            problems.append(
                Message(
                    "max_noise must have at least {full} values, one for each count 1..{full}: "
                    "the last row serves all larger counts and may not be cut off",
                    full=full,
                )
            )
        return problems

    def _normalise_limits(self) -> list[str]:
        """Check what ties the rows together, and settle what follows from the noise."""
        if isinstance(self.limits, Mapping):
            object.__setattr__(self, "limits", Limits.from_dict(self.limits))
        if isinstance(self.target, Mapping):
            object.__setattr__(self, "target", _table_from(self.target))
        limits = self.limits
        if self.objective not in OBJECTIVES:
            return [
                Message(
                    "objective must be one of {words}, not {objective!r}",
                    words=Argument(OBJECTIVES),
                    objective=Argument(self.objective),
                )
            ]
        if limits is None:
            problems: list[str] = []
            if self.variance is None:
                problems.append(
                    Message("variance must be given: it can be missing beside limits alone")
                )
            if self.objective != "entropy" or self.target is not None:
                problems.append(Message("objective and target need limits"))
            return problems
        if not isinstance(limits, Limits):
            return [
                Message("limits must be Limits, not a {name}", name=Shape(type(self.limits)))
            ]
        return self._fit(limits)

    def _fit(self, limits: Limits) -> list[str]:
        if self.step > 1 or self.anchors is not None:
            return [
                Message(
                    "limits are for counts: with steps or anchors nothing says which published "
                    "amount stems from which"
                )
            ]
        if self.objective != "entropy" and not limits.priors:
            return [
                Message(
                    "objective {objective!r} needs a prior, which weighs what each count "
                    "loses: priors=(shares,), or objective='entropy'",
                    objective=Name(self.objective),
                )
            ]
        if (self.objective == "distance-to") != (self.target is not None):
            return [Message("objective 'distance-to' and a target go together")]
        noises = _as_tuple(self.max_noise)
        reach = max(noises)
        sensitive = limits.sensitive or tuple(range(1, max(self.small, 2) + 1))
        last = sensitive[-1] + 2 * reach
        if isinstance(self.max_noise, tuple) and len(noises) < last:
            return [
                Message(
                    "max_noise must have at least {last} values: with limits there is a row "
                    "for each count up to the largest sensitive one plus twice max_noise",
                    last=last,
                )
            ]
        object.__setattr__(self, "limits", replace(limits, sensitive=sensitive))
        fitted = limits.fitted(small=self.small, reach=reach, last=self.last_count)
        object.__setattr__(self, "limits", fitted)
        return [
            problem
            for name in ("variance_floor", "variance_ceiling")
            if isinstance(values := getattr(fitted, name), tuple)
            for problem in self._wrong_number(name, values)
        ]

    def _normalise_anchors(self, last_noise: int) -> list[str]:
        anchors = _as_tuple(self.anchors)
        blocks = self.small or self.positive_bias
        rises = all(map(is_integer, anchors)) and all(a < b for a, b in pairwise(anchors))
        if not anchors or not rises or anchors[0] < 1 or anchors[-1] < last_noise or blocks:
            rule = Message("anchors must be rising counts from 1 or more to max_noise or more")
            return [
                Message(
                    "{rule}, with small and positive_bias 0, not {anchors!r}",
                    rule=rule,
                    anchors=Argument(self.anchors),
                )
            ]
        if anchors[-1] > _LARGEST_ANCHOR:
            return [
                Message(
                    "anchors must be at most {largest_anchor}; the last one is not",
                    largest_anchor=_LARGEST_ANCHOR,
                )
            ]
        object.__setattr__(self, "anchors", tuple(map(int, anchors)))
        return []

    def _normalise(
        self, name: str, fits: _Test, must: str, cast: Callable[[Any], Any]
    ) -> list[str]:
        """Check an option, one value or one per row, and keep plain values."""
        option = getattr(self, name)
        values = _as_tuple(option)
        wrong = [value for value in values if not fits(value)]
        if wrong:
            return [
                Message(
                    "{name} must {must}, not {wrong!r}",
                    name=Name(name),
                    must=said(must),
                    wrong=Argument(wrong[0]),
                )
            ]
        if isinstance(option, str) or not hasattr(option, "__iter__"):
            object.__setattr__(self, name, cast(option))
            return []
        problems = self._wrong_number(name, values)
        if not problems:
            object.__setattr__(self, name, tuple(map(cast, values)))
        return problems

    def _wrong_number(self, name: str, values: tuple[Any, ...]) -> list[str]:
        """Say so where there is not one value for each row."""
        n_rows = len(self._row_counts)
        if len(values) == n_rows:
            return []
        what = (
            Message("anchor")
            if self.anchors is not None
            else Message("count 1..{n_rows}", n_rows=n_rows)
        )
        rule = Message(
            "{name} must be one value or {n_rows} values, one for each {what}",
            name=Name(name),
            n_rows=n_rows,
            what=what,
        )
        return [Message("{rule}, not {number}", rule=rule, number=len(values))]

    def _normalise_positive(self) -> list[str]:
        end = self.max_noises[0] - self.small
        if self.positive_bias and not is_number(self.positive_bias, minimum=0, below=end):
            return [
                Message(
                    "positive_bias must lie in [0, {end}), not {positive_bias!r}",
                    end=end,
                    positive_bias=Argument(self.positive_bias),
                )
            ]
        object.__setattr__(self, "positive_bias", float(self.positive_bias))
        return []

    def _normalise_zero(self) -> list[str]:
        largest = self.max_noises[0]
        if not is_number(self.zero_bias, minimum=0, below=largest):
            return [
                Message(
                    "zero_bias must lie in [0, {largest}), not {zero_bias!r}",
                    largest=largest,
                    zero_bias=Argument(self.zero_bias),
                )
            ]
        object.__setattr__(self, "zero_bias", float(self.zero_bias))
        if 0 < self.zero_bias < _ONE_KEY:
            return [
                Message(
                    "zero_bias must be 0 or be at least 2**-32, not {zero_bias!r}",
                    zero_bias=Argument(self.zero_bias),
                )
            ]
        if self.small and 0 < self.zero_bias < largest**2 * _ONE_KEY:
            rule = Message(
                "zero_bias must be 0 or at least {largest} / 2**32 where small is above 0",
                largest=largest**2,
            )
            return [
                Message(
                    "{rule}, not {zero_bias!r}: few keys do not sum to less",
                    rule=rule,
                    zero_bias=Argument(self.zero_bias),
                )
            ]
        if self.zero_variance is None:
            return []
        if not _is_positive(self.zero_variance) or not self.zero_bias:
            rule = Message(
                "zero_variance must be a finite number above 0, together with a zero_bias"
            )
            return [
                Message("{rule}, not {value!r}", rule=rule, value=Argument(self.zero_variance))
            ]
        object.__setattr__(self, "zero_variance", float(self.zero_variance))
        return []

    def _refuse_impossible(self) -> None:
        """Refuse what no row could satisfy, whatever the other settings."""
        if isinstance(self.max_noise, tuple):
            return
        if self.max_noise < self.small + 1:
            raise InfeasibleError(
                Message(
                    "max_noise must be at least small + 1 = {small}, not {max_noise}: a count "
                    "of {small} can only go down to 0 when 1..{value_small} may not be "
                    "published.",
                    small=self.small + 1,
                    max_noise=Argument(self.max_noise),
                    value_small=self.small,
                ),
                hint=Message("use max_noise={small} or more", small=self.small + 1),
            )
        largest = max(
            (
                _at(self.variance, place)
                for place in range(len(self._row_counts))
                if self.variance is not None
                and self.limits is None
                and _at(self.variance_rule, place) == "exact"
            ),
            default=0.0,
        )
        if largest > self.max_noise**2:
            raise InfeasibleError(
                Message(
                    "No p-table has max_noise {max_noise} and variance {largest:g}: single "
                    "rows reach at most {max_noise_2}, and all rows together at most "
                    "{max_noise}.",
                    max_noise=self.max_noise,
                    largest=largest,
                    max_noise_2=self.max_noise**2,
                ),
                hint=Message(
                    "use a variance of at most {max_noise}, or a larger max_noise",
                    max_noise=self.max_noise,
                ),
            )

    @property
    def max_noises(self) -> tuple[int, ...]:
        """The largest noise of each row.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0).max_noises
        (2, 2)
        """
        if isinstance(self.max_noise, tuple):
            return self.max_noise
        return (self.max_noise,) * len(self._row_counts)

    @property
    def _row_counts(self) -> Sequence[int]:
        """The counts that options given per row belong to."""
        return self.anchors if self.anchors is not None else range(1, self.last_count + 1)

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts whose rows are to be solved; 0 is one where `zero_bias` is above 0.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0, zero_bias=0.1).counts
        (0, 1, 2)
        """
        return (0, *self._row_counts) if self.zero_bias else tuple(self._row_counts)

    @property
    def last_count(self) -> int:
        """The count of the last row, which serves every larger count too.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0).last_count
        2
        """
        if self.anchors is not None:
            return self.anchors[-1]
        if isinstance(self.max_noise, tuple):
            return len(self.max_noise)
        last = self._full_from(self.max_noise)
        if self.limits is None or self.limits.sensitive is None:
            return last
        return max(last, self.limits.sensitive[-1] + 2 * self.max_noise)

    def _full_from(self, max_noise: int) -> int:
        """Give the first count from which on no noise is cut off or blocked."""
        is_short = not self.small and not self.positive_bias
        return max_noise + (0 if is_short else self.small + 1)

    def row(self, count: int) -> RowProblem:
        """Give the constraints on the row of a count.

        Parameters
        ----------
        count
            The original count, one of `counts`.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0, small=1).row(2).noise
        (-2, 0, 1, 2)
        """
        if count not in self.counts:
            raise PTableError(
                Message(
                    "count must lie in 1..{last_count}, not {count}.",
                    last_count=self.last_count,
                    count=Argument(count),
                )
            )
        if count == 0:
            return self._zero_row()
        place = self._row_counts.index(count)
        noise = _reach(count, self.max_noises[place], self.small, self.step)
        mean = Fraction(0)
        if self.positive_bias:
            noise = tuple(v for v in noise if v > -count)
            if count <= self.small + 1:
                mean = _sum_of_keys(self.small + 1 - count + exact(self.positive_bias), noise)
        symmetric = _at(self.symmetric, place)
        if symmetric:
            reach = set(noise)
            noise = tuple(v for v in noise if -v in reach)
        stays = 0 in noise
        monotone = _at(self.monotone, place)
        if symmetric and monotone != "none":
            monotone = "both"
        p_stay = _at(self.p_stay, place)
        if self.limits is not None:
            return self._limited_row(count, place, noise, mean)
        return RowProblem(
            count=count,
            noise=noise,
            variance=exact(_at(self.variance or 0.0, place)) * self.step**2,
            floor=exact(_at(self.min_probability, place)),
            at_most=_at(self.variance_rule, place) == "at-most",
            nearest=_at(self.variance_rule, place) == "nearest",
            n_left=sum(v <= 0 for v in noise) if stays and monotone in {"left", "both"} else 0,
            n_right=sum(v >= 0 for v in noise) if stays and monotone == "both" else 0,
            unimodal=stays and monotone == "unimodal",
            symmetric=symmetric,
            p_stay=exact(p_stay) if stays and p_stay is not None else None,
            p_stay_rule=_at(self.p_stay_rule, place),
            mean=mean,
            step=self.step,
        )

    def _limited_row(
        self, count: int, place: int, noise: tuple[int, ...], mean: Fraction
    ) -> RowProblem:
        """Give a row under limits: its variance is a ceiling, and a full row has its peak."""
        limits = self.limits or Limits()
        largest = self.max_noises[place]
        stays = 0 in noise
        shape = _at(self.monotone, place)
        is_full = len(noise) == 2 * largest + 1
        if is_full and limits.is_peaked:
            shape = "both"
        p_stay = _at(self.p_stay, place)
        rule: Rule = _at(self.p_stay_rule, place)
        if p_stay is None and limits.p_stay is not None and limits.p_stay < 1:
            p_stay, rule = limits.p_stay, "at-most"
        ceiling = _at(limits.variance_ceiling, place)
        if ceiling is None:
            ceiling = _at(self.variance, place)
        symmetric = _at(self.symmetric, place)
        if symmetric and shape != "none":
            shape = "both"
        return RowProblem(
            count=count,
            noise=noise,
            variance=Fraction(largest**2) if ceiling is None else exact(ceiling),
            floor=exact(_at(self.min_probability, place)),
            at_most=True,
            nearest=True,
            n_left=sum(v <= 0 for v in noise)
            if stays and shape in {"left", "both", "unimodal"}
            else 0,
            n_right=sum(v >= 0 for v in noise)
            if stays and shape in {"both", "unimodal"}
            else 0,
            symmetric=symmetric,
            p_stay=exact(p_stay) if stays and p_stay is not None else None,
            p_stay_rule=rule,
            mean=mean,
        )

    def _zero_row(self) -> RowProblem:
        noise = _reach(0, self.max_noises[0], self.small, self.step)
        largest = Fraction(noise[-1] ** 2)
        is_free = self.zero_variance is None
        return RowProblem(
            count=0,
            noise=noise,
            variance=largest
            if self.zero_variance is None
            else exact(self.zero_variance) * self.step**2,
            floor=exact(_at(self.min_probability, 0)),
            at_most=is_free,
            nearest=not is_free and _at(self.variance_rule, 0) == "nearest",
            mean=_sum_of_keys(exact(self.zero_bias) * self.step, noise),
            step=self.step,
        )

    def rows(self) -> tuple[RowProblem, ...]:
        """Give the constraints on every row.

        Examples
        --------
        >>> [row.count for row in NoiseSpec(max_noise=3, variance=1.0).rows()]
        [1, 2, 3]
        """
        return tuple(map(self.row, self.counts))

    @classmethod
    def r_ptable(
        cls,
        max_noise: int,
        variance: float,
        *,
        small: int = 0,
        p_stay: float | None = None,
        monotone: bool | Sequence[bool] = True,
        exact: bool | Sequence[bool] = False,
        step: int = 1,
        anchors: Sequence[int] | None = None,
    ) -> Self:
        """Replay the settings of R's ptable 1.0.0: at most `variance`, monotone, 1e-8 floor.

        R lowers `p_stay` silently, by up to 19 steps of 0.05, where its own check of the
        variance fails; this does not.

        Parameters
        ----------
        max_noise, variance, small
            ``D``, ``V`` and ``js``.
        p_stay
            ``pstay``, a lower bound.
        monotone
            ``mono``; one value, or one per row.
        exact
            Whether the variance must be met (``optim = 4``) or is an upper bound; one value, or
            one per row.
        step, anchors
            ``step`` and ``icat`` of tables for magnitudes.

        Examples
        --------
        >>> NoiseSpec.r_ptable(2, 1.0).variance_rule
        'at-most'
        """
        for name, value in (("monotone", monotone), ("exact", exact)):
            if not all(map(_is_flag, _as_tuple(value))):
                raise _refusal(
                    [
                        Message(
                            "{name} must be True or False, or so per row, not {value!r}",
                            name=Name(name),
                            value=Argument(value),
                        )
                    ]
                )
        return cls(
            max_noise=max_noise,
            variance=variance,
            small=small,
            p_stay=p_stay,
            p_stay_rule="exact" if p_stay is None else "at-least",
            monotone=_either(monotone, "left", "none"),
            variance_rule=_either(exact, "exact", "at-most"),
            min_probability=1e-8,
            step=step,
            anchors=None if anchors is None else _as_tuple(anchors),
        )

    def _repr_html_(self) -> str:
        options = ((name, str(getattr(self, name))) for name in self.__dataclass_fields__)
        return html_table("NoiseSpec", (), options)

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as plain values, ready for JSON; options left alone are missing.

        Examples
        --------
        >>> NoiseSpec(max_noise=2, variance=1.0).to_dict()["variance"]
        1.0
        """
        always = {"small", "monotone", "variance_rule", "min_probability"}
        content = set_fields(self, always=always)
        if self.target is not None:  # what it does, not how it came about
            target = self.target
            rows = plain({"noise": target.noise, "upper": target.upper})
            content["target"] = {**rows, "key_range": target.key_range}
        return content

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Build a specification from what `to_dict` gave.

        Parameters
        ----------
        fields
            The fields by name.

        Examples
        --------
        >>> spec = NoiseSpec(max_noise=2, variance=(1.0, 0.5))
        >>> NoiseSpec.from_dict(spec.to_dict()) == spec
        True
        """
        return cls(**fields)


def _reach(count: int, max_noise: int, small: int, step: int) -> tuple[int, ...]:
    """Give the noise values of a row, in steps."""
    lowest = max(-count, -max_noise) * step
    return tuple(
        v
        for v in range(lowest, max_noise * step + 1)
        if not (small and 1 <= count + v <= small)
    )


def _sum_of_keys(mean: Fraction, noise: Sequence[int]) -> Fraction:
    """Take the nearest mean that whole keys can have, where noise comes in multiples."""
    factor = math.gcd(*noise)
    return mean if factor <= 1 else Fraction(round(mean * 2**32 / factor) * factor, 2**32)


_is_positive = partial(is_number, above=0)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_stay(value: object) -> bool:
    return value is None or is_number(value, minimum=0, below=1)


def _float_or_none(value: float | None) -> float | None:
    return None if value is None else float(value)


def _is_word(words: tuple[str, ...], value: object) -> bool:
    return isinstance(value, str) and value in words


def _either(flags: bool | Sequence[bool], yes: _T, no: _T) -> _T | tuple[_T, ...]:  # noqa: FBT001
    """Choose one of two values, or one per row."""
    if isinstance(flags, bool):
        return yes if flags else no
    return tuple(yes if flag else no for flag in flags)


def _is_wrapped(value: Any) -> bool:
    """Tell arrays without an axis, which hold one value and cannot be iterated over."""
    is_word = isinstance(value, str)
    return not is_word and hasattr(value, "__iter__") and getattr(value, "shape", None) == ()


def _at(value: _T | tuple[_T, ...], place: int) -> _T:
    return value[place] if isinstance(value, tuple) else value


def _refusal(problems: list[str]) -> PTableError:
    return PTableError(
        Message(
            "The specification cannot be used: {problems}.",
            problems=joined("; ", problems),
        ),
        hint=Message("the docstring of NoiseSpec says what each option takes"),
        at=option_of(problems[0]),
    )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return (value,)
    return tuple(value)


def _table_from(fields: Mapping[str, Any]) -> "PTable":
    from ptable.table import PTable

    return PTable(
        noise=tuple(map(tuple, fields["noise"])),
        upper=tuple(map(tuple, fields["upper"])),
        key_range=fields["key_range"],
    )
