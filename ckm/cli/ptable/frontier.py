"""``ckm ptable frontier``: how far from the possible a design is, and what better costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.frontier import (
    attack,
    require_job,
    show_attacks,
    show_frontier,
    tell_internal,
    trace,
)
from ckm.cli.ptable.options import (
    as_fields,
    attack_options,
    flags,
    limit_fields,
    limit_options,
    noise_options,
    option_names,
)
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output import check_output
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.files import write_whole
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.comparison.frontier import FrontierPlan
    from ptable.advice.frontier import Frontier
    from reports.facts.frontier import FrontierFacts

_SUFFIXES = (".html", ".json", ".csv", ".svg")
_INTERNAL = "# internal: the prior follows from original counts, keep it inside\n"


@click.command(cls=Command)
@click.argument("job", type=PATH, metavar="[JOB.toml]", required=False)
@output_options(
    "A file: .html with .json and .csv beside it, .json, .csv or .svg.",
    *_SUFFIXES,
    has_lang=True,
)
@click.option("--lang", type=click.Choice(["en", "fr"]), help="The language of the page.")
@click.option(
    "--against",
    type=click.Choice(["posterior", "posterior_set"]),
    default="posterior",
    help="What moves along the frontier: the worst posterior of one count, or of the set.",
)
@click.option(
    "--points",
    type=click.IntRange(2, 100),
    default=14,
    help="How many certified tables; one more is at the posterior of the own design.",
)
@click.option(
    "--field/--no-field",
    "has_field",
    default=True,
    help="Show the designs that offices documented, too.",
)
@attack_options
@click.option("--tables", type=PATH, help="A new folder for the p-tables of the points.")
@noise_options
@limit_options
@with_terminal
def frontier(
    terminal: Terminal,
    /,
    *,
    job: Path | None,
    output: Path | None,
    lang: str | None,
    against: str,
    points: int,
    has_field: bool,
    attacks: bool,
    share: float | None,
    secrets: int,
    tables: Path | None,
    **options: Any,
) -> None:
    """Draw the frontier: the least loss of any p-table for each worst posterior.

    All points keep the limits of the job, or, where it has none, are no worse than its design:
    no row of more variance, no smaller floor than 2 or its least variance, no larger δ of
    neighbours, no more counts that stay. Each is a p-table whose whole keys are proven. The
    job's own design and those of the field stand beside them: how far from the possible they
    are, and what better would cost. Limits given as options replace those of the job.

    Examples
    --------
    ckm ptable frontier job.toml                       the frontier in a table
    ckm ptable frontier job.toml -o frontier.html      a page, its data beside it
    ckm ptable frontier job.toml --floor 1 --against posterior_set
    ckm ptable frontier job.toml --tables points/      the p-tables, to choose one
    ckm ptable frontier job.toml --attacks -o f.html   and what attacks find with less noise
    ckm ptable frontier --max-noise 5 --variance 3 --small 2

    With a job, the first prior is counted from its tables, and the output is internal. Ctrl-C
    ends it early and keeps what is there. With --attacks, designs that are no worse by any
    limit and lose less are attacked on the tables of the job, those that lose least first,
    until one is found with which the audit, two nested cells and averages find no more.
    """
    from ckm.comparison.frontier import frontier_facts

    require_job(job, attacks=attacks, share=share)
    if tables is not None:
        _require_new(tables)
    _check_beside(output)
    values = {name: value for name, value in options.items() if value is not None}
    if job is not None:
        tell_internal(terminal)
    plan = _plan(job, values)
    for caution in plan.cautions:
        terminal.warn("frontier", caution)
    with terminal.progress() as report_progress:
        line = trace(
            terminal,
            plan,
            progress=report_progress,
            against=against,
            n_points=points,
            has_field=has_field,
        )
        outcome = None
        if attacks and job is not None:
            outcome = attack(
                terminal, job, plan, share=share, n_secrets=secrets, progress=report_progress
            )
    facts = frontier_facts(plan, line, attacks=outcome)
    if tables is not None:
        _write_tables(terminal, line, tables)
    if output is None:
        show_frontier(terminal, facts)
        show_attacks(terminal, facts)
        return
    _write(terminal, facts, output, lang or terminal.language)


def _plan(job: Path | None, options: Mapping[str, Any]) -> FrontierPlan:
    """Read what a job says, or what options say; without records the textbook's prior."""
    from ckm.comparison.frontier import plan_of_job, plan_of_table
    from ckm.config.job.limits import TEXTBOOK
    from ptable import NoiseSpec, solve

    limits = limit_fields(options)
    objective = options.get("objective")
    if objective == "entropy":
        raise click.UsageError(
            Message("Greatest entropy loses nothing that a frontier could show."),
        )
    noise = {name: v for name, v in options.items() if name in option_names()}
    if job is not None:
        if noise:
            raise click.UsageError(
                Message("Give a job or {options}, not both.", options=flags(noise))
            )
        return plan_of_job(job, limits=limits, objective=objective)
    fields = as_fields(noise)
    if not {"max_noise", "variance"} <= fields.keys():
        raise click.UsageError(
            Message("Give JOB.toml, --preset, or --max-noise and --variance.")
        )
    own = solve(NoiseSpec(**fields))
    return plan_of_table(own, priors={"textbook": TEXTBOOK}, limits=limits, objective=objective)


def _beside(output: Path) -> Iterator[Path]:
    """Give the files of the data beside a page."""
    if output.suffix.lower() == ".html":
        yield output.with_suffix(".json")
        yield output.with_suffix(".csv")


def _check_beside(output: Path | None) -> None:
    for path in () if output is None else _beside(output):
        check_output(path, force=may_replace())


def _write(terminal: Terminal, facts: FrontierFacts, output: Path, language: str) -> None:
    for path in (output, *_beside(output)):
        text = _WRITERS[path.suffix.lower()](facts, language)
        write_whole(path, text, is_private=True, overwrite=may_replace())
    terminal.step(
        "frontier written",
        Message("it follows from original counts: keep it inside")
        if facts.has_records
        else Message("it shows the parameters of the noise: keep it inside"),
    )
    click.echo(str(output))


def _require_new(folder: Path) -> None:
    if folder.exists():
        raise click.UsageError(
            Message("The folder {name!r} exists already.", name=Name(folder.name))
        )


def _write_tables(terminal: Terminal, line: Frontier, folder: Path) -> None:
    """Write the p-tables of the points into a folder for inside."""
    from ckm.comparison.frontier import names_of_tables
    from ckm.release.files.output_folder import new_folder

    with new_folder(folder) as draft:
        draft.chmod(0o700)
        for name, table in names_of_tables(line.points).items():
            table.write(draft / name)
    terminal.step(
        "p-tables written",
        Message("{number} p-tables in {folder}", number=len(line.points), folder=Name(folder)),
    )


def _as_csv(facts: FrontierFacts, _language: str) -> str:
    from ckm.comparison.frontier import frontier_csv

    return (_INTERNAL if facts.has_records else "") + frontier_csv(facts)


def _as_html(facts: FrontierFacts, language: str) -> str:
    from reports import make_report

    return make_report(facts, language=language).html


def _as_json(facts: FrontierFacts, language: str) -> str:
    from reports import make_report

    return make_report(facts, language=language).to_json()


def _as_svg(facts: FrontierFacts, language: str) -> str:
    from reports.plots import comparison_plot

    return comparison_plot(facts, language=language).svg


_WRITERS: dict[str, Callable[[FrontierFacts, str], str]] = {
    ".csv": _as_csv,
    ".html": _as_html,
    ".json": _as_json,
    ".svg": _as_svg,
}
