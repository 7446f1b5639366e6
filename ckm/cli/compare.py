"""``ckm compare``: what designs of noise give away and cost on the tables of a job."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.release import limit_options
from ckm.cli.root import common_options

if TYPE_CHECKING:
    from ckm.cli.voice import Voice
    from risk.map_result import RiskUtilityMap

__all__ = ["compare"]

_PATH = click.Path(path_type=Path)
_SHOWN = {
    "q_worst": "worst P(i | j)",
    "q_set": "P(sensitive | seen sensitive)",
    "sensitive_kept": "sensitive kept",
    "aad": "mean |d|",
    "rmse": "RMSE",
    "hellinger_raw": "Hellinger",
    "false_zeros_pct": "false zeros %",
}


@click.command(
    epilog="""\b
Examples:
  ckm compare job.toml designs.toml
  ckm compare job.toml designs.toml -o map.csv      all figures, per table

\b
designs.toml:
  [grid]                              all combinations
  max_noise = [3, 5, 8]
  variance = [1.0, 3.0]
  small = [0, 2]
  [designs.rounded]                   or one at a time
  mechanism = "random-rounding"
  base = 3
  [designs.ours]
  path = "ptable.parquet"

The output is internal: its figures follow from original counts and from parameters.
"""
)
@click.argument("job", type=_PATH, metavar="JOB.toml")
@click.argument("designs", type=_PATH, metavar="DESIGNS.toml")
@click.option("-o", "--output", type=_PATH, help="A .csv file for all figures.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option(
    "--sensitive",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="The largest sensitive count.",
)
@click.option(
    "--draws",
    type=click.IntRange(0, 1000),
    default=1,
    show_default=True,
    help="Simulations for the figures that have no formula.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of these."
)
@limit_options
@common_options
@click.pass_obj
def compare(
    voice: Voice,
    *,
    job: Path,
    designs: Path,
    output: Path | None,
    force: bool,
    sensitive: int,
    draws: int,
    seed: int,
    memory_limit: str | None,
    threads: int | None,
) -> None:
    """Compare designs of noise on the tables of a job: risk and utility.

    The figures are expectations over all keys: the secret of the job draws none of them.
    """
    from ckm.compare import compare as run
    from ckm.config import read_designs, read_job

    _check_output(output, force=force)
    plan = read_job(job)
    wanted = read_designs(designs)
    voice.step("designs read", f"{designs.name}: {len(wanted)} designs", designs=len(wanted))
    with voice.progress() as tell:
        found = run(
            plan,
            wanted,
            sensitive=range(1, sensitive + 1),
            n_draws=draws,
            seed=seed,
            progress=tell,
            memory_limit=memory_limit,
            threads=threads,
        )
    for name, reason in found.refused.items():
        voice.warn("design refused", f"{name}: {reason}", design=name)
    if output is None:
        _show(voice, found)
        return
    text = _as_csv(found)
    with output.open("w" if force else "x", encoding="utf-8", newline="") as file:
        file.write(text)
    voice.step("map written", "the map follows from original counts: keep it inside")
    click.echo(str(output))


def _check_output(output: Path | None, *, force: bool) -> None:
    if output is None:
        if force:
            raise click.UsageError("--force goes with --output.")
        return
    if output.suffix.lower() != ".csv":
        raise click.UsageError("The output must end in .csv.")
    if output.is_dir() or (output.exists() and not force):
        what = "is a folder" if output.is_dir() else "exists; replace it with --force"
        raise click.UsageError(f"The output {output.name!r} {what}.")


def _show(voice: Voice, found: RiskUtilityMap) -> None:
    from rich.table import Table

    front = set(found.pareto())
    table = Table(
        title="Risk and utility, all tables together; * no other has less of both "
        "worst P(i | j) and Hellinger",
        title_justify="left",
    )
    table.add_column("design")
    for words in _SHOWN.values():
        table.add_column(words, justify="right")
    for design in found.designs:
        values = (found.find(design, figure) for figure in _SHOWN)
        mark = " *" if design in front else ""
        table.add_row(design + mark, *("none" if v is None else f"{v:.4g}" for v in values))
    voice.out.print(table)


def _as_csv(found: RiskUtilityMap) -> str:
    from risk.map_catalogue import FIGURES

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["design", "table", "cells", *FIGURES])
    for line in found.lines:
        values = ["" if v is None else repr(v) for v in line.figures.values()]
        writer.writerow([line.design, line.table, line.n_cells, *values])
    return text.getvalue()
