"""The map of a table of shares or rates by area: classes, hatching, shapes.

Only what the table shows is drawn: its published figures, and the intervals beside them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.service.maps.topology import path_of
from reports.facts.service import DrawnMap, Frame, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.service.answering.variables import Variable
    from ckm.service.maps.area_map import AreaMap

#: What can be mapped: counts would show where many people live.
MAPPED = ("share", "rate")

_N_CLASSES = 5
_FEWEST = 3  # areas that are worth a map
_MAX_SINGLE = 600  # areas that have a shape and words each
_MAX_DIGITS = 4


def map_of_column(
    area_map: AreaMap,
    variable: Variable,
    *,
    ranks: tuple[int, ...],
    figures: NDArray[Any],
    ends: NDArray[Any],
    label: str,
    language: str,
) -> DrawnMap | None:
    """Draw one figure of each area; None where the map has hardly any of them.

    Parameters
    ----------
    area_map, variable
        The map, and the variable of areas.
    ranks
        The areas of the table.
    figures, ends
        Their figures and the ends of their intervals; not a number where there is none.
    label, language
        What the figures are, in which language.
    """
    own = np.array(ranks, np.int64)
    levels = variable.level_of[own]
    is_told = np.isfinite(figures) & (own > 0) & (levels >= area_map.level)
    if not is_told.any():
        return None
    # Of several levels, the finest: areas within each other cannot be drawn beside each other.
    level = int(levels[is_told].min())
    is_told &= levels == level
    own, figures, ends = own[is_told], figures[is_told], ends[is_told]
    places = area_map.ranks(level)
    is_drawn = np.isin(own, places)
    own, figures, ends = own[is_drawn], figures[is_drawn], ends[is_drawn]
    if len(own) < _FEWEST:
        return None
    edges = class_edges(figures)
    classes = np.clip(np.searchsorted(edges[1:-1], figures, side="right"), 0, len(edges) - 2)
    width = ends[:, 1] - ends[:, 0]
    is_wide = ~(width <= np.diff(edges)[classes])  # an end that is not told is no narrow one
    position = np.full(variable.axis.size + 1, -1, np.int64)
    position[own] = np.arange(len(own))
    at = position[places]  # of each area of the map, its row; -1 for none
    kinds = 2 * classes + is_wide
    is_single = len(own) <= _MAX_SINGLE
    rest = len(own) if is_single else 2 * _N_CLASSES  # the group of land without a number
    groups = np.where(at >= 0, at if is_single else kinds[at], rest)

    def shape(group: int, path: str) -> Shape:
        if group == rest:
            return Shape(path=path, look=-1)
        look, is_hatched = divmod(int(kinds[group]) if is_single else group, 2)
        shape = Shape(path=path, look=look, is_hatched=bool(is_hatched))
        if not is_single:
            return shape
        low, high = ends[group].tolist()
        return replace(
            shape,
            name=variable.label(int(own[group]), language),
            code=variable.word(int(own[group])),
            figure=float(figures[group]),
            ends=(low, high),
        )

    outlines = area_map.topology.outlines(groups)
    return DrawnMap(
        label=label,
        size=area_map.topology.size,
        edges=tuple(edges.tolist()),
        shapes=tuple(shape(group, path_of(rings)) for group, rings in outlines.items()),
        n_areas=len(own),
        n_hatched=int(is_wide.sum()),
        has_gaps=bool((at < 0).any()),
        frames=tuple(
            Frame(ends=ends, name=name)
            for ends, name in zip(
                area_map.topology.frames, area_map.frame_names(language), strict=True
            )
        ),
    )


def class_edges(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ends of classes with about as many areas each, as round as they can be.

    Examples
    --------
    >>> class_edges(np.array([1.02, 1.98, 3.0, 4.1, 5.2, 6.3, 7.1, 8.2, 9.4, 9.9])).tolist()
    [1.0, 3.0, 5.0, 7.0, 8.0, 10.0]
    """
    inner = np.quantile(figures, np.linspace(0, 1, _N_CLASSES + 1))[1:-1]
    for digits in range(_MAX_DIGITS):
        scale = 10.0**digits
        low, high = np.floor(figures.min() * scale), np.ceil(figures.max() * scale)
        rounded = np.rint(inner * scale)
        if low < rounded[0] and (np.diff(rounded) > 0).all() and rounded[-1] < high:
            return np.concatenate([[low], rounded, [high]]) / scale
    # Many areas have the same figure: fewer classes.
    edges = np.unique(np.concatenate([[low], rounded, [high]])) / scale
    return edges if len(edges) > 1 else np.array([edges[0], edges[0] + 1 / scale])
