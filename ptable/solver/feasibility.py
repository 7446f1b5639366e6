"""What each row of a p-table can reach, and what stands in its way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from footing.messages import Enumeration, Message, Name, Shape, mark
from footing.svg import html_table, safe
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError
from ptable.solver.reach import reaches, variance_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ptable.solver.row import RowProblem

_STAYS = {
    "exact": mark("p_stay {p_stay:g}"),
    "at-least": mark("p_stay at least {p_stay:g}"),
    "at-most": mark("p_stay at most {p_stay:g}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFeasibility:
    """The variances that one row can reach.

    Parameters
    ----------
    count
        The original count of the row.
    variance_min, variance_max
        The ends of the reachable variances; None where no law at all satisfies the row.
    requested
        The variance asked for.
    is_feasible
        Whether the row can be met as asked.
    binding
        What stands in the way, in words; empty when nothing does.
    problem
        The constraints of the row.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> row = feasible(NoiseSpec(max_noise=2, variance=1.0)).rows[0]
    >>> row.variance_max, row.limits[1]
    (2.0, 'the noise of a count of 1 cannot go below -1')
    """

    count: int
    variance_min: float | None
    variance_max: float | None
    requested: float
    is_feasible: bool
    binding: str
    problem: RowProblem = field(repr=False)

    @property
    def limits(self) -> tuple[str, str]:
        """What keeps the variance from being smaller, and from being larger, in words.

        Examples
        --------
        >>> from ptable import NoiseSpec
        >>> row = feasible(NoiseSpec(max_noise=2, variance=1.0, small=1)).rows[0]
        >>> row.limits[0]
        'no noise strictly between -1 and 1 is allowed'
        """
        return _limit(self.problem, 0), _limit(self.problem, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """The variances that each row can reach, and what works for all of them.

    Parameters
    ----------
    rows
        One entry per count from 1 on.
    nearest_variance
        The variance nearest to the requested one that every row can reach (one per row when one
        per row was requested), or None.
    advice
        What to change when the request is infeasible; empty otherwise.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> print(feasible(NoiseSpec(max_noise=2, variance=2.5)))
    count  variance from  to  requested  feasible
        1              0   2        2.5  no: the noise of a count of 1 cannot go below -1
        2              0   4        2.5  yes
    use variance=1.97
    """

    rows: tuple[RowFeasibility, ...]
    nearest_variance: float | tuple[float, ...] | None
    advice: str

    @property
    def ok(self) -> bool:
        """Whether every row can be met as asked.

        Examples
        --------
        >>> from ptable import NoiseSpec
        >>> feasible(NoiseSpec(max_noise=2, variance=2.5)).ok
        False
        """
        return all(row.is_feasible for row in self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Give one line per row as a pandas data frame.

        Examples
        --------
        >>> from ptable import NoiseSpec
        >>> feasible(NoiseSpec(max_noise=2, variance=1.0)).to_frame()["variance_max"].tolist()
        [2.0, 4.0]
        """
        import pandas as pd

        columns = (
            "count",
            "variance_min",
            "variance_max",
            "requested",
            "is_feasible",
            "binding",
        )
        return pd.DataFrame(
            [[getattr(row, name) for name in columns] for row in self.rows], columns=columns
        )

    def _lines(self) -> Iterator[tuple[str, ...]]:
        """Give the heads of the columns, then one line per row."""
        yield "count", "variance from", "to", "requested", "feasible"
        for row in self.rows:
            ends = (_number(row.variance_min), _number(row.variance_max))
            verdict = "yes" if row.is_feasible else f"no: {row.binding}"
            yield str(row.count), *ends, _number(row.requested), verdict

    def _repr_html_(self) -> str:
        heads, *lines = self._lines()
        table = html_table("Variances that each row can reach", heads, lines)
        return f"<div>{table}<p>{safe(self.advice)}</p></div>"

    def __str__(self) -> str:
        lines = list(self._lines())
        widths = [max(len(line[column]) for line in lines) for column in range(4)]
        text = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=False))
            + f"  {line[4]}"
            for line in lines
        ]
        return "\n".join([*text, self.advice] if self.advice else text)


def feasible(spec: NoiseSpec | StackedSpec) -> Feasibility:
    """Find the variances that each row can reach, without solving anything.

    Parameters
    ----------
    spec
        The specification.

    Returns
    -------
    Feasibility
        Exact ends per row, up to the last digit of a float.

    Notes
    -----
    Without other constraints, the row of count ``i ≤ small`` starts at
    ``i (small + 1 - i)``, so that all rows together need ``⌊(small + 1)² / 4⌋``; and the row of
    count 1 ends at ``D`` when ``small`` is 0, or at ``D (D + 1) / (2 D + 1)`` when
    monotone on the left.
    Every end is the optimum of a linear program, computed in fractions.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> answer = feasible(NoiseSpec(max_noise=5, variance=1.0, small=2))
    >>> answer.ok, answer.nearest_variance
    (False, 2.0)
    """
    if not isinstance(spec, NoiseSpec | StackedSpec):
        raise PTableError(
            Message(
                "spec must be a NoiseSpec or a StackedSpec, not a {name}.",
                name=Shape(type(spec)),
            ),
            hint=Message(
                "for example NoiseSpec(max_noise=5, variance=3.0); a Mechanism has build()"
            ),
        )
    rows = tuple(map(_row_feasibility, spec.rows()))
    nearest = _nearest(spec, rows)
    return Feasibility(rows=rows, nearest_variance=nearest, advice=_advice(spec, rows, nearest))


def _row_feasibility(problem: RowProblem) -> RowFeasibility:
    bounds = variance_bounds(problem)
    low, high = (bounds[0].value, bounds[1].value) if bounds else (None, None)
    is_feasible = reaches(problem)
    scale = problem.step**2
    return RowFeasibility(
        count=problem.count,
        variance_min=None if low is None else float(low / scale),
        variance_max=None if high is None else float(high / scale),
        requested=float(problem.variance / scale),
        is_feasible=is_feasible,
        binding="" if is_feasible else _binding(problem),
        problem=problem,
    )


def _binding(problem: RowProblem) -> Message:
    """Drop constraints one after the other until the row can be met; name the last dropped."""
    for name, dropped in _droppable(problem):
        problem = replace(problem, **dropped)
        if reaches(problem):
            return Message("{name} leaves too little freedom", name=name)
    ends = variance_bounds(problem)
    return _structure(problem, int(ends is not None and problem.variance >= ends[0].value))


def _limit(problem: RowProblem, end: int) -> Message:
    """Name the first constraint without which an end of the reach would lie further out."""
    bounds = variance_bounds(problem)
    if bounds is None:
        return _binding(problem)
    for name, dropped in _droppable(problem):
        looser = variance_bounds(replace(problem, **dropped))
        if looser is None or looser[end].value != bounds[end].value:
            return name
    if end == 0 and bounds[0].value == 0:
        return Message("a variance cannot be negative")
    return _structure(problem, end)


def _droppable(problem: RowProblem) -> list[tuple[Message, dict[str, Any]]]:
    """Name the constraints of a row, with what takes each away."""
    constraints: list[tuple[Message, dict[str, Any]]] = []
    if problem.floor:
        constraints.append((Message("min_probability"), {"floor": Fraction(0)}))
    if problem.p_stay is not None:
        name = Message(_STAYS[problem.p_stay_rule], p_stay=float(problem.p_stay))
        constraints.append((name, {"p_stay": None}))
    shape = "both" if problem.n_right else "left" if problem.n_left else ""
    if problem.unimodal or shape:
        shape = "unimodal" if problem.unimodal else shape
        name = Message('monotone = "{shape}"', shape=Name(shape))
        constraints.append((name, {"n_left": 0, "n_right": 0, "unimodal": False}))
    return constraints


def _structure(problem: RowProblem, end: int) -> Message:
    """Say how the noise values themselves limit the variance."""
    noise, step = problem.noise, problem.step
    if not noise:
        return Message(
            "a count of {count} has no noise whose opposite is in reach", count=problem.count
        )
    below = max((v for v in noise if v <= 0), default=noise[0])
    above = min((v for v in noise if v >= 0), default=noise[-1])
    if end == 0 and problem.mean:
        return Message("its mean noise is {mean:g}", mean=float(problem.mean / step))
    if end == 0:
        return Message(
            "no noise strictly between {below:g} and {above:g} is allowed",
            below=below / step,
            above=above / step,
        )
    if -noise[0] < noise[-1]:
        return Message(
            "the noise of a count of {count} cannot go below {least:g}",
            count=problem.count,
            least=noise[0] / step,
        )
    if problem.symmetric and noise[-1] == problem.count * step:
        return Message(
            "symmetric noise of a count of {count} cannot go beyond ±{count}",
            count=problem.count,
        )
    return Message("the largest noise is {largest:g}", largest=noise[-1] / step)


def _nearest(
    spec: NoiseSpec | StackedSpec, rows: tuple[RowFeasibility, ...]
) -> float | tuple[float, ...] | None:
    if not isinstance(spec, NoiseSpec) or spec.limits is not None or spec.variance is None:
        return None
    reach: list[tuple[float, float]] = []
    for row in (row for row in rows if row.count):
        if row.variance_min is None or row.variance_max is None:
            return None
        reach.append((row.variance_min, math.inf if row.problem.at_most else row.variance_max))
    if isinstance(spec.variance, tuple):
        return tuple(
            min(max(wish, low), high)
            for wish, (low, high) in zip(spec.variance, reach, strict=True)
        )
    low, high = max(low for low, _ in reach), min(high for _, high in reach)
    return min(max(spec.variance, low), high) if low <= high else None


def _advice(
    spec: NoiseSpec | StackedSpec,
    rows: tuple[RowFeasibility, ...],
    nearest: float | tuple[float, ...] | None,
) -> str:
    if all(row.is_feasible or row.problem.nearest for row in rows):
        return ""
    if isinstance(nearest, tuple):
        return Message(
            "use variance=({nearest})", nearest=[Name(_number(one)) for one in nearest]
        )
    if nearest is not None and all(row.is_feasible for row in rows if not row.count):
        return Message(
            "use variance={nearest}", nearest=Name(_number(_of_many_outcomes(spec, nearest)))
        )
    if any(row.variance_min is None for row in rows):
        infeasible = next(row for row in rows if row.variance_min is None)
        names = [name for name, _ in _droppable(infeasible.problem)]
        return Message(
            "relax {names}: no noise of mean zero exists for count {count}",
            names=Enumeration(" or ", names or [Message("the noise values")]),
            count=infeasible.count,
        )
    if not isinstance(spec, NoiseSpec):
        return Message("change the variance of the parts that these rows belong to")
    looser = [Message("max_noise={max_noise} or more", max_noise=max(spec.max_noises) + 1)]
    if spec.small:
        looser.append(Message("small={small} or less", small=spec.small - 1))
    if spec.p_stay is not None:
        looser.append(Message("another p_stay"))
    if spec.monotone != "none":
        looser.append(Message('monotone = "none"'))
    return Message("no single variance suits every row; use {looser}", looser=looser)


def _of_many_outcomes(spec: NoiseSpec | StackedSpec, nearest: float) -> float:
    """Move an upper end to the nearest smaller variance where no row has few outcomes."""
    from ptable.advice.figures import smaller_variance

    if not isinstance(spec, NoiseSpec) or not isinstance(spec.variance, float | int):
        return nearest
    if nearest >= spec.variance:
        return nearest
    other = smaller_variance(replace(spec, variance=nearest))
    smaller = None if other is None else other.variance
    return nearest if smaller is None or isinstance(smaller, tuple) else smaller


def _number(number: float | None) -> str:
    return "none" if number is None else f"{number:.6g}"
