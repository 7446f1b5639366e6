"""``ckm ptable frontier``: how far from the possible a design is, and what better costs."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, Any

import click

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
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.comparison.frontier import FrontierPlan
    from footing.progress import Progress
    from ptable.advice.frontier import Frontier
    from reports.facts.frontier import AttackedFact, AttacksFact, FrontierFacts

_SUFFIXES = (".html", ".json", ".csv", ".svg")
#: What is drawn longer than this is told of before.
_LONG_S = 2.0
#: The audit takes counts up to this for small.
_MOST_SMALL = 10
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
    """Draw the least that any p-table loses, by the worst posterior it allows.

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
        terminal.step(
            "internal",
            Message(
                "Internal: the prior follows from original counts, keep the output inside."
            ),
        )
    plan = _plan(job, values)
    for caution in plan.cautions:
        terminal.warn("frontier", caution)
    with terminal.progress() as report_progress:
        line = traced(
            terminal,
            plan,
            progress=report_progress,
            against=against,
            n_points=points,
            has_field=has_field,
        )
        tried = None
        if attacks and job is not None:
            tried = attacked(
                terminal, job, plan, share=share, n_secrets=secrets, progress=report_progress
            )
    facts = frontier_facts(plan, line, attacks=tried)
    if tables is not None:
        _write_tables(terminal, line, tables)
    if output is None:
        show_frontier(terminal, facts)
        show_attacks(terminal, facts)
        return
    _write(terminal, facts, output, lang or terminal.language)


def tell_internal(terminal: Terminal) -> None:
    """Say first that what follows comes from records."""
    terminal.step(
        "internal",
        Message("Internal: the prior follows from original counts, keep the output inside."),
    )


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


def traced(
    terminal: Terminal,
    plan: FrontierPlan,
    *,
    progress: Progress,
    has_field: bool,
    designs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Frontier:
    """Trace a frontier; say first what it takes, and keep what is there when interrupted."""
    from ptable.advice.frontier import designs_of_the_field, frontiers

    others = dict(designs or {})
    if has_field:
        others |= {n: t for n, t in designs_of_the_field().items() if t not in others.values()}
    steps = frontiers(plan.spec, own=plan.own, designs=others, progress=progress, **options)
    started = process_time()
    last = next(steps)
    # Points with a limit take longer than the first, and the ends are sought.
    estimate = 2 * (process_time() - started) * (last.n_planned + 2)
    if estimate > _LONG_S:
        terminal.step(
            "frontier",
            Message(
                "{points} points, about {seconds:.0f} CPU seconds; Ctrl-C keeps what is there",
                points=last.n_planned,
                seconds=estimate,
            ),
        )
    try:
        for last in steps:  # noqa: B007  (the last one is the answer)
            pass
    except KeyboardInterrupt:
        terminal.warn(
            "frontier",
            Message(
                "Stopped early: {points} of {planned} points are there.",
                points=len(last.points),
                planned=last.n_planned,
            ),
        )
    return last


def require_job(job: Path | None, *, attacks: bool, share: float | None) -> None:
    """Refuse attacks without the tables of a job, and a share without attacks."""
    if attacks and job is None:
        raise click.UsageError(Message("--attacks needs JOB.toml: its tables are attacked."))
    if share is not None and not attacks:
        raise click.UsageError(Message("--share can only go with --attacks."))


def attacked(
    terminal: Terminal,
    job: Path,
    plan: FrontierPlan,
    *,
    share: float | None,
    n_secrets: int,
    progress: Progress,
) -> AttacksFact:
    """Find the design that loses least of those with which attacks find no more."""
    from ckm.comparison.attacked_designs import attacked_designs

    def tell_cost(number: int, seconds: float) -> None:
        if number * seconds > _LONG_S:
            terminal.step(
                "attacks",
                Message(
                    "up to {number} designs are attacked, about {seconds:.0f} CPU seconds each",
                    number=number,
                    seconds=seconds,
                ),
            )

    limits = plan.spec.limits
    if plan.own is None or limits is None or not limits.sensitive:
        raise click.UsageError(Message("--attacks needs a design of the job that can be met."))
    return attacked_designs(
        job,
        plan.own,
        plan.spec,
        small=min(_MOST_SMALL, limits.sensitive[-1]),
        share=share,
        n_secrets=n_secrets,
        progress=progress,
        tell_cost=tell_cost,
    )


def show_attacks(terminal: Terminal, facts: FrontierFacts) -> None:
    """Show what attacks find, design by design."""
    from reports.i18n.languages import words_of
    from reports.pages.frontier import attacks_said

    tried = facts.attacks
    if tried is None:
        return
    for text in attacks_said(words_of(terminal.language), facts):
        terminal.tell(text)
    verdicts = {None: Message("not tried"), True: Message("yes"), False: Message("no")}
    terminal.table(
        (
            Message("variance of small counts"),
            Message("of full rows"),
            "loss",
            Message("audit"),
            Message("two nested cells"),
            Message("averaging"),
            Message("no more found"),
        ),
        [
            (
                *(said(Message("own")) if v is None else f"{v:.2f}" for v in _floors(one)),
                f"{one.loss:.3f}",
                "–" if one.audit is None else f"{one.audit:.1%}",
                f"{one.differencing:.1%}",
                f"{one.averaging:.1%}",
                said(verdicts[one.is_as_safe]),
            )
            for one in tried.designs
        ],
        title=Message("What attacks find"),
        is_plain=True,
    )


def _floors(one: AttackedFact) -> tuple[float | None, float | None]:
    return one.floor, one.full_floor


def show_frontier(terminal: Terminal, facts: FrontierFacts) -> None:
    """Show what a page says first, and its two tables."""
    from reports.i18n.languages import words_of
    from reports.pages.frontier import findings

    words = words_of(terminal.language)
    for text in findings(words, facts):
        terminal.tell(text)
    against = facts.against
    told: Callable[[Any], str] = lambda figures: f"{getattr(figures, against):.3f}"  # noqa: E731
    own = next((one.figures.loss for one in facts.designs if one.is_own), None)

    def change(loss: float) -> str:
        return "" if not own else f"{loss / own - 1:+.0%}"

    terminal.table(
        ("", Message("limit"), Message("posterior"), "loss", Message("at least"), "", "V", "δ"),
        [
            (
                str(place),
                f"{one.limit:.4f}",
                told(one.figures),
                f"{one.figures.loss:.3f}",
                f"{one.bound:.3f}",
                change(one.figures.loss),
                f"{one.figures.least_variance:.2f}–{one.figures.largest_variance:.2f}",
                f"{one.figures.neighbours:.4f}",
            )
            for place, one in enumerate(facts.points, start=1)
        ],
        title=Message("Certified tables of the frontier"),
        is_plain=True,
    )
    terminal.table(
        (
            "design",
            Message("posterior"),
            "loss",
            Message("at least"),
            Message("own reach"),
            Message("limits not kept"),
        ),
        [
            (
                said(Message("own")) if one.is_own else one.name,
                told(one.figures),
                f"{one.figures.loss:.3f}",
                _number(one.least),
                _number(one.alike),
                ", ".join(one.exceeds),
            )
            for one in facts.designs
        ],
        left=("design", Message("limits not kept")),
        title=Message("Designs in use"),
        caption=Message(
            "at least: no table within the limits that tells no more loses less; own reach: "
            "no table of the same largest noise and forbidden counts that is no worse by any "
            "limit loses less"
        ),
        is_plain=True,
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


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
