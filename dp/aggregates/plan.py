"""A plan: which tables, of whose data, for which budget. It has a price before any data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dp.accounting.composition import basic, concentrated
from dp.accounting.concentrated import epsilon_of_rho, rho_of_epsilon
from dp.adjacency import Adjacency
from dp.aggregates.questions import Question
from dp.aggregates.scope import Scope, tail_of
from dp.checking import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_probability,
    checked_share,
)
from dp.errors import DPError
from dp.guarantee import Guarantee
from footing.messages import Message, Name

_LAWS = ("laplace", "gaussian")
_MOST_ROWS, _MOST_EPSILON, _TYPICAL_ROWS = 2**20, 1_000_000, 1_000
#: Below what is stated, so that sums of rounded parts cannot exceed it.
_SAFETY = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """One table: groups, what a unit may contribute to them, and questions of each.

    Parameters
    ----------
    name
        What it is called.
    by
        Column → the keys of its groups, declared; None to publish those with enough units.
    questions
        What is asked of each group.
    groups_per_unit, rows_per_group
        What is kept of a unit.
    share
        The part of finding keys in the budget, beside those of all questions.
    where
        A filter of the rows, in the language of `tables`; public, as the plan is.

    Examples
    --------
    >>> TablePlan(name="sex", by={"sex": ("F", "M")}, questions=(Question(kind="rows"),)).finds
    False
    """

    name: str
    by: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    questions: tuple[Question, ...]
    groups_per_unit: int = 1
    rows_per_group: int = 1
    share: float = 1.0
    where: str = ""

    def __post_init__(self) -> None:
        checked_share(self.share)
        for name in ("groups_per_unit", "rows_per_group"):
            checked_count(getattr(self, name), name)
        if self.groups_per_unit * self.rows_per_group > _MOST_ROWS:
            raise DPError(
                Message(
                    "A unit contributes at most 2**20 rows to table {name!r}.",
                    name=Name(self.name),
                )
            )
        names = [question.name for question in self.questions]
        if not names or len(set(names)) < len(names):
            raise DPError(
                Message(
                    "Table {name!r} asks nothing, or one question twice.", name=Name(self.name)
                )
            )
        for column, keys in self.by.items():
            if keys is not None and (not keys or len(set(keys)) < len(keys)):
                raise DPError(
                    Message(
                        "Table {name!r}: the keys of {column!r} are none, or repeat.",
                        name=Name(self.name),
                        column=Name(column),
                    ),
                    hint=Message("declare each once; or have them found"),
                )

    @property
    def finds(self) -> bool:
        """Whether groups are found in the data."""
        return None in self.by.values()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a part of a plan costs, and what can be expected of it.

    Parameters
    ----------
    table
        Of which table.
    what
        A question; ``"keys"``, or ``"bounds"`` of one.
    cost
        An epsilon, or a rho.
    guarantee
        What it promises.
    error, of
        How far an answer lies from the truth at most, at the confidence; and of what. Of keys:
        the threshold.
    delta
        Of finding keys.
    notes
        What else is known of an answer before any data.

    Examples
    --------
    >>> g = Guarantee(epsilon=1, adjacency="add-remove")
    >>> Part(table="t", what="rows", cost=1.0, guarantee=g, error=3.0).delta
    0.0
    """

    table: str
    what: str
    cost: float
    guarantee: Guarantee
    error: float
    of: str = ""
    delta: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Tables of one source, and the budget that they share.

    Parameters
    ----------
    unit
        Column of the identifiers of those who are protected.
    protects
        What they are, in a word.
    epsilon, delta
        What all of it may cost.
    rho
        The same as concentrated loss, in place of epsilon, which is then told at delta.
    tables
        The tables.
    noise
        ``"laplace"``, or ``"gaussian"``, which needs a delta and is better for many answers;
        by default as delta says.
    confidence
        Of each interval.
    people
        A public number of units, by which delta is judged; no number of the data.

    Examples
    --------
    >>> table = TablePlan(name="all", questions=(Question(kind="units"),))
    >>> plan = Plan(unit="id", protects="person", epsilon=0.5, tables=(table,))
    >>> print(plan.guarantee, plan.parts[0].error)
    epsilon = 0.5 (add-remove, per person) 6.0
    """

    unit: str
    protects: str
    epsilon: float = 0.0
    delta: float = 0.0
    rho: float | None = None
    tables: tuple[TablePlan, ...]
    noise: str = ""
    confidence: float = 0.95
    people: int | None = None

    def __post_init__(self) -> None:
        checked_delta(self.delta, may_be_zero=True)
        if self.rho is not None:
            object.__setattr__(self, "epsilon", self._epsilon_of(self.rho))
        if checked_epsilon(self.epsilon) > _MOST_EPSILON:
            raise DPError(
                Message(
                    "epsilon must be at most {most_epsilon:,}, not {epsilon:g}.",
                    most_epsilon=_MOST_EPSILON,
                    epsilon=self.epsilon,
                ),
                hint=Message("so much gives no protection: publish without noise"),
            )
        checked_probability(self.confidence, "confidence", is_open=True)
        if self.people is not None:
            checked_count(self.people, "people")
        distribution = self.noise or ("gaussian" if self.delta else "laplace")
        if distribution not in _LAWS:
            raise DPError(
                Message("Unknown noise {law!r}.", law=Name(distribution)),
                hint=Message("known: {laws}", laws=Name.each(_LAWS)),
            )
        object.__setattr__(self, "noise", distribution)
        names = [table.name for table in self.tables]
        if not names or len(set(names)) < len(names):
            raise DPError(Message("A plan has tables, each with a name of its own."))
        if not self.delta and (distribution == "gaussian" or self._finding):
            raise DPError(
                Message("Gaussian noise and keys that are found need a delta."),
                hint=Message(
                    "delta = 1e-7, say, far below 1 / number of units; or declare all keys"
                ),
            )
        promises = [part.guarantee for part in self.parts]
        whole = (
            basic(promises).epsilon if distribution == "laplace" else concentrated(promises).rho
        )
        if whole > self._total:
            raise DPError(
                Message("The parts of the plan cost more than its budget: a fault of ours.")
            )

    def _epsilon_of(self, rho: float) -> float:
        """Return the epsilon of a budget of rho, which knows Gaussian noise alone."""
        epsilon = epsilon_of_rho(rho, delta=self.delta) if self.delta else math.inf
        is_other = self.epsilon not in {0, epsilon} or self.noise == "laplace" or self._finding
        if is_other or math.isinf(epsilon):
            raise DPError(
                Message(
                    "A budget of rho stands in place of epsilon, with a delta at which its "
                    "epsilon is told, and pays for Gaussian noise and declared keys."
                ),
                hint=Message("state epsilon and delta, or rho and delta"),
            )
        return epsilon

    @property
    def guarantee(self) -> Guarantee:
        """What all of the plan promises together, as the ledger is charged."""
        is_pure = self.noise == "laplace" and not self._finding
        has_rho = self.noise == "gaussian" and not self._finding
        return Guarantee(
            epsilon=self.epsilon,
            delta=0.0 if is_pure else self.delta,
            rho=self._total if has_rho else math.inf,
            adjacency=Adjacency.ADD_REMOVE,
            unit=self.protects,
        )

    @property
    def _finding(self) -> int:
        """In how many tables keys are found."""
        return sum(table.finds for table in self.tables)

    @property
    def _total(self) -> float:
        """What all parts share: an epsilon, or a rho."""
        if self.noise == "laplace":
            return self.epsilon
        if self.rho is not None:
            return self.rho
        return rho_of_epsilon(self.epsilon, delta=self.delta / (2 if self._finding else 1))

    @property
    def _delta_of_keys(self) -> float:
        """The delta of finding the keys of one table; Gaussian noise takes half of all."""
        half = 2 if self.noise == "gaussian" else 1
        return self.delta / half / max(1, self._finding) * _SAFETY

    def scope(self, table: TablePlan) -> Scope:
        """Return what bounds a unit in a table."""
        return Scope(
            groups=table.groups_per_unit,
            rows=table.rows_per_group,
            law=self.noise,
            unit=self.protects,
            confidence=self.confidence,
        )

    def keys_noise(self, table: TablePlan, cost: float) -> tuple[Any, float]:
        """Return the noise on units by which keys are found, and the number they must exceed.

        Notes
        -----
        A key of one unit alone passes where 1 plus noise exceeds it: with a chance of delta
        over the groups of a unit.
        """
        noise = self.scope(table).one_row().noise(cost)
        return noise, 1 + tail_of(noise, 2 * self._delta_of_keys / table.groups_per_unit)

    @property
    def costs(self) -> dict[tuple[str, str], float]:
        """What each part may cost, by table and what it is."""
        shares: dict[tuple[str, str], float] = {}
        for table in self.tables:
            if table.finds:
                shares[table.name, "keys"] = table.share
            for question in table.questions:
                shares[table.name, question.name] = question.share
                if question.is_found:
                    bounds = Message("bounds of {name}", name=Name(question.name))
                    shares[table.name, bounds] = question.share
        whole = math.fsum(shares.values())
        return {part: self._total * _SAFETY * share / whole for part, share in shares.items()}

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts with their costs and what can be expected of them."""
        tables = {table.name: table for table in self.tables}
        return tuple(
            self._part(tables[name], what, cost) for (name, what), cost in self.costs.items()
        )

    def _part(self, table: TablePlan, what: str, cost: float) -> Part:
        scope, of, delta = self.scope(table), "", 0.0
        notes: tuple[str, ...] = ()
        questions = {question.name: question for question in table.questions}
        if what in questions:
            guarantee = questions[what].guarantee(scope, cost)
            error, of = questions[what].expected(scope, cost)
            notes = questions[what].notes(scope, cost, rows=self.people or _TYPICAL_ROWS)
        elif what == "keys":
            noise, error = self.keys_noise(table, cost)
            guarantee, of, delta = (
                noise.guarantee,
                Message("units, threshold"),
                self._delta_of_keys,
            )
        else:
            noise = scope.noise(cost, is_pooled=True)
            guarantee, error = noise.guarantee, noise.accuracy(self.confidence)
        return Part(
            table=table.name,
            what=what,
            cost=cost,
            guarantee=guarantee,
            error=error,
            of=of,
            delta=delta,
            notes=notes,
        )


def warnings_of(plan: Plan) -> tuple[str, ...]:
    """Return what weakens the guarantee of a plan, and can be mended."""
    text = ""
    if plan.delta and plan.people is None:
        text = Message(
            "delta = {delta:g} promises something only where it is far below 1 / "
            "number of units: state people, a public number of them.",
            delta=plan.delta,
        )
    elif plan.delta * (plan.people or 0) >= 1:
        text = Message(
            "delta = {delta:g} is not below 1 / people: a release that gives away all "
            "of one in {people:,} units keeps it. Take 0.01 / people or less.",
            delta=plan.delta,
            people=plan.people,
        )
    return (text,) if text else ()
