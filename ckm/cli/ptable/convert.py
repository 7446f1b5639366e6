"""``ckm ptable convert``: from the layout of one tool to that of another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.ptable.options import LAYOUTS, reading_options
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.output import check_output
from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ptable import PTable


@click.command(cls=Command)
@click.argument("source", type=PATH, metavar="IN")
@click.argument("target", type=PATH, metavar="OUT")
@reading_options
@click.option(
    "--to",
    "target_layout",
    type=click.Choice(LAYOUTS),
    help="Layout of OUT; else by its name: .parquet, .json, .pert.",
)
@click.option(
    "--digits", type=click.IntRange(1, 12), help="Round decimals, of OUT or else of IN."
)
@click.option("--type", "kind", help="Which table of IN, where it has several.")
@click.option(
    "--keys",
    "n_keys",
    type=click.IntRange(2, 2**24),
    help="Put it into so many keys first, keeping means and variances.",
)
@click.option(
    "--shuffle",
    "seed",
    type=click.IntRange(min=0),
    metavar="SEED",
    help="Put the keys of every row in random order first.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--dry-run", is_flag=True, help="Say what would be lost, write nothing.")
@with_terminal
def convert(
    terminal: Terminal,
    /,
    *,
    source: Path,
    target: Path,
    dialect: str | None,
    target_layout: str | None,
    kind: str | None,
    n_keys: int | None,
    seed: int | None,
    force: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Convert a p-table from one layout to another, and say what is lost.

    Examples
    --------
    ckm ptable convert ptable.csv pt.parquet               from R, to build on
    ckm ptable convert pt.parquet pt.txt --to tau-argus
    ckm ptable convert pt.parquet pt.csv --to r-ptable --digits 8
    ckm ptable convert old.csv pt.json --boundary "(]" --key-range 100000000
    ckm ptable convert abs.pert pt.parquet --small-n 10
    ckm ptable convert nums.csv even.parquet --type even   one table of several
    ckm ptable convert pt.parquet ons.csv --to ons --keys 256 --shuffle 2027
    """
    from ptable.dialects import detect, read_tables, write_tables

    if not source.is_file():
        raise click.UsageError(
            Message("There is no file {source!r}.", source=Argument(source.name or str(source)))
        )
    check_output(target, force=force)
    layout = dialect or detect(source)
    is_text = target_layout not in {None, "ckm"} or target.suffix == ".pert"
    digits = options.pop("digits")
    small_n = options["small_n"]
    if layout != "superstar":
        options.pop("small_n")
    if not is_text:
        options["digits"] = digits
    tables = _chosen(read_tables(source, dialect=layout, **options), kind, source)
    terminal.step(
        "p-table read",
        Message(
            "{file}: {layout}, {tables}",
            file=Name(source.name),
            layout=Name(layout),
            tables=_rows(tables),
        ),
        layout=layout,
        types=", ".join(tables),
    )
    # The name of the file is no label that its owner gave.
    tables = {
        name: replace(table, label="" if is_text else target.stem)
        if table.label.startswith(source.stem)
        else table
        for name, table in tables.items()
    }
    if n_keys is not None:
        tables = {name: _in_keys(terminal, table, n_keys) for name, table in tables.items()}
    if seed is not None:
        import numpy as np

        tables = {
            name: table.shuffle(np.random.default_rng(seed), piece="key")
            for name, table in tables.items()
        }
    losses = write_tables(
        tables,
        target,
        dialect=target_layout,
        digits=digits if is_text else None,
        small_n=small_n,
        overwrite=force,
        dry_run=dry_run,
    )
    for loss in losses:
        terminal.warn("not kept", loss)
    if not is_text:
        tell_priors(terminal, target, *tables.values())
    if dry_run:
        terminal.step(
            "dry run complete", Message("dry run: {target} would be written", target=target)
        )
        return
    same = not losses and n_keys is None and seed is None
    terminal.step(
        "p-table converted",
        Message("every noise is the same") if same else Message("converted"),
    )
    click.echo(str(target))


def tell_priors(terminal: Terminal, file: Path, *tables: PTable) -> None:
    """Say that a file of ours holds what an intruder may believe, which is from records."""
    proofs = (table.certificate for table in tables)
    if any(proof is not None and proof.limits is not None for proof in proofs):
        terminal.step(
            "keep inside",
            Message("{file} holds the priors of its limits: it stays inside", file=file),
        )


def _in_keys(terminal: Terminal, table: PTable, n_keys: int) -> PTable:
    """Quantise a table and say what that changed."""
    from ptable import quantise

    answer = quantise(table, n_keys)
    first, *rest = str(answer).splitlines()
    terminal.step("p-table quantised", first)
    for line in rest[:1]:
        terminal.step("p-table quantised", line)
    for line in rest[1:]:
        terminal.warn("drift", line)
    return answer.table


def _chosen(tables: Mapping[str, PTable], kind: str | None, source: Path) -> dict[str, PTable]:
    """Return the table that was asked for, or all."""
    if kind is None:
        return dict(tables)
    if kind not in tables:
        names = ", ".join(tables)
        raise click.UsageError(
            Message(
                "{source!r} has no type {kind!r}; it has {names}.",
                source=Name(source.name),
                kind=Argument(kind),
                names=said(names),
            )
        )
    return {"all": tables[kind]}


def _rows(tables: Mapping[str, PTable]) -> Message:
    if len(tables) > 1:
        return Message(
            "{number} tables: {tables}", number=len(tables), tables=Name.each(tables)
        )
    (table,) = tables.values()
    return Message("{n_rows} rows", n_rows=table.n_rows)
