"""``ckm ptable check``: verify a perturbation table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.failure import CHECK_FAILED
from ckm.cli.root import common_options
from ckm.cli.voice import Voice

if TYPE_CHECKING:
    from ptable import PTable

__all__ = ["check"]

_PATH = click.Path(path_type=Path)


@click.command(
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
    from ptable.mechanisms import Mechanism

    voice = ctx.ensure_object(Voice)
    if not file.is_file():
        raise click.UsageError(f"The file {file.name!r} does not exist.", ctx)
    try:
        table = PTable.read(file)
        if isinstance(table.spec, Mechanism):
            voice.step("p-table checked", "built again from its mechanism, it is the same")
            return
        if table.certificate is None:
            _verdict(voice, table, "no certificate: the table comes from elsewhere")
            ctx.exit(CHECK_FAILED)
        table.certificate.check(table)
    except PTableError as error:
        voice.warn("p-table check failed", f"{file.name}: {error.problem}")
        ctx.exit(CHECK_FAILED)
    _verdict(voice, table, None)
    voice.step("p-table checked", "the certificate holds")


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
