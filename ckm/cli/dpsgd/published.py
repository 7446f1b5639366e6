"""``ckm dpsgd published``: the source's table of private trainings, counted again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import Command, with_terminal
from ckm.cli.terminal.output_options import output_options
from footing.files import csv_text, write_whole
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from dpsgd.accounting.published import PublishedRun

_COLUMNS = (
    "batch_size", "noise_multiplier", "clipping_norm", "learning_rate", "epochs",
    "printed_epsilon", "epsilon", "corrected_noise", "poisson_epsilon", "printed_accuracy",
)  # fmt: skip


@click.command(cls=Command)
@output_options("Also a .csv file.", ".csv")
@with_terminal
def published(terminal: Terminal, /, *, output: Path | None) -> None:
    """Show the source's thirteen trainings on images of flowers, their epsilons counted again.

    Examples
    --------
    ckm dpsgd published
    ckm dpsgd published -o table.csv
    ckm dpsgd sweep images.toml --published -o runs.csv     its rows, trained on your images

    Epsilon is by the formula of the source, with the noise that gives what was printed; the
    last epsilon is by the account that a plan has today, for Poisson batches. The images and
    the pretrained network of the source are not here: its accuracies are as printed.
    """
    rows = [*_rows()]
    terminal.table(
        [name.replace("_", " ") for name in _COLUMNS],
        [["" if value is None else f"{value:g}" for value in row] for row in rows],
        is_plain=True,
    )
    if output is not None:
        write_whole(output, csv_text((_COLUMNS, *rows)), is_private=False)
        terminal.step("table written", Message("13 trainings, as published"))


def _rows() -> list[tuple[float | None, ...]]:
    from dpsgd.accounting.published import PUBLISHED

    rows: list[tuple[float | None, ...]] = []
    for run in PUBLISHED:
        noise = run.corrected_noise or run.noise_multiplier
        rows.append(
            (
                run.batch_size, run.noise_multiplier, run.clipping_norm, run.learning_rate,
                run.epochs, run.printed, round(run.epsilon(noise), 4), run.corrected_noise,
                round(_today(run), 4), run.accuracy,
            )
        )  # fmt: skip
    return rows


def _today(run: PublishedRun) -> float:
    """Return the epsilon of a row by the account of a plan."""
    from dpsgd.accounting.published import DELTA, RECORDS
    from dpsgd.plan import Plan

    plan = Plan.for_noise(
        run.corrected_noise or run.noise_multiplier,
        delta=DELTA,
        dataset_size=RECORDS,
        batch_size=run.batch_size,
        epochs=run.epochs,
    )
    return plan.cost().epsilon
