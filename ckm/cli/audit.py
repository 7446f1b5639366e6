"""``ckm audit``: what all tables of a service or of a release give away together."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import Command, with_terminal
from ckm.cli.terminal.output import check_output
from ckm.errors import CheckFailedError
from footing.files import write_whole
from footing.messages import Message, Name, said
from footing.serialisation import document, plain
from footing.version import engine_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckm.audit.advice import Design, Step
    from ckm.audit.audit import Audit, Auditor, Exposure
    from ckm.audit.query_space import QuerySpace
    from ckm.cli.terminal.console import Terminal
    from ckm.config.job.report import JobLimits
    from ckm.config.service.sections import ServiceAudit
    from reports.facts.exposure import ClosureFact, ExposureFacts

_PATH = click.Path(path_type=Path)
_OTHERS = 3
_FOUND: tuple[tuple[str, Callable[[Exposure], str]], ...] = (
    ("variables", lambda one: str(one.n_variables)),
    ("tables", lambda one: str(one.n_tables)),
    (Message("all cells"), lambda one: f"{one.n_cells:,}"),
    (Message("small counts"), lambda one: f"{one.together.n_small:,}"),
    (Message("inferred from one table"), lambda one: f"{one.alone.share:.1%}"),
    (Message("inferred from all tables"), lambda one: f"{one.together.share:.1%}"),
    (Message("of guesses"), lambda one: f"{one.together.guessed:,}"),
    (Message("certain guesses"), lambda one: f"{one.together.sure:,}"),
    (Message("of them wrong"), lambda one: f"{one.together.sure_wrong:,}"),
    (Message("exact counts"), lambda one: f"{one.together.certain:,}"),
)


def _finite(_context: click.Context, _option: click.Parameter, value: float | None) -> Any:
    if value is not None and math.isnan(value):
        raise click.BadParameter(Message("nan is no share."))
    return value


@click.command(cls=Command)
@click.argument("file", type=_PATH, metavar="SERVICE.toml|JOB.toml")
@click.option(
    "--small",
    type=click.IntRange(1, 10),
    help="Counts from 1 to this are small; by default that of [audit], or 2.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1),
    callback=_finite,
    help="Share of correct guesses from which on a guess is called certain; by default "
    "that of [audit], or 0.95.",
)
@click.option(
    "--areas",
    type=click.IntRange(1),
    help="Examine so many areas, drawn at random, and tables by area alone; by default as "
    "[audit] has it, or all.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the draws."
)
@click.option(
    "--limit",
    type=click.FloatRange(0, 1),
    callback=_finite,
    help="Largest share of small counts inferred from all tables, from those of one number "
    "of variables, or in differences of two tables; above it, exit 1 with advice. By "
    "default largest_share of [audit].",
)
@click.option(
    "--advise",
    "has_designs",
    is_flag=True,
    help="Above the limit, also p-tables by limits that lose less than more noise does, each "
    "attacked; with -o the one that suffices is written beside it, as .ptable.parquet.",
)
@click.option(
    "--limit-cpu",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    metavar="SECONDS",
    help="Stop after so many CPU seconds with the results so far: a lower bound, exit 1.",
)
@click.option(
    "-o", "--output", type=_PATH, help="All figures: .html with .json beside it, or .json."
)
@click.option("--lang", type=click.Choice(["en", "fr"]), help="The language of the page.")
@click.option("--force", is_flag=True, help="Replace the output.")
@with_terminal
def audit(
    terminal: Terminal,
    /,
    *,
    file: Path,
    small: int | None,
    confidence: float | None,
    areas: int | None,
    seed: int,
    limit: float | None,
    has_designs: bool,
    limit_cpu: float | None,
    output: Path | None,
    lang: str | None,
    force: bool,
) -> None:
    """Infer small counts from all tables of a release, or that a service permits, together.

    Examples
    --------
    ckm audit service.toml
    ckm audit service.toml --small 3 -o audit.html    a page, and audit.json beside it
    ckm audit service.toml --areas 50 --seed 1        a sample of areas, for many records
    ckm audit service.toml --limit 0.1                what to withhold until 10 % are inferred
    ckm audit job.toml --limit 0.3 --advise           and which p-tables would do instead
    ckm audit job.toml -o audit.html                  the tables of a release, and earlier ones
    ckm audit job.toml --limit-cpu 60                 result of a minute of one processor

    It builds all cells that the rules of a service permit, or the tables of a job with those
    that its ledger has of before, so it takes longer than one answer, and needs the secret. Its
    results are internal to the office.
    """
    from ckm.audit.audit import open_space
    from ckm.audit.breakdown import exposure_facts, growth_of, parts_of
    from ckm.audit.effort import CpuLimit
    from ckm.audit.job_tables import open_release
    from ckm.config.read import read_job
    from ckm.config.service.sections import ServiceAudit
    from ckm.config.service.service import is_service_file, read_service
    from ckm.release.audit_gate import digests_of
    from ckm.release.run import InputFiles

    is_release = not is_service_file(file)
    if is_release and areas is not None:
        raise click.BadParameter(Message("a release is audited whole."), param_hint="--areas")
    check_output(output, force=force, lang=lang, endings=(".html", ".json"), inputs=(file,))
    _check_beside(output, has_designs=has_designs, force=force)
    service = None if is_release else read_service(file)
    settings = ServiceAudit() if service is None else service.audit
    options: dict[str, Any] = {
        "small": settings.small if small is None else small,
        "confidence": settings.confidence if confidence is None else confidence,
    }
    job = read_job(file) if service is None else service.job
    own_limit = job.report.limits.all_tables if service is None else settings.largest_share
    limit = own_limit if limit is None else limit
    is_spent = CpuLimit(limit_cpu).is_over
    inputs = InputFiles({path: path.name for path in job.input_files()})
    with terminal.progress() as report_progress:
        if service is None:
            space, auditor, release = open_release(
                file, **options, progress=report_progress, is_over=is_spent
            )
            plan = release.service
        else:
            plan, release = service, None
            space, auditor = open_space(
                plan,
                **options,
                areas=settings.areas if areas is None else areas,
                seed=seed,
                progress=report_progress,
                is_over=is_spent,
            )
        _tell_cost(terminal, space, max_noise=auditor.ptable.max_noise)
        audit_result, attacked = auditor.attacked(
            space,
            seed=seed,
            progress=partial(report_progress, "all tables together"),
            is_over=is_spent,
        )
        parts = parts_of(space, attacked)
        share = max(audit_result.largest_share, *(parts["interval"] or (0.0,)))
        is_over = limit is not None and share > limit
        growth = (
            growth_of(
                space,
                auditor,
                attacked,
                seed=seed,
                progress=report_progress,
                is_over=is_spent,
            )
            if output is not None and output != _beside(output)
            else None
        )
        steps, noise, designs = (
            _advice(
                space,
                auditor,
                limit=limit,
                seed=seed,
                is_release=is_release,
                has_designs=has_designs,
                progress=report_progress,
                is_over=is_spent,
            )
            if limit is not None and is_over
            else ((), (), ())
        )
    facts = exposure_facts(
        plan,
        audit_result,
        parts,
        limit=limit,
        limits=_limits_of(settings if service else job.report.limits),
        steps=steps,
        noise=noise,
        growth=growth,
        release=release,
    )
    if output is not None:
        inputs.require_rest()
        digests = digests_of(service or job, auditor.ptable)
        _write(
            output,
            replace(facts, digests=digests),
            audit_result,
            steps,
            lang=lang or terminal.language,
        )
        _write_design(_of_design(output), designs, limit=limit, force=force)
    _show_found(terminal, audit_result)
    _tell(terminal, facts, release.left_out if release else {})
    if release is not None:
        for text in release.weighted:
            terminal.warn("weighted counts", text)
        for text in release.sums:
            terminal.warn("sums with the noise of counts", text)
    _require_within(terminal, facts, steps, noise)


def _advice(
    space: QuerySpace,
    auditor: Auditor,
    *,
    limit: float,
    seed: int,
    is_release: bool,
    has_designs: bool,
    **options: Any,
) -> tuple[tuple[Step, ...], tuple[ClosureFact, ...], tuple[Design, ...]]:
    """Say what to close, which noise would do instead, and which p-tables with less loss."""
    from ckm.audit.advice import advise, designs_by_limits, stronger_noise

    steps = advise(space, auditor, limit=limit, is_release=is_release, **options)
    noise = stronger_noise(space, auditor, limit=limit, seed=seed, **options)
    designs: tuple[Design, ...] = ()
    if has_designs:
        designs = designs_by_limits(space, auditor, noise, limit=limit, seed=seed, **options)
    return steps, (*noise, *(one.closure for one in designs)), designs


def _limits_of(settings: ServiceAudit | JobLimits) -> dict[str, float | None]:
    """Return the limits of occupied zeros and of attributes."""
    from ckm.config.service.sections import ServiceAudit

    names = ("occupied_zeros", "attributes")
    if isinstance(settings, ServiceAudit):
        names = ("largest_zeros_share", "largest_attribute_share")
    return dict(
        zip(
            ("zeros_limit", "attribute_limit"),
            (getattr(settings, name) for name in names),
            strict=True,
        )
    )


def _tell_cost(terminal: Terminal, space: QuerySpace, *, max_noise: int) -> None:
    """Tell what the attack is about to cost."""
    from ckm.audit.effort import estimated_cost

    cost = estimated_cost(space, max_noise=max_noise)
    message = Message(
        "attacking {tables:,} tables together takes some {seconds:,} CPU s and {megabytes:,} "
        "MB more",
        tables=len(space.shown),
        seconds=math.ceil(cost.seconds),
        megabytes=math.ceil(cost.megabytes),
    )
    terminal.step("cost", message)


def _require_within(
    terminal: Terminal,
    facts: ExposureFacts,
    steps: Sequence[Step],
    noise: Sequence[ClosureFact],
) -> None:
    """Refuse what is above a limit, with advice, and what was cut short."""
    from reports.pages.exposure import is_over

    if facts.is_over and facts.limit is not None:
        _show_advice(terminal, steps, noise, limit=facts.limit)
        raise CheckFailedError(
            Message(
                "More small counts are inferred than the limit of {limit:.1%}: from all "
                "tables, from those of one number of variables, or in differences of two "
                "tables.",
                limit=facts.limit,
            ),
            hint=_way_out(steps, limit=facts.limit),
        )
    if is_over(facts.zeros_limit, facts.zeros_share_held):
        raise CheckFailedError(
            Message(
                "Non-empty cells published as 0 are identified more often than the limit "
                "of {limit:.1%}.",
                limit=facts.zeros_limit,
            ),
            hint=Message("offer coarser levels or fewer variables together, or more noise"),
        )
    if is_over(facts.attribute_limit, facts.attribute_share_held):
        raise CheckFailedError(
            Message(
                "Statements that a whole cell has one category are correct more often than "
                "the limit of {limit:.1%}.",
                limit=facts.attribute_limit,
            ),
            hint=Message("offer coarser cells of what is sensitive, or fewer margins of it"),
        )
    if facts.unfinished:
        raise CheckFailedError(
            Message(
                "The attack was cut short by --limit-cpu: its result is a lower bound, and "
                "meets no limit."
            ),
            hint=Message("run it with more CPU seconds, or without --limit-cpu"),
        )


def _way_out(steps: Sequence[Step], *, limit: float) -> str:
    if steps and steps[-1].chosen.share <= limit:
        return Message("withhold what the table above names, in that order")
    return Message(
        "withholding tables does not reach the limit: offer coarser levels, or more noise"
    )


def _beside(output: Path) -> Path:
    """Return the file of the figures, which stands beside a page."""
    return output.with_suffix(".json") if output.suffix.lower() == ".html" else output


def _write(
    output: Path, facts: ExposureFacts, audit_result: Audit, steps: Sequence[Step], *, lang: str
) -> None:
    """Write the figures, and the page where one is wanted."""
    from ckm.release.audit_gate import KIND
    from reports import make_report
    from reports.i18n.languages import words_of
    from reports.pages.exposure import cautions

    facts = replace(facts, finished=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))
    more = (
        *("variables", "areas", "tables", "growth", "noise", "release", "left_out", "drawn"),
        *("interval", "zeros_interval", "zeros_limit", "attribute_limit"),
    )
    content = {
        "kind": KIND,
        "version": engine_version(),
        "finished": facts.finished,
        "digests": facts.digests,
        **audit_result.to_dict(),
        "limit": facts.limit,
        "advice": steps,
        "cautions": cautions(words_of("en"), facts),
        **{name: plain(getattr(facts, name), message=Message.to_dict) for name in more},
    }
    write_whole(_beside(output), document(content, indent=2), is_private=True)
    if output != _beside(output):
        page = make_report(facts, language=lang).html
        write_whole(output, page, is_private=True)


def _check_beside(output: Path | None, *, has_designs: bool, force: bool) -> None:
    """Refuse what stands where files beside the output go."""
    if output is not None and (beside := _beside(output)) != output:
        check_output(beside, force=force)
    if output is not None and has_designs:
        check_output(_of_design(output), force=force)


def _write_design(
    path: Path, designs: Sequence[Design], *, limit: float | None, force: bool
) -> None:
    """Write the p-table that loses least of those that suffice."""
    for one in designs:
        if limit is not None and one.closure.share <= limit:
            one.ptable.write(path, overwrite=force)


def _of_design(output: Path) -> Path:
    """Return the file of a p-table that suffices, which stands beside a page."""
    return output.with_suffix(".ptable.parquet")


def _show_advice(
    terminal: Terminal, steps: Sequence[Step], noise: Sequence[ClosureFact], *, limit: float
) -> None:
    """Show what was closed, round by round, with the runners-up; then more noise instead."""
    rows = []
    for number, step in enumerate(steps, start=1):
        others = [one for one in step.options if one != step.chosen][:_OTHERS]
        for place, one in enumerate([step.chosen, *others]):
            closed = one.what if place == 0 else f"(or {one.what})"
            rows.append([f"{number}." if place == 0 else "", closed, *_left(one)])
    if rows:
        terminal.table(
            ["step", "close", Message("tables left"), "cells", "small", "found"],
            rows,
            left=("step", "close"),
            title=Message(
                "What to withhold first, until {limit:.1%} are inferred", limit=limit
            ),
        )
    if noise:
        terminal.table(
            ["noise", "tables", "cells", "small", "found"],
            [[one.what, *_left(one)] for one in noise],
            left=("noise",),
            title=Message("Alternative: more noise, with a new p-table"),
        )


def _show_found(terminal: Terminal, audit_result: Audit) -> None:
    """Show what is found, and below it what the probabilities of all counts tell."""
    names, cells = zip(*_FOUND, strict=True)
    terminal.table(
        names,
        [[of(one) for of in cells] for one in audit_result.exposures],
        title=Message("Small counts are those from 1 to {small}", small=audit_result.small),
        caption=Message(
            "one table: inferred from the table of the cell; all tables: from all of them, "
            "for so many guesses that a cell is small; certain guesses: 20 other cells are "
            "alike; exact counts: no other count fits. Other attacks may infer more."
        ),
    )


def _tell(terminal: Terminal, facts: ExposureFacts, reasons: Mapping[str, str]) -> None:
    """Tell the findings: results, and not for a log, as their figures are disclosive."""
    from reports.i18n.languages import words_of
    from reports.pages.exposure import findings

    for name in facts.left_out:
        why = reasons.get(
            name,
            Message(
                "the tables that the rules of the service allow are examined, "
                "not those of a job"
            ),
        )
        terminal.tell(Message("left out: {name}, as {why}", name=Name(name), why=said(why)))
    for text in findings(words_of(terminal.language), facts):
        terminal.tell(text)


def _left(one: ClosureFact) -> list[str]:
    return [f"{one.n_tables:,}", f"{one.n_cells:,}", f"{one.n_small:,}", f"{one.share:.1%}"]
