"""A frontier in the terminal: told first, trace, shown; for several verbs."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, Any

import click

from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.comparison.frontier import FrontierPlan
    from footing.progress import Progress
    from ptable.advice.frontier import Frontier
    from reports.facts.frontier import AttackedFact, AttacksFact, FrontierFacts

#: What takes longer than this is told of before.
_LONG_S = 2.0
#: The audit takes counts up to this for small.
_MOST_SMALL = 10


def tell_internal(terminal: Terminal) -> None:
    """Say first that what follows comes from records."""
    terminal.step(
        "internal",
        Message("Internal: the prior follows from original counts, keep the output inside."),
    )


def trace(
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


def attack(
    terminal: Terminal,
    job: Path,
    plan: FrontierPlan,
    *,
    share: float | None,
    n_secrets: int,
    progress: Progress,
) -> AttacksFact:
    """Find the design with the least loss with which attacks are no more successful."""
    from ckm.audit.attacked_designs import attacked_designs

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

    attacks = facts.attacks
    if attacks is None:
        return
    for text in attacks_said(words_of(terminal.language), facts):
        terminal.tell(text)
    verdicts = {None: Message("not tried"), True: Message("yes"), False: Message("no")}
    terminal.table(
        (
            Message("variance of small counts"),
            Message("of full rows"),
            Message("loss"),
            Message("audit"),
            Message("two nested cells"),
            Message("averaging"),
            Message("no more found"),
        ),
        [
            (
                *(
                    terminal.say(Message("own")) if v is None else f"{v:.2f}"
                    for v in _floors(one)
                ),
                f"{one.loss:.3f}",
                "–" if one.audit is None else f"{one.audit:.1%}",
                f"{one.differencing:.1%}",
                f"{one.averaging:.1%}",
                terminal.say(verdicts[one.is_as_safe]),
            )
            for one in attacks.designs
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
    posterior: Callable[[Any], str] = lambda figures: f"{getattr(figures, against):.3f}"  # noqa: E731
    own = next((one.figures.loss for one in facts.designs if one.is_own), None)

    def change(loss: float) -> str:
        return "" if not own else f"{loss / own - 1:+.0%}"

    terminal.table(
        (
            "",
            Message("limit"),
            Message("posterior"),
            Message("loss"),
            Message("at least"),
            "",
            "V",
            "δ",
        ),
        [
            (
                str(place),
                f"{one.limit:.4f}",
                posterior(one.figures),
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
            Message("design"),
            Message("posterior"),
            Message("loss"),
            Message("at least"),
            Message("own reach"),
            Message("limits not kept"),
        ),
        [
            (
                terminal.say(Message("own")) if one.is_own else one.name,
                posterior(one.figures),
                f"{one.figures.loss:.3f}",
                _number(one.least),
                _number(one.alike),
                ", ".join(one.exceeds),
            )
            for one in facts.designs
        ],
        left=(Message("design"), Message("limits not kept")),
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
