"""``ckm check``: is a job or a service right? All of it is looked at, nothing is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.failure import explain
from ckm.cli.release import limit_options
from ckm.cli.root import common_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.cli.voice import Voice
    from ckm.config import Job
    from ckm.config.job import JobLedger
    from ckm.config.service import Service
    from ckm.request import TableRequest
    from ptable import Certificate, Feasibility, NoiseSpec, PTable
    from ptable.stack import StackedSpec

__all__ = ["check", "show_feasibility", "tell_few_outcomes"]

_SHOWN_TABLES = 12


@click.command(
    epilog="""\b
Examples:
  ckm check job.toml              everything, with a look at every record key
  ckm check job.toml --quick      all but the look at the data's rows
  ckm check service.toml          the same for what ckm serve opens
"""
)
@click.argument("job", type=click.Path(path_type=Path), metavar="FILE.toml")
@click.option("--quick", is_flag=True, help="Do not read the data's rows.")
@limit_options
@common_options
@click.pass_obj
def check(
    voice: Voice, *, job: Path, quick: bool, memory_limit: str | None, threads: int | None
) -> None:
    """Check a job or a service: its text, its noise, its columns, its keys."""
    from ckm.opening import load_noises, open_engine, opened_ledger

    plan, ledger, wanted = _read(voice, job)
    if plan.suppression is not None:
        _check_suppression(voice, plan, quick=quick, memory_limit=memory_limit, threads=threads)
        return
    ptable, failure = _noise(voice, plan)
    noises = load_noises(plan)
    if noises:
        voice.step("noise of sums ready", f"p-tables are there for {', '.join(noises)}")
    with (
        voice.progress() as tell,
        open_engine(
            plan, ptable, noises=noises, memory_limit=memory_limit, threads=threads
        ) as engine,
    ):
        try:
            engine.validate(wanted, sketch=ledger.threshold if ledger else 0)
        except Exception:
            if failure is not None:
                voice.failure(explain(failure))
            raise
        if failure is not None:
            raise failure
        voice.step("columns checked", "the data have every column, with types that fit")
        if ledger is not None:
            with opened_ledger(
                ledger, plan, ptable=ptable, noises=noises, create=False
            ) as opened:
                there = "can be used" if opened is not None else "is not there yet; it is made"
            voice.step("ledger checked", f"the ledger {there}")
        if quick:
            return
        tell("record keys", 0, 1)
        quality = engine.check_keys()
    # Problems have been told: as an error, or under checks = "warn" as warnings.
    if plan.keys.checks == "skip":
        voice.step("keys not checked", 'record keys: not checked, for checks = "skip"')
    elif not quality.problems:
        voice.step("keys checked", quality.summary())


def _check_suppression(
    voice: Voice, plan: Job, *, quick: bool, memory_limit: str | None, threads: int | None
) -> None:
    """Check a job for suppression, which has neither noise nor keys."""
    from ckm.original import open_originals
    from tables import check_keys

    with open_originals(plan, memory_limit=memory_limit, threads=threads) as originals:
        voice.step("columns checked", "the data have every column, with types that fit")
        if quick:
            return
        quality = check_keys(originals.source, originals.keys, action=plan.keys.checks)
    if not quality.problems and plan.keys.checks != "skip":
        voice.step("records checked", "no record is there twice")


def _read(voice: Voice, file: Path) -> tuple[Job, JobLedger | None, Mapping[str, TableRequest]]:
    """Read a service or a job: what it is, its ledger, and what it wants of the data."""
    from ckm.config import read_job
    from ckm.config.service import is_service_file, read_service
    from ckm.table_files import TableFiles

    if is_service_file(file):
        service = read_service(file)
        voice.step("service read", f"{file.name} is a sound service; {_offered(service)}")
        for caution in service.cautions:
            voice.warn("caution", caution)
        for caution in _formulas(service):
            voice.warn("caution", caution)
        for job in service.official:
            _check_official(voice, job)
        return service.job, service.ledger, _variables(service)
    plan = read_job(file)
    voice.step("job read", f"{file.name} is a sound job; {_names(plan)}")
    files = TableFiles(plan)
    files.require_fit()
    for caution in files.cautions():
        voice.warn("caution", caution)
    formats = ", ".join(plan.output.formats)
    voice.step("formats checked", f"names and words fit into every format: {formats}")
    return plan, plan.ledger, plan.tables


def _formulas(service: Service) -> tuple[str, ...]:
    """Say which codes of a service a spreadsheet would take for formulas."""
    from ckm.formats import FORMATS
    from ckm.formats.csv_text import is_formula
    from ckm.table_files import formula_cautions

    found = {}
    for name, variable in service.variables.items():
        listed = service.job.categories.get(name, ())
        texts = [name, *(listed if isinstance(listed, list) else ()), *variable.categories]
        found[name] = [t for t in dict.fromkeys(map(str, texts)) if is_formula(t)]
    output = replace(service.job.output, formats=tuple(FORMATS))
    return formula_cautions(found, output, section="[service]")


def _check_official(voice: Voice, job: Job) -> None:
    """Check that the tables that a service records at its start can be made."""
    from ckm.opening import load_noises, load_ptable, open_engine

    with open_engine(job, load_ptable(job), noises=load_noises(job)) as engine:
        engine.validate(job.tables, sketch=job.ledger.threshold if job.ledger else 0)
    text = f"the data have what the official {job.path.name} needs; {_names(job)}"
    voice.step("official tables checked", text)


def _variables(service: Service) -> dict[str, TableRequest]:
    """Return a table of each variable, to see whether the data have it."""
    from ckm.request import TableRequest

    return {name: TableRequest(dimensions=[name], margins="none") for name in service.variables}


def _offered(service: Service) -> str:
    return f"variables: {', '.join(service.variables)}"


def _names(plan: Job) -> str:
    shown = list(plan.tables)[:_SHOWN_TABLES]
    more = len(plan.tables) - len(shown)
    return f"tables: {', '.join(shown)}" + (f" and {more} more" if more else "")


def _noise(voice: Voice, plan: Job) -> tuple[PTable, Exception | None]:
    """Return the p-table; where there is none, a stand-in to go on with, and the reason."""
    from ckm.opening import load_ptable
    from ptable import InfeasibleError, NoiseSpec, feasible, solve

    if isinstance(plan.ptable, NoiseSpec):
        show_feasibility(voice, feasible(plan.ptable))
    try:
        ptable = load_ptable(plan)
    except InfeasibleError as error:
        return solve(NoiseSpec(max_noise=2, variance=1.0)), error
    voice.step("p-table ready", "the p-table exists and its certificate holds")
    return ptable, None


def tell_few_outcomes(
    voice: Voice, spec: NoiseSpec | StackedSpec, *, proof: Certificate | None = None
) -> None:
    """Warn of rows whose noise is nearly a law on two points."""
    from ptable.figures import name_few_outcomes

    if text := name_few_outcomes(spec, proof=proof):
        voice.warn("few outcomes", text)


def show_feasibility(voice: Voice, answer: Feasibility) -> None:
    """Draw which variances each row of a p-table can reach."""
    from rich.table import Table

    table = Table(title="Variances that each row can reach", title_justify="left")
    table.add_column("count", justify="right")
    table.add_column("from", justify="right")
    table.add_column("to", justify="right")
    table.add_column("asked for", justify="right")
    table.add_column("feasible")
    last = len(answer.rows)
    for row in answer.rows:
        table.add_row(
            f"{row.count}{' and more' if row.count == last else ''}",
            *(_number(v) for v in (row.variance_min, row.variance_max, row.requested)),
            "yes" if row.is_feasible else f"no: {row.binding}",
        )
    voice.out.print(table)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
