"""``ckm dpsgd memory``: what one step of training takes, stage by stage."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd.train import asked_job, on_threads, plan_options
from ckm.cli.terminal.click_group import with_terminal
from ckm.cli.terminal.output import check_output
from footing.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.cli.terminal.console import Terminal
    from ckm.config.training import TrainingJob
    from dpsgd.training.memory import Footprint

_PATH = click.Path(path_type=Path)
_MEGA = 1e6
_STAGES = ("start", "model", "batch", "backward", "step", "peak")


@click.command(
    epilog="""\b
Examples:
  ckm dpsgd memory --plan plan.toml --batch 256 --batch 4096
  ckm dpsgd memory --plan plan.toml --batch 4096 --limit 2000 -o memory.csv
  ckm dpsgd memory --formulas --units 512 --batch 64 --factor 2

Each line is measured in a process of its own, on made-up records; the first stage holds what
PyTorch loads at first use. The formulas were fitted to
a head on frozen features of images, by a method that keeps each record's gradient.
"""
)
@plan_options
@click.option("--batch", "batches", type=click.IntRange(1), multiple=True, help="Repeat.")
@click.option("--limit", type=float, metavar="MB", help="What there is; advice beyond it.")
@click.option("--formulas", is_flag=True, help="The source's formulas; nothing is measured.")
@click.option("--units", type=click.IntRange(1), help="Hidden units, for the formulas.")
@click.option(
    "--factor", type=click.IntRange(1), default=1, help="Image sides divided by, likewise."
)
@click.option("-o", "--output", type=_PATH, help="Also a .csv file, in bytes.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@with_terminal
def memory(
    terminal: Terminal,
    /,
    *,
    plan_file: Path | None,
    batches: tuple[int, ...],
    limit: float | None,
    formulas: bool,
    units: int | None,
    factor: int,
    output: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Measure the memory of one step in four stages, private beside plain."""
    if output is not None:
        check_output(output, force=force)
    if formulas:
        if units is None or not batches:
            raise click.UsageError("--formulas needs --units and --batch.")
        rows = _by_formula(units, batches, factor)
    else:
        rows = _measured(asked_job(plan_file, options), batches)
    _show(terminal, rows)
    if output is not None:
        text = io.StringIO()
        writer = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(output, text.getvalue(), is_private=False)
    _advise(terminal, rows, limit)


def _by_formula(units: int, batches: Sequence[int], factor: int) -> list[dict[str, Any]]:
    from dpsgd.training.memory import flowers_estimate

    rows = []
    for batch in batches:
        for is_private in (False, True):
            found = flowers_estimate(
                hidden_units=units, batch_size=batch, image_factor=factor, is_private=is_private
            )
            held, rising = 0.0, {}
            for stage, gain in found.items():
                held += gain
                rising[stage] = round(held)
            kind = "private" if is_private else "plain"
            rows.append(
                {"batch_size": batch, "kind": kind, "start": 0, **rising, "peak": round(held)}
            )
    return rows


def _measured(job: TrainingJob, batches: Sequence[int]) -> list[dict[str, Any]]:
    from dpsgd.encoding import features
    from dpsgd.training.memory import measure

    nothing: dict[str, list[Any]] = {column.name: [] for column in job.declared.columns}
    target: Any = job.declared.target
    shape = {
        "inputs": int(features(nothing, schema=job.declared).shape[1]),
        "outputs": len(target.values) if job.is_classifier else 2,
        "hidden": [*job.network.hidden],
    }
    configurations = [
        {**shape, "batch_size": batch, "is_private": is_private}
        for batch in batches or (job.promise.batch_size,)
        for is_private in (False, True)
    ]
    with on_threads(1):
        from dpsgd.training.memory_stages import table_stages

        return [_row(found) for found in measure(table_stages, configurations)]


def _row(found: Footprint) -> dict[str, Any]:
    kind = "private" if found.configuration["is_private"] else "plain"
    held = {name: getattr(found, name) for name in _STAGES}
    return {"batch_size": found.configuration["batch_size"], "kind": kind, **held}


def _show(terminal: Terminal, rows: Sequence[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, title="Megabytes after each stage")
    for heading in rows[0]:
        table.add_column(heading.replace("_", " "), justify="right")
    for row in rows:
        held = (f"{row[name] / _MEGA:,.1f}" for name in _STAGES)
        table.add_row(f"{row['batch_size']:,}", row["kind"], *held)
    terminal.out.print(table)


def _advise(terminal: Terminal, rows: Sequence[dict[str, Any]], limit: float | None) -> None:
    from dpsgd.training.memory import advice

    for row in rows:
        if limit is not None and row["peak"] > limit * _MEGA:
            words = (
                f"a {row['kind']} batch of {row['batch_size']:,} takes more than {limit:g} MB"
            )
            terminal.warn("memory", f"{words}: {advice(row['batch_size'])}")
