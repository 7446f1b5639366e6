"""``ckm check``: is a job or a service right? All of it is looked at, nothing is written."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.release import tell_limit, tell_missing_ledger
from ckm.cli.terminal.click_group import PATH, Command, limit_options, with_terminal
from ckm.cli.terminal.exit_codes import explain
from footing.messages import Enumeration, Message, Name, joined, said
from footing.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckm.cli.terminal.console import Terminal
    from ckm.cli.terminal.exit_codes import Failure
    from ckm.config import Job
    from ckm.config.service.service import Service
    from ptable import Certificate, Feasibility, NoiseSpec
    from ptable.design.stack import StackedSpec
    from ptable.solver.feasibility import RowFeasibility

_SHOWN_TABLES = 12
#: Limits of a report that a p-table by limits may be designed for.
_OF_POSTERIORS = ("posterior", "posterior_set")


@click.command(cls=Command)
@click.argument("file", type=PATH, metavar="FILE.toml")
@click.option("--quick", is_flag=True, help="Do not read the data's rows.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@limit_options
@with_terminal
# claim files-are-private
def check(terminal: Terminal, /, *, file: Path, as_json: bool, **options: Any) -> int:
    """Check a job, a swap or a service for everything that would stop a release.

    All computations are made in a private folder, which is then removed.

    Examples
    --------
    ckm check job.toml              everything that a release does, but writing it
    ckm check job.toml --quick      all but reading the data's rows
    ckm check swap.toml             the same for what ckm swap takes
    ckm check plan.toml             of private tables: their cost alone, no look at the data
    ckm check service.toml          the same for what ckm serve opens
    ckm check job.toml --json       for programs: problems with their lines, warnings, tables

    It reads the data once and computes the tables, as a release does, so it takes about as
    long.
    """
    from ckm.config.read import kind_of

    checks = {"service": _check_service, "swap": _check_swap, "plan": _check_plan}
    run = checks.get(kind_of(file), _check_job)
    if not as_json:
        run(terminal, file, **options)
        return 0
    terminal.events = []
    failure = None
    try:
        run(terminal, file, **options)
    except Exception as error:  # noqa: BLE001  (told in the object that is printed)
        failure = explain(error)
    click.echo(json.dumps(_told(file, failure, terminal.events), indent=2, ensure_ascii=False))
    return 0 if failure is None else failure.exit


def _told(file: Path, failure: Failure | None, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a check found, for programs."""
    problems: list[dict[str, Any]] = []
    if failure is not None:
        whole: dict[str, Any] = {
            "code": failure.code,
            "message": failure.message,
            "hint": failure.hint,
            "where": "",
            "file": file.name,
            "line": None,
            "key": None,
        }
        problems += failure.problems or failure.located or [whole]
    tables = [event for event in events if event["event"] == "table written"]
    return {
        "ok": failure is None,
        "exit": 0 if failure is None else failure.exit,
        "file": file.name,
        "problems": problems,
        "warnings": [event for event in events if event["level"] == "warning"],
        "tables": [{"name": event["table"], "cells": event["cells"]} for event in tables],
        "steps": [event for event in events if event["level"] == "info"],
    }


def _check_job(terminal: Terminal, file: Path, *, quick: bool, **limits: Any) -> None:
    from ckm.config import read_job
    from ckm.release.files.table_files import TableFiles
    from ckm.release.run import ReleaseRun
    from ptable import NoiseSpec, feasible

    plan = read_job(file)
    terminal.step(
        "job read",
        Message("{file} can be read; {names}", file=Name(file.name), names=_names(plan)),
    )
    tell_missing_ledger(terminal, plan)
    _tell_words(terminal, plan)
    for name, text in _margins(plan).items():
        terminal.step("margins", text, table=name)
    if isinstance(plan.ptable, NoiseSpec):
        if not (answer := feasible(plan.ptable)).ok or terminal.is_verbose:
            show_feasibility(terminal, answer)
        tell_preset(terminal, file)
    elif isinstance(plan.ptable, Path):
        for excess in _beyond_report_limits(plan, plan.ptable):
            terminal.warn("caution", excess)
    if quick:  # else all categories of the tables are looked at
        for caution in TableFiles(plan).cautions():
            terminal.warn("caution", caution)
    if not quick:
        tell_limit(terminal, plan)
    with terminal.progress() as report_progress:
        run = ReleaseRun(plan, progress=report_progress, is_kept=False)
        run.rehearse(quick=quick, step=terminal.step, **limits)
    _tell_end(terminal, file, Message("a sound job"), quick=quick)


def _beyond_report_limits(plan: Job, file: Path) -> Iterator[Message]:
    """Name what the report may not exceed and a table by limits may reach."""
    from ptable import NoiseSpec, PTable

    table = PTable.read(file)
    certificate = table.certificate
    if certificate is None or certificate.limits is None:
        return
    report = plan.report
    limits = table.spec.limits if isinstance(table.spec, NoiseSpec) else None
    asks = [name for name in _OF_POSTERIORS if getattr(report.limits, name) is not None]
    if limits is not None and asks and len(limits.sensitive or ()) != report.sensitive:
        yield Message(
            "[report.limits] {names} are of counts 1 to {sensitive}, and the p-table was "
            "designed for 1 to {last}.",
            names=Name.each(asks),
            sensitive=report.sensitive,
            last=len(limits.sensitive or ()),
        )
    for name, value, _ in certificate.limits.worst:
        allowed = getattr(plan.report.limits, name, None)
        if isinstance(allowed, float) and value > allowed:
            yield Message(
                "[report.limits] {name} is {allowed:g}, and the p-table lets it reach "
                "{value:.4g}: it was designed for other limits.",
                name=Name(name),
                allowed=allowed,
                value=value,
            )


def _tell_words(terminal: Terminal, plan: Job) -> None:
    """Tell which words for readers are not given, at all or in each language."""
    from ckm.config.job.output import common_texts
    from ckm.release.files.table_metadata import missing_words

    if (missing := missing_words(plan)) is not None:
        terminal.remark("words for readers", missing)
    if len(plan.output.languages) > 1:
        texts = common_texts(plan)
        text = Message(
            "files in {several}; not given in each language: {alike}",
            several=Name.each(plan.output.languages),
            alike=joined("; ", texts) if texts else Message("nothing"),
        )
        terminal.step("languages checked", text)


def _check_swap(terminal: Terminal, file: Path, **options: Any) -> None:
    from ckm.config.swap import read_swap
    from ckm.release.swapped import rehearse_swap

    job = read_swap(file)
    terminal.step(
        "swap read",
        Message(
            "{file}: areas by {geography}",
            file=Name(file.name),
            geography=Name.each(job.swap.plan.geography),
        ),
    )
    with terminal.progress() as report_progress:
        rehearse_swap(job, step=terminal.step, progress=report_progress, **options)


def _check_plan(terminal: Terminal, file: Path, **_: Any) -> None:
    from ckm.cli.dp.release import carry_out_plan
    from tables.source.spill import SpillFolder

    place = SpillFolder()
    try:
        carry_out_plan(terminal, file, output=place.path / "release", dry_run=True)
    finally:
        place.remove()


def _check_service(terminal: Terminal, file: Path, **options: Any) -> None:
    from ckm.config.service.service import read_service
    from ckm.service.process.server import rehearse_service

    service = read_service(file)
    offered = Message("variables: {variables}", variables=Name.each(service.variables))
    if service.populations:
        populations = Name.each(service.populations)
        offered = Message(
            "{variables}; populations: {populations}",
            variables=offered,
            populations=populations,
        )
    terminal.step(
        "service read",
        Message("{file} can be read; {offered}", file=Name(file.name), offered=offered),
    )
    for caution in (*service.cautions, *_formulas(service)):
        terminal.warn("caution", caution)
    rehearse_service(service, step=terminal.step, **options)
    _tell_end(terminal, file, Message("a sound service"), **options)


def _tell_end(terminal: Terminal, file: Path, kind: Message, *, quick: bool, **_: Any) -> None:
    """Say at the end, after all checks, that nothing is wrong."""
    text = Message("{file} is {kind}", file=Name(file.name), kind=kind)
    if quick:
        text = Message(
            "{file}: no error without reading the rows of the data", file=Name(file.name)
        )
    terminal.step("checked", text)


def _formulas(service: Service) -> tuple[str, ...]:
    """Say which codes of a service a spreadsheet would take for formulas."""
    from ckm.formats import FORMATS
    from ckm.formats.csv_text import is_formula
    from ckm.release.files.table_files import formula_cautions

    formulas = {}
    for name, variable in service.variables.items():
        codes = service.job.categories.get(name, ())
        texts = [name, *(codes if isinstance(codes, list) else ()), *variable.categories]
        formulas[name] = [t for t in dict.fromkeys(map(str, texts)) if is_formula(t)]
    output = service.job.output.changed(formats=tuple(FORMATS))
    return formula_cautions(formulas, output, section="[service]")


def _names(plan: Job) -> Message:
    names = list(plan.tables)[:_SHOWN_TABLES]
    more = len(plan.tables) - len(names)
    return Message(
        "tables: {tables}{more}",
        tables=Name.each(names),
        more=Message(" and {number} more", number=more) if more else Message(),
    )


def _margin(columns: Sequence[str]) -> Message:
    if not columns:
        return Message("the total")
    return Message("{columns}", columns=Enumeration(" by ", Name.each(columns)))


def _margins(plan: Job) -> dict[str, Message]:
    """Say what a table with a list of margins publishes: the list is not all of it."""
    sentences = {}
    for name, request in plan.tables.items():
        if not isinstance(request.margins, str):
            margins = dict.fromkeys(map(tuple, [request.dimensions, *request.margins]))
            sentences[name] = Message(
                "table {name!r} publishes {margins}",
                name=Name(name),
                margins=[*map(_margin, margins)],
            )
    return sentences


def tell_noise(
    terminal: Terminal, spec: NoiseSpec | StackedSpec, *, proof: Certificate | None = None
) -> None:
    """Warn of what the noise does to small counts."""
    from ptable.advice.figures import cautions

    for text in cautions(spec, proof=proof):
        terminal.warn("noise", text)


def tell_preset(terminal: Terminal, source: Path | Mapping[str, Any]) -> None:
    """Say whose design a file or options name, and what is changed beside the name."""
    from ptable.design.presets import name_preset

    if isinstance(source, Path):
        options: Mapping[str, Any] = tomllib.loads(read_text(source)).get("ptable", {})
    else:
        options = source
    if text := name_preset(options):
        terminal.step("preset", text)


def show_feasibility(terminal: Terminal, answer: Feasibility) -> None:
    """Draw which variances each row of a p-table can reach."""
    last = len(answer.rows)
    terminal.table(
        ("counts", "from", "to", Message("asked for"), "feasible"),
        (
            (
                Message("{count} and more", count=row.count)
                if row.count == last
                else str(row.count),
                *(_number(v) for v in (row.variance_min, row.variance_max, row.requested)),
                _reached(row)
                if row.is_feasible
                else Message("no: {reason}", reason=said(row.binding)),
            )
            for row in answer.rows
        ),
        left=("feasible",),
        title=Message("Variances that each row can reach"),
    )


def _reached(row: RowFeasibility) -> str:
    """Say that a row can be met, and by how much where the variance is an upper bound."""
    from ptable.advice.figures import variance_of

    if row.problem.at_most and (variance := variance_of(row.problem)) < 0.995 * row.requested:
        return Message("yes, with less: {value:.3g}", value=variance)
    return "yes"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
