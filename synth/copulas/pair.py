"""Pair-copulas: families with rotations, their functions, and fits by maximum likelihood."""

from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Floats
from footing.checks import require_integer, require_one_of
from footing.messages import Argument, Message, Name
from synth.copulas.library import checked_uniforms, seeds_from, vines
from synth.errors import SynthError

Criterion = Literal["aic", "bic", "loglik"]

#: The families by name; the last is estimated with kernels, the others have parameters.
FAMILIES = (
    "indep",
    "gaussian",
    "student",
    "clayton",
    "gumbel",
    "frank",
    "joe",
    "bb1",
    "bb6",
    "bb7",
    "bb8",
    "tll",
)
_ROTATED = {"clayton", "gumbel", "joe", "bb1", "bb6", "bb7", "bb8"}


class PairCopula:
    """The dependence of two uniform variables ``u`` and ``v``. Build it by name, or fit it.

    Parameters
    ----------
    family
        One of `FAMILIES` but ``"tll"``, which is fitted only.
    parameters
        As many as the family has.
    rotation
        0, 90, 180 or 270 degrees; families without a direction have 0 only.

    Notes
    -----
    ``h(u | v)`` is the derivative of the distribution by ``v``: the law of ``u`` given ``v``.

    Examples
    --------
    >>> clayton = PairCopula("clayton", [2.0])
    >>> round(clayton.tau, 9)
    0.5
    >>> clayton.h([0.3], given=[0.6]).round(4)
    array([0.1001])
    """

    def __init__(
        self, family: str, parameters: Sequence[float] = (), *, rotation: int = 0
    ) -> None:
        _checked_families([family])
        if family == "tll":
            raise SynthError(
                Message("A kernel estimate is fitted, not named."), hint=Message("use fit_pair")
            )
        if rotation not in ((0, 90, 180, 270) if family in _ROTATED else (0,)):
            raise SynthError(
                Message(
                    "{family} has no rotation {rotation!r}.",
                    family=Name(family),
                    rotation=Argument(rotation),
                ),
                hint=Message("0 degrees always"),
            )
        library = vines()
        kind = getattr(library.BicopFamily, family)
        values = np.asarray(parameters, dtype=np.float64).reshape(-1, 1)
        limits = library.Bicop(kind)
        low, high = limits.parameters_lower_bounds, limits.parameters_upper_bounds
        if values.shape != (low.size, 1) or not np.isfinite(values).all():
            raise SynthError(
                Message(
                    "{family} needs {size} finite parameters, not {parameters!r:.80}.",
                    family=Name(family),
                    size=low.size,
                    parameters=Argument(parameters),
                )
            )
        if ((values < low.reshape(-1, 1)) | (values > high.reshape(-1, 1))).any():
            spans = [
                Message("[{low:g}, {high:g}]", low=a, high=b)
                for a, b in zip(low.flat, high.flat, strict=True)
            ]
            raise SynthError(
                Message(
                    "The parameters of {family} must lie in {spans}.",
                    family=Name(family),
                    spans=spans,
                )
            )
        self._bicop = library.Bicop(kind, rotation, np.asfortranarray(values))

    @classmethod
    def wrapped(cls, bicop: Any) -> Self:
        """Take over a pair-copula of the library.

        Parameters
        ----------
        bicop
            It.

        Examples
        --------
        >>> PairCopula.wrapped(vines().Bicop())
        PairCopula('indep')
        """
        pair = cls.__new__(cls)
        pair._bicop = bicop.with_var_types(["c", "c"])  # noqa: SLF001 (of this class)
        return pair

    @property
    def bicop(self) -> Any:
        """The pair-copula of the library.

        Examples
        --------
        >>> PairCopula("frank", [3.0]).bicop.rotation
        0
        """
        return self._bicop

    @property
    def family(self) -> str:
        """The name of the family.

        Examples
        --------
        >>> PairCopula("frank", [3.0]).family
        'frank'
        """
        return str(self._bicop.family.name)

    @property
    def rotation(self) -> int:
        """By how many degrees it is turned.

        Examples
        --------
        >>> PairCopula("joe", [3.0], rotation=90).rotation
        90
        """
        return int(self._bicop.rotation)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameters; none of a kernel estimate.

        Examples
        --------
        >>> PairCopula("student", [0.5, 4.0]).parameters
        (0.5, 4.0)
        """
        if self.family == "tll":
            return ()
        return tuple(float(one) for one in np.ravel(self._bicop.parameters))

    @property
    def tau(self) -> float:
        """Kendall's tau.

        Examples
        --------
        >>> round(PairCopula("gumbel", [2.0], rotation=90).tau, 9)
        -0.5
        """
        return float(self._bicop.tau)

    @property
    def tails(self) -> tuple[float, float]:
        """How the lowest and the highest values go together: limits of conditional chances.

        Examples
        --------
        >>> [round(tail, 4) for tail in PairCopula("clayton", [2.0]).tails]
        [0.7071, 0.0]
        """
        corners = np.asarray(self._bicop.taildep)
        return float(corners[0, 0]), float(corners[1, 1])

    def cdf(self, u: ArrayLike) -> Floats:
        """Return the distribution function.

        Parameters
        ----------
        u
            One row per point, two columns.

        Examples
        --------
        >>> PairCopula("indep").cdf([[0.2, 0.5]]).round(9)
        array([0.1])
        """
        return np.asarray(self._bicop.cdf(checked_uniforms(u, columns=2)))

    def density(self, u: ArrayLike) -> Floats:
        """Return the density.

        Parameters
        ----------
        u
            One row per point, two columns.

        Examples
        --------
        >>> PairCopula("gaussian", [0.6]).density([[0.5, 0.5]]).round(9)
        array([1.25])
        """
        return np.asarray(self._bicop.pdf(checked_uniforms(u, columns=2)))

    def h(self, u: ArrayLike, *, given: ArrayLike) -> Floats:
        """Return the chance to be below ``u``, given ``v``.

        Parameters
        ----------
        u, given
            As many values of ``u`` as of ``v``.

        Examples
        --------
        >>> PairCopula("indep").h([0.2], given=[0.9]).round(9)
        array([0.2])
        """
        return np.asarray(self._bicop.hfunc2(_side_by_side(u, given)))

    def h_inverse(self, p: ArrayLike, *, given: ArrayLike) -> Floats:
        """Return the ``u`` below which the chance is ``p``, given ``v``.

        Parameters
        ----------
        p, given
            As many chances as values of ``v``.

        Examples
        --------
        >>> joe = PairCopula("joe", [2.0])
        >>> joe.h(joe.h_inverse([0.3], given=[0.8]), given=[0.8]).round(6)
        array([0.3])
        """
        return np.asarray(self._bicop.hinv2(_side_by_side(p, given)))

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Floats:
        """Draw points.

        Parameters
        ----------
        n
            How many.
        rng
            A generator; without one, the seed comes from the operating system.

        Examples
        --------
        >>> PairCopula("frank", [5.0]).sample(3, np.random.default_rng(1)).shape
        (3, 2)
        """
        require_integer(n, "n", error=SynthError, minimum=1)
        return np.asarray(self._bicop.sample(int(n), seeds=seeds_from(rng)))

    def __repr__(self) -> str:
        numbers = ", ".join(f"{one:.4g}" for one in self.parameters)
        turn = f", rotation={self.rotation}" if self.rotation else ""
        return f"PairCopula({self.family!r}{f', [{numbers}]' if numbers else ''}{turn})"


def fit_pair(
    u: ArrayLike,
    *,
    families: Sequence[str] = FAMILIES,
    criterion: Criterion = "aic",
) -> PairCopula:
    """Fit every family by maximum likelihood and keep the best.

    Parameters
    ----------
    u
        One row per record, two columns of values in [0, 1].
    families
        The candidates.
    criterion
        ``"aic"``, ``"bic"`` or ``"loglik"``.

    Examples
    --------
    >>> points = PairCopula("clayton", [3.0]).sample(2000, np.random.default_rng(5))
    >>> fit_pair(points, families=["gaussian", "clayton", "gumbel"]).family
    'clayton'
    """
    points = checked_uniforms(u, columns=2)
    library = vines()
    controls = library.FitControlsBicop(**fit_controls(families, criterion=criterion))
    return PairCopula.wrapped(library.Bicop.from_data(points, controls))


def fit_controls(families: Sequence[str], *, criterion: str) -> Any:
    """Return what the library wants to know of a fit, as keywords."""
    require_one_of(criterion, "criterion", get_args(Criterion), error=SynthError)
    kinds = vines().BicopFamily
    return {
        "family_set": [getattr(kinds, name) for name in _checked_families(families)],
        "selection_criterion": criterion,
        "allow_rotations": True,
    }


def _checked_families(families: Sequence[str]) -> list[str]:
    names = [families] if isinstance(families, str) else list(families)
    if not names:
        raise SynthError(
            Message("No family is named."),
            hint=Message("known: {families}", families=Name.each(FAMILIES)),
        )
    for name in names:
        require_one_of(name, "family", FAMILIES, error=SynthError)
    return names


def _side_by_side(u: ArrayLike, v: ArrayLike) -> Floats:
    one, other = np.ravel(np.asarray(u, np.float64)), np.ravel(np.asarray(v, np.float64))
    if len(one) != len(other):
        raise SynthError(
            Message(
                "{number} values stand against {number_2} given ones.",
                number=len(one),
                number_2=len(other),
            )
        )
    return checked_uniforms(np.column_stack([one, other]), columns=2)
