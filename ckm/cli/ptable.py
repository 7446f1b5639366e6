"""``ckm ptable``: build, look at and check perturbation tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.check import show_feasibility
from ckm.cli.failure import CHECK_FAILED
from ckm.cli.root import Group, common_options
from ckm.cli.voice import Voice

if TYPE_CHECKING:
    from ptable import NoiseSpec, PTable

__all__ = ["ptable"]

_PATH = click.Path(path_type=Path)
_BARS = " ▁▂▃▄▅▆▇█"
_BLOCKED = "·"
_OTHER_COLUMNS = 45


@click.group(cls=Group)
def ptable() -> None:
    """Build, look at and check perturbation tables."""


@ptable.command(
    epilog="""\b
Examples:
  ckm ptable build --max-noise 5 --variance 3 --small 2 -o pt.parquet
  ckm ptable build job.toml -o pt.parquet          the [ptable] section of a file
  ckm ptable build --max-noise 2 --variance 9 --dry-run -o pt.parquet
"""
)
@click.argument("spec", type=_PATH, required=False, metavar="[SPEC.toml]")
@click.option("-o", "--output", required=True, type=_PATH, help="A .parquet or .json file.")
@click.option("--max-noise", type=click.IntRange(min=1, max=1000), help="Largest noise, D.")
@click.option("--variance", type=float, help="Variance of the noise, V.")
@click.option("--small", type=click.IntRange(min=0), help="No published count in 1..small.")
@click.option("--monotone", type=click.Choice(["none", "left"]), help="Shape of each row.")
@click.option(
    "--variance-rule",
    type=click.Choice(["exact", "at-most", "nearest"]),
    help="What to do where a row cannot reach the variance.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--dry-run", is_flag=True, help="Show what is feasible, write nothing.")
@common_options
@click.pass_context
def build(
    ctx: click.Context,
    /,
    *,
    spec: Path | None,
    output: Path,
    force: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Solve a p-table and write it with its certificate."""
    from ptable import feasible, solve

    voice = ctx.ensure_object(Voice)
    if output.suffix not in {".parquet", ".json"}:
        raise click.UsageError("The output must end in .parquet or .json.", ctx)
    if output.is_dir() or (output.exists() and not force):
        what = "is a folder" if output.is_dir() else "exists; replace it with --force"
        raise click.UsageError(f"The output {output.name!r} {what}.", ctx)
    asked = _spec(ctx, spec, {name: v for name, v in options.items() if v is not None})
    answer = feasible(asked)
    if dry_run or not answer.ok:
        show_feasibility(voice, answer)
    with voice.progress() as tell:
        tell("solving", 0, 1)
        table = solve(asked)
    if dry_run:
        voice.step("dry run complete", f"dry run: {output} would be written")
        return
    table.write(output, overwrite=force)
    voice.step("p-table built", f"{table.n_rows} rows, certified")
    click.echo(str(output))


@ptable.command(
    epilog="""\b
Examples:
  ckm ptable show pt.parquet
  ckm ptable show pt.parquet --row 3       the probabilities of one count
"""
)
@click.argument("file", type=_PATH)
@click.option("--row", type=click.IntRange(min=0), help="Only the row of this count.")
@common_options
@click.pass_obj
def show(voice: Voice, *, file: Path, row: int | None) -> None:
    """Draw a p-table: how likely each noise is, for each count."""
    from ptable import PTable

    table = PTable.read(file)
    if row is None:
        _draw_rows(voice, table)
    else:
        _draw_row(voice, table, min(row, table.n_rows - 1))


@ptable.command(
    epilog="""\b
Example:
  ckm ptable check pt.parquet
"""
)
@click.argument("file", type=_PATH)
@common_options
@click.pass_context
def check(ctx: click.Context, *, file: Path) -> None:
    """Recompute the certificate of a p-table and say whether it holds.

    Ends with exit code 1 when it does not.
    """
    from ptable import PTable, PTableError

    voice = ctx.ensure_object(Voice)
    if not file.is_file():
        raise click.UsageError(f"The file {file.name!r} does not exist.", ctx)
    try:
        table = PTable.read(file)
        if table.certificate is None:
            _verdict(voice, table, "no certificate: the table comes from elsewhere")
            ctx.exit(CHECK_FAILED)
        table.certificate.check(table)
    except PTableError as error:
        voice.warn("p-table check failed", f"{file.name}: {error.problem}")
        ctx.exit(CHECK_FAILED)
    _verdict(voice, table, None)
    voice.step("p-table checked", "the certificate holds")


def _spec(ctx: click.Context, file: Path | None, options: dict[str, Any]) -> NoiseSpec:
    """Return the specification of a file, or of the options."""
    from ptable import NoiseSpec

    if file is not None:
        if options:
            names = ", ".join("--" + name.replace("_", "-") for name in options)
            raise click.UsageError(f"Give a file or {names}, not both.", ctx)
        from ckm.config import read_noise_spec

        return read_noise_spec(file)
    if "max_noise" not in options or "variance" not in options:
        raise click.UsageError("Give SPEC.toml, or --max-noise and --variance.", ctx)
    return NoiseSpec(**options)


def _draw_rows(voice: Voice, table: PTable) -> None:
    """Draw every row as a line of bars, one bar per noise."""
    from rich.table import Table

    reach = range(-table.max_noise, table.max_noise + 1)
    picture = Table(
        title="P(noise) for each count", title_justify="left", caption_justify="left"
    )
    picture.caption = f"bars from 0 to {_peak(table):.0%}; {_BLOCKED} cannot occur"
    gap = " " if 4 * table.max_noise + _OTHER_COLUMNS < voice.out.width else ""
    picture.add_column("count", justify="right", min_width=5)
    picture.add_column(_scale(table.max_noise, gap), no_wrap=True)
    for name in ("stays", "mean", "variance"):
        picture.add_column(name, justify="right", min_width=len(name))
    for count in range(table.n_rows):
        law = _law(table, count)
        bars = gap.join(_bar(law.get(v, 0.0), _peak(table)) for v in reach)
        mean = sum(v * p for v, p in law.items())
        variance = sum(v * v * p for v, p in law.items()) - mean**2
        more = "+" if count == table.n_rows - 1 and table.large_counts == "last" else ""
        picture.add_row(
            f"{count}{more}",
            bars,
            f"{law.get(0, 0.0):.1%}",
            f"{mean + 0:.3g}",
            f"{variance:.4g}",
        )
    voice.out.print(picture)


def _draw_row(voice: Voice, table: PTable, count: int) -> None:
    """Draw one row with its probabilities."""
    from rich.table import Table

    law = _law(table, count)
    picture = Table(title=f"Count {count}: what may be published", title_justify="left")
    for name in ("published", "noise", "probability"):
        picture.add_column(name, justify="right")
    picture.add_column("")
    for v, p in sorted(law.items()):
        width = round(40 * p / max(law.values()))
        picture.add_row(str(count + v), f"{v:+d}" if v else "0", f"{p:.4%}", "█" * width)
    voice.out.print(picture)


def _law(table: PTable, count: int) -> dict[int, float]:
    units = table.units(count)
    return {v: n / table.key_range for v, n in units.items() if n}


def _peak(table: PTable) -> float:
    """Return the largest probability, the row of count 0 aside: zeros mostly stay."""
    rows = range(1, table.n_rows) if table.n_rows > 1 else range(1)
    return max(p for count in rows for p in _law(table, count).values())


def _bar(probability: float, peak: float) -> str:
    if probability == 0:
        return _BLOCKED
    return _BARS[min(8, max(1, round(8 * probability / peak)))]


def _scale(max_noise: int, gap: str) -> str:
    """Label the first, middle and last bar."""
    middle = max_noise * (1 + len(gap))
    width = 2 * middle + 1
    left, right = f"-{max_noise}", f"+{max_noise}"
    return (left.ljust(middle) + "0").ljust(width - len(right)) + right


def _verdict(voice: Voice, table: PTable, failure: str | None) -> None:
    """Show what the certificate says of each row."""
    from rich.table import Table

    if failure is not None or table.certificate is None:
        voice.warn("p-table check failed", str(failure))
        return
    picture = Table(title="Certificate, recomputed", title_justify="left")
    for name in ("count", "variance asked", "variance", "bias", "entropy gap"):
        picture.add_column(name, justify="right")
    picture.add_column("verdict")
    for row in table.certificate.rows:
        picture.add_row(
            str(row.count),
            f"{row.requested_variance:.6g}",
            f"{row.variance:.6g}",
            f"{row.bias:.1e}",
            f"{max(row.gap, 0):.1e}",
            row.note or "as asked",
        )
    voice.out.print(picture)
