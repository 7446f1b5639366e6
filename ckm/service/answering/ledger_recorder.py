"""The service's side of the ledger: every table is recorded before anybody sees it."""

import itertools
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ckm.config.job.ledger import JobLedger
from ckm.ledger import (
    Definition,
    Ledger,
    LedgerError,
    SecondMethodError,
    ThinDifferenceError,
    ThinPair,
)
from ckm.service.answering.cells.lru_cache import Cache
from ckm.service.answering.messages import ClientError
from ckm.service.answering.query import Query, Selection, are_in_margins
from ckm.service.answering.variables import Variable
from ckm.service.rules.shape import Finding
from footing.messages import Message
from footing.serialisation import canonical
from tables import Cells
from tables.prepared.prepared import Prepared, PreparedCells

logger = logging.getLogger(__name__)

_MAX_BYTES = 16_000_000
_MAX_NAMED = 20
_FOUND = Finding(rule="thin_difference", tries=("thin_difference_try",))
_SECOND = Finding(rule="second_method", tries=("second_method_try",))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Publication:
    """A table about to be published. Disclosive: the ledger keeps digests of it alone.

    Parameters
    ----------
    query
        What was asked for.
    selections
        The categories of the variables that are not summed over, without withheld areas.
    levels
        For each of these variables the levels of the table, finest first.
    found
        The finest cells that meet the filter, over all categories of these variables.
    prepared
        The records they are from.
    variables
        What the service offers.
    population
        The filter of its population; None for all records.
    """

    query: Query
    selections: tuple[Selection, ...]
    levels: tuple[tuple[int, ...], ...]
    found: PreparedCells
    prepared: Prepared
    variables: Mapping[str, Variable]
    population: str | None = None

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The variables that are not summed over."""
        return tuple(selection.variable for selection in self.selections)

    def cells(self) -> tuple[Cells, NDArray[np.bool_]]:
        """Return the cells of all categories, each once, and which of them are published."""
        level_sets = list(itertools.product(*self.levels))
        cells = self.prepared.cells(self.found, self.dimensions, level_sets=level_sets)
        is_shown = np.ones(len(cells), bool)
        for selection, axis, ranks in zip(
            self.selections, cells.axes, cells.ranks, strict=True
        ):
            is_wanted = np.zeros(axis.size, bool)
            is_wanted[list(selection.ranks)] = True
            is_shown &= is_wanted[ranks]
        if self.query.margins is not None:
            is_shown &= self._is_in_margins(cells)
        return cells, is_shown

    def _is_in_margins(self, cells: Cells) -> NDArray[np.bool_]:
        """Tell which cells belong to the combinations of levels that were asked for."""
        ranks = dict(zip(self.dimensions, cells.ranks, strict=True))
        nothing = np.zeros(len(cells), np.int32)  # a variable summed over has its total
        levels = [
            self.variables[s.variable].level_of[ranks.get(s.variable, nothing)]
            for s in self.query.selections
        ]
        return are_in_margins(levels, self.query.margins or (), size=len(cells))


class Recorder:
    """Records the tables of a service, or refuses them.

    Parameters
    ----------
    ledger
        The open ledger.
    rules
        What the service file says of it.
    name
        What the service's tables are called there.
    max_sets
        Above so many sets of records in the ledger no new table is recorded.
    """

    def __init__(
        self, ledger: Ledger, rules: JobLedger, *, name: str, max_sets: int = 5_000_000
    ) -> None:
        self._ledger = ledger
        self._name = name
        self._max_sets = max_sets
        self._rules = rules
        self.policy: str = rules.policy
        self.width = ledger.width
        # The records do not change while a service runs: what it recorded stays recorded.
        self._answered: Cache[tuple[Finding | None]] = Cache(_MAX_BYTES, size=lambda _: 100)

    def is_known(self, publication: Publication) -> bool:
        """Tell whether this table is recorded: then its review tells nothing of records."""
        if self._answered.get(_key_of(publication)) is not None:
            return True
        definition = self._definition(publication)
        return self._ledger.is_known(definition, history=self._rules.history)

    def review(self, publication: Publication) -> Finding | None:
        """Return what speaks against a publication; record it where nothing does."""
        key = _key_of(publication)
        earlier = self._answered.get(key)
        if earlier is not None:
            return earlier[0]
        try:
            pairs = self._publish(publication)
        except ThinDifferenceError:
            return _FOUND
        except SecondMethodError:
            return _SECOND
        except LedgerError as error:
            logger.error("ledger failed", extra={"problem": error.problem})  # noqa: TRY400
            raise ClientError("busy") from None
        finding = _FOUND if pairs else None
        if pairs:
            self._note(pairs)
        self._answered.put(key, (finding,))
        return finding

    def _publish(self, publication: Publication) -> tuple[ThinPair, ...]:
        definition = self._definition(publication)
        is_full = self._ledger.sets >= self._max_sets
        if is_full and not self._ledger.is_known(definition, history=self._rules.history):
            logger.error("ledger full", extra={"sets": self._ledger.sets})
            raise ClientError("ledger_full")
        cells, is_shown = publication.cells()
        entry = self._ledger.entry(cells, definition, shown=is_shown)
        return self._ledger.publish(
            [entry],
            policy=self._rules.policy,
            second_method=self._rules.second_method,
            history=self._rules.history,
            also=self._rules.also,
            most=_MAX_NAMED,
        )

    def _definition(self, publication: Publication) -> Definition:
        def codes(selection: Selection) -> list[str]:
            texts = publication.variables[selection.variable].codes
            return [texts[rank] for rank in selection.ranks]

        query = publication.query
        margins = "chosen" if query.margins is None else json.dumps(sorted(query.margins))
        within = {s.variable: sorted(codes(s)) for s in query.within}
        shape = [
            query.where,
            {s.variable: sorted(codes(s)) for s in publication.selections},
            within,
        ]
        filters = [text for text in (publication.population, query.where) if text]
        if publication.population and (query.where or within):  # either may say "or"
            filters = [f"({text})" for text in filters]
        conditions = [f"{name} in {json.dumps(texts)}" for name, texts in within.items()]
        return Definition(
            name=self._name,
            dimensions=publication.dimensions,
            margins=margins,
            where=" and ".join([*filters, *conditions]) or None,
            shape=canonical(shape),
        )

    def _note(self, pairs: tuple[ThinPair, ...]) -> None:
        """Tell the office's log which tables are too near, not which cells."""
        entries = sorted({pair.published.entry or 0 for pair in pairs})
        logger.warning(Message("thin difference published"), extra={"entries": entries})


def _key_of(publication: Publication) -> bytes:
    # Counts and weighted counts show the same sets of records.
    selections = publication.selections
    return replace(publication.query, selections=selections, measures=()).digest
