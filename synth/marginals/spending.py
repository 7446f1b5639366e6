"""The privacy budget of an engine: what may be spent, on what, and what was paid for."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from dp import Adjacency, DiscreteGaussian, Exponential, gaussian_scale
from footing.checks import require_number
from footing.messages import Message, Name, said
from footing.serialisation import plain_fields
from synth.errors import CertificateError, OverspentError, SynthError

_EXACT = 1 - 1e-9  # shares of the budget are rounded; what they lose stays unspent
#: Noise is drawn on multiples of 1/1024 of a record and rounded afterwards.
GRAIN = 1024
_LATTICE_DEVIATION = (
    2 / GRAIN
)  # see the proof: as much of the scale hides that the lattice is one
_UP = 1 + 1e-12
LARGER = 2 / 3
_LARGE = 16.0  # a rho from which a model grows no more
_MOST_SQRT_RHO = 0.25  # a square root of rho from which a table has no more cells
_RECORDS_PER_CELL = 40  # records that a cell of three columns needs, in scales of noise
_MOST_TIMES = 4.0  # the price of an average table
_LAWS = {
    "margin": "fine discrete Gaussian",
    "table": "fine discrete Gaussian",
    "ranks": "fine discrete Gaussian",
    "bounds": "fine discrete Gaussian",
    "bins": "fine discrete Gaussian",
    "total": "fine discrete Gaussian",
    "nesting": "fine discrete Gaussian",
    "choice": "exponential",
}


def gaussian_price(sensitivity: float, scale: float) -> float:
    """Return half of mu² of noise on the lattice: Gaussian privacy, concentrated as well."""
    width = scale**2 - _LATTICE_DEVIATION**2
    return sensitivity**2 / (2 * width) * _UP if width > 0 else math.inf


def gaussian_noise(sensitivity: float, rho: float) -> float:
    """Return the scale of noise on the lattice with a price."""
    return math.hypot(sensitivity / math.sqrt(2 * rho) * _UP, _LATTICE_DEVIATION)


def range_price(width: float) -> float:
    """Return half of mu² of a mechanism whose losses lie within a range of some width.

    A choice of `epsilon` has the width epsilon, pure privacy of `epsilon` twice that.
    """
    from scipy.special import log_expit, ndtri_exp

    return float(2 * ndtri_exp(log_expit(-width / 2)) ** 2) * _UP


def range_of(rho: float) -> float:
    """Return the width of the range of losses with a price."""
    from scipy.special import log_ndtr

    half = math.sqrt(rho / 2)
    return float(2 * (log_ndtr(half) - log_ndtr(-half))) / _UP


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One look at the confidential records, and its price.

    Parameters
    ----------
    what
        ``"margin"``, ``"choice"`` or ``"table"``.
    columns
        The columns that were counted; of a choice, those that were chosen.
    sensitivity
        How far one unit moves the answer: in l2 for counts, in size for scores.
    scale
        Scale of the noise.
    rho
        The price: half of mu², in Gaussian and so in concentrated differential privacy.

    Examples
    --------
    >>> Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005).rho
    0.005
    """

    what: str
    columns: tuple[int, ...]
    sensitivity: float
    scale: float
    rho: float

    def to_dict(self) -> dict[str, Any]:
        """Return the spend as plain values.

        Examples
        --------
        >>> spend = Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005)
        >>> spend.to_dict()["columns"]
        [0]
        """
        return plain_fields(self)

    @classmethod
    def of(
        cls,
        what: str,
        mechanism: DiscreteGaussian | Exponential,
        *,
        columns: tuple[int, ...] = (),
    ) -> Self:
        """Return what a look through a mechanism costs."""
        if isinstance(mechanism, Exponential):
            distance = mechanism.sensitivity
            rho = range_price(2 * distance / mechanism.scale)
        else:
            distance = mechanism.sensitivity.l2
            rho = gaussian_price(distance, mechanism.scale)
        return cls(
            what=what, columns=columns, sensitivity=distance, scale=mechanism.scale, rho=rho
        )

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the spend that `to_dict` describes.

        Parameters
        ----------
        record
            Plain values.

        Examples
        --------
        >>> spend = Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005)
        >>> Spend.from_dict(spend.to_dict()) == spend
        True
        """
        return cls(
            what=str(record["what"]),
            columns=tuple(int(column) for column in record["columns"]),
            sensitivity=float(record["sensitivity"]),
            scale=float(record["scale"]),
            rho=float(record["rho"]),
        )


@dataclass(slots=True)
class PrivacyAccountant:
    """A budget in rho. A spend is noted before the records are looked at.

    Parameters
    ----------
    rho
        What may be spent in all.

    Examples
    --------
    >>> accountant = PrivacyAccountant(0.01)
    >>> cost = Spend(what="margin", columns=(0,), sensitivity=1.0, scale=10.0, rho=0.005)
    >>> accountant.pay(cost)
    >>> round(accountant.spent, 9)
    0.005
    """

    rho: float
    spends: list[Spend] = field(default_factory=list)

    def __post_init__(self) -> None:
        way = Message("Budget(epsilon=1, delta=1e-5).concentrated() is 0.0359")
        require_number(self.rho, "rho", error=SynthError, hint=way, above=0)

    @property
    def spent(self) -> float:
        """What was paid so far, rounded upwards."""
        return _sum_up(spend.rho for spend in self.spends)

    def pay(self, spend: Spend) -> None:
        """Note a spend, or refuse it.

        Parameters
        ----------
        spend
            What is about to be measured.

        Raises
        ------
        OverspentError
            If less than its price is left.
        """
        total = _sum_up([*(one.rho for one in self.spends), spend.rho])
        if not (spend.rho > 0 and total <= self.rho):
            raise OverspentError(
                Message(
                    "A {what} costs rho {rho:g}; {rho_2:g} of {value_rho:g} is left.",
                    what=said(spend.what),
                    rho=spend.rho,
                    rho_2=self.rho - self.spent,
                    value_rho=self.rho,
                ),
            )
        self.spends.append(spend)


def _sum_up(prices: Any) -> float:
    """Return the sum, never below the exact one: `math.fsum` rounds to nearest."""
    total = math.fsum(prices)
    return math.nextafter(total, math.inf) if total else 0.0


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
    0.0359
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise SynthError(
                Message("A budget is an epsilon with a delta, or a rho."),
                hint=Message("give one of the two"),
            )
        if self.adjacency not in (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
            raise SynthError(Message("The adjacency is 'add-remove' or 'replace'."))
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if self.rho is not None and self.delta:
            raise SynthError(
                Message("A budget in rho has no delta."), hint=Message("give epsilon and delta")
            )
        self.concentrated()

    def concentrated(self, *, aside: float = 0.0) -> float:
        """Return the rho that may be spent: half of the mu² of the Gaussian curve.

        Parameters
        ----------
        aside
            The part of delta that is put aside for finding categories.

        Examples
        --------
        >>> Budget(rho=0.5).concentrated()
        0.5
        """
        rho = self.rho
        if rho is None:
            if self.delta <= 0:
                raise SynthError(
                    Message("delta must be positive: the noise is Gaussian."),
                    hint=Message("1e-6, or less than 1 / (10 times the number of people)"),
                )
            require_number(self.epsilon, "epsilon", error=SynthError, above=0)
            rho = gaussian_scale(self.epsilon or 0.0, delta=self.delta - aside) ** -2 / 2
        return require_number(rho, Message("The budget"), error=SynthError, above=0)

    def to_dict(self, *, aside: float = 0.0) -> dict[str, float | None]:
        """Return the budget as plain values.

        Parameters
        ----------
        aside
            The part of delta that is put aside for finding categories.

        Examples
        --------
        >>> Budget(rho=0.5).to_dict()["rho"]
        0.5
        """
        return {
            "rho": self.concentrated(aside=aside),
            "delta_aside": aside,
            "epsilon": self.epsilon,
            "delta": self.delta,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a mechanism.

    Parameters
    ----------
    what
        What was asked for.
    columns
        Of which columns; none for a choice among all.
    law
        ``"fine discrete Gaussian"`` (on multiples of 1/1024, rounded), ``"discrete Gaussian"``
        (on whole numbers, of older models), ``"exponential"``, or
        ``"geometric above a threshold"``.
    sensitivity
        How far one unit moves the answer: in l2 for the first, in l1 for the others.
    scale
        Scale of the noise.
    rho, delta
        The price.
    threshold, keys
        Of the last law: from which noisy count on a value is shown, and how many values of
        its own one unit can have.

    Examples
    --------
    >>> call = Call(
    ...     what="margin",
    ...     columns=("age",),
    ...     law="fine discrete Gaussian",
    ...     sensitivity=1,
    ...     scale=5,
    ...     rho=0.02,
    ... )
    >>> round(call.price()[0], 6)
    0.02
    """

    what: str
    columns: tuple[str, ...]
    law: str
    sensitivity: float
    scale: float
    rho: float
    delta: float = 0.0
    threshold: float = 0.0
    keys: int = 0

    def price(self, *, is_gaussian: bool = True) -> tuple[float, float]:
        """Reckon rho and delta from sensitivity and scale, whatever the call states.

        Parameters
        ----------
        is_gaussian
            Whether rho is half of mu² in Gaussian privacy, or concentrated loss and no more,
            as in certificates of version 1.

        Raises
        ------
        CertificateError
            If nothing is known of the law.
        """
        if not (0 < self.sensitivity < math.inf and 0 < self.scale < math.inf):
            raise CertificateError(Message("A call states no positive sensitivity and scale."))
        ratio = self.sensitivity / self.scale
        if self.law in ("discrete Gaussian", "fine discrete Gaussian"):
            step = 1 if self.law == "discrete Gaussian" else GRAIN  # to count in lattice steps
            fine = gaussian_price(self.sensitivity * step / GRAIN, self.scale * step / GRAIN)
            return fine if is_gaussian else ratio**2 / 2, 0.0
        # Of both other laws losses lie within a range of this width.
        rho = range_price(2 * ratio) if is_gaussian else ratio**2 / 2
        if self.law == "exponential":
            return rho, 0.0
        if self.law == "geometric above a threshold" and self.keys >= 1:
            # One of the keys of one unit shows through, each with a count of `keys` at most.
            slip = self.keys * math.exp(-(self.threshold - self.keys) / self.scale)
            return rho, slip
        raise CertificateError(
            Message("Nothing is known of the mechanism {law!r}.", law=Name(self.law))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the call as plain values."""
        values = plain_fields(self)
        return {name: value for name, value in values.items() if value or name == "columns"}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the call that `to_dict` describes.

        Parameters
        ----------
        record
            Plain values.

        Examples
        --------
        >>> call = Call(
        ...     what="margin",
        ...     columns=("age",),
        ...     law="exponential",
        ...     sensitivity=1,
        ...     scale=5,
        ...     rho=0.02,
        ... )
        >>> Call.from_dict(call.to_dict()) == call
        True
        """
        names = {one.name for one in fields(cls)}
        if not record.keys() <= names:
            raise CertificateError(Message("A call has an unknown entry."))
        texts = [record["what"], record["law"], *record["columns"]]
        numbers = [
            value for name, value in record.items() if name not in ("what", "law", "columns")
        ]
        if not all(isinstance(text, str) for text in texts) or not all(
            isinstance(number, (int, float)) and not isinstance(number, bool)
            for number in numbers
        ):
            raise CertificateError(Message("An entry of a call is of the wrong type."))
        return cls(**{**record, "columns": tuple(record["columns"])})


def calls_of(spends: Sequence[Spend], names: Sequence[str]) -> list[Call]:
    """Return the spends of an engine as calls."""
    return [
        Call(
            what=spend.what,
            columns=tuple(names[column] for column in spend.columns),
            law=_LAWS[spend.what],
            sensitivity=spend.sensitivity,
            scale=spend.scale,
            rho=spend.rho,
        )
        for spend in spends
    ]


def growth_of(rho: float) -> float:
    """Return how many times as large a model may be as at a rho of 1."""
    return math.sqrt(min(max(rho, 1.0), _LARGE))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """How the engine spends its budget and its time. None of it depends on the records.

    Parameters
    ----------
    margin_share
        Share of the budget for margins.
    choice_share
        Share of the rest for choosing tables.
    slack, margin_slack
        How far the model may stay from a table, from a margin, at no cost, in scales of noise.
    softness
        See `fit_potentials`.
    max_groups
        The most groups of an ordered column, up to twice as many where rho is above 1; one
        without order may have twice as many again.
    least_group
        The smallest group, in scales of the noise of tables.
    most_cells
        How many cells the cliques of the model may have together; by default more, the more
        records stand out from noise, up to what fits in some hundred megabytes.
    thrift
        What a table that fills the model wholly must gain to be as good as one that does not
        make it larger, as a share of the records.
    least_triple
        What a table of three columns must gain to be as good as a pair, as a share of the
        records; none is chosen where that is above 2.
    tables
        How many tables to measure; by default more, the larger the budget and the data.
    rounds
        In how many rounds after the first.
    steps
        How often each round improves the potentials; the last one three times as often.

    Examples
    --------
    >>> TableSettings(tables=9).how_many(1000.0, columns=4, rho=0.5)
    9
    """

    margin_share: float = 0.3
    choice_share: float = 0.1
    slack: float = 2.5
    margin_slack: float = 0.7
    softness: float = 4.0
    max_groups: int = 16
    least_group: float = 2.0
    most_cells: int | None = None
    thrift: float = 0.1
    least_triple: float = 0.15
    tables: int | None = None
    rounds: int = 5
    steps: int = 60

    def __post_init__(self) -> None:
        shares = self.margin_share, self.choice_share
        cells = 1 if self.most_cells is None else self.most_cells
        whole = self.max_groups, cells, self.rounds, self.steps
        others = self.slack, self.margin_slack, self.least_group, self.thrift
        finite = all(0 <= other < math.inf for other in (*others, self.least_triple))
        if not (all(0 < share < 1 for share in shares) and finite):
            raise SynthError(
                Message("Shares lie between 0 and 1; slacks, sizes and thrift are finite.")
            )
        if min(whole) < 1 or not 0 < self.softness < math.inf or (self.tables or 0) < 0:
            raise SynthError(
                Message("Numbers of groups, cells, rounds and steps are positive.")
            )

    def margin_prices(self, rho: float, *, sizes: Sequence[int]) -> list[float]:
        """Return what each margin may cost, the more the more codes it has.

        The noise of all cells is least in sum if prices go with the power 2/3 of their numbers.

        Parameters
        ----------
        rho
            The budget.
        sizes
            How many codes each column has.

        Examples
        --------
        >>> [round(price, 6) for price in TableSettings().margin_prices(1.0, sizes=[1, 8])]
        [0.06, 0.24]
        """
        parts = [size**LARGER for size in sizes]
        share = _EXACT * self.margin_share * rho
        return [share * part / math.fsum(parts) for part in parts]

    def table_price(self, rho: float, *, tables: int, size: float = 1.0) -> float:
        """Return what one table may cost, without its choice.

        Parameters
        ----------
        rho
            The budget.
        tables
            How many tables are measured.
        size
            How many times the cells of a usual one it has.

        Examples
        --------
        >>> round(TableSettings().table_price(1.0, tables=7), 6)
        0.09
        """
        part = min(float(size**LARGER), _MOST_TIMES)
        return self._round_price(rho, tables) * (1 - self.choice_share) * part

    def choice_price(self, rho: float, *, tables: int) -> float:
        """Return what the choice of one table may cost.

        Parameters
        ----------
        rho
            The budget.
        tables
            How many tables are measured.

        Examples
        --------
        >>> round(TableSettings().choice_price(1.0, tables=7), 6)
        0.01
        """
        return self._round_price(rho, tables) * self.choice_share

    def how_large(self, records: float, *, rho: float) -> int:
        """Return how many cells the cliques of the model may have together.

        Parameters
        ----------
        records
            The number of records, from noisy counts.
        rho
            The budget.

        Examples
        --------
        >>> [TableSettings().how_large(32_000.0, rho=rho) for rho in (0.04, 1.0, 100.0)]
        [160000, 400000, 1600000]
        """
        cells = round(25 * min(records * math.sqrt(rho), 1e6))
        return self.most_cells or min(max(cells, 60_000), round(400_000 * growth_of(rho)))

    def how_many_groups(self, rho: float) -> int:
        """Return how many groups an ordered column may have.

        Parameters
        ----------
        rho
            The budget.

        Examples
        --------
        >>> [TableSettings().how_many_groups(rho) for rho in (0.04, 100.0)]
        [16, 32]
        """
        return round(self.max_groups * math.sqrt(growth_of(rho)))

    def how_fine(self, records: float, *, rho: float) -> float:
        """Return how many cells a table of three columns may have that nobody asked for.

        Parameters
        ----------
        records
            The number of records, from noisy counts.
        rho
            The budget.

        Examples
        --------
        >>> round(TableSettings().how_fine(32_000.0, rho=0.04))
        160
        """
        return records * min(math.sqrt(rho), _MOST_SQRT_RHO) / _RECORDS_PER_CELL

    def how_many(self, records: float, *, columns: int, rho: float) -> int:
        """Return how many tables to measure: more, the more records stand out from noise.

        Parameters
        ----------
        records
            The number of records, from noisy counts.
        columns
            How many columns there are.
        rho
            The budget.

        Examples
        --------
        >>> TableSettings().how_many(32_000.0, columns=14, rho=0.03)
        35
        """
        if columns < 2:
            return 0
        if self.tables is not None:
            return self.tables
        signal = math.log2(max(records * math.sqrt(rho), 2.0)) / 5
        return max(columns - 1, round(columns * min(signal, (columns - 1) / 2)))

    def _round_price(self, rho: float, tables: int) -> float:
        return _EXACT * (1 - self.margin_share) * rho / max(tables, 1)
