"""Rounding, random rounding and noise of differential privacy, as p-tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, TypeAlias

from footing.checks import problems_of
from footing.messages import Argument, Message, Name, joined
from ptable.design.distributions import Edge, bounded_rows, gaussian_weights, laplace_weights
from ptable.errors import PTableError
from ptable.table import PTable

Ties: TypeAlias = Literal["up", "down", "even"]
Zeros: TypeAlias = Literal["noise", "keep"]

_KEY_RANGE = 2**32
_MAX_ROWS = 10_000
_MAX_NOISE = 1000
_NEEDED = object()
_NOISE = {"max_noise": _NEEDED, "edge": "clamp", "zeros": "noise"}
#: The parameters of each mechanism, with what it takes by itself.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "rounding": {"base": _NEEDED, "ties": "up", "threshold": 0},
    "random-rounding": {"base": _NEEDED},
    "small-count-rounding": {"base": _NEEDED},
    "discrete-laplace": {"epsilon": _NEEDED, **_NOISE},
    "discrete-gaussian": {"variance": _NEEDED, **_NOISE},
}

_Check: TypeAlias = partial[list[str]]


def _integer_check(minimum: int, maximum: int) -> _Check:
    return partial(problems_of, is_whole=True, minimum=minimum, maximum=maximum)


def _word_check(*words: str) -> _Check:
    return partial(_problems_of_word, words=words)


def _problems_of_word(value: Any, name: str, *, words: tuple[str, ...]) -> list[str]:
    if isinstance(value, str) and value in words:
        return []
    return [f"{name} must be one of {', '.join(words)}, not {value!r}"]


_POSITIVE = partial(problems_of, above=0)
_CHECKS: dict[str, tuple[_Check, Callable[[Any], Any]]] = {
    "base": (_integer_check(2, _MAX_ROWS), int),
    "ties": (_word_check("up", "down", "even"), str),
    "threshold": (_integer_check(0, _MAX_ROWS), int),
    "epsilon": (_POSITIVE, float),
    "variance": (_POSITIVE, float),
    "max_noise": (_integer_check(1, _MAX_NOISE), int),
    "edge": (_word_check("clamp", "fold", "truncate"), str),
    "zeros": (_word_check("noise", "keep"), str),
}
_FIELDS = tuple(_CHECKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """Name a known mechanism and its parameters, ready to be built as a p-table.

    The constructors below say what each one does; `guarantee` computes what it achieves.

    Parameters
    ----------
    name
        ``"rounding"``, ``"random-rounding"``, ``"small-count-rounding"``,
        ``"discrete-laplace"`` or ``"discrete-gaussian"``.
    base, ties, threshold, epsilon, variance, max_noise, edge, zeros
        As for the constructor of that mechanism; None for what it does not take.

    Examples
    --------
    >>> table = Mechanism.random_rounding(3).build()
    >>> table.units(4)
    Traceback (most recent call last):
    ptable.PTableError: Count 4 has no row of its own.
    >>> table.units(1), table.large_counts
    ({-1: 2, 2: 1}, 'cycle:3')
    """

    name: str
    base: int | None = None
    ties: Ties | None = None
    threshold: int | None = None
    epsilon: float | None = None
    variance: float | None = None
    max_noise: int | None = None
    edge: Edge | None = None
    zeros: Zeros | None = None

    def __post_init__(self) -> None:
        parameters = {name: getattr(self, name) for name in _FIELDS}
        for name, value in _checked_parameters(self.name, parameters).items():
            object.__setattr__(self, name, value)

    @classmethod
    def rounding(cls, base: int, *, ties: Ties = "up", threshold: int = 0) -> Self:
        """Publish the nearest multiple of the base.

        Parameters
        ----------
        base
            What published counts are multiples of, 2 or more.
        ties
            Where a count half-way between two multiples goes, which exists for an even base
            only: ``"up"``, ``"down"``, or ``"even"`` for the even multiple of the base.
        threshold
            Counts below it are published as 0.

        Examples
        --------
        >>> table = Mechanism.rounding(5).build()
        >>> table.lookup([2, 3, 1_000_003], [0, 0, 0]).tolist()
        [-2, 2, 2]
        """
        return cls(name="rounding", base=base, ties=ties, threshold=threshold)

    @classmethod
    def ons_10_5(cls) -> Self:
        """Publish 0 for counts below 10, and the nearest multiple of 5 for others.

        The p-table that ships with the package cell-key-perturbation of the ONS does this.

        Examples
        --------
        >>> Mechanism.ons_10_5()
        Mechanism.rounding(base=5, ties='up', threshold=10)
        """
        return cls.rounding(5, threshold=10)

    @classmethod
    def random_rounding(cls, base: int) -> Self:
        """Round to a neighbouring multiple of the base at random, without bias.

        Parameters
        ----------
        base
            What published counts are multiples of, 2 or more.

        Notes
        -----
        ``q base + r`` goes up with probability ``r / base`` and down otherwise. The table has
        as many keys as the base, so that this is exact; cell keys of another range move each
        probability by less than one of their keys.

        References
        ----------
        Nargundkar and Saveland (1972), Random rounding to prevent statistical disclosures.

        Examples
        --------
        >>> Mechanism.random_rounding(5).build().transition[2].tolist()
        [0.6, 0.0, 0.0, 0.0, 0.0, 0.4]
        """
        return cls(name="random-rounding", base=base)

    @classmethod
    def small_count_rounding(cls, base: int) -> Self:
        """Round counts below the base to 0 or the base, without bias; keep all others.

        Parameters
        ----------
        base
            The least published count above 0, 2 or more.

        Examples
        --------
        >>> table = Mechanism.small_count_rounding(3).build()
        >>> table.units(1), table.units(3)
        ({-1: 2, 2: 1}, {0: 3})
        """
        return cls(name="small-count-rounding", base=base)

    @classmethod
    def discrete_laplace(
        cls, epsilon: float, *, max_noise: int, edge: Edge = "clamp", zeros: Zeros = "noise"
    ) -> Self:
        """Add two-sided geometric noise, the discrete Laplace law.

        Parameters
        ----------
        epsilon
            The rate: noise ``v`` has a probability proportional to ``exp(-epsilon |v|)``.
        max_noise
            The largest noise, at most 1000; the law is conditioned on it.
        edge
            What becomes of results below zero: ``"clamp"`` publishes 0, ``"fold"`` publishes
            them without their sign, ``"truncate"`` excludes them from the law of that count.
            The first two keep the guarantee of the law; the third does not.
        zeros
            ``"noise"`` treats a count of 0 like any other, as the guarantee needs;
            ``"keep"`` publishes it as it is.

        References
        ----------
        Ghosh, Roughgarden and Sundararajan (2012), Universally utility-maximizing privacy
        mechanisms, SIAM Journal on Computing 41(6).

        Examples
        --------
        >>> Mechanism.discrete_laplace(1.0, max_noise=20).build().transition[0, :3].round(4)
        array([0.7311, 0.17  , 0.0625])
        """
        return cls(
            name="discrete-laplace",
            epsilon=epsilon,
            max_noise=max_noise,
            edge=edge,
            zeros=zeros,
        )

    @classmethod
    def discrete_gaussian(
        cls, variance: float, *, max_noise: int, edge: Edge = "clamp", zeros: Zeros = "noise"
    ) -> Self:
        """Add noise of the discrete Gaussian law.

        Parameters
        ----------
        variance
            Noise ``v`` has a probability proportional to ``exp(-v²/(2 variance))``; the
            variance of the noise itself is a little smaller.
        max_noise, edge, zeros
            As for `discrete_laplace`.

        References
        ----------
        Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy,
        NeurIPS 33.

        Examples
        --------
        >>> Mechanism.discrete_gaussian(4.0, max_noise=20).build().transition[0, :3].round(4)
        array([0.5997, 0.176 , 0.121 ])
        """
        return cls(
            name="discrete-gaussian",
            variance=variance,
            max_noise=max_noise,
            edge=edge,
            zeros=zeros,
        )

    def build(self) -> PTable:
        """Build the p-table, which keeps the mechanism as its specification.

        Examples
        --------
        >>> Mechanism.small_count_rounding(3).build()
        PTable(n_rows=4, max_noise=2, key_range=3, label='small-count-rounding, base 3')
        """
        if self.name == "rounding":
            table = self._rounding()
        elif self.base is not None:
            table = self._random_rounding(self.base)
        else:
            table = self._noise()
        return table.with_proof(self, None)

    def _rounding(self) -> PTable:
        base, threshold = self.base or 0, self.threshold or 0
        # Only ties that go to the even multiple tell one multiple of the base from the next.
        period = 2 * base if self.ties == "even" and base % 2 == 0 else base
        rows = [
            {
                (_nearest(count, base, self.ties) if count >= threshold else 0)
                - count: _KEY_RANGE
            }
            for count in range(threshold + period)
        ]
        return PTable.from_units(rows, large_counts=f"cycle:{period}", label=self._label())

    def _random_rounding(self, base: int) -> PTable:
        rows: list[dict[int, int]] = [{0: base}]
        rows += [{-r: base - r, base - r: r} for r in range(1, base)]
        rule = f"cycle:{base}"
        if self.name == "small-count-rounding":
            rows.append({0: base})
            rule = "last"
        return PTable.from_units(rows, key_range=base, large_counts=rule, label=self._label())

    def _noise(self) -> PTable:
        reach = self.max_noise or 0
        if self.variance is None:
            half = laplace_weights(self.epsilon or 0.0, max_noise=reach)
        else:
            half = gaussian_weights(self.variance, max_noise=reach)
        rows = bounded_rows(half, edge=self.edge or "clamp", total=_KEY_RANGE)
        if self.zeros == "keep":
            rows[0] = {0: _KEY_RANGE}
        return PTable.from_units(rows, label=self._label())

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameters_of(self.name)}

    def _label(self) -> str:
        facts = (f"{name} {value}" for name, value in self._parameters().items())
        return ", ".join((self.name, *facts)).replace("_", " ")

    def __repr__(self) -> str:
        facts = (f"{name}={value!r}" for name, value in self._parameters().items())
        return f"Mechanism.{self.name.replace('-', '_')}({', '.join(facts)})"

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as plain values, ready for JSON.

        Examples
        --------
        >>> Mechanism.random_rounding(3).to_dict()
        {'kind': 'mechanism', 'name': 'random-rounding', 'base': 3}
        """
        return {"kind": "mechanism", "name": self.name, **self._parameters()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Build a mechanism from what `to_dict` gave.

        Parameters
        ----------
        fields
            The fields by name.

        Examples
        --------
        >>> mechanism = Mechanism.discrete_laplace(0.5, max_noise=9, edge="fold")
        >>> Mechanism.from_dict(mechanism.to_dict()) == mechanism
        True
        """
        rest = {name: value for name, value in fields.items() if name != "kind"}
        unknown = set(rest) - {"name", *_FIELDS}
        if unknown or "name" not in rest:
            what = (
                Message("has no parameter {names!r}", names=Name(min(unknown)))
                if unknown
                else Message("needs a name")
            )
            raise PTableError(
                Message("A mechanism {what}.", what=what),
                hint=Message("read it with a newer version of this program"),
            )
        return cls(**rest)


def parameter_schemas() -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """Return for each mechanism the JSON Schema of its parameters, and which it needs.

    Examples
    --------
    >>> parameter_schemas()["random-rounding"]
    ({'base': {'type': 'integer', 'minimum': 2, 'maximum': 10000}}, ('base',))
    """
    return {
        name: (
            {key: _schema(**_CHECKS[key][0].keywords) for key in parameters},
            tuple(key for key, default in parameters.items() if default is _NEEDED),
        )
        for name, parameters in _PARAMETERS.items()
    }


def _schema(
    *, words: tuple[str, ...] = (), is_whole: bool = False, **limits: float
) -> dict[str, Any]:
    names = {"minimum": "minimum", "maximum": "maximum", "above": "exclusiveMinimum"}
    of_number = {"type": "integer" if is_whole else "number"}
    return {"enum": [*words]} if words else of_number | {names[k]: v for k, v in limits.items()}


def verify(table: PTable) -> None:
    """Build a table again from its mechanism, and raise where the two differ."""
    if not isinstance(table.spec, Mechanism):
        raise PTableError(
            Message("A p-table without a mechanism cannot be built again from it.")
        )
    if table.certificate is not None or table.spec.build() != table:
        raise PTableError(
            Message("The p-table is not what {spec!r} builds.", spec=Argument(table.spec)),
            hint=Message("the file or object was changed after it was built; build it again"),
        )


def _nearest(count: int, base: int, ties: Ties | None) -> int:
    quotient, rest = divmod(count, base)
    goes_up = 2 * rest > base
    if 2 * rest == base:
        goes_up = ties == "up" or (ties == "even" and quotient % 2 == 1)
    return (quotient + goes_up) * base


def _parameters_of(name: object) -> tuple[str, ...]:
    """Name the parameters of a mechanism."""
    if not isinstance(name, str) or name not in _PARAMETERS:
        raise PTableError(
            Message(
                "name must be one of {parameters}, not {name!r}.",
                parameters=Name.each(_PARAMETERS),
                name=Argument(name),
            )
        )
    return tuple(_PARAMETERS[name])


def _checked_parameters(name: object, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mechanism's parameters as plain values, complete and checked."""
    defaults = _parameters_of(name)
    problems: list[str] = [
        Message("{parameter} is none of its parameters", parameter=Name(parameter))
        for parameter, value in parameters.items()
        if value is not None and parameter not in defaults
    ]
    values: dict[str, Any] = {}
    for parameter in defaults:
        value = parameters.get(parameter)
        if value is None:
            value = _PARAMETERS[str(name)][parameter]
        if value is _NEEDED:
            problems.append(Message("{parameter} is missing", parameter=Name(parameter)))
            continue
        check, cast = _CHECKS[parameter]
        wrong = check(value, parameter)
        problems += wrong
        if not wrong:
            values[parameter] = cast(value)
    if problems:
        raise PTableError(
            Message(
                "The mechanism {name} cannot be used: {problems}.",
                name=Argument(name),
                problems=joined("; ", problems),
            ),
            hint=Message("its parameters are {names}", names=Name.each(defaults)),
        )
    return values
