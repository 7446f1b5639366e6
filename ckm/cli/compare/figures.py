"""``ckm figures``: shares and changes of released counts, with what the noise leaves open."""

from pathlib import Path
from typing import Any

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.console import Terminal


@click.command(cls=Command)
@click.argument("folder", type=PATH, metavar="OUT")
@click.argument("table")
@click.option("--share-of", metavar="COLUMN", help="Shares of the totals over this column.")
@click.option("--since", type=PATH, metavar="OUT", help="Changes since this release.")
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    help="How often, at least, intervals hold the figure of the original counts.",
)
@click.option("-o", "--output", type=PATH, help="A file: .csv, .parquet, .xlsx, …")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@with_terminal
def figures(
    terminal: Terminal,
    /,
    *,
    folder: Path,
    table: str,
    output: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Shares of a released table, or changes since an earlier release, with intervals.

    They are computed from published counts and the p-table alone. Intervals disclose the noise:
    publish those of one level, or none.

    Examples
    --------
    ckm figures out/2027 jobseekers --share-of sex
    ckm figures out/2027 jobseekers --since out/2026 -o changes.csv
    """
    from ckm.release.figures import figures as run

    figures_table = run(folder, table, **options)
    if output is None:
        click.echo(
            figures_table.to_pandas().to_csv(index=False, float_format="%.10g"), nl=False
        )
        return
    figures_table.write(output, overwrite=force)
    terminal.step("figures written", output.name)
