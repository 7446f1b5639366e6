"""``ckm dpsgd memory``: what one step of training takes, stage by stage."""

from __future__ import annotations

from itertools import accumulate, product
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd.sweep import Numbers
from ckm.cli.dpsgd.train import asked_job, on_threads, plan_options_without
from ckm.cli.terminal.click_group import Command, with_terminal
from ckm.cli.terminal.output_options import output_options
from footing.files import csv_text, write_whole
from footing.messages import Message, joined, said
from footing.serialisation import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.config.training import TrainingJob

_MEGA = 1e6
_STAGES = ("start", "model", "batch", "backward", "step", "peak")


@click.command(cls=Command)
@plan_options_without("batch_size")
@click.option(
    "--batch-size",
    "lists",
    type=Numbers(),
    multiple=True,
    metavar="A,B,C",
    help="Batches to measure; or repeat.",
)
@click.option("--limit", type=float, metavar="MB", help="What there is; advice beyond it.")
@click.option("--formulas", is_flag=True, help="The source's formulas; nothing is measured.")
@click.option(
    "--image-factor",
    type=click.IntRange(1),
    default=1,
    help="Image sides divided by, likewise.",
)
@output_options("Also a .csv file, in bytes.")
@with_terminal
def memory(
    terminal: Terminal,
    /,
    *,
    plan_file: Path | None,
    lists: tuple[list[float], ...],
    limit: float | None,
    formulas: bool,
    image_factor: int,
    output: Path | None,
    **options: Any,
) -> None:
    """Measure the memory of one step in four stages, private beside plain.

    Examples
    --------
    ckm dpsgd memory --plan plan.toml --batch-size 256,4096
    ckm dpsgd memory --plan plan.toml --batch-size 4096 --limit 2000 -o memory.csv
    ckm dpsgd memory --formulas --hidden-units 512 --batch-size 64 --image-factor 2

    Each line is measured in a process of its own, on made-up records; the first stage holds
    what PyTorch loads at first use. The formulas were fitted to a head on frozen features
    of images, by a method that keeps each record's gradient.
    """
    batches = [_whole(number) for numbers in lists for number in numbers]
    if plan_file is None and batches:
        options["batch_size"] = batches[0]
    if formulas:
        units = options["hidden_units"]
        if len(units) != 1 or not batches:
            raise click.UsageError(Message("--formulas needs --hidden-units and --batch-size."))
        rows = _by_formula(units[0], batches, image_factor)
    else:
        rows = _measured(asked_job(plan_file, options), batches)
    _show(terminal, rows)
    if output is not None:
        text = csv_text((rows[0], *(row.values() for row in rows)))
        write_whole(output, text, is_private=False)
    _advise(terminal, rows, limit)


def _whole(number: float) -> int:
    if number < 1 or number != int(number):
        raise click.UsageError(Message("--batch-size takes whole numbers from 1."))
    return int(number)


def _by_formula(units: int, batches: Sequence[int], factor: int) -> list[dict[str, Any]]:
    from dpsgd.training.memory import flowers_estimate

    rows = []
    for batch, is_private in product(batches, (False, True)):
        gains = flowers_estimate(
            hidden_units=units, batch_size=batch, image_factor=factor, is_private=is_private
        )
        sizes = [0, *map(round, accumulate(gains.values()))]
        rows.append(_row(batch, (*sizes, sizes[-1]), is_private=is_private))
    return rows


def _measured(job: TrainingJob, batches: Sequence[int]) -> list[dict[str, Any]]:
    from dpsgd.encoding import features
    from dpsgd.training.memory import measure

    shape = {
        "inputs": 0,
        "outputs": len(job.classes) if job.is_classifier else 2,
        "hidden": [*job.network.hidden],
    }
    if job.images is None:
        nothing: dict[str, list[Any]] = {column.name: [] for column in job.declared.columns}
        shape["inputs"] = int(features(nothing, schema=job.declared).shape[1])
    else:
        shape["images"] = plain(job.images.form())
    runs = [*product(batches or (job.promise.batch_size,), (False, True))]
    configurations = [shape | {"batch_size": b, "is_private": p} for b, p in runs]
    with on_threads(1):
        from dpsgd.training.memory_stages import table_stages

        return [
            _row(batch, [getattr(footprint, name) for name in _STAGES], is_private=is_private)
            for (batch, is_private), footprint in zip(
                runs, measure(table_stages, configurations), strict=True
            )
        ]


def _row(batch: int, sizes: Sequence[int], *, is_private: bool) -> dict[str, Any]:
    kind = "private" if is_private else "plain"
    return {"batch_size": batch, "kind": kind, **dict(zip(_STAGES, sizes, strict=True))}


def _show(terminal: Terminal, rows: Sequence[dict[str, Any]]) -> None:
    terminal.table(
        [heading.replace("_", " ") for heading in rows[0]],
        (
            (
                f"{row['batch_size']:,}",
                row["kind"],
                *(f"{row[name] / _MEGA:,.1f}" for name in _STAGES),
            )
            for row in rows
        ),
        is_plain=True,
        title=Message("Megabytes after each stage"),
    )


def _advise(terminal: Terminal, rows: Sequence[dict[str, Any]], limit: float | None) -> None:
    from dpsgd.training.memory import advice

    for row in rows:
        if limit is not None and row["peak"] > limit * _MEGA:
            words = Message(
                "a {kind} batch of {size:,} takes more than {limit:g} MB",
                kind=said(row["kind"]),
                size=row["batch_size"],
                limit=limit,
            )
            terminal.warn("memory", joined(": ", [words, advice(row["batch_size"])]))
