"""``ckm dpsgd advise``: passes, clipping norm and learning rate, proposed from the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd.sweep import Numbers
from ckm.cli.dpsgd.train import on_threads, plan_and_data
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.config.training import TrainingJob
    from dpsgd.sweeps.proposal import Proposal, TrialRecords

_LENGTH = 10.0  # of features, see dpsgd.features.images


@click.command(cls=Command)
@click.argument("file", metavar="[PLAN]", type=PATH, required=False)
@click.option("--plan", "plan_file", type=PATH, help="The training file.")
@click.option("--epsilon", type=Numbers(), metavar="A,B,C", help="In place of the file's.")
@click.option("--public", type=PATH, help="Public records of this form, to try settings on.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the trials.")
@with_terminal
def advise(
    terminal: Terminal,
    /,
    *,
    file: Path | None,
    plan_file: Path | None,
    epsilon: list[float] | None,
    public: Path | None,
    seed: int,
) -> None:
    """Propose passes, clipping norm and learning rate for the budget of a training file.

    Examples
    --------
    ckm dpsgd advise plan.toml
    ckm dpsgd advise plan.toml --epsilon 1,3,8
    ckm dpsgd advise plan.toml --public census1990.parquet

    Some sixteen settings are tried with the noise that keeps the budget, on made-up records of
    the declared columns, or on public ones: that costs nothing. The confidential records are
    not read. A linear model is tried; layers between want smaller rates as a rule.
    """
    from ckm.config.training import read_training
    from dpsgd.sweeps.proposal import propose, with_settings

    _, plan_file = plan_and_data(file, plan_file)
    if plan_file is None:
        raise click.UsageError(Message("The training file is missing: --plan plan.toml."))
    job = read_training(plan_file)
    if not is_advised(job, is_layered=True):
        raise click.UsageError(
            Message(
                "Settings are proposed for classifiers of tables and heads on features; for "
                "others try public records: ckm dpsgd sweep."
            )
        )
    proposals = []
    with on_threads(1):
        records = trial_records_of(job, public=public, seed=seed)
        budgets: list[float | None] = [*epsilon] if epsilon else [None]
        for budget in budgets:
            changes: dict[str, Any] = (
                {} if budget is None else {"epsilon": budget, "noise_multiplier": None}
            )
            proposals.append(
                propose(
                    job.plan(**changes),
                    records=records,
                    learning_rate=job.network.learning_rate,
                    momentum=job.network.momentum,
                    average=job.network.average,
                    seed=seed,
                )
            )
    _show(terminal, proposals)
    for line in with_settings(proposals[0].best):
        click.echo(line)


def is_advised(job: TrainingJob, *, is_layered: bool = False) -> bool:
    """Return whether settings of a linear model say something of the model of the file."""
    is_deep = bool(job.network.hidden) and not is_layered
    is_head = job.images is None or job.images.network != "convolutions"
    return job.is_classifier and is_head and not is_deep


def trial_records_of(
    job: TrainingJob, *, public: Path | None = None, seed: int = 0
) -> TrialRecords:
    """Return records to try settings on: made up, or public; none of the file's own."""
    from dpsgd.sweeps.proposal import made_up_records, trial_records

    if public is not None:
        from ckm.cli.dpsgd.records import records_of
        from ckm.cli.dpsgd.train import estimator_of

        part = records_of(job, public)
        part.check()
        table, y = part.read()
        changes: dict[str, Any] = {
            "noise_multiplier": None,
            "epsilon": 1.0,
            "adjacency": "add-remove",
        }
        x, goal = estimator_of(job, job.plan(**changes, sampling="poisson")).check(table, y)
        return trial_records(
            x.numpy(), goal.numpy(), classes=len(job.classes), has_constant=job.images is None,
            seed=seed,
        )  # fmt: skip
    if job.images is None:
        return made_up_records(schema=job.declared, seed=seed)
    inputs = job.images.form().input_shape[0]
    return made_up_records(inputs=inputs, classes=len(job.classes), length=_LENGTH, seed=seed)


def _show(terminal: Terminal, proposals: list[Proposal]) -> None:
    rows = []
    for one in proposals:
        plan = one.best.plan
        budget: Any = plan.epsilon
        rows.append(
            (
                f"{budget:g}",
                f"{round(plan.expected_batch):,}",
                f"{plan.steps:,}",
                f"{plan.noise_multiplier:.3g}",
                f"{plan.clipping_norm:g}",
                f"{one.best.learning_rate:.3g}",
                f"{one.best.accuracy:.3f}",
                f"{one.planned.accuracy:.3f}",
            )
        )
    headings = (
        "epsilon", "batch size", "steps", "noise multiplier", "clipping norm", "learning rate",
        Message("accuracy of trials"), Message("as planned"),
    )  # fmt: skip
    terminal.table(headings, rows, is_plain=True)
    last = proposals[0]
    if last.epsilon_of_trials is not None:
        terminal.step(
            "settings proposed",
            Message(
                "{trials} trials, free: the records were made up or public; ten on the "
                "confidential ones, their number drawn at random, would cost epsilon "
                "{epsilon:.3g}",
                trials=last.trials,
                epsilon=last.epsilon_of_trials,
            ),
        )
