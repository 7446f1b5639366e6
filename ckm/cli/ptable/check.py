"""``ckm ptable check``: verify a perturbation table, whoever made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.check import tell_noise
from ckm.cli.ptable.options import reading_options
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from footing.messages import Argument, Message, Name, joined, said

if TYPE_CHECKING:
    from pathlib import Path

    from ptable import Certificate, PTable
    from ptable.proof.identify import Identification

_MAX_ROWS = 60


@click.command(cls=Command)
@click.argument("file", type=PATH)
@reading_options
@with_terminal
def check(terminal: Terminal, /, *, file: Path, **options: Any) -> int:
    """Verify a p-table of any tool from scratch, and say which design it looks like.

    Rows must be whole, without gaps or overlaps, and their noise must have mean zero, or be of
    a known design with another mean. A certificate is computed anew. Ends with exit code 1
    where one of these fails.

    Examples
    --------
    ckm ptable check pt.parquet            recompute its certificate
    ckm ptable check ptable.csv            a table of R, or of any other tool
    ckm ptable check old.txt --from sas --boundary "(]" --key-range 100000000
    """
    from ptable import PTableError
    from ptable.design.mechanisms import Mechanism
    from ptable.dialects import detect, read_tables
    from ptable.proof.identify import identify

    if not file.is_file():
        raise click.UsageError(
            Message("There is no file {file!r}.", file=Argument(file.name or str(file)))
        )
    try:
        layout = options.pop("dialect") or detect(file)
        tables = read_tables(file, dialect=layout, **options)
    except PTableError as error:
        terminal.warn(
            "p-table check failed",
            Message("{name}: {text}", name=Name(file.name), text=said(str(error))),
        )
        return CHECK_FAILED
    terminal.step(
        "p-table read",
        Message(
            "{file} is in the layout {layout!r}", file=Name(file.name), layout=Name(layout)
        ),
        layout=layout,
    )
    failed = False
    for name, table in tables.items():
        title = "" if len(tables) == 1 else f" ({name})"
        if isinstance(table.spec, Mechanism):  # reading has built it again already
            terminal.step(
                "design found",
                Message(
                    "looks like{title}: {label}",
                    title=Name(title),
                    label=said(table.label or str(table.spec)),
                ),
            )
            terminal.step(
                "p-table checked", Message("built again from its mechanism, it is the same")
            )
            continue
        if table.certificate is not None and table.certificate.limits is not None:
            _tell_limits(terminal, table.certificate)
            continue
        answer = identify(table)
        if table.certificate is not None:
            _draw_certificate(terminal, table.certificate)
        else:
            _draw_figures(terminal, table, answer, title)
        failed |= not _tell(terminal, table, answer, title)
    return CHECK_FAILED if failed else 0


def _tell(terminal: Terminal, table: PTable, answer: Identification, title: str) -> bool:
    """Say what was found; return whether the table is sound."""
    from ptable import NoiseSpec
    from ptable.design.presets import same_as
    from ptable.design.stack import StackedSpec

    if answer.is_match:
        terminal.step(
            "design found",
            Message("looks like{title}: {answer}", title=Name(title), answer=said(str(answer))),
        )
    else:
        terminal.warn(
            "design not found",
            Message("looks like{title}: {answer}", title=Name(title), answer=said(str(answer))),
        )
    if table.certificate is not None:
        terminal.step("p-table checked", Message("the certificate holds"))
        if isinstance(table.spec, NoiseSpec) and (same := same_as(table.spec)):
            terminal.step("preset", same)
        if isinstance(table.spec, NoiseSpec | StackedSpec):
            tell_noise(terminal, table.spec, proof=table.certificate)
        return True
    if table.spec is not None and not _keeps_specification(terminal, table, title):
        return False
    biased = [str(row.count) for row in answer.rows if row.is_biased]
    if biased and not answer.is_match:
        counts = [*biased[:6], *["…"] * (len(biased) > 6)]
        terminal.warn(
            "p-table check failed",
            Message(
                "the mean noise{title} is not 0 for counts {counts}, and no known design is so",
                title=Name(title),
                counts=Name.each(counts),
            ),
        )
        return False
    finding = (
        Message("its mean noise is the design's")
        if biased
        else Message("every row has mean noise 0")
    )
    terminal.step(
        "p-table checked",
        Message(
            "{mean}; there is no certificate to recompute{title}",
            mean=finding,
            title=Name(title),
        ),
    )
    return True


def _tell_limits(terminal: Terminal, certificate: Certificate) -> None:
    """Say what a table by limits keeps and loses; reading has recomputed all of it."""
    _draw_certificate(terminal, certificate)
    if certificate.limits is not None:
        for line in certificate.limits.lines():
            terminal.step("limit", line)
    text = Message("the certificate holds: every limit, and the bounds")
    terminal.step("p-table checked", text)


def _keeps_specification(terminal: Terminal, table: PTable, title: str) -> bool:
    """Hold a table without a certificate against the specification it names."""
    from ptable.proof.certificate import breaches

    off = breaches(table)
    if off:
        faults: list[str] = [*off[:5]]
        if len(off) > 5:
            faults = [*faults, Message("and {number} more", number=len(off) - 5)]
        terminal.warn(
            "p-table check failed",
            Message(
                "it is not what its specification asks for{title}: {named}",
                title=Name(title),
                named=joined("; ", faults),
            ),
        )
    return not off


def _draw_figures(
    terminal: Terminal, table: PTable, answer: Identification, title: str
) -> None:
    """Draw what each row does, computed from its thresholds."""
    from rich.markup import escape

    columns = ("count", "stays", "mean", "variance", Message("from the design"), "remark")
    last, lines = answer.rows[-1].count, []
    for row in answer.rows[:_MAX_ROWS]:
        remarks = [Message("the mean is not 0")] if row.is_biased else []
        if row.distance is not None and row.distance > answer.tolerance:
            remarks.append(Message("not as in the design"))
        serves_more = row.count == last and table.large_counts == "last"
        lines.append(
            (
                f"{row.count}{'+' if serves_more else ''}",
                f"{row.p_stay:.2%}",
                f"{row.bias + 0:.2g}",
                f"{row.variance:.6g}",
                "" if row.distance is None else f"{row.distance:.1e}",
                joined("; ", remarks),
            )
        )
    left_out = len(answer.rows) - _MAX_ROWS
    terminal.table(
        columns,
        lines,
        left=("remark",),
        title=escape(f"Figures of each row{title}"),
        caption=Message("and {left_out} more rows", left_out=left_out)
        if left_out > 0
        else None,
    )


def _draw_certificate(terminal: Terminal, certificate: Certificate) -> None:
    """Draw what the certificate says of each row."""
    from rich.markup import escape

    programs = ", ".join(f"{name} {version}" for name, version in certificate.solver.items())
    more = len(certificate.rows) - _MAX_ROWS
    record = "" if certificate.record is None else f". {certificate.record}"
    caption = escape(f"solved with {programs}, as the file says{record}")
    terminal.table(
        (
            "count",
            Message("variance asked"),
            "variance",
            "bias",
            Message("entropy gap"),
            "residual",
            "verdict",
        ),
        (
            (
                str(row.count),
                f"{row.requested_variance:.6g}",
                f"{row.variance:.6g}",
                f"{row.bias:.1e}",
                f"{max(row.gap, 0):.1e}",
                f"{row.residual:.1e}",
                row.note or Message("as asked"),
            )
            for row in certificate.rows[:_MAX_ROWS]
        ),
        left=("verdict",),
        title=Message("Certificate, recomputed"),
        caption=Message("and {more} more rows; {caption}", more=more, caption=said(caption))
        if more > 0
        else caption,
    )
