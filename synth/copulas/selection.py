"""Growing a vine tree by tree, strongest dependence first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from synth.copulas.structure import Edge, Vine, c_vine, d_vine
from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

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
        raise SynthError(f"A vine needs a variable, not {n} of them.")
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
        raise SynthError(f"Unknown shape {shape!r}.", hint="known: r, c, d")
    if n == 1:
        return d_vine([1])
    path = [int(one) for one in np.unravel_index(np.argmax(sizes), sizes.shape)]
    while len(path) < n:
        left = [one for one in range(n) if one not in path]
        at_front = max(left, key=lambda one: sizes[path[0], one])
        at_back = max(left, key=lambda one: sizes[path[-1], one])
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
    reached, chosen = {0}, []
    while len(reached) < size:
        ends, (edge, _) = max(
            (
                item
                for item in allowed.items()
                if (item[0][0] in reached) != (item[0][1] in reached)
            ),
            key=lambda item: item[1][1],
        )
        reached.update(ends)
        chosen.append(edge)
    return tuple(chosen)


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
