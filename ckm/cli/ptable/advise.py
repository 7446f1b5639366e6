"""``ckm ptable advise``: what noise is feasible, what is nearest, what serves a goal."""

from __future__ import annotations

import shlex
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.check import show_feasibility, tell_noise, tell_preset
from ckm.cli.frontier import require_job
from ckm.cli.ptable.options import (
    as_command,
    as_fields,
    attack_options,
    flags,
    noise_options,
    not_both,
)
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.exit_codes import INFEASIBLE
from footing.messages import Message, joined, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ptable import Feasibility, NoiseSpec
    from ptable.advice.advice import Advice
    from ptable.advice.infeasibility_cases import Alternative
    from ptable.design.goal import Goal

#: Points of a frontier beside other advice.
_POINTS = 12
_WISHES = {
    "max_noise",
    "small",
    "variance",
    "monotone",
    "symmetric",
    "min_probability",
}


@click.command(cls=Command)
@click.argument("spec", type=PATH, required=False, metavar="[SPEC.toml]")
@noise_options
@click.option(
    "--stay-about", type=float, help="How often large counts are to stay as they are."
)
@click.option("--tolerance", type=float, help="By how much that may be missed; 0.05.")
@click.option(
    "--frontier",
    "has_frontier",
    is_flag=True,
    help="With a job: distance of its design from the frontier, and cost of better ones.",
)
@attack_options
@with_terminal
def advise(
    terminal: Terminal,
    /,
    *,
    spec: Path | None,
    stay_about: float | None,
    tolerance: float | None,
    has_frontier: bool,
    attacks: bool,
    share: float | None,
    secrets: int,
    **options: Any,
) -> int:
    """Say what noise is feasible and what to ask for instead, or find noise for a goal.

    With --variance it judges a request; with --stay-about, or without --variance, it looks for
    p-tables that serve a goal. Ends with exit code 4 only when it finds nothing to propose.

    Examples
    --------
    ckm ptable advise --max-noise 5 --variance 1 --small 4
    ckm ptable advise --preset insee-qpv --rule maximum-entropy
    ckm ptable advise job.toml                                 the [ptable] section of a file
    ckm ptable advise --max-noise 5 --small 4 --stay-about 0.4
    ckm ptable advise job.toml --frontier                      designs by limits, by its tables
    ckm ptable advise job.toml --attacks --share 0.3           with which attacks find no more

    With --frontier or --attacks the tables of the job are counted, and the answer is internal.
    """
    require_job(spec, attacks=attacks, share=share)
    if has_frontier and spec is None:
        raise click.UsageError(Message("--frontier needs the file of a job."))
    values = {name: value for name, value in options.items() if value is not None}
    wishes = {"stay_about": stay_about, "tolerance": tolerance}
    wishes = {name: value for name, value in wishes.items() if value is not None}
    if spec is not None:
        not_both({**values, **wishes})
        from ckm.config import read_noise_spec
        from ckm.release.prior_of_tables import prior_of_tables

        noise = read_noise_spec(spec, prior_of_tables=prior_of_tables)
        tell_preset(terminal, spec)
        if noise.limits is not None:
            has_answer = _judge_limits(terminal, noise, spec)
        else:
            has_answer = _judge(terminal, noise.to_dict())
        if has_frontier or attacks:
            _show_limited(
                terminal,
                spec,
                has_frontier=has_frontier,
                attacks={"share": share, "n_secrets": secrets} if attacks else None,
            )
            has_answer = True
    elif not {"max_noise", "preset"} & values.keys():
        raise click.UsageError(Message("Give SPEC.toml, --preset, or at least --max-noise."))
    elif tolerance is not None and stay_about is None:
        raise click.UsageError(Message("--tolerance can only go with --stay-about."))
    elif stay_about is not None or not {"variance", "preset"} & values.keys():
        has_answer = _serve(terminal, _goal(values, wishes))
    else:
        fields = as_fields(values)
        tell_preset(terminal, values)
        has_answer = _judge(terminal, fields)
    if not has_answer:
        terminal.warn("nothing found", Message("No p-table near this request was found."))
    return 0 if has_answer else INFEASIBLE


def _show_limited(
    terminal: Terminal, job: Path, *, has_frontier: bool, attacks: Mapping[str, Any] | None
) -> None:
    """Show what designs by limits could do for the tables of a job."""
    from ckm.cli.frontier import (
        attack,
        show_attacks,
        show_frontier,
        tell_internal,
        trace,
    )
    from ckm.comparison.frontier import frontier_facts, plan_of_job

    tell_internal(terminal)
    plan = plan_of_job(job, limits={}, objective=None)
    with terminal.progress() as report_progress:
        line = trace(
            terminal,
            plan,
            progress=report_progress,
            has_field=False,
            n_points=_POINTS if has_frontier else 2,
        )
        outcome = (
            None
            if attacks is None
            else attack(terminal, job, plan, progress=report_progress, **attacks)
        )
    facts = frontier_facts(plan, line, attacks=outcome)
    if has_frontier:
        show_frontier(terminal, facts)
    show_attacks(terminal, facts)


def _goal(values: Mapping[str, Any], wishes: Mapping[str, Any]) -> Goal:
    """Return the goal that the options describe."""
    from ptable.design.goal import Goal

    foreign = sorted(values.keys() - _WISHES)
    lists = sorted(name for name, value in values.items() if isinstance(value, tuple))
    if foreign:
        problem = Message(
            "A goal does not take {options}; give --variance instead.", options=flags(foreign)
        )
        raise click.UsageError(problem)
    if [name for name in lists if name != "variance"]:
        raise click.UsageError(
            Message("A goal takes one value of each option, not one per row.")
        )
    names = {"stay_about": "p_stay"}
    return Goal(**values, **{names.get(name, name): wish for name, wish in wishes.items()})


def _judge(terminal: Terminal, fields: dict[str, Any]) -> bool:
    """Show what the rows of a request can reach, and the nearest requests in reach."""
    from ptable import InfeasibleError, NoiseSpec, feasible
    from ptable.advice.alternatives import alternatives

    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    try:
        answer = feasible(NoiseSpec(**fields))
    except InfeasibleError as error:
        terminal.tell(error.problem)
    else:
        show_feasibility(terminal, answer)
        _show_limits(terminal, answer)
    nearest = alternatives(fields)
    if not nearest:
        terminal.tell(Message("Every row is feasible. Build it:"))
        click.echo(f"  {as_command(NoiseSpec(**fields))}")
        tell_noise(terminal, NoiseSpec(**fields))
        return True
    terminal.tell(
        Message("Not every row is feasible. The nearest feasible requests, nearest first:")
    )
    _show_alternatives(nearest)
    return True


def _judge_limits(terminal: Terminal, noise: NoiseSpec, file: Path) -> bool:
    """Say whether any table keeps these limits, and if none does the nearest that one keeps."""
    from ptable import InfeasibleError, feasible
    from ptable.solver.limited import require_feasible

    show_feasibility(terminal, feasible(noise))
    try:
        require_feasible(noise)
    except InfeasibleError as error:
        terminal.tell(error.problem)
        if error.hint:
            terminal.tell(error.hint)
        return True
    terminal.tell(
        Message("A p-table within all limits exists. Build it once, and keep the file:")
    )
    click.echo(f"  {shlex.join(['ckm', 'ptable', 'build', file.name, '-o', 'pt.parquet'])}")
    return True


def _show_limits(terminal: Terminal, answer: Feasibility) -> None:
    """Say what limits the variance from either side, once for rows that have it in common."""
    lines = []
    for limits, rows in groupby(answer.rows, key=lambda row: row.limits):
        counts = [row.count for row in rows]
        span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        lines.append((span, *limits))
    columns = ("counts", Message("not smaller because"), Message("not larger because"))
    terminal.table(columns, lines, left=columns, title=Message("Limits of the variance"))


def _show_alternatives(nearest: tuple[Alternative, ...]) -> None:
    from ptable import NoiseSpec

    for number, one in enumerate(nearest, start=1):
        click.echo(f"{number:>2}. {one}")
        if isinstance(one.spec, NoiseSpec):
            click.echo(f"    {as_command(one.spec)}")


def _serve(terminal: Terminal, goal: Goal) -> bool:
    """Show the p-tables that serve a goal, with their figures, and what stands in its way."""
    from ptable.advice.advice import advise as serve
    from ptable.advice.advice import conflicts

    for text in conflicts(goal):
        terminal.tell(
            Message(
                "These requirements are incompatible in a table of one variance: {text}.",
                text=said(text),
            )
        )
    proposals = serve(goal)
    if not proposals:
        return False
    if goal.p_stay is not None and not any(not one.missed for one in proposals):
        terminal.tell(Message("No p-table meets every requirement; these are the nearest."))
    _show_figures(terminal, proposals)
    for number, one in enumerate(proposals, start=1):
        missed = [joined(", ", one.missed)] if one.missed else []
        idea = joined("; ", [one.idea, *missed])
        terminal.tell(Message("{number:>2}. {idea}", number=number, idea=idea))
        click.echo(f"    {as_command(one.spec)}")
    return True


def _show_figures(terminal: Terminal, proposals: tuple[Advice, ...]) -> None:
    """Draw the figures, one line a proposal."""
    columns = (
        "",
        "D",
        "js",
        "V",
        "stays",
        Message("all rows"),
        "size",
        "bits",
        Message("same diff."),
        "true",
    )
    lines = []
    for number, one in enumerate(proposals, start=1):
        risk = one.figures
        low, high = risk.p_stay_range
        lines.append(
            (
                str(number),
                str(one.spec.max_noise),
                str(one.spec.small),
                f"{risk.variance:.3g}",
                f"{risk.p_stay:.1%}",
                f"{low:.1%} to {high:.1%}",
                f"{risk.mean_size:.2f}",
                f"{risk.entropy:.2f}",
                f"{risk.p_same_difference:.1%}",
                ", ".join(f"{j}: {p:.0%}" for j, p in risk.p_source),
            )
        )
    terminal.table(
        columns,
        lines,
        title=Message("Effect of the noise"),
        caption=Message(
            "V, stays, size, bits: variance, P(no noise), mean size and entropy of "
            "large counts; all rows: least and greatest P(no noise) where it may be; "
            "same diff.: P(two large cells keep their difference); true: P(count is j, "
            "given that j is published) for the smallest j, all counts from 1 on being "
            "equally likely beforehand"
        ),
    )
