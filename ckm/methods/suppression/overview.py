"""What a suppression hid, and why, as its overview says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ckm import __version__
from reports.facts.suppression import (
    PatternFact,
    PublicSuppressionFacts,
    SuppressedLevelFact,
    SuppressedMeasureFact,
    SuppressedTableFact,
    SuppressionFacts,
)
from tables.cells.places import level_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckm.methods.settings import SuppressionSettings
    from ckm.methods.suppression.audit import Audit
    from ckm.methods.suppression.cell_selection import HiddenCells, MeasureSystem
    from footing.arrays import Integers
    from tables import Cells
    from tables.cells.axes import Axis

#: Larger patterns are left to the files.
_MAX_ROWS, _MAX_COLUMNS = 60, 24
_SECONDARY = 2
_RULES = ("threshold", "dominance", "p_percent", "prior_posterior", "request", "zero_margin")


def overview(
    hidden_cells: HiddenCells,
    audits: Mapping[str, Audit],
    settings: SuppressionSettings,
    *,
    title: str,
) -> SuppressionFacts:
    """Gather what the office sees: inside use only."""
    return SuppressionFacts(
        title=title,
        version=__version__,
        rules=tuple(_rules(settings)),
        coalition=settings.coalition,
        has_holdings=settings.holding is not None,
        prior=settings.prior,
        is_audited=bool(audits),
        measures=tuple(
            _measure(hidden_cells, system, audits.get(system.measure))
            for system in hidden_cells.systems
        ),
        levels=tuple(
            level
            for name, cells in hidden_cells.tables.items()
            for level in _levels(name, cells, _status(hidden_cells, name))
        ),
        patterns=tuple(
            pattern
            for name, cells in hidden_cells.tables.items()
            if (pattern := _pattern(hidden_cells, name, cells)) is not None
        ),
    )


def public_overview(
    hidden_cells: HiddenCells, *, rows: Mapping[str, int], title: str, contact: str
) -> PublicSuppressionFacts:
    """Gather what the files of the tables tell everybody; `rows` is how many each has."""
    tables = tuple(
        SuppressedTableFact(
            table=name, cells=rows[name], hidden=int((_status(hidden_cells, name) > 0).sum())
        )
        for name in hidden_cells.tables
    )
    return PublicSuppressionFacts(
        title=title, contact=contact, version=__version__, tables=tables
    )


def _rules(settings: SuppressionSettings) -> Iterator[tuple[str, tuple[float, ...]]]:
    for name in _RULES:
        value: Any = getattr(settings, name)
        if value is not None:
            value = value.percent if name == "request" else value
            yield name, tuple(value) if isinstance(value, tuple) else (value,)


def _status(hidden_cells: HiddenCells, name: str) -> Integers:
    number = list(hidden_cells.tables).index(name)
    status = hidden_cells.status[hidden_cells.relations.numbers[number]]
    return status.astype(np.int64)


def _measure(
    hidden_cells: HiddenCells, system: MeasureSystem, audit: Audit | None
) -> SuppressedMeasureFact:
    is_shown, suppression = system.is_shown, system.suppression
    is_hidden = hidden_cells.hidden[system.cells][is_shown]
    values = np.abs(np.asarray(system.problem.values, np.float64))[is_shown]
    return SuppressedMeasureFact(
        measure=system.measure,
        cells=int(is_shown.sum()),
        unsafe=int((system.problem.primary.is_primary & is_shown).sum()),
        hidden=int(is_hidden.sum()),
        lost=float(values[is_hidden].sum() / values.sum()) if values.any() else 0.0,
        method=suppression.method,
        gap=float(suppression.gap) if suppression.has_bound else None,
        exact=None if audit is None else int(audit.is_exact.sum()),
    )


def _levels(name: str, cells: Cells, status: Integers) -> Iterator[SuppressedLevelFact]:
    """Count by what cells break down by, finest levels first."""
    code = np.zeros(len(cells), np.int64)
    for axis, rank in zip(cells.axes, cells.ranks, strict=True):
        code = code * len(axis.levels) + level_of(axis)[rank]
    sizes = [len(axis.levels) for axis in cells.axes]
    for number in np.unique(code).tolist():
        own = status[code == number]
        places = np.unravel_index(number, sizes) if sizes else ()
        levels = zip(cells.axes, places, strict=True)
        yield SuppressedLevelFact(
            table=name,
            columns=tuple(word for a, place in levels if (word := _level_name(a, int(place)))),
            cells=len(own),
            primary=int((own == 1).sum()),
            secondary=int((own == _SECONDARY).sum()),
        )


def _level_name(axis: Axis, level: int) -> str:
    """Name what a level breaks down by: a column, or that of a code tree and its depth."""
    depth = len(axis.levels) - 1 - level
    if not depth:
        return ""
    if len(axis.columns) > 1:
        return axis.columns[depth - 1]
    return axis.columns[0] if len(axis.levels) == 2 else f"{axis.columns[0]} {depth}"


def _pattern(hidden_cells: HiddenCells, name: str, cells: Cells) -> PatternFact | None:
    """Count hidden cells over the first two dimensions; None where there is no room."""
    status = _status(hidden_cells, name)
    if len(cells.axes) < 2 or not status.any():
        return None
    down, across = cells.axes[:2]
    if down.size < across.size:
        down, across, order = across, down, (1, 0)
    else:
        order = (0, 1)
    if down.size > _MAX_ROWS or across.size > _MAX_COLUMNS or not len(cells):
        return None
    rows, columns = (cells.ranks[place].astype(np.int64) for place in order)
    place = rows * across.size + columns
    counts = [
        np.bincount(place, weights, minlength=down.size * across.size).astype(int).tolist()
        for weights in (np.ones(len(cells)), status == 1, status > 0)
    ]
    dimensions = hidden_cells.requests[name].dimensions
    return PatternFact(
        table=name,
        down=dimensions[order[0]],
        across=dimensions[order[1]],
        rows=_labels(down),
        columns=_labels(across),
        cells=tuple(
            (number // across.size, number % across.size, n, unsafe, hidden)
            for number, (n, unsafe, hidden) in enumerate(zip(*counts, strict=True))
            if n
        ),
    )


def _labels(axis: Axis) -> tuple[str, ...]:
    """Return the finest code of each category."""
    total = str(axis.labels[0][0])
    labels = []
    for texts in zip(*axis.labels, strict=True):
        codes = [str(text) for text in texts if str(text) != total]
        labels.append(codes[-1] if codes else total)
    return tuple(labels)
