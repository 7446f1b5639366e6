"""``ckm anonymity``: k-anonymity, l-diversity and t-closeness of records, for inside use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.csv_options import csv_options
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.cli.terminal.output_options import output_options
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from ckm.cli.terminal.console import Terminal
    from risk.anonymity.audit import Anonymity
    from tables import ReadOptions


@click.command(cls=Command)
@click.argument("data", type=PATH)
@click.option(
    "--by",
    "quasi_identifiers",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="A quasi-identifier: a column that others may know of a person; may be repeated.",
)
@click.option("--sensitive", metavar="COLUMN", help="The sensitive column.")
@click.option(
    "--distance",
    type=click.Choice(["equal", "ordered"]),
    default="equal",
    help="Distance of two sensitive values: the same for all, or by their order as numbers.",
)
@click.option("-k", "--k", type=click.IntRange(1), help="Fewer records of a group: exit 1.")
@click.option("-l", "--l", type=click.FloatRange(1), help="Fewer values of a group: exit 1.")
@click.option("-t", "--t", type=click.FloatRange(0, 1), help="A group farther away: exit 1.")
@csv_options
@output_options("All figures, .json; or a line for each group, .csv.", ".json", ".csv")
@with_terminal
def anonymity(
    terminal: Terminal,
    /,
    *,
    data: Path,
    quasi_identifiers: tuple[str, ...],
    sensitive: str | None,
    distance: Any,
    k: int | None,
    l: float | None,  # noqa: E741  (the word of the literature)
    t: float | None,
    reading: ReadOptions,
    output: Path | None,
) -> int:
    """Measure the risk of re-identification: k-anonymity, l-diversity, t-closeness.

    k is the number of records in the smallest group of equal quasi-identifiers. For a sensitive
    column, l is the least number of its values in a group, and t the largest distance between
    its distribution in a group and in the file. All three do not exclude disclosure.

    Examples
    --------
    ckm anonymity people.csv --by age --by region
    ckm anonymity people.parquet --by age5 --by region --sensitive illness -k 5 -l 2 -t 0.3
    ckm anonymity people.parquet --by age5 --by region -o groups.csv

    What it prints and writes follows from original records, and is internal to the office.
    """
    from footing.files import csv_text, write_whole
    from footing.serialisation import document
    from risk.anonymity.audit import audit_anonymity

    if sensitive is None and (l is not None or t is not None):
        raise click.UsageError(Message("-l and -t are of a column: add --sensitive."))
    audit = audit_anonymity(
        _columns(data, reading, quasi_identifiers, sensitive, is_ordered=distance == "ordered"),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        distance=distance,
    )
    figures = _figures(audit)
    terminal.tell(Message("For inside use only"))
    terminal.table(
        ("what", Message("figure")),
        [(terminal.say(_WORDS[name]), f"{value:,.4g}") for name, value in figures.items()],
        left=("what",),
    )
    if output is not None:
        frame = audit.to_frame()
        rows = [list(frame.columns), *frame.astype(object).to_numpy().tolist()]
        is_csv = output.suffix.lower() == ".csv"
        write_whole(output, csv_text(rows) if is_csv else document(figures, indent=2))
        click.echo(str(output))
    return _judged(terminal, figures, {"k": k, "l": l, "t": t})


_WORDS = {
    "records": Message("records"),
    "groups": Message("groups of records that are alike"),
    "unique": Message("records alone in their group"),
    "k": Message("k: records of the smallest group"),
    "l": Message("l: sensitive values of a group, at least"),
    "entropy_l": Message("l by entropy"),
    "t": Message("t: distance of a group from the file, at most"),
    "homogeneous": Message("groups with one sensitive value"),
    "excluding": Message("groups that lack a sensitive value of the file"),
}


def _figures(audit: Anonymity) -> dict[str, float]:
    figures: dict[str, float] = {
        "records": int(audit.sizes.sum()),
        "groups": len(audit.sizes),
        "unique": audit.n_unique,
        "k": audit.k,
    }
    if (diversity := audit.diversity) is not None:
        figures |= {
            "l": diversity.l_distinct,
            "entropy_l": diversity.l_entropy,
            "t": diversity.t,
            "homogeneous": diversity.n_homogeneous,
            "excluding": int((diversity.excluded > 0).sum()),
        }
    return figures


def _judged(
    terminal: Terminal, figures: dict[str, float], limits: dict[str, float | None]
) -> int:
    """Tell which limits are not kept; the code with which the command ends."""
    missed = [
        name
        for name, limit in limits.items()
        if limit is not None
        and (figures[name] > limit if name == "t" else figures[name] < limit)
    ]
    for name in missed:
        terminal.warn(
            "limit not kept",
            Message(
                "{name} is not within its limit: combine categories of --by, or leave a column "
                "out.",
                name=Name(name),
            ),
        )
    return CHECK_FAILED if missed else 0


def _columns(
    path: Path,
    reading: ReadOptions,
    quasi_identifiers: Sequence[str],
    sensitive: str | None,
    *,
    is_ordered: bool,
) -> pa.Table:
    """Read the columns of an audit: categories as texts, what has an order as numbers."""
    from risk.errors import RiskError
    from tables import open_source
    from tables.filtering.filters import quote

    with open_source(path, options=reading) as source:
        names = [*quasi_identifiers, *([sensitive] if sensitive else [])]
        if len(set(names)) < len(names):
            raise click.UsageError(Message("A column is named twice."))
        for name in names:
            source.require(name)
        texts = [f"{quote(name)}::VARCHAR AS {quote(name)}" for name in names]
        if sensitive and is_ordered:
            if not source.is_number(sensitive):
                raise RiskError(
                    Message("Column {name!r} has no numbers.", name=Name(sensitive)),
                    hint=Message("--distance equal is for categories without an order"),
                )
            number = source.number_sql(sensitive)
            texts[-1] = f"{number}::DOUBLE AS {quote(sensitive)}"
        return source.arrow(f"SELECT {', '.join(texts)} FROM {source.relation}")  # noqa: S608
