"""Differentially private tables: from the plan to files, a page and a certificate."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import ConfigError
from ckm.formats import FORMATS, TableAbout, to_bytes, write_table
from ckm.formats.content import encoded, free_name
from ckm.ledger.errors import OtherMethodsError
from ckm.ledger.protection import CellProtection
from ckm.methods.internal_files import record_file
from ckm.release.files.output_folder import check_target, new_folder, resolve_target
from ckm.release.files.table_files import first_rows_of
from ckm.release.pages.dp_tables import page_of, rows_of
from ckm.release.pages.index_pages import write_first_pages
from ckm.release.pages.report_pages import LeakCheck
from ckm.release.recorded_records import methods_beside, opened_gate
from dp import BudgetLedger, Plan, TablePlan, release
from dp.aggregates.questions import Answers
from dp.aggregates.release import Released, ReleasedTable, require_left
from footing.messages import Message
from footing.serialisation import document, plain, plain_fields
from footing.version import engine_version
from reports.facts.release import IndexFacts, PublicTableFact
from tables import DataWarning, Request, TablesError, open_source
from tables.contribution_bounds import contributions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.config.dp_plan import DPPlanFile
    from ckm.release.recorded_records import RecordsGate
    from reports.facts.release import FileFact
    from tables.source.source import Source

KIND = "ckm-dp-release"
_LANGUAGES = ("en", "fr")
#: Of published numbers: as fine as the smallest step of a value.
_DECIMALS = 9
#: What a format may fail on: a long fraction, below 0, large, none.
_HARD_NUMBERS = np.array([-1.123456789, 2.0**53 + 2, 0.0, 1e-9, 123.456, 5e18])
#: Private tables beside private tables are for the ledger of their budget.
_PROTECTION = CellProtection(method="dp", is_compared=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DPRelease:
    """What a release did; None of it for a dry run."""

    path: Path
    plan: Plan
    released: Released | None
    left: str


def release_dp(
    job: DPPlanFile,
    out: Path | str,
    *,
    dry_run: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> DPRelease:
    """Release the tables of a plan into a new folder, which appears complete or not at all.

    Parameters
    ----------
    job
        The plan, from `ckm.config.dp_plan.read_dp_plan`.
    out
        The folder; nothing is replaced.
    dry_run
        Tell what it costs, and what errors to expect. No data are opened, nothing is charged;
        the ledger need not be there yet.
    memory_limit, threads
        Limits of DuckDB.

    Raises
    ------
    ReleaseError
        If the folder exists.
    dp.DPError, tables.TablesError
        If the ledger does not hold the cost, or the columns do not fit; nothing is charged.

    Examples
    --------
    >>> from ckm.config.dp_plan import read_dp_plan
    >>> release_dp(read_dp_plan("plan.toml"), "out")  # doctest: +SKIP
    """
    plan, path = job.plan, resolve_target(out)
    check_target(path, None)
    require_formats(job)
    _require_one_method(job)
    if dry_run:
        return DPRelease(path=path, plan=plan, released=None, left=_left(job))
    if job.ledger is None:
        raise ConfigError(
            Message("The plan names no ledger, and a release is charged to one."),
            hint=Message('[ledger] path = "budget.db", who = "Ada"; --dry-run needs none'),
        )
    ledger = BudgetLedger.open(job.ledger.path)
    require_left(ledger, plan.guarantee)
    limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
    with (
        new_folder(path) as folder,
        records_of(job, **limits) as source,
        opened_gate(job.release_ledger) as gate,
    ):
        if not job.data.allow_empty:
            source.require_some()
        result = release(
            partial(contributions, source),
            plan,
            ledger=ledger,
            who=job.ledger.who,
            what=", ".join(table.name for table in plan.tables)[:200],
        )
        _write(job, result, folder)
        _record(gate, source, plan)
    return DPRelease(path=path, plan=plan, released=result, left=str(ledger.left))


def records_of(job: DPPlanFile, **limits: Any) -> Source:
    """Open the records of a plan, for `tables.contributions`.

    The kind that a column of a CSV file has would depend on single records: all are texts.
    """
    data = job.data.local
    options = replace(data.read_options, text=True, is_lenient=True)
    return open_source(data.place, table=data.table, options=options, **limits)


def _left(job: DPPlanFile) -> str:
    """Return what is left in the ledger of a plan, if there is one; refuse what exceeds it."""
    if job.ledger is None or not job.ledger.path.exists():
        return ""
    ledger = BudgetLedger.open(job.ledger.path)
    require_left(ledger, job.plan.guarantee)
    return str(ledger.left)


def require_formats(job: DPPlanFile) -> None:
    """Refuse a format that cannot hold a table of the plan, before anything is charged.

    All keys that are declared and all that is asked of them are written once, with numbers
    that are hard to write, and thrown away.
    """
    for table in job.plan.tables:
        if not table.finds:
            trial = published(_trial_of(table))
            for name in job.output.formats:
                to_bytes(trial, name, about=_about(table))


def _trial_of(table: TablePlan) -> ReleasedTable:
    keys = tuple(itertools.product(*(keys or () for keys in table.by.values())))
    answers = []
    for question in table.questions:
        shape = (len(keys), len(question.items))
        values = np.resize(_HARD_NUMBERS, shape)
        lower = np.where(values < 0, np.nan, values)
        answers.append(Answers(items=question.items, values=values, lower=lower, upper=values))
    return ReleasedTable(plan=table, keys=keys, answers=tuple(answers))


def _about(table: TablePlan) -> TableAbout:
    return TableAbout(id=table.name, title=table.name)


def _require_one_method(job: DPPlanFile) -> None:
    """Refuse a ledger with tables by other methods, whatever records these are of."""
    rules = job.release_ledger
    if rules is not None and rules.second_method == "refuse":
        others = [name for name in methods_beside(rules) if name != _PROTECTION.method]
        if others:
            raise OtherMethodsError(others)


def _record(gate: RecordsGate, source: Source, plan: Plan) -> None:
    """Record the groups of a release that is paid for, and say nothing that depends on them."""
    with warnings.catch_warnings(), contextlib.suppress(TablesError):
        warnings.simplefilter("ignore", DataWarning)
        gate.add(source, _groups(plan), _PROTECTION, column=plan.unit)
    gate.publish(is_paid=True)


def _groups(plan: Plan) -> dict[str, Request]:
    """Ask for the records of each group, and for all of each table."""
    return {
        table.name: Request(
            dimensions=list(table.by),
            margins=[[]] if table.by else "all",
            where=table.where or None,
            discrete=list(table.by),
        )
        for table in plan.tables
    }


def _write(job: DPPlanFile, result: Released, folder: Path) -> None:
    files: dict[str, list[FileFact]] = {}
    for table in result.tables:
        own = files[table.plan.name] = []
        for name in job.output.formats:
            file = folder / f"{table.plan.name}{FORMATS[name].suffixes[0]}"
            write_table(published(table), file, format=name, about=_about(table.plan))
            own.append(record_file(file, name=file.name))
            if FORMATS[name].sidecar:
                file = file.with_name(file.name + FORMATS[name].sidecar)
                own.append(record_file(file, name=file.name))
    every = [file for own in files.values() for file in own]
    text = document(certificate_of(result) | {"files": every}, indent=2)
    (folder / "certificate.json").write_text(text, encoding="utf-8")
    links = {language: f"report.{language}.html" for language in _LANGUAGES}
    for language, link in links.items():
        page = page_of(result, title=job.output.title, language=language, links=links)
        (folder / link).write_text(page.html, encoding="utf-8")
    pages = tuple(record_file(folder / link, name=link) for link in links.values())
    facts = _index_facts(job, result, files, pages)
    hidden = [str(folder.parent), *([] if job.ledger is None else [str(job.ledger.path)])]
    write_first_pages(folder, facts, _LANGUAGES, LeakCheck(facts, hidden=hidden))


def _index_facts(
    job: DPPlanFile,
    result: Released,
    files: Mapping[str, Sequence[FileFact]],
    pages: tuple[FileFact, ...],
) -> IndexFacts:
    """Tell the first page of a release what its tables and files are."""
    tables = []
    for table in result.tables:
        name, rows = table.plan.name, published(table)
        tables.append(
            PublicTableFact(
                name=name,
                title=name,
                dimensions=tuple(rows.dimensions),
                published=rows.n_rows,
                files=tuple(replace(file, sha256="") for file in files[name]),
                first_rows=first_rows_of(rows, {"en": _about(table.plan)}),
            )
        )
    return IndexFacts(
        id="",
        title=job.output.title,
        date="",
        contact="",
        version=engine_version(),
        ptable_label="",
        checks={},
        tables=tuple(tables),
        pages=pages,
        manifest="certificate.json",
        is_private=True,
    )


def published(table: ReleasedTable) -> PublishedTable:
    """Return a table as files hold it: a row for each group and each number told of it."""
    rows = [(*key, what, *numbers) for key, what, numbers in rows_of(table)]
    names = [*table.plan.by, free_name("statistic", table.plan.by)]
    dimensions = {
        name: encoded([str(row[place]) for row in rows]) for place, name in enumerate(names)
    }
    numbers = np.array([row[-3:] for row in rows], float).reshape(-1, 3).round(_DECIMALS)
    measures = {
        free_name(name, names): np.ma.masked_invalid(numbers[:, n])
        for n, name in enumerate(("value", "lower", "upper"))
    }
    return PublishedTable(dimensions=dimensions, measures=measures)


def certificate_of(result: Released) -> dict[str, Any]:
    """Return all that is to be known of a release; nothing in it tells more of the data."""
    plan = result.plan
    return {
        "kind": KIND,
        "version": engine_version(),
        "opendp": version("opendp"),
        "guarantee": plain_fields(plan.guarantee) | {"rho": plan.rho},
        "plan": plain(plan),
        "parts": [
            {
                name: getattr(part, name)
                for name in ("table", "what", "cost", "delta", "error", "of")
            }
            for part in plan.parts
        ],
        "found": {table.plan.name: _notes(table) for table in result.tables},
        "ledger": plain(result.entry),
    }


def _notes(table: ReleasedTable) -> dict[str, Any]:
    """Return bounds that were found, and what the bounds of a unit left out."""
    notes: dict[str, Any] = {}
    for question, answers in zip(table.plan.questions, table.answers, strict=True):
        if answers.bounds:
            notes[question.name] = {"bounds": answers.bounds, "values beyond": answers.beyond}
        if question.kind == "left-out":
            numbers = np.stack([answers.values, answers.lower, answers.upper])[:, 0].T.tolist()
            notes[question.name] = dict(zip(answers.items, numbers, strict=True))
    return notes
