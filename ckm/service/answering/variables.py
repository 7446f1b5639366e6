"""The variables that a service offers: categories, codes, levels and words.

Whether a category stands in a list may tell that somebody is in it. So categories that the
records alone tell of are listed only where their published count is not zero.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ckm.config.job.variable import require_distinct
from ckm.formats.words import MISSING
from ckm.service.answering.messages import say
from ckm.service.answering.name_search import NameSearch
from tables.cells.places import level_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.config.service.sections import OfferedVariable
    from ckm.config.service.service import Service
    from ckm.engine.engine import Engine
    from tables.cells.axes import Axis
    from tables.prepared.prepared import Prepared


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Variable:
    """A variable as callers see it.

    Parameters
    ----------
    offer
        What the service file says about it.
    axis
        All its categories, by rank; rank 0 is the total.
    codes
        The code of every category, by rank.
    is_listed
        Which categories callers may know of, by rank.
    level_of
        The level of every category, by rank.
    level_names
        The levels, finest first, the total's left out.
    labels
        Column → category → what the files of the records call it, where the service file says
        nothing.
    """

    offer: OfferedVariable
    axis: Axis
    codes: tuple[str, ...]
    is_listed: NDArray[np.bool_]
    level_of: NDArray[np.int64]
    level_names: tuple[str, ...]
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _ranks: dict[str, int] = field(default_factory=dict)
    _searches: dict[str, NameSearch] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return self.offer.name

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.codes[0]

    def rank(self, code: str) -> int | None:
        """Return the listed category of a code, or of the last part of one."""
        return self._ranks.get(code)

    def chosen(self, text: str) -> int | None:
        """Return the listed category that a selection names; signs of wildcards name none."""
        return None if _is_wild(text) else self.rank(text)

    def word(self, rank: int) -> str:
        """Return what names a category in a selection."""
        code = self.codes[rank]
        return f"range({code},{code})" if _is_wild(code) else code or "[]"

    def ranks(self, level: int | None = None) -> NDArray[np.int64]:
        """Return the listed categories, of one level or of all, the total among them."""
        if level is None:
            return np.flatnonzero(self.is_listed)
        ranks = np.sort(self.axis.levels[level].ranks)
        return ranks[self.is_listed[ranks]].astype(np.int64)

    def label(self, rank: int, language: str) -> str:
        """Return what readers call a category."""
        categories, own = self.offer.categories, self.own(rank)
        if texts := categories.get(self.codes[rank]) or categories.get(own):
            return texts[language]
        column = _column(self.axis, int(self.level_of[rank]))
        if rank and not categories and (text := self.labels.get(column, {}).get(own)):
            return text
        if rank and (own == MISSING or not own.strip()):
            return say(own.strip() or "no_text", language)
        return say("total", language) if rank == 0 else own

    def level_label(self, level: int, language: str) -> str:
        """Return what readers call a level."""
        name = self.level_names[level]
        texts = self.offer.levels.get(name)
        if texts is None:
            return say("level_number", language, number=name) if name.isdecimal() else name
        return texts[language]

    def title(self, level: int | None, language: str) -> str:
        """Return what readers call it, with the level that is shown where it has several."""
        label = self.offer.labels[language]
        if level is None or len(self.level_names) < 2:
            return label
        return f"{label} ({self.level_label(level, language)})"

    def find(self, text: str, language: str) -> list[int]:
        """Return the listed categories with a text in a name, a code or a former name."""
        search = self._searches.get(language)
        if search is None:
            search = self._searches[language] = NameSearch(self, language)
        return search.find(text)

    def own(self, rank: int) -> str:
        """Return the text of a category at its own level."""
        return _own_text(self.axis, rank, int(self.level_of[rank]))


def offered_variables(
    service: Service, engine: Engine, prepared: Prepared
) -> dict[str, Variable]:
    """Describe the variables that a service offers."""
    variables = {}
    for name, offer in service.variables.items():
        axis = prepared.axes[name]
        levels = level_of(axis)
        codes = _codes(axis, levels)
        is_listed = _listed(name, engine, prepared)
        variables[name] = Variable(
            offer=offer,
            axis=axis,
            codes=codes,
            is_listed=is_listed,
            level_of=levels,
            level_names=_level_names(axis, name),
            labels={} if offer.categories else _labels(axis, engine),
            _ranks=_by_code(axis, codes, is_listed, levels),
        )
    return variables


def _is_wild(text: str) -> bool:
    return bool(text) and set(text) <= {"*", "?"}


def _level_names(axis: Axis, name: str) -> tuple[str, ...]:
    if len(axis.columns) > 1:
        return tuple(reversed(axis.columns))
    if len(axis.levels) == 2:
        return (name,)
    depth = len(axis.levels) - 1
    return tuple(str(depth - level) for level in range(depth))


def _column(axis: Axis, level: int) -> str:
    """Return the column whose categories stand at a level."""
    return axis.columns[max(0, len(axis.columns) - 1 - level)]


def _labels(axis: Axis, engine: Engine) -> dict[str, dict[str, str]]:
    """Return what the files call categories of the axis, which readers must tell apart."""
    labels = {name: texts for name, texts in engine.labels.items() if name in axis.columns}
    for column, texts in labels.items():
        require_distinct(column, texts)
    return labels


def _own_text(axis: Axis, rank: int, level: int) -> str:
    column = max(0, len(axis.columns) - 1 - level)
    return str(axis.labels[column][rank])


def _codes(axis: Axis, level_of: NDArray[np.int64]) -> tuple[str, ...]:
    """Return a code for each category: its text where texts differ, else its path."""
    own = [_own_text(axis, rank, int(level_of[rank])) for rank in range(axis.size)]
    if len(set(own)) == len(own):
        return tuple(own)
    depths = [max(1, len(axis.columns) - int(level)) for level in level_of]
    return tuple(
        "/".join(str(labels[rank]) for labels in axis.labels[:depth])
        for rank, depth in enumerate(depths)
    )


def _listed(name: str, engine: Engine, prepared: Prepared) -> NDArray[np.bool_]:
    axis = prepared.axes[name]
    prepared_cells = prepared.scan({name: 0})
    level_sets = [(level,) for level in range(len(axis.levels))]
    cells = prepared.cells(prepared_cells, [name], level_sets=level_sets)
    published = engine.protect(cells)["count"]
    is_listed = ~axis.is_found
    is_listed[cells.ranks[0][published > 0]] = True
    is_listed[0] = True
    return is_listed


def _by_code(
    axis: Axis,
    codes: Sequence[str],
    is_listed: NDArray[np.bool_],
    level_of: NDArray[np.int64],
) -> dict[str, int]:
    """Find categories by their code, and by its last part where that is of one alone."""
    ranks = {codes[rank]: rank for rank in np.flatnonzero(is_listed).tolist()}
    own = {rank: _own_text(axis, rank, int(level_of[rank])) for rank in ranks.values()}
    times = Counter(own.values())
    return {text: rank for rank, text in own.items() if times[text] == 1} | ranks
