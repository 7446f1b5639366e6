"""``ckm rappor series``: periods of a collection, and what changed between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.rappor.decode import candidates_of
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.files import write_whole
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.counts import Counts
    from rappor.decoding.series import Series

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_SHOWN = 20


@click.command(cls=Command)
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="COUNTS...")
@click.option("--candidates", required=True, type=PATH, help="A .txt file, one a line.")
@click.option("--panel", "is_panel", is_flag=True, help="The same clients in all periods.")
@click.option("--alpha", type=_SHARE, default=0.05, help="Level of the tests of a change.")
@click.option("--confidence", type=_SHARE, default=0.95, help="Of each interval.")
@output_options("A .csv or .json file.", ".csv", ".json")
@with_terminal
# claim rappor-series
def series(
    terminal: Terminal,
    /,
    *,
    files: tuple[Path, ...],
    candidates: Path,
    output: Path | None,
    **settings: Any,
) -> None:
    """Decode the periods of a collection, and test what changed from each to the next.

    Examples
    --------
    ckm rappor series january.json february.json march.json --candidates pages.txt
    ckm rappor series collection --candidates pages.txt -o series.csv     of ckm rappor serve

    Files of counts are periods in the order in which they stand; a folder is one of
    `ckm rappor serve`, with its periods that are over. Tests of a change allow for all
    candidates. With --panel the same clients report in all periods: their permanent noise is
    the same and falls out of changes. Say it only where it is so; else changes are found
    that are none.
    """
    from rappor.decoding.series import series as series_of

    periods = _periods(files)
    counts = next(iter(periods.values()))
    result = series_of(periods, candidates_of(candidates, counts.parameters), **settings)
    _show(terminal, result)
    if output is not None:
        frame = result.to_frame()
        if output.suffix.lower() == ".json":
            text = frame.to_json(orient="records", indent=1) + "\n"
        else:
            text = frame.to_csv(index=False, lineterminator="\n")
        write_whole(output, text, overwrite=may_replace(), is_private=False)
        click.echo(str(output))


def _periods(files: tuple[Path, ...]) -> dict[str, Counts]:
    from rappor.counts import Counts
    from rappor.receiver.store import period_counts

    periods: dict[str, Counts] = {}
    for file in files:
        part = period_counts(file) if file.is_dir() else {file.stem: Counts.read(file)}
        if part.keys() & periods.keys():
            raise click.UsageError(Message("Two periods have one name."))
        # A receiver at work has a period in which nobody reported yet.
        periods |= {name: one for name, one in part.items() if one.total or not file.is_dir()}
    if len(periods) < 2:
        raise click.UsageError(Message("A series needs two periods or more."))
    return periods


def _show(terminal: Terminal, result: Series) -> None:
    rows = [
        (
            change.after,
            result.names[place],
            f"{change.estimates[place]:+.2%}",
            f"{change.sds[place]:.2%}",
            f"{change.adjusted[place]:.2g}",
        )
        for change in result.changes
        for place in change.is_significant.nonzero()[0].tolist()
    ]
    if rows:
        headings = (
            Message("period"),
            Message("candidate"),
            Message("change"),
            "sd",
            Message("adjusted p"),
        )
        terminal.table(headings, rows[:_SHOWN], left=headings[:2], is_plain=True)
    terminal.tell(
        Message(
            "{changes} significant changes of {candidates} candidates over {periods} periods",
            changes=len(rows),
            candidates=len(result.names),
            periods=len(result.periods),
        )
    )
