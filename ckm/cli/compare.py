"""``ckm compare``: what designs of noise give away and cost on the tables of a job."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.release import limit_options
from ckm.cli.root import common_options
from ckm.single_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckm.cli.voice import Voice
    from ckm.compare import Comparison

__all__ = ["compare"]

_PATH = click.Path(path_type=Path)
_SHOWN = {
    "q_worst": "worst\nP(i | j)",
    "q_worst_set": "worst\nP(S | j)",
    "given_away_set": "given\naway",
    "aad": "mean\n|d|",
    "hellinger_raw": "Hellinger\n",
    "false_zeros_pct": "false\nzeros %",
}
_RISK, _LOSS = "q_worst_set", "hellinger_raw"
#: A narrower terminal has room for the two axes of the map alone.
_WIDE = 72


@click.command(
    epilog="""\b
Examples:
  ckm compare job.toml designs.toml
  ckm compare job.toml designs.toml -o map.csv            all figures, per table
  ckm compare job.toml designs.toml -o map.svg            a picture
  ckm compare job.toml designs.toml -o comparison.html    a page, --lang fr in French

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
@click.option("-o", "--output", type=_PATH, help="A file: .csv, .svg, .html or .json.")
@click.option("--lang", type=click.Choice(["en", "fr"]), help="The language of the page.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option(
    "--sensitive",
    type=click.IntRange(1, 1000),
    help="The largest sensitive count; by default that of the job's [report].",
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
    lang: str | None,
    force: bool,
    sensitive: int | None,
    draws: int,
    seed: int,
    memory_limit: str | None,
    threads: int | None,
) -> None:
    """Compare designs of noise on the tables of a job: risk and utility.

    The job's own p-table is one of them. The figures are expectations over all keys: the
    secret of the job draws none of them.
    """
    from ckm.compare import compare as run
    from ckm.config import read_designs, read_job

    _check_output(output, lang=lang, force=force)
    plan = read_job(job)
    wanted = read_designs(designs)
    count = f"{len(wanted)} design{'s' * (len(wanted) != 1)}"
    voice.step("designs read", f"{designs.name}: {count}", designs=len(wanted))
    with voice.progress() as tell:
        found = run(
            plan,
            wanted,
            sensitive=None if sensitive is None else range(1, sensitive + 1),
            n_draws=draws,
            seed=seed,
            progress=tell,
            memory_limit=memory_limit,
            threads=threads,
        )
    for name, reason in found.map.refused.items():
        voice.warn("design refused", f"{name}: {reason}", design=name)
    if output is None:
        _show(voice, found)
        return
    text = _WRITERS[output.suffix.lower()](found, lang or "en")
    write_whole(output, text, is_private=True)
    voice.step("comparison written", "it follows from original counts: keep it inside")
    click.echo(str(output))


def _check_output(output: Path | None, *, lang: str | None, force: bool) -> None:
    if output is None:
        if force or lang:
            raise click.UsageError(f"--{'force' if force else 'lang'} goes with --output.")
        return
    suffix = output.suffix.lower()
    if suffix not in _WRITERS:
        raise click.UsageError("The output must end in .csv, .svg, .html or .json.")
    if lang and suffix != ".html":
        raise click.UsageError("--lang is for pages: the output must end in .html.")
    if output.is_dir() or (output.exists() and not force):
        what = "is a folder" if output.is_dir() else "exists; replace it with --force"
        raise click.UsageError(f"The output {output.name!r} {what}.")
    if not output.parent.is_dir():
        raise click.UsageError(f"There is no folder {str(output.parent)!r}: make it first.")


def _show(voice: Voice, found: Comparison) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    front = set(found.map.pareto(risk=_RISK))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("")
    table.add_column("design", overflow="fold", min_width=14)
    is_wide = voice.out.width >= _WIDE
    shown = list(_SHOWN) if is_wide else [_RISK, _LOSS]
    for figure in shown:
        table.add_column(_SHOWN[figure], justify="right", no_wrap=True)
    for design in found.map.designs:
        is_chosen = design == found.chosen
        mark = "*" * (design in front) + "J" * is_chosen
        cells = (_number(found, design, figure) for figure in shown)
        table.add_row(mark, Text(design), *cells, style="bold" if is_chosen else "")
    most = max(found.map.sensitive)
    voice.out.print(table)
    voice.out.print(
        "* no other has less of both worst P(S | j) and Hellinger    J the job's own\n"
        f"S: the sensitive counts, 1 to {most}    "
        "given away: certainly in S with one record more\n"
        f"All tables together, each of {found.tally.distinct:,} distinct cells once."
        + "\nMore figures: on a wider terminal, or with -o map.csv"
        * (not is_wide),
        markup=False,
    )


def _number(found: Comparison, design: str, figure: str) -> str:
    from risk.map_catalogue import FIGURES

    number = found.map.find(design, figure)
    if number is None:
        return "none"
    return f"{number:.3f}" if FIGURES[figure].unit == "probability" else f"{number:.4g}"


def _as_csv(found: Comparison, _language: str) -> str:
    from risk.map_catalogue import FIGURES

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["design", "table", "cells", *FIGURES])
    for line in found.map.lines:
        values = ["" if v is None else repr(v) for v in line.figures.values()]
        writer.writerow([line.design, line.table, line.n_cells, *values])
    return text.getvalue()


def _as_svg(found: Comparison, _language: str) -> str:
    return found.map.picture(risk=_RISK).svg


def _as_json(found: Comparison, language: str) -> str:
    return found.report(language=language).to_json()


def _as_html(found: Comparison, language: str) -> str:
    return found.report(language=language).html


_WRITERS: dict[str, Callable[[Comparison, str], str]] = {
    ".csv": _as_csv,
    ".svg": _as_svg,
    ".html": _as_html,
    ".json": _as_json,
}
