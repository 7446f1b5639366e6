"""Suppression: unsafe cells are hidden with what would give them away; none is changed."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import logging
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.protection import Protected
from ckm.engine.request import quantile_of
from ckm.engine.request_fitting import raise_together, table_measures
from ckm.errors import CheckFailedError, ConfigError, InternalError
from ckm.ledger.protection import CellProtection
from ckm.methods.internal_files import record_file
from ckm.methods.method import InternalRecord, Statement
from ckm.methods.suppression.cell_selection import HiddenCells, choose_hidden, numbers_of
from ckm.methods.suppression.hidden_share import HiddenShare, hidden_share, require_share
from ckm.methods.suppression.overview import overview, public_overview
from ckm.methods.suppression.release_pattern import (
    PATTERN_FILE,
    CellDigests,
    EarlierPatterns,
    ReleasePattern,
    demands_of,
    folders_beside,
    keep_refused,
    refused_file,
    search_of,
)
from ckm.methods.suppression.table_links import link_sentences, table_links
from footing.messages import Enumeration, Message, Name, said
from reports.facts.suppression import EquationFact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ckm.engine.request import TableRequest
    from ckm.methods.settings import SuppressionSettings
    from ckm.methods.suppression import Audit
    from ckm.methods.suppression.cell_selection import MeasureSystem
    from ckm.methods.suppression.original_cells import Finest, Originals
    from footing.arrays import Flags, Floats, Integers
    from footing.progress import Progress
    from reports.facts.release import FileFact
    from reports.facts.suppression import (
        PublicSuppressionFacts,
        SuppressionFacts,
        TableLinkFact,
    )

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Outcome:
    """Which cells are hidden, and what readers can work out of each."""

    hidden_cells: HiddenCells
    audits: Mapping[str, Audit]
    release_pattern: ReleasePattern
    #: the releases whose pattern it is, or goes on with
    earlier: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> str:
        """What tells this choice of hidden cells, in these data, from any other."""
        pattern = self.release_pattern
        digest = hashlib.sha256(pattern.shown.tobytes())
        digest.update(pattern.hidden.tobytes())
        return digest.hexdigest()


class CellSuppression:
    """Hides cells of all tables together; numbers that are not hidden are the original ones.

    Parameters
    ----------
    settings
        Which cells are unsafe, and how others are chosen.
    shown
        Tells a path as people wrote it.
    exceptions
        Who allowed what, when and why: for the internal manifest.
    """

    def __init__(
        self,
        settings: SuppressionSettings,
        *,
        shown: Callable[[Path], str] = str,
        exceptions: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self.settings, self._shown, self._exceptions = settings, shown, exceptions
        self._outcome: _Outcome | None = None
        self._target: Path | None = None
        self._is_kept = True
        self._links: tuple[TableLinkFact, ...] = ()
        self._equations: tuple[EquationFact, ...] = ()

    def place(self, target: Path, *, is_kept: bool = True) -> None:
        """Tell where the release will lie, and so where earlier ones of its records may."""
        self._target, self._is_kept = target, is_kept

    def require(self, tables: Mapping[str, TableRequest]) -> None:
        """Refuse quantiles, and counts without a threshold."""
        measures = table_measures(tables)
        raise_together(
            [
                ConfigError(
                    Message(
                        "Table {name!r} shows {measure!r}: a true quantile would give single "
                        "values away.",
                        name=Name(name),
                        measure=Name(measure),
                    ),
                    hint=Message("publish quantiles in a job with noise"),
                )
                for name, measure in measures
                if quantile_of(measure)
            ]
            + [
                ConfigError(
                    Message(
                        "Table {name!r} shows {measure!r}, and no threshold tells which "
                        "counts are "
                        "too small.",
                        name=Name(name),
                        measure=Name(measure),
                    ),
                    hint=Message("threshold = 3 hides counts of 1 and 2"),
                )
                for name, measure in measures
                if self.settings.threshold is None
                and not (measure == "count" and self.settings.public_counts)
                and not measure.startswith("sum:")
                and not quantile_of(measure)
            ]
        )

    def protect(
        self,
        data: Originals,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Choose the cells to hide, audit the choice, and give one table after the other."""
        cells, finest, whole = data.cells(progress=progress), data.finest(), data.whole()
        groups = data.groups() if finest is None else ()
        published_requests, requests = requests, data.known(requests)
        self._warn_of_equations(data)
        if self.settings.public_counts:
            self._require_known_links(requests, finest)
        digests = CellDigests.of(
            cells,
            requests,
            whole=whole,
            keys=data.key_identity,
            public_counts=self.settings.public_counts,
        )
        earlier = EarlierPatterns.read(self._folders(), digests)
        choose = partial(
            choose_hidden,
            cells,
            requests,
            rules=self.settings,
            groups=groups,
            whole=whole,
            finest=finest,
            progress=progress,
        )
        self._outcome = self._chosen(choose, earlier, progress)
        hidden_cells = replace(self._outcome.hidden_cells, requests=published_requests)
        self._links = table_links(
            cells,
            data.requests,
            numbers=hidden_cells.relations.numbers,
            groups=groups if finest is None else finest.groups,
            links=self.settings.links,
        )
        self._equations = _equation_facts(data)
        try:
            require_share(_hidden_shares(hidden_cells), self.settings.largest_hidden_share)
        except CheckFailedError as error:
            self._keep_refused(self._outcome, error)
            raise
        for number, name in enumerate(requests):
            hidden = self._hidden(hidden_cells, number) & (not self.settings.public_counts)
            yield Protected(
                name=name,
                request=published_requests[name],
                cells=cells[name],
                table=hidden_cells.publish(name, missing_label=data.missing_label),
                counts=np.ma.array(cells[name].count, mask=hidden),
            )

    def _keep_refused(self, outcome: _Outcome, error: CheckFailedError) -> None:
        """Keep a choice that hides much, so that whoever wants it need not search again."""
        # beside earlier releases it depends on them, which the file does not tell
        if self._target is None or outcome.earlier or self.settings.previous is not None:
            return
        pattern = replace(outcome.release_pattern, demands=search_of(self.settings))
        # a check says what the release says, and writes nothing
        if not self._is_kept or keep_refused(pattern, self._target):
            error.add_hint(
                hint=Message(
                    "the choice is kept in OUTPUT.refused.parquet beside its output, for "
                    "inside use only: a run with a higher largest_hidden_share and all else "
                    "the same takes it, audits it, and does not search again"
                )
            )

    def _refused(self, earlier: EarlierPatterns) -> ReleasePattern | None:
        """Return the choice of a run of the same job that was refused for what it hides."""
        if self._target is None or earlier or self.settings.previous is not None:
            return None
        path = refused_file(self._target)
        with contextlib.suppress(ValueError, KeyError, TypeError):  # not ours, or damaged
            pattern = ReleasePattern.read_file(path, earlier.digests)
            if pattern is not None and pattern.demands == search_of(self.settings):
                beside = EarlierPatterns(patterns=(pattern,), digests=earlier.digests)
                return pattern if beside.has_all else None
        return None

    def _warn_of_equations(self, data: Originals) -> None:
        """Ask the office to confirm what the records alone show."""
        unconfirmed = [str(e) for e in data.equations if e.status == "seen"]
        if unconfirmed:
            logger.warning(
                "%s",
                Message(
                    "All records fulfil {equations}: readers are taken to know it. Say so, or "
                    "that it is chance, by equation in [[suppression.links]].",
                    equations=Enumeration("; ", Name.each(unconfirmed)),
                ),
                extra={"event": "equations seen"},
            )
        wrong = [str(e) for e in data.equations if e.status == "stated" and e.is_exact is False]
        if wrong:
            logger.warning(
                "%s",
                Message(
                    "Not all records fulfil {equations}, as [[suppression.links]] says: sums "
                    "are protected as if they did.",
                    equations=Enumeration("; ", Name.each(wrong)),
                ),
                extra={"event": "equations that do not hold"},
            )

    @staticmethod
    def _hidden(hidden_cells: HiddenCells, number: int) -> Flags:
        return hidden_cells.hidden[hidden_cells.relations.numbers[number]]

    def _require_known_links(
        self, requests: Mapping[str, TableRequest], finest: Finest | None
    ) -> None:
        """Refuse public counts of tables whose common groups are too many to be looked at."""
        is_one = len(requests) == 1 and self.settings.holding is None
        if finest is None and not is_one:
            raise CheckFailedError(
                Message(
                    "Public counts of linked tables may tell contributors that they are alone "
                    "in groups that no table shows, and these groups are too many to protect."
                ),
                hint=Message(
                    "publish fewer tables together, tables of fewer categories, or no counts "
                    "of hidden cells"
                ),
            )

    def _folders(self) -> Iterator[Path]:
        """Yield where earlier releases of the same records may lie."""
        if self.settings.previous is not None:
            yield self.settings.previous
        if self._target is not None:
            yield from folders_beside(self._target)

    def _chosen(
        self,
        choose: Callable[..., HiddenCells],
        earlier: EarlierPatterns,
        progress: Progress | None,
    ) -> _Outcome:
        """Take the pattern of an earlier release with the same demands, or choose another."""
        demands, limit_s = demands_of(self.settings), self.settings.limit_s

        def outcome(
            hidden_cells: HiddenCells, audits: Mapping[str, Audit], folders: tuple[str, ...]
        ) -> _Outcome:
            pattern = ReleasePattern.of(hidden_cells, earlier.digests, demands=demands)
            return _Outcome(
                hidden_cells=hidden_cells,
                audits=audits,
                release_pattern=pattern,
                earlier=folders,
            )

        same = earlier.equal(demands)
        if same is not None:
            hidden_cells = choose(pattern=earlier.flags(same))
            audits = hidden_cells.audits(limit_s=limit_s, progress=progress)
            if not _failed_cells(hidden_cells, audits).size:
                logger.warning(
                    "%s",
                    Message(
                        "The pattern is that of the release {folder!r}, of the same "
                        "records with the same demands. Remove its folder, if it was not "
                        "published, for another one.",
                        folder=Name(same.folder),
                    ),
                    extra={"event": "earlier pattern"},
                )
                own_audits = audits if self.settings.audit else {}
                return outcome(hidden_cells, own_audits, (same.folder,))
        refused = self._refused(earlier)
        if refused is not None:
            hidden_cells = choose(pattern=earlier.flags(refused))
            audits = hidden_cells.audits(limit_s=limit_s, progress=progress)
            if not _failed_cells(hidden_cells, audits).size:
                logger.info("refused choice taken", extra={"event": "refused choice taken"})
                return outcome(hidden_cells, audits if self.settings.audit else {}, ())
        hidden_cells = choose() if not earlier else _beside(choose, earlier)
        audits = (
            hidden_cells.audits(limit_s=limit_s, progress=progress)
            if self.settings.audit
            else {}
        )
        _require_safe(hidden_cells, audits)
        return outcome(hidden_cells, audits, earlier.folders)

    def cell_protection(self, protected: Protected) -> CellProtection:
        """Return which cells are hidden, and together with which others."""
        outcome = self._require_outcome()
        return CellProtection(
            method="suppression",
            hidden=self._hidden(
                outcome.hidden_cells, list(outcome.hidden_cells.tables).index(protected.name)
            ),
            pattern=outcome.pattern,
        )

    def statement(self) -> Statement:
        """Say what is hidden, measure by measure."""
        measures: tuple[Mapping[str, Any], ...] = ()
        if self._outcome is not None:
            hidden_cells, audits = self._outcome.hidden_cells, self._outcome.audits
            measures = tuple(
                _measure_record(system, hidden_cells, audits) for system in hidden_cells.systems
            )
        return Statement(
            words="suppression",
            is_original=True,
            notice="The tables hold original numbers. Publishing the same data with noise as "
            "well would give the noise away.",
            measures=measures,
            links=tuple(link_sentences(self._links, self._equations)),
        )

    def overview(self, *, title: str) -> SuppressionFacts:
        """Return what the office sees at a glance of the tables that were protected."""
        outcome = self._require_outcome()
        facts = overview(outcome.hidden_cells, outcome.audits, self.settings, title=title)
        return replace(facts, links=self._links, equations=self._equations)

    def public_overview(
        self, *, rows: Mapping[str, int], title: str, contact: str
    ) -> PublicSuppressionFacts:
        """Return what anybody sees of them; `rows` is how many each table has in files."""
        outcome = self._require_outcome()
        return public_overview(outcome.hidden_cells, rows=rows, title=title, contact=contact)

    def _require_outcome(self) -> _Outcome:
        if self._outcome is None:
            raise InternalError(
                Message("Suppressed tables are recorded, and none was suppressed.")
            )
        return self._outcome

    def record(self, folder: Path) -> InternalRecord:
        """Write what readers can work out of hidden cells, and tell the rules."""
        outcome = self._require_outcome()
        files = _write_audits(folder, outcome.hidden_cells, outcome.audits)
        path = folder / PATTERN_FILE
        outcome.release_pattern.write(path)
        files = (*files, record_file(path, name=path.name))
        measures = [dict(measure) for measure in self.statement().measures]
        return InternalRecord(
            method={
                "suppression": self.settings.record(self._shown),
                "exceptions": [dict(entry) for entry in self._exceptions],
                "earlier": list(outcome.earlier),
                "links": [asdict(link) for link in self._links],
                "equations": [asdict(equation) for equation in self._equations],
                "measures": measures,
            },
            inside={"inside": [asdict(file) for file in files]},
        )


def _equation_facts(data: Originals) -> tuple[EquationFact, ...]:
    """Say of each equation which further sums of tables are protected by it."""
    return tuple(
        EquationFact(
            equation=str(equation),
            status=equation.status,
            is_exact=equation.is_exact,
            tables=tuple(
                (table, variable)
                for table, variables in data.implied.items()
                for variable in variables
                if variable in equation.variables and equation.is_applied
            ),
        )
        for equation in data.equations
    )


def _require_safe(hidden_cells: HiddenCells, audits: Mapping[str, Audit]) -> None:
    """Stop where an unsafe cell is not protected as demanded."""
    if not audits:
        failed = hidden_cells.unproven()
        reason = Message("the protection of {number} cells is not proven", number=failed.size)
    else:
        failed = _failed_cells(hidden_cells, audits)
        reason = Message("{number} cells are not protected as demanded", number=failed.size)
    if failed.size:
        raise CheckFailedError(
            Message(
                "The audit of the suppression failed: {reason}; nothing was published.",
                reason=reason,
            ),
            hint=Message(
                'try another method, such as method = "exact", and report this message'
            ),
            places=hidden_cells.places(failed),
        )


def _failed_cells(hidden_cells: HiddenCells, audits: Mapping[str, Audit]) -> Integers:
    """List the unsafe cells that are published, or not protected as demanded."""
    parts = []
    for system in hidden_cells.systems:
        audit = audits[system.measure]
        own = np.concatenate([audit.under_protected, audit.exposed, system.disclosed])
        parts.append(system.cells[own.astype(int)])
    return np.unique(np.concatenate(parts))


def _beside(choose: Callable[..., HiddenCells], earlier: EarlierPatterns) -> HiddenCells:
    """Choose what hides no less than earlier releases of the same records.

    Where it shows nothing that they had not, it may hide more: readers have no more than
    they had. Where it does, what they showed is known, whatever is hidden now.
    """
    logger.warning(
        "%s",
        Message(
            "Releases of the same records have other tables or demands: {folders}. What "
            "they hid stays hidden, and what they show is known. Remove those that were "
            "not published.",
            folders=Name.each(earlier.folders),
        ),
        extra={"event": "earlier pattern"},
    )
    is_bound = not earlier.has_all
    try:
        return choose(earlier=earlier, is_bound=is_bound)
    except CheckFailedError as error:
        if not is_bound:
            raise
        raise CheckFailedError(
            Message(
                "Another pattern of the same records was published by {folders}, and beside "
                "it these tables cannot be protected. {problem}",
                folders=Name.each(earlier.folders),
                problem=said(error.problem),
            ),
            hint=Message(
                "publish tables without the new cells, or with the demands of that "
                "release; or remove its folder, if it was not published"
            ),
            places=error.places,
        ) from None


def _hidden_shares(hidden_cells: HiddenCells) -> Iterator[HiddenShare]:
    """Yield the share that is hidden of every table, measure by measure."""
    for system in hidden_cells.systems:
        for number, name in enumerate(hidden_cells.tables):
            if number in system.members:
                values = numbers_of(hidden_cells.tables[name], system.measure)
                hidden = hidden_cells.hidden[hidden_cells.relations.numbers[number]]
                yield HiddenShare(name, system.measure, hidden_share(values, hidden))


def _value_share(system: MeasureSystem, hidden: Flags) -> float:
    """Return how much of the value of the shown cells is hidden, as a share."""
    value = np.abs(system.problem.value[system.is_shown])
    return round(float(value[hidden].sum() / max(float(value.sum()), 1e-300)), 4)


def _measure_record(
    system: MeasureSystem, hidden_cells: HiddenCells, audits: Mapping[str, Audit]
) -> Mapping[str, Any]:
    """Return what the office needs to know of the choice for one measure."""
    suppression, status = system.suppression, hidden_cells.status[system.cells][system.is_shown]
    record: dict[str, Any] = {
        "measure": system.measure,
        "cells": len(status),
        "primary": int((system.problem.primary.is_primary & system.is_shown).sum()),
        "hidden": int((status > 0).sum()),
        "method": suppression.method,
        "secondary_cost": suppression.cost,
        "least_cost": suppression.least if suppression.has_bound else None,
        "gap": suppression.gap if suppression.has_bound else None,
        "unproven": len(suppression.unproven()),
        "seconds": round(suppression.seconds, 3),
        "work": round(suppression.work),
        "ended_by": suppression.ended_by,
        "is_out_of_time": suppression.ended_by in {"work", "clock"},
        "value_hidden": _value_share(system, status > 0),
        "audit": None,
    }
    if system.measure in audits:
        audit = audits[system.measure]
        record["audit"] = {
            "without_interval": int(np.isnan(audit.low).sum()),
            "hidden_in_vain": int(audit.is_exact.sum()),
            "under_protected": len(audit.under_protected),
            "exposed": len(audit.exposed),
        }
    return record


_SOLVER_ERROR = 1e-9


def without_solver_error(ends: Floats, values: Floats) -> Floats:
    """Set the ends of intervals to 0 that are far smaller than the interval and its value."""
    size = np.fmax(np.abs(values), np.nanmax(np.abs(ends), axis=1, initial=0))
    return np.where(np.abs(ends) <= _SOLVER_ERROR * size[:, None], 0.0, ends)


def _write_audits(
    internal: Path, hidden_cells: HiddenCells, audits: Mapping[str, Audit]
) -> tuple[FileFact, ...]:
    """Write the interval of every hidden cell, a file for each table."""
    files = []
    for number, name in enumerate(hidden_cells.tables):
        path = internal / f"audit-{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            cells = hidden_cells.tables[name]
            dimensions = [column for axis in cells.axes for column in axis.columns]
            writer.writerow([*dimensions, "measure", "status", "original", "least", "most"])
            for system in hidden_cells.systems:
                audit = audits.get(system.measure)
                if number in system.members and audit is not None:
                    writer.writerows(_intervals(hidden_cells, number, system, audit))
        if audits:
            files.append(record_file(path, name=path.name))
        else:
            path.unlink()
    return tuple(files)


def _intervals(
    hidden_cells: HiddenCells, number: int, system: MeasureSystem, audit: Audit
) -> Any:
    """Yield a line for each hidden cell of a table: inside use only."""
    cells = list(hidden_cells.tables.values())[number]
    ends = np.full((hidden_cells.relations.n_cells, 2), np.nan)
    own = system.is_shown[audit.cells]
    ends[system.cells[audit.cells[own]]] = np.stack([audit.low, audit.high], axis=1)[own]
    values = np.zeros(hidden_cells.relations.n_cells)
    values[system.cells[system.is_shown]] = system.problem.value[system.is_shown]
    place = hidden_cells.relations.numbers[number]
    labels = [
        texts[rank]
        for axis, rank in zip(cells.axes, cells.ranks, strict=True)
        for texts in axis.labels
    ]
    # What solvers leave of a zero is far below any digit of the other numbers of the line.
    ends = without_solver_error(ends, values)
    for row in np.flatnonzero(hidden_cells.hidden[place]).tolist():
        cell = place[row]
        yield [
            *(str(column[row]) for column in labels),
            system.measure,
            ("published", "primary", "secondary")[int(hidden_cells.status[cell])],
            *(
                "" if np.isnan(value) else f"{value + 0.0:.12g}"  # no -0
                for value in (values[cell], *ends[cell])
            ),
        ]
