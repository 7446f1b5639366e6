"""Vines with pair-copulas on their edges: fitted, drawn from."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.arrays import Floats
from footing.checks import is_integer, require_integer, require_one_of
from footing.messages import Argument, Message
from synth.copulas.gaussian import nearest_correlation
from synth.copulas.library import checked_uniforms, seeds_from, vines
from synth.copulas.pair import FAMILIES, Criterion, PairCopula, fit_controls
from synth.copulas.structure import Edge, Shape, Vine, grow_structure, order_by_dependence
from synth.errors import SynthError

Truncation = int | Literal["auto"] | None
Measure = Literal["tau", "rho"]


class FittedVine:
    """A vine with a pair-copula on every edge. Build it with `of`, or fit it.

    Parameters
    ----------
    vinecop
        The vine of the library.

    Examples
    --------
    >>> vine = FittedVine.of(Vine.read(2, ["1,2"]), {"1,2": PairCopula("clayton", [2.0])})
    >>> vine.pairs
    {Edge(pair=(1, 2), given=frozenset()): PairCopula('clayton', [2])}
    """

    def __init__(self, vinecop: Any) -> None:
        self._vinecop = vinecop

    @classmethod
    def of(cls, structure: Vine, pairs: Mapping[str, PairCopula]) -> Self:
        """Put pair-copulas on the edges of a vine.

        Parameters
        ----------
        structure
            The vine.
        pairs
            A pair-copula per edge, by name; edges without one are independent. The first
            variable of a pair-copula is the smaller one of the edge.

        Examples
        --------
        >>> FittedVine.of(Vine.read(3, ["1,2 2,3"]), {}).structure.depth
        1
        """
        edges = {edge for tree in structure.trees for edge in tree}
        by_edge = {Edge.read(name): pair for name, pair in pairs.items()}
        for edge in by_edge:
            if edge not in edges:
                raise SynthError(
                    Message("The vine has no edge {edge}.", edge=Argument(edge)),
                    hint=Message("it has {structure}", structure=Argument(structure)),
                )
        library = vines()
        # the library puts the first conditioned variable on the diagonal, in its own order
        arranged = _arranged(library, structure)
        copulas = [
            [
                _turned(by_edge.get(Edge.of(a, b, given=condition)), a > b)
                for a, b, condition in tree
            ]
            for tree in arranged.get_trees()
        ]
        return cls(library.Vinecop.from_structure(structure=arranged, pair_copulas=copulas))

    @property
    def structure(self) -> Vine:
        """The vine, as deep as it has pair-copulas.

        Examples
        --------
        >>> print(FittedVine.of(Vine.read(2, ["1,2"]), {}).structure)
        1,2
        """
        trees = self._vinecop.structure.get_trees()[: self._depth]
        levels = [
            tuple(Edge.of(a, b, given=condition) for a, b, condition in tree) for tree in trees
        ]
        return Vine(self.n, tuple(levels))

    @property
    def n(self) -> int:
        """How many variables there are.

        Examples
        --------
        >>> FittedVine.of(Vine.read(2, ["1,2"]), {}).n
        2
        """
        return int(self._vinecop.dim)

    @property
    def pairs(self) -> dict[Edge, PairCopula]:
        """The pair-copula of every edge, the smaller variable first.

        Examples
        --------
        >>> FittedVine.of(Vine.read(2, ["1,2"]), {}).pairs
        {Edge(pair=(1, 2), given=frozenset()): PairCopula('indep')}
        """
        copulas = {}
        for level, tree in enumerate(self._vinecop.structure.get_trees()[: self._depth]):
            for place, (a, b, condition) in enumerate(tree):
                bicop = self._vinecop.get_pair_copula(level, place)
                copula = PairCopula.wrapped(bicop.flip() if a > b else bicop)
                copulas[Edge.of(a, b, given=condition)] = copula
        return copulas

    def density(self, u: ArrayLike) -> Floats:
        """Return the density.

        Parameters
        ----------
        u
            One row per point, a column per variable.

        Examples
        --------
        >>> FittedVine.of(Vine.read(2, ["1,2"]), {}).density([[0.1, 0.7]]).tolist()
        [1.0]
        """
        continuous = vines().Vinecop.from_structure(
            structure=self._vinecop.structure,
            pair_copulas=[
                [one.with_var_types(["c", "c"]) for one in tree]
                for tree in self._vinecop.pair_copulas
            ],
        )
        return np.asarray(continuous.pdf(checked_uniforms(u, columns=self.n)))

    def sample(
        self, n: int, rng: np.random.Generator | None = None, *, threads: int = 1
    ) -> Floats:
        """Draw points, by the inverse Rosenblatt transform.

        Parameters
        ----------
        n
            How many.
        rng
            A generator; without one, the seed comes from the operating system.
        threads
            How many processors to use. Another number draws other points.

        Examples
        --------
        >>> vine = FittedVine.of(Vine.read(2, ["1,2"]), {"1,2": PairCopula("frank", [9.0])})
        >>> vine.sample(4, np.random.default_rng(1)).shape
        (4, 2)
        """
        require_integer(n, "n", error=SynthError, minimum=1)
        points = self._vinecop.sample(int(n), num_threads=threads, seeds=seeds_from(rng))
        return np.asarray(points)

    def of_uniforms(self, uniforms: ArrayLike) -> Floats:
        """Return points from independent uniform numbers, by the inverse Rosenblatt transform.

        Parameters
        ----------
        uniforms
            One row per point, a column per variable.

        Examples
        --------
        >>> vine = FittedVine.of(Vine.read(2, ["1,2"]), {})
        >>> vine.of_uniforms([[0.25, 0.5]]).tolist()
        [[0.25, 0.5]]
        """
        points = checked_uniforms(uniforms, columns=self.n)
        return np.asarray(self._vinecop.inverse_rosenblatt(points))

    def to_json(self) -> str:
        """Return the vine as text, kernels too.

        Examples
        --------
        >>> vine = FittedVine.of(Vine.read(2, ["1,2"]), {"1,2": PairCopula("frank", [9.0])})
        >>> FittedVine.from_json(vine.to_json()).pairs == {}
        False
        """
        return str(self._vinecop.to_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text
            The text.

        Raises
        ------
        SynthError
            If it is something else.

        Examples
        --------
        >>> FittedVine.from_json("{}")
        Traceback (most recent call last):
        ...
        synth.SynthError: The text is no vine.
        """
        try:
            return cls(vines().Vinecop.from_json(text))
        except (RuntimeError, ValueError, TypeError):
            raise SynthError(Message("The text is no vine.")) from None

    @property
    def _depth(self) -> int:
        return int(min(self._vinecop.trunc_lvl, max(0, self.n - 1)))

    def __repr__(self) -> str:
        return f"FittedVine(n={self.n}, depth={self._depth})"


def fit_vine(
    u: ArrayLike,
    *,
    shape: Shape = "r",
    structure: Vine | None = None,
    measure: Measure = "tau",
    truncation: Truncation = None,
    families: Sequence[str] = FAMILIES,
    criterion: Criterion = "aic",
    before: ArrayLike | None = None,
    selected_on: int | None = None,
    threads: int = 1,
) -> FittedVine:
    """Choose a vine and fit its pair-copulas.

    Parameters
    ----------
    u
        One row per record, a column per variable, in [0, 1]: pseudo-observations.
    shape
        ``"r"``, chosen tree by tree; ``"c"`` or ``"d"``, ordered by the dependence of pairs.
    structure
        A vine to keep; then only pair-copulas are fitted.
    measure
        Whether ``"tau"`` or ``"rho"``, in size, says which dependence is strongest.
    truncation
        How many trees to fit; None for all, ``"auto"`` for as many as mBICV wants.
    families, criterion
        The candidates for every pair, and how one is chosen.
    before
        Left limits, for columns whose values have steps; then all columns count as discrete.
    selected_on
        On how many of the records trees and families are chosen, where there are more; the
        parameters are those of all.
    threads
        How many processors to use; the fit is the same.

    References
    ----------
    Dissmann, Brechmann, Czado, Kurowicka 2013; Nagler, Bumann, Czado 2019 (mBICV).

    Examples
    --------
    >>> true = FittedVine.of(Vine.read(2, ["1,2"]), {"1,2": PairCopula("gumbel", [3.0])})
    >>> drawn = true.sample(1000, np.random.default_rng(3))
    >>> list(fit_vine(drawn, families=["gumbel", "clayton"]).pairs.values())[0].family
    'gumbel'
    """
    points = checked_uniforms(u)
    n = points.shape[1]
    require_one_of(measure, "measure", get_args(Measure), error=SynthError)
    if len(points) < 2:
        raise SynthError(Message("A vine needs at least two records."))
    library = vines()
    if n == 1:
        return FittedVine(library.Vinecop(1))
    if structure is None and shape != "r":
        structure = order_by_dependence(_strengths(points, measure), shape=shape)
    if structure is not None and structure.n != n:
        raise SynthError(
            Message(
                "The vine has {number} variables, the data {number_2}.",
                number=structure.n,
                number_2=n,
            )
        )
    controls = library.FitControlsVinecop(
        **fit_controls(families, criterion=criterion),
        tree_criterion=measure,
        num_threads=threads,
        **_depths(truncation, structure),
    )
    kwargs: dict[str, Any] = {}
    if structure is not None:
        kwargs["structure"] = _arranged(library, structure)
    if before is not None:
        lower = checked_uniforms(before, columns=n)
        points = np.asfortranarray(np.column_stack([points, np.minimum(lower, points)]))
        kwargs["var_types"] = ["d"] * n
    if selected_on is None or selected_on >= len(points):
        return FittedVine(library.Vinecop.from_data(points, controls, **kwargs))
    some = np.random.default_rng(0).choice(len(points), selected_on, replace=False)
    sample = np.asfortranarray(points[np.sort(some)])
    vinecop = library.Vinecop.from_data(sample, controls, **kwargs)
    vinecop.fit(points, library.FitControlsBicop(num_threads=threads))
    return FittedVine(vinecop)


def gaussian_vine(correlation: ArrayLike, *, depth: int) -> FittedVine:
    """Turn a correlation matrix into a vine of Gaussian pair-copulas, cut off at a depth.

    The structure is chosen by correlations, then partial correlations, all from the matrix:
    nothing else is looked at.

    Parameters
    ----------
    correlation
        The matrix; it is repaired where it is not positive definite.
    depth
        How many trees.

    Examples
    --------
    >>> gaussian_vine([[1, 0.5], [0.5, 1]], depth=1).pairs
    {Edge(pair=(1, 2), given=frozenset()): PairCopula('gaussian', [0.5])}
    """
    matrix = nearest_correlation(correlation)

    def partial(edge: Edge) -> float:
        places = [one - 1 for one in (*edge.pair, *sorted(edge.given))]
        precision = np.linalg.inv(matrix[np.ix_(places, places)])
        size = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
        return float(np.clip(size, -0.999, 0.999))

    structure = grow_structure(len(matrix), lambda edge: abs(partial(edge)), depth=depth)
    pairs = {
        str(edge): PairCopula("gaussian", [partial(edge)])
        for tree in structure.trees
        for edge in tree
    }
    return FittedVine.of(structure, pairs)


def _arranged(library: Any, structure: Vine) -> Any:
    trees = [[(*edge.pair, sorted(edge.given)) for edge in tree] for tree in structure.trees]
    return library.RVineStructure.from_trees(structure.n, trees)


def _turned(pair: PairCopula | None, is_turned: bool) -> Any:  # noqa: FBT001 (two values)
    bicop = vines().Bicop() if pair is None else pair.bicop
    return bicop.flip() if is_turned else bicop


def _depths(truncation: Any, structure: Vine | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if truncation == "auto":
        arguments["select_trunc_lvl"] = True
    elif truncation is not None:
        if not is_integer(truncation, minimum=0):
            raise SynthError(
                Message(
                    "truncation must be a number of trees, None or 'auto', not {truncation!r}.",
                    truncation=Argument(truncation),
                )
            )
        arguments["trunc_lvl"] = truncation
    if structure is not None:
        arguments["trunc_lvl"] = min(
            arguments.get("trunc_lvl", structure.depth), structure.depth
        )
    return arguments


def _strengths(points: Floats, measure: str) -> NDArray[Any]:
    from scipy.stats import kendalltau, rankdata

    n = points.shape[1]
    if measure == "rho":
        ranks = np.column_stack([rankdata(one) for one in points.T])
        with np.errstate(invalid="ignore", divide="ignore"):
            matrix: NDArray[Any] = np.nan_to_num(np.corrcoef(ranks, rowvar=False))
            return matrix.reshape(n, n)
    strengths = np.eye(n)
    for one in range(n):
        for other in range(one):
            tau = np.nan_to_num(kendalltau(points[:, one], points[:, other]).statistic)
            strengths[one, other] = strengths[other, one] = tau
    return strengths
