"""The structure of a vine: nested trees, checked, or grown strongest dependence first."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from numpy.typing import NDArray

from footing.messages import Argument, Message, Name
from synth.errors import SynthError


@dataclass(frozen=True, slots=True)
class Edge:
    """Two conditioned variables and the set they are conditioned on.

    Parameters
    ----------
    pair
        The two variables, the smaller first.
    given
        The conditioning set.

    Examples
    --------
    >>> str(Edge.of(3, 1, given=[2]))
    '1,3|2'
    """

    pair: tuple[int, int]
    given: frozenset[int] = frozenset()

    @classmethod
    def of(cls, one: int, other: int, *, given: Iterable[int] = ()) -> Self:
        """Make an edge, the pair in order.

        Parameters
        ----------
        one, other
            The two variables.
        given
            The conditioning set.

        Examples
        --------
        >>> Edge.of(2, 1).pair
        (1, 2)
        """
        return cls((min(one, other), max(one, other)), frozenset(given))

    @classmethod
    def read(cls, name: str) -> Self:
        """Read the name of an edge.

        Parameters
        ----------
        name
            As ``"2,5|3,4"``.

        Examples
        --------
        >>> Edge.read("5,2|4,3") == Edge.of(2, 5, given=[3, 4])
        True
        """
        pair, _, text = name.partition("|")
        try:
            one, other = (int(part) for part in pair.split(","))
            return cls.of(one, other, given=[int(part) for part in text.split(",") if part])
        except ValueError:
            raise SynthError(
                Message("{name!r} names no edge.", name=Name(name)),
                hint=Message("for example '2,5|3,4'"),
            ) from None

    @property
    def variables(self) -> frozenset[int]:
        """All variables it touches.

        Examples
        --------
        >>> sorted(Edge.read("2,5|3,4").variables)
        [2, 3, 4, 5]
        """
        return self.given | frozenset(self.pair)

    def __str__(self) -> str:
        pair = ",".join(str(one) for one in self.pair)
        text = ",".join(str(one) for one in sorted(self.given))
        return f"{pair}|{text}" if text else pair


@dataclass(frozen=True, slots=True)
class Vine:
    """A regular vine on the variables 1 to n, perhaps cut off after some trees.

    Parameters
    ----------
    n
        How many variables there are.
    trees
        The edges of tree 1, 2, …; none beyond the last given, where all is independent.

    Notes
    -----
    Tree ``i`` has ``n - i`` edges and no circle, its nodes are the edges of tree ``i - 1``,
    and two of those may be joined only if they share a node.

    Examples
    --------
    >>> vine = Vine.read(4, ["1,2 2,3 3,4", "1,3|2 2,4|3", "1,4|2,3"])
    >>> vine.depth
    3
    """

    n: int
    trees: tuple[tuple[Edge, ...], ...]

    def __post_init__(self) -> None:
        if self.n < 1 or len(self.trees) > max(0, self.n - 1):
            raise SynthError(
                Message(
                    "A vine on {number} variables has at most {number_2} trees, not "
                    "{number_3}.",
                    number=self.n,
                    number_2=max(0, self.n - 1),
                    number_3=len(self.trees),
                )
            )
        for level, edges in enumerate(self.trees, start=1):
            if len(edges) != self.n - level:
                raise SynthError(
                    Message(
                        "Tree {level} of {number} variables needs {number_2} edges, not "
                        "{number_3}.",
                        level=level,
                        number=self.n,
                        number_2=self.n - level,
                        number_3=len(edges),
                    )
                )
            _check_tree(level, edges, n=self.n, lower=self.trees[: level - 1])

    @classmethod
    def read(cls, n: int, trees: Sequence[str]) -> Self:
        """Read a vine from the names of its edges.

        Parameters
        ----------
        n
            How many variables there are.
        trees
            The edges of each tree, with blanks between.

        Examples
        --------
        >>> Vine.read(3, ["1,2 2,3"]).depth
        1
        """
        return cls(n, tuple(tuple(map(Edge.read, tree.split())) for tree in trees))

    @property
    def depth(self) -> int:
        """How many trees have pair-copulas.

        Examples
        --------
        >>> d_vine([1, 2, 3]).depth
        2
        """
        return len(self.trees)

    def __str__(self) -> str:
        return "; ".join(" ".join(map(str, edges)) for edges in self.trees)


def c_vine(order: Sequence[int]) -> Vine:
    """Make the vine whose trees are stars around one variable after the other.

    Parameters
    ----------
    order
        The variables 1 to n, the first root first.

    Examples
    --------
    >>> print(c_vine([3, 1, 2]))
    1,3 2,3; 1,2|3
    """
    roots = _checked_order(order)
    return Vine(
        len(roots),
        tuple(
            tuple(Edge.of(root, leaf, given=roots[:level]) for leaf in roots[level + 1 :])
            for level, root in enumerate(roots[:-1])
        ),
    )


def d_vine(order: Sequence[int]) -> Vine:
    """Make the vine whose trees are paths.

    Parameters
    ----------
    order
        The variables 1 to n along the first path.

    Examples
    --------
    >>> print(d_vine([3, 1, 2]))
    1,3 1,2; 2,3|1
    """
    path = _checked_order(order)
    return Vine(
        len(path),
        tuple(
            tuple(
                Edge.of(path[at], path[at + step], given=path[at + 1 : at + step])
                for at in range(len(path) - step)
            )
            for step in range(1, len(path))
        ),
    )


def number_of_vines(n: int) -> int:
    """Count the regular vines on labelled variables.

    Parameters
    ----------
    n
        How many variables there are.

    References
    ----------
    Morales-Nápoles 2010.

    Examples
    --------
    >>> [number_of_vines(n) for n in (3, 4, 5, 6, 7)]
    [3, 24, 480, 23040, 2580480]
    """
    if n < 1:
        raise SynthError(
            Message("A vine needs a variable, not {number} of them.", number=Argument(n))
        )
    if n < 3:
        return 1
    return math.factorial(n) // 2 * (1 << math.comb(n - 2, 2))


def _check_tree(
    level: int, edges: Sequence[Edge], *, n: int, lower: Sequence[Sequence[Edge]]
) -> None:
    roots: dict[object, object] = {}

    def root(node: object) -> object:
        while node in roots:
            node = roots[node]
        return node

    for edge in edges:
        one, other = edge.pair
        if one == other or edge.given & {one, other} or len(edge.given) != level - 1:
            raise SynthError(
                Message(
                    "Edge {edge} of tree {level} needs two conditioned variables and {level_2} "
                    "others that condition them.",
                    edge=Argument(edge),
                    level=level,
                    level_2=level - 1,
                )
            )
        if not edge.variables <= set(range(1, n + 1)):
            raise SynthError(
                Message(
                    "Edge {edge} has a variable that is not among 1 to {number}.",
                    edge=Argument(edge),
                    number=n,
                )
            )
        ends = _ends(edge, lower[-1] if lower else None)
        if len(ends) != 2 or not _share_a_node(ends, lower):
            raise SynthError(
                Message(
                    "Edge {edge} of tree {level} joins no two edges of tree {level_2} that "
                    "share a node.",
                    edge=Argument(edge),
                    level=level,
                    level_2=level - 1,
                ),
                hint=Message(
                    "proximity: their union is the edge, their intersection its condition"
                ),
            )
        first, second = (root(node) for node in ends)
        if first == second:
            raise SynthError(
                Message(
                    "Tree {level} has a circle at {edge}.", level=level, edge=Argument(edge)
                )
            )
        roots[first] = second


def _ends(edge: Edge, below: Sequence[Edge] | None) -> list[object]:
    """Return the two nodes that an edge joins; fewer or more where it joins none."""
    if below is None:
        return list(edge.pair)
    ends = [edge.given | {one} for one in edge.pair]
    return [node for one in ends for node in below if node.variables == one]


def _share_a_node(ends: Sequence[object], lower: Sequence[Sequence[Edge]]) -> bool:
    if len(lower) < 2:
        return True  # two pairs with a variable in common
    one, other = (set(_ends(end, lower[-2])) for end in ends if isinstance(end, Edge))
    return bool(one & other)


def _checked_order(order: Sequence[int]) -> list[int]:
    numbers = [int(one) for one in order]
    if sorted(numbers) != list(range(1, len(numbers) + 1)) or not numbers:
        raise SynthError(
            Message("An order names the variables 1 to n, each once."),
            hint=Message("for example [2, 1, 3]"),
        )
    return numbers


Shape = Literal["r", "c", "d"]


def grow_structure(
    n: int, weight: Callable[[Edge], float], *, depth: int | None = None
) -> Vine:
    """Choose trees greedily: each a maximum spanning tree among the edges allowed.

    Parameters
    ----------
    n
        How many variables there are.
    weight
        How strong the dependence along an edge is, 0 or more. Called tree by tree.
    depth
        How many trees; all by default.

    Notes
    -----
    Prim's algorithm; of equal weights the edge that comes first is taken.

    References
    ----------
    Dissmann, Brechmann, Czado, Kurowicka 2013.

    Examples
    --------
    >>> strengths = {"1,2": 0.1, "1,3": 0.9, "2,3": 0.5, "1,2|3": 0.3}
    >>> print(grow_structure(3, lambda edge: strengths[str(edge)]))
    1,3 2,3; 1,2|3
    """
    if n < 1:
        raise SynthError(
            Message("A vine needs a variable, not {number} of them.", number=Argument(n))
        )
    levels = max(0, n - 1) if depth is None else min(int(depth), n - 1)
    trees: list[tuple[Edge, ...]] = []
    for _ in range(levels):
        below = trees[-1] if trees else None
        trees.append(_spanning_tree(n, below, weight))
    return Vine(n, tuple(trees))


def order_by_dependence(strengths: NDArray[Any], *, shape: Shape) -> Vine:
    """Choose a C-vine or a D-vine from the strengths of all pairs.

    The roots of a C-vine are the variables with the largest sums, in falling order. The path
    of a D-vine starts with the strongest pair and grows at either end by the strongest edge.
    """
    import numpy as np

    sizes = np.abs(np.asarray(strengths, dtype=np.float64))
    np.fill_diagonal(sizes, -np.inf)
    n = len(sizes)
    if shape == "c":
        sums = np.where(np.isfinite(sizes), sizes, 0).sum(axis=1)
        return c_vine([int(one) + 1 for one in np.argsort(-sums, kind="stable")])
    if shape != "d":
        raise SynthError(
            Message("Unknown shape {shape!r}.", shape=Name(shape)),
            hint=Message("known: r, c, d"),
        )
    if n == 1:
        return d_vine([1])
    path = [int(one) for one in np.unravel_index(np.argmax(sizes), sizes.shape)]
    while len(path) < n:
        rest = [one for one in range(n) if one not in path]
        at_front = max(rest, key=lambda one: sizes[path[0], one])
        at_back = max(rest, key=lambda one: sizes[path[-1], one])
        if sizes[path[0], at_front] > sizes[path[-1], at_back]:
            path.insert(0, at_front)
        else:
            path.append(at_back)
    return d_vine([one + 1 for one in path])


def _spanning_tree(
    n: int, below: Sequence[Edge] | None, weight: Callable[[Edge], float]
) -> tuple[Edge, ...]:
    allowed: dict[tuple[int, int], tuple[Edge, float]] = {}
    size = n if below is None else len(below)
    for one in range(size):
        for other in range(one + 1, size):
            edge = _joined(one, other, below)
            if edge is not None:
                allowed[one, other] = edge, float(weight(edge))
    nodes, edges = {0}, []
    while len(nodes) < size:
        ends, (edge, _) = max(
            (
                item
                for item in allowed.items()
                if (item[0][0] in nodes) != (item[0][1] in nodes)
            ),
            key=lambda item: item[1][1],
        )
        nodes.update(ends)
        edges.append(edge)
    return tuple(edges)


def _joined(one: int, other: int, below: Sequence[Edge] | None) -> Edge | None:
    if below is None:
        return Edge.of(one + 1, other + 1)
    first, second = below[one], below[other]
    if first.given | second.given:
        shared = _nodes(first) & _nodes(second)
        if not shared:
            return None
    common = first.variables & second.variables
    if len(common) != len(first.variables) - 1:
        return None
    pair = sorted(first.variables ^ second.variables)
    return Edge.of(pair[0], pair[1], given=common)


def _nodes(edge: Edge) -> set[frozenset[int]]:
    return {edge.given | {one} for one in edge.pair}
